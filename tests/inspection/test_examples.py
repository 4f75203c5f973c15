import pytest

from advcli.common.errors import DataError, UsageError
from advcli.inspection.examples import Example, example, written

USER, SAID = {"role": "user", "content": "6 × 7?"}, {"role": "assistant", "content": "42"}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"prompt": "q", "response": "a", "answer": "truth"}, Example("q", "a")),
        ({"prompt": [USER], "completion": [SAID]}, Example([USER], [SAID])),
        ({"input": "q", "output": "a"}, Example("q", "a")),
        ({"messages": [USER, SAID]}, Example([USER], [SAID])),
        ({"prompt": [{**USER, "name": None}], "completion": "42"}, Example([USER], "42")),
        ({"prompt": "q", "completion": None}, None),
        ({"prompt": "q", "completion": ""}, None),
        ({"prompt": None, "completion": "a"}, None),
        ({"messages": [USER]}, None),
    ],
)
def test_the_text_of_a_row(row, expected):
    assert example(row, "a:1") == expected


def test_columns_that_were_asked_for():
    assert example({"q": "x", "a": "y", "prompt": "no"}, "a:1", "q", "a") == Example("x", "y")
    assert example({"prompt": "x"}, "a:1", alone=True) == Example("x", "")


def test_what_is_no_text():
    with pytest.raises(DataError, match=r"a:1: no column response.*only prompt, reward"):
        example({"prompt": "q", "reward": 1}, "a:1")
    with pytest.raises(DataError, match="'response' is neither text nor a list of messages"):
        example({"prompt": "q", "response": [1, 2]}, "a:1")


def test_styles():
    one = Example("6 × 7?", "42")
    assert written(one, "text") == one
    assert written(one, "chat") == written(Example([USER], "42"), "chat") == Example([USER], [SAID])
    with pytest.raises(UsageError, match="--style text"):
        written(Example([USER], "42"), "text")
