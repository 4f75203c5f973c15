"""Expressions over columns: what they give is worked out by hand; nothing outside the whitelist is accepted."""

import numpy as np
import pyarrow as pa
import pytest

from advcli.common.errors import UsageError
from advcli.tensors.expressions import parse

COLUMNS = {
    "reason": ["stop", "length", None, "stop"],
    "lag": [0, 5, 4, None],
    "source": ["a", "b", "c", "a"],
    "score": [1.0, float("nan"), "0.5", -2],
    "error": [None, {"kind": "x"}, None, []],
    "done": [True, False, None, True],
    "tags": [["a", "b"], [], None, ["b"]],
    "info.judge": [1, 2, 3, 4],
    "a/b c": [1, 2, 3, 4],
    "@step": ["3", "3", "10", "10"],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('reason != "length"', [1, 0, 1, 1]),
        ("reason == 'stop'", [1, 0, 0, 1]),
        ("lag <= 4", [1, 0, 1, 0]),
        ("0 < lag <= 5", [0, 1, 1, 0]),
        ("error is null", [1, 0, 1, 0]),
        ("error is not null", [0, 1, 0, 1]),
        ("error == null", [1, 0, 1, 0]),
        ('source in ("a", "b")', [1, 1, 0, 1]),
        ('source not in ["a"]', [0, 1, 1, 0]),
        ('"b" in tags', [1, 0, 0, 1]),
        ('"to" in reason', [1, 0, 0, 1]),
        ("not done", [0, 1, 1, 0]),
        ("done", [1, 0, 0, 1]),
        ("done == true", [1, 0, 0, 1]),
        ("done != false", [1, 0, 1, 1]),
        ("score > 0", [1, 0, 1, 0]),
        ("score is null", [0, 1, 0, 0]),
        ("score == 0.5", [0, 0, 1, 0]),
        ("abs(score) >= 1", [1, 0, 0, 1]),
        ("len(tags) > 1", [1, 0, 0, 0]),
        ("lag + 2 * info.judge > 6", [0, 1, 1, 0]),
        ("lag / 0 > 1", [0, 0, 0, 0]),
        ("-lag < -4", [0, 1, 0, 0]),
        ("lag % 2 == 1", [0, 1, 0, 0]),
        ("info.judge >= 2 and (source == 'a' or lag > 4)", [0, 1, 0, 1]),
        ("`a/b c` > 3", [0, 0, 0, 1]),
        ("@step > 3", [0, 0, 1, 1]),
        ("reason IS NOT NULL AND NOT done", [0, 1, 0, 0]),
        ("reason == 'AND'", [0, 0, 0, 0]),
        ("lag == info.judge - 1", [1, 0, 0, 0]),
        ("1 > 2 or lag > 4", [0, 1, 0, 0]),
        ("1 < 2 and lag > 4", [0, 1, 0, 0]),
        ("(done and lag < 4) == true", [1, 0, 0, 0]),
        ("(done or lag > 4) == true", [1, 1, 0, 1]),
    ],
)
def test_what_an_expression_gives(text: str, expected: list[int]):
    one = parse(text)
    assert one.holds({name: COLUMNS[name] for name in one.columns}).tolist() == [bool(v) for v in expected]


@pytest.mark.parametrize("text", ["n <= 4", "n is null", "n in (1, 5)", "n > 1 or w == 'x'", "w != 'x'"])
def test_an_arrow_column_gives_what_a_list_gives(text: str):
    lists = {"n": [1, None, 5, float("nan"), 1], "w": ["x", None, "y", "x", "x"]}
    arrays = {"n": pa.array(lists["n"]), "w": pa.array(lists["w"]).dictionary_encode()}
    one = parse(text)
    assert one.holds(arrays).tolist() == one.holds(lists).tolist()


