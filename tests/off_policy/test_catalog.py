"""The table of corrections: every row names a function, and versions find the right one."""

import inspect

import pytest

from advcli.common.errors import UsageError
from advcli.common.registry import load
from advcli.frameworks.catalog import frameworks
from advcli.off_policy.catalog import CORRECTIONS, find


@pytest.mark.parametrize("row", CORRECTIONS, ids=lambda row: row.name)
def test_a_row_says_what_its_function_takes(row):
    parameters = inspect.signature(load(row.target)).parameters.values()
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    assert positional == (["tokens", "advantages"] if row.signed else ["tokens"])
    assert "Source" in (inspect.getdoc(load(row.target)) or "")
    assert row.framework in frameworks()


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (("verl",), "verl:rollout_correction>=0.9"),
        (("verl", "0.8.0"), "verl:rollout_correction>=0.8,<0.9"),
        (("verl", "0.7.1"), "verl:rollout_correction>0.7.0,<0.8"),
        (("verl", "0.7.0"), "verl:rollout_correction<=0.7.0"),
        (("verl", "0.9.1"), "verl:rollout_correction>=0.9"),
        (("verl", "0.10.0.dev0"), "verl:rollout_correction>=0.9"),
        (("slime", "", "icepop"), "slime:icepop"),
        (("slime",), "slime:mis"),
    ],
)
def test_the_row_of_a_framework(asked, name):
    assert find(*asked).name == name


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ("trl",),
            "no off-policy correction of 'trl' is known; try verl, ms-swift, slime, nemo-rl, prime-rl or skyrl",
        ),
        (("slime", "", "tris"), "slime has no correction 'tris'; try mis, vanilla_tis or icepop"),
        (("verl", "new"), "'new' is not a version; try verl@1.0"),
        (("verl", "0.9.0rc1"), "no correction of verl 0.9.0rc1 is known; try --like verl"),
        (("prime-rl", "1.0", "sft"), "prime-rl has no correction 'sft'; try default or ipo"),
    ],
)
def test_no_such_row(asked, said):
    with pytest.raises(UsageError) as caught:
        find(*asked)
    assert str(caught.value) == said
