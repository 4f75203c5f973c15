"""Where values stand in a JSON text: against json itself, on values and spacings that hypothesis makes up."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.io.jsonl.spans import elements, members, on_one_line, values

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
styles = st.sampled_from(
    [{}, {"indent": 2}, {"separators": (",", ":")}, {"separators": (" , ", " : ")}, {"ensure_ascii": False}]
)


def same(one, other):
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(st.dictionaries(st.text(), trees, max_size=5), styles, st.sampled_from(["", " ", "\n\t"]))
def test_members(value, style, before):
    text = before + json.dumps(value, **style)
    found = {key: json.loads(text[begin:end]) for key, begin, end in members(text, len(before))}
    assert same(found, value)


@given(st.lists(trees, max_size=5), styles)
def test_elements(value, style):
    text = json.dumps(value, **style)
    assert same([json.loads(text[begin:end]) for begin, end in elements(text)], value)


@pytest.mark.parametrize(
    "number", ["123456789012345678901234567890", "1.10", "1E+0", "-0.0e-7", "NaN", "-Infinity", "7" * 5000]
)
def test_a_number_stays_as_it_was_written(number):
    assert values(f'{{"a": [{number}], "b": {number}}}') == {"a": f"[{number}]", "b": number}


def test_of_a_key_that_comes_twice_the_last_counts():
    assert values('{"a": 1, "b": 2, "a": 3}') == {"a": "3", "b": "2"}


@given(trees)
def test_on_one_line(value):
    text = json.dumps(value, indent=3)
    flat = on_one_line(text)
    assert "\n" not in flat
    assert same(json.loads(flat), value)
    assert on_one_line("[1,  2]") == "[1,  2]"
