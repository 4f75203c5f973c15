"""The axes of a sweep, as the user types them."""

import pytest

from advcli.common.errors import UsageError
from advcli.settings.grid import names, shares


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", (1.0,)),
        ("0.3,0.5,1", (0.3, 0.5, 1.0)),
        ("0.5:1:0.1", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        ("0:1:0.3", (0.0, 0.3, 0.6, 0.9)),
        ("0.5:0.5:0.1", (0.5,)),
        ("1, 0.5:1:0.25", (1.0, 0.5, 0.75)),
        ("0:1:0.001", tuple(i / 1000 for i in range(1001))),
    ],
)
def test_shares(text, values):
    assert shares("--keep-pos", text) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no number"),
        ("half", "'half' is no number"),
        ("nan", "'nan' is no number"),
        ("0.5:1", "'0.5:1' is no range; try --keep-pos 0.5:1:0.1 (from, to, step)"),
        ("1:0.5:0.1", "'1:0.5:0.1' has no value"),
        ("0:1:0", "'0:1:0' has no value"),
        ("0:1:1e-6", "has 1,000,001 values, expected 10,000 or fewer"),
        ("0.5:1.5:0.5", "1.5 is no share between 0 and 1"),
        ("-0.1", "-0.1 is no share between 0 and 1"),
    ],
)
def test_no_shares(text, message):
    with pytest.raises(UsageError) as caught:
        shares("--keep-pos", text)
    assert message in str(caught.value)


def test_names():
    assert names(None) == ()
    assert names(["trl, verl", "trl", "openrlhf"]) == ("trl", "verl", "openrlhf")
    assert names(["grpo:eps=1e-4,ddof=0", "rloo"]) == ("grpo:eps=1e-4,ddof=0", "rloo")
