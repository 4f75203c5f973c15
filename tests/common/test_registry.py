"""Immutable tables of rows, and the way from a row to its function."""

import ast
import inspect
import math
from dataclasses import dataclass

import pytest
from repeated import over

from advcli.common.errors import MissingPackage, UsageError
from advcli.common.registry import Registry, knobs, load
from advcli.estimators.catalog import ESTIMATORS
from advcli.frameworks.catalog import RULES


@dataclass(frozen=True)
class Fruit:
    name: str


FRUITS = Registry("fruit", [Fruit("pear"), Fruit("apple"), Fruit("plum")])


def test_rows_keep_their_order():
    assert FRUITS.names() == ("pear", "apple", "plum")
    assert [row.name for row in FRUITS] == ["pear", "apple", "plum"]
    assert len(FRUITS) == 3


def test_rows_are_found_by_name():
    assert FRUITS["apple"] == Fruit("apple")
    assert "apple" in FRUITS
    assert "Apple" not in FRUITS
    assert 3 not in FRUITS


@pytest.mark.parametrize(
    ("name", "hint"),
    [("aple", "apple"), ("pearl", "pear"), ("xyz", "pear, apple or plum"), ("", "pear, apple or plum")],
)
def test_an_unknown_name_gets_the_nearest_ones(name, hint):
    with pytest.raises(UsageError) as caught:
        FRUITS[name]
    assert caught.value.message == f"unknown fruit '{name}'"
    assert hint in caught.value.hint


def test_two_rows_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two rows of the table of fruits are named 'pear'"):
        Registry("fruit", [Fruit("pear"), Fruit("plum"), Fruit("pear")])


def test_a_table_cannot_be_changed():
    with pytest.raises(TypeError):
        FRUITS["fig"] = Fruit("fig")
    with pytest.raises(TypeError):
        FRUITS._rows["fig"] = Fruit("fig")
    with pytest.raises(TypeError):
        del FRUITS["pear"]
    rows = [Fruit("pear")]
    table = Registry("fruit", rows)
    rows.append(Fruit("fig"))
    assert table.names() == ("pear",)


def test_load():
    assert load("math:sqrt") is math.sqrt


def test_load_says_which_package_is_missing():
    with pytest.raises(
        MissingPackage, match="package 'no_such_package' is needed and not installed"
    ) as caught:
        load("no_such_package.module:function")
    assert caught.value.exit_code == 4
    assert caught.value.hint == "pip install no_such_package"


def test_load_does_not_hide_a_wrong_row():
    with pytest.raises(AttributeError, match="no_such_function"):
        load("math:no_such_function")


@over(row=[*ESTIMATORS, *RULES])
def test_knobs_are_those_of_the_function(row):
    parameters = inspect.signature(load(row.target)).parameters.values()
    expected = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    found = knobs(row.target).items()
    assert {
        name: ast.literal_eval(default) if default else inspect.Parameter.empty for name, default in found
    } == expected
