"""Small pieces of text."""

import pickle

import pytest

from advcli.common.wording import Remark, counted, one_line, together, verb


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


def odd(many: int) -> Remark:
    return Remark(many, "row", "{} is odd", "{} are odd")


def test_remarks_of_parts_are_one_of_the_whole():
    assert together([odd(1), "x", odd(1), "x", Remark(1, "row", "{} is even", "{} are even")]) == (
        "2 rows are odd",
        "x",
        "1 row is even",
    )
    assert together([]) == ()


def test_a_remark_travels():
    found = pickle.loads(pickle.dumps(odd(2)))
    assert found == "2 rows are odd"
    assert found + odd(1) == "3 rows are odd"