def test_values():
    assert parse("0.5 * a + b").values({"a": [1, None, 2], "b": [1, 1, "3"]}) == [1.5, None, 4.0]


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('x')",
        "(lambda: 1)()",
        "[x for x in y]",
        "a ** 9 ** 9",
        "f'{a}'",
        "a if b else c",
        "(a := 1)",
        "a[0]",
        "(a + b).c",
        "b'x' == a",
        "len(key=a)",
        "1 == 1",
        "a b",
        "",
        "a ==",
        "(" * 500 + "a" + ")" * 500,
        "a == " + "1" * 5000,
    ],
)
def test_what_is_no_expression_is_refused_in_one_line(text: str):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('a = "x" && b', """--where 'a == "x"  and  b'"""),
        ("!a", "--where 'not a'"),
        ("a || b", "--where 'a  or  b'"),
        ("a <> b", "--where 'a != b'"),
        ("a <> b || !c", "--where 'a != b  or  not c'"),
    ],
)
def test_the_hint_is_an_expression_that_parses(text: str, hint: str):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.hint == hint
    parse(hint.removeprefix("--where '").removesuffix("'"))


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("a < 3", {"a": ["abc"]}, "'abc' is not a number but is compared with 3"),
        ("3 < a", {"a": ["abc"]}, "'abc' is not a number but is compared with 3"),
        ("-a < 3", {"a": ["abc"]}, "'abc' is not a number"),
        (
            "a < b",
            {"a": ["y" * 40], "b": [10**40]},
            f"'{'y' * 28}… is not a number but is compared with 1{'0' * 28}…",
        ),
        ("a < b", {"a": [[1] * 20], "b": [{}]}, "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1… and {} cannot be ordered"),
        ("a < b", {"a": [[1]], "b": [{}]}, "[1] and {} cannot be ordered"),
        ("min(a, 2) < 3", {"a": ["x"]}, "'x' is not a number"),
        ("1 in a", {"a": [2]}, "2 is not a list or text; expected one after 'in'"),
    ],
)
def test_what_does_not_fit_is_named(text, columns, said):
    with pytest.raises(TypeError) as caught:
        parse(text).holds(columns)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a is null", [False, True, False]),
        ("a is not null", [True, False, True]),
        ("a is 1", [True, False, False]),
        ("a is 'x'", [False, False, False]),
        ("a == '3'", [False, False, True]),
        ("'3' != a", [True, True, False]),
        ("null == a", [False, True, False]),
        ("a is not 1", [False, True, True]),
        ("a == null", [False, True, False]),
        ("a < 2", [True, False, False]),
        ("max(a, 2) == 2", [True, False, False]),
        ("min(a, 2) == 1", [True, False, False]),
        ("abs(-a) == 3", [False, False, True]),
        ("a / 0 > 1", [False, False, False]),
    ],
)
def test_null_and_numbers(text, expected):
    assert parse(text).holds({"a": [1, None, 3]}).tolist() == expected


@pytest.mark.parametrize("text", ["a = 'x'", "a b"])
def test_what_cannot_be_cured_gets_an_example(text):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.hint.startswith("--where ")
    assert text.replace("=", "==") not in caught.value.hint


def test_values_without_an_order_are_named():
    with pytest.raises(TypeError, match="'abc' is not a number"):
        parse("a < 3").holds({"a": [1, "abc"]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tags < error", "cannot be ordered"),
        ("reason in lag", "0 is not a list or text; expected one after 'in'"),
        ("len(lag) > 1", "has no len"),
        ("abs(reason) > 1", "'stop' is not a number"),
    ],
)
def test_values_that_do_not_fit(text: str, said: str):
    one = parse(text)
    columns = {"tags": [[1]], "error": [{}], "reason": ["stop"], "lag": [0]}
    with pytest.raises(TypeError, match=said):
        one.holds({name: columns[name] for name in one.columns})


EXAMPLE = """--where 'finish_reason != "length" and lag <= 4'"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open(a)", ": no function 'open'; try one of abs, min, max, len, code"),
        ("a.open(1) > 1", ": no function 'a.open'; try one of abs, min, max, len, code"),
        ("len(key=a)", ": no function 'len'; try one of abs, min, max, len, code"),
        ("a[0] > 1", f": Subscript is not allowed; try {EXAMPLE}"),
        ("1 == 1", f" names no column; try {EXAMPLE}"),
        ("a b", f": invalid syntax; try {EXAMPLE}"),
        ("(a", f": '(' was never closed; try {EXAMPLE}"),
    ],
)
def test_what_is_refused_word_for_word(text, said):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert str(caught.value) == f"--where {text!r}{said}"


def test_a_dictionary_of_an_arrow_column_is_used_as_it_is():
    column = pa.array(["b", None, "a", "b"]).dictionary_encode()
    assert parse("w == 'b'").holds({"w": column}).tolist() == [True, False, False, True]


def test_what_is_computed_as_numbers():
    found = parse("2 * a").numbers({"a": [1, None, "3.5"]})
    assert (found.dtype, found[[0, 2]].tolist()) == (np.float64, [2, 7])
    assert np.isnan(found[1])
    assert parse("a > 1").numbers({"a": [1, 2]}).tolist() == [0, 1]
    with pytest.raises(TypeError, match="'x' is not a number"):
        parse("a").numbers({"a": ["x"]})


def test_equal_values_have_equal_codes():
    values = ["a", "b", "a", [1, "a"], [1, "a"], "\ud800", 1, "1"]
    codes = parse("code(a)").values({"a": values})
    assert [codes.index(code) for code in codes] == [0, 1, 0, 3, 3, 5, 6, 7]
    # A float holds them all.
    assert [int(float(code)) for code in codes] == codes
    assert max(codes) > 2**50
