"""Places in the text of an expression, where stand-ins and wide letters shift them."""

import ast

import pytest

from advcli.tensors.syntax import syntax


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
