"""Small pieces of text."""

import pytest

from advcli.words import counted, one_line, verb


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 groups"), (1, "1 group"), (2, "2 groups"), (1200, "1,200 groups")]
)
def test_counted(number, shown):
    assert counted(number, "group") == shown


@pytest.mark.parametrize(("number", "form"), [(0, "are"), (1, "is"), (2, "are")])
def test_verb(number, form):
    assert verb(number, "is", "are") == form


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nb", r"'a\nb'"),
        (None, "None"),
        ([1, 2], "[1, 2]"),
        ("x" * 58, f"'{'x' * 58}'"),
        ("x" * 59, f"'{'x' * 58}…"),
        ("x" * 5000, f"'{'x' * 58}…"),
    ],
)
def test_one_line(value, shown):
    assert one_line(value) == shown


def test_one_line_has_a_limit():
    assert one_line("abcdef", limit=5) == "'abc…"
