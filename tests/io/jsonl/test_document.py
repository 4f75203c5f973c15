"""A whole file as one JSON value, told apart from JSON Lines."""

import io
import json

import pytest

from advcli.io.jsonl.document import Broken, TooLarge, is_document, texts

ROWS = [{"a": 1, "b": "x\ny"}, {"a": 2}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps(ROWS), True),
        (json.dumps(ROWS, indent=2), True),
        ("\n\n" + json.dumps(ROWS, indent=2), True),
        ("\ufeff" + json.dumps(ROWS), True),
        (json.dumps(ROWS[0], indent=2), True),
        ("[\n]", False),
        ('{"a": 1,\n"b"', False),
        ("[]", False),
        ("[1, 2]", False),
        ('[{"a": 1}]\n[{"a": 2}]\n', False),
        (json.dumps(ROWS[0]), False),
        ("".join(json.dumps(row) + "\n" for row in ROWS), False),
        ('{"a": [\n', False),
        ("", False),
        ("text", False),
    ],
)
def test_is_document(text, expected):
    assert is_document(io.BytesIO(text.encode("utf-8")), 1000) is expected


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{\n"a": 1', 2, "expecting ',' delimiter"),
        ('[\n{"a": 1},\n{"b"', 3, "expecting ':' delimiter"),
        ('{\n"a": 1\n}\n{\n"a": 2\n}\n', 4, "extra data"),
    ],
)
def test_a_document_that_is_cut_off_is_named_by_its_line(text, line, what):
    with pytest.raises(Broken) as error:
        is_document(io.BytesIO(text.encode()), 1000)
    assert (error.value.line, error.value.what) == (line, what)


def test_bytes_that_are_no_text_are_no_document():
    assert not is_document(io.BytesIO(b"[\xff]"), 1000)


@pytest.mark.parametrize("before", ["", "\ufeff", " \n"])
@pytest.mark.parametrize("style", [{}, {"indent": 2}, {"indent": "\t"}])
def test_each_record_on_one_line(before, style):
    found = list(texts((before + json.dumps(ROWS, **style)).encode("utf-8")))
    assert [json.loads(text) for text in found] == ROWS
    assert not any("\n" in text for text in found)
    (alone,) = texts((before + json.dumps(ROWS[0], **style)).encode("utf-8"))
    assert json.loads(alone) == ROWS[0]


def test_numbers_stay_as_they_were_written():
    assert list(texts(b'[{"a": 1.10, "b": 123456789012345678901234567890}]')) == [
        '{"a": 1.10, "b": 123456789012345678901234567890}'
    ]


@pytest.mark.parametrize("text", [b"[" + b" " * 5000, b"\n" * 5000 + b"[]"])
def test_a_line_without_end_is_not_read_to_it(text):
    file = io.BytesIO(text)
    assert not is_document(file, 1000)
    assert file.tell() <= 1000


def test_a_document_has_a_bound():
    with pytest.raises(TooLarge):
        is_document(io.BytesIO(b"[\n" + b" \n" * 10_000 + b"]"), 1000)
