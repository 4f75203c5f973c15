"""Exploded JSON, written back: every old value as it was written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.io.layouts import objects
from advcli.io.layouts.text import can_fold, folded, row_texts
from advcli.records.layout import PLAIN, Layout

LISTS = Layout("lists", "r", ("r", "t"), ("p", "chat"))
NESTED = Layout("nested", "s", items=("r", "x"))


def closed(text, record, layout):
    return [json.loads(row + "}") for row in row_texts(text, record, layout)]


def test_numbers_and_escapes_are_copied():
    text = '{"p": "\\u0041\\/", "r": [1.10, NaN, 123456789012345678901234567890], "t": [-0.0e-7, null, "\\ud800"]}'
    rows = list(row_texts(text, json.loads(text), LISTS))
    assert rows == [
        '{"p": "\\u0041\\/", "r": 1.10, "t": -0.0e-7',
        '{"p": "\\u0041\\/", "r": NaN, "t": null',
        '{"p": "\\u0041\\/", "r": 123456789012345678901234567890, "t": "\\ud800"',
    ]


values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@given(st.lists(st.tuples(values, values), min_size=1, max_size=4), values, st.sampled_from([None, 2]))
def test_rows_of_lists_are_those_that_are_read(pairs, prompt, indent):
    record = {"p": prompt, "r": [one for one, _ in pairs], "t": [two for _, two in pairs], "chat": [1, 2, 3]}
    text = json.dumps(record, indent=indent)
    assert closed(text, record, LISTS) == objects.rows(record, LISTS)


@given(st.lists(st.dictionaries(st.sampled_from("rxyp"), values), max_size=4), values)
def test_rows_of_objects_are_those_that_are_read(items, prompt):
    record = {"p": prompt, "s": items, "list": [1, 2]}
    assert closed(json.dumps(record), record, NESTED) == objects.rows(record, NESTED)


def test_a_list_of_another_length_goes_to_every_row():
    record = {"r": [1, 0], "t": ["a", "b", "c"]}
    assert closed(json.dumps(record), record, LISTS) == [
        {"r": 1, "t": ["a", "b", "c"]},
        {"r": 0, "t": ["a", "b", "c"]},
    ]


def test_objects_in_a_string():
    record = {"s": '[{"r": 1.50}, {}]', "p": 1}
    assert list(row_texts(json.dumps(record), record, NESTED)) == ['{"p": 1, "r": 1.50', '{"p": 1']


def test_a_row_of_a_document_is_itself():
    assert list(row_texts('{"a": 1.0 }', {"a": 1.0}, PLAIN)) == ['{"a": 1.0']
    assert list(row_texts("{}", {}, PLAIN)) == ["{"]


ADDED = {"adv": ["0.5", "null"], 'k"': ["true", "false"]}


@pytest.mark.parametrize(
    ("text", "layout", "expected"),
    [
        ('{"r": [1, 0]}', LISTS, '{"r": [1, 0], "adv": [0.5, null], "k\\"": [true, false]}'),
        ('{"r": [1, 0]  }', LISTS, '{"r": [1, 0], "adv": [0.5, null], "k\\"": [true, false]  }'),
        (
            '{"s":[ {"r":1}, { } ],"p":1.0}',
            NESTED,
            '{"s":[ {"r":1, "adv": 0.5, "k\\"": true}, {"adv": null, "k\\"": false } ],"p":1.0}',
        ),
        (
            '{"s": 0, "s": [{"r": "}]"}, {"r": [{}]}]}',
            NESTED,
            '{"s": 0, "s": [{"r": "}]", "adv": 0.5, "k\\"": true}, {"r": [{}], "adv": null, "k\\"": false}]}',
        ),
    ],
)
def test_folded(text, layout, expected):
    assert folded(text, layout, ADDED) == expected
    json.loads(expected)


def test_what_cannot_be_folded():
    assert not can_fold('{"s": "[{}]"}', NESTED)
    assert can_fold('{"s": [{}]}', NESTED)
    assert can_fold('{"r": "[1]"}', LISTS)
