"""Places in the text of an expression, where stand-ins and wide letters shift them."""

import ast

import pytest

from advcli.common.errors import UsageError
from advcli.tensors.syntax import LONGEST, syntax


@pytest.mark.parametrize(
    "text", ["a + `b c` + d", "  'é' == a + d", "`ü` + `x` + d", "@step + d", "(a +\n d)", "NOT a + d"]
)
def test_the_place_and_text_of_a_name(text):
    one = syntax(text, "--where", "x")
    node = next(node for node in ast.walk(one.tree) if isinstance(node, ast.Name) and node.id == "d")
    assert one.place(node) == text.index("d") + 1
    assert one.source(node) == "d"


def test_the_text_of_a_quoted_column_keeps_its_quotes():
    one = syntax("1 + `b c`*2", "--where", "x")
    assert one.source(one.tree.right) == "`b c`*2"
    assert one.name(one.tree.right.left) == "b c"


def test_how_long_an_expression_may_be():
    begin = "a == '"
    text = begin + "x" * (LONGEST - len(begin) - 1) + "'"
    assert syntax(text, "--where", "x").text == text
    for wrong, shown in ((text + " ", "a == 'xxxxxxxxxxxxxx"), (" ", " ")):
        with pytest.raises(UsageError) as caught:
            syntax(wrong, "--where", "'b > 1'")
        assert str(caught.value) == f"--where '{shown}' is not an expression; try --where 'b > 1'"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a ==", "--where 'a ==': invalid syntax; try --where x"),
        ("a = 1", "--where 'a = 1': invalid syntax; try --where 'a == 1'"),
        ("a || b", "--where 'a || b': invalid syntax; try --where 'a  or  b'"),
        ("a = 'x'", """--where "a = 'x'": invalid syntax; try --where x"""),
        ("\0", "--where '\\x00': source code string cannot contain null bytes; try --where x"),
    ],
)
def test_what_the_parser_says(text, said):
    with pytest.raises(UsageError) as caught:
        syntax(text, "--where", "x")
    assert str(caught.value) == said
