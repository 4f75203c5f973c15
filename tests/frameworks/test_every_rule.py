"""Laws that every row of the catalog of frameworks keeps, or breaks for a reason: shift, scale, order, names, steps, sums."""

import random
from itertools import product

import pytest
import torch
from columns import columns as columns_of
from packaging.specifiers import SpecifierSet
from repeated import over

from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.frameworks.catalog import RULES, find
from advcli.records.settings import Settings

VERSIONS = [
    f"{a}.{b}.{c}" for a, b, c in product(range(5), range(25), range(6))
]  # some one fits every range of the catalog
CASES = [(rule, scale) for rule in RULES if rule.level == "row" for scale in (rule.scales or [None])]
every_case = pytest.mark.parametrize(
    ("rule", "scale"), CASES, ids=[f"{rule.name}-{scale}" for rule, scale in CASES]
)
SEEDS = range(3)

# The reward itself is in the advantage, so that a shift shows.
SHIFTED = {
    "nemo-rl:raw_reward>=0.7.0-none": "the reward itself",
    "prime-rl:max_rl-None": "divided by the mean",
    "prime-rl:rae-None": "a running baseline that starts at 0",
    "rllm:reinforce-None": "the reward itself",
    "roll:agentic_reinforce-none": "the reward itself",
    "roll:reinforce-none": "the reward itself",
    "skyrl:maxrl-None": "divided by the mean",
    "verl:gpg>=0.5-None": "counts rewards other than 0",
    "verl:remax-None": "the greedy reward stays",
    "easyr1:remax<=0.3.2-None": "the greedy reward stays",
    "trinity-rft:remax-None": "the greedy reward stays",
    "trinity-rft:reinforce-None": "the reward itself",
    "miles:raw_reward-None": "the reward itself",
    "labs-molt:reinforce-none": "the reward itself",
    "rlinf:raw-none": "the reward itself",
    "krpo:kalman-None": "an estimate that starts at 0",
}
# A constant is in the advantage, so that the size of the rewards shows beside it.
SHIFTED_BY = {"trinity-rft:asymre", "trinity-rft:asymre_verl"}
# What crosses the groups of a step is at its largest value where groups have three rows or more.
CAPPED = {"siirl:cpgd-batch"}
# A prompt that comes back in a later step carries over; here none does.
RECURRING = {"verl-recipe:spo", "verl-recipe:spo_offline"}
# What is lost of a number by a trainer that computes in so few bits.
HALF = {"float16": 4e-3, "bfloat16": 3.2e-2}
# The order of the rows is part of the rule; of these some also carry what they know from step to step.
CARRIED = {"prime-rl:rae"}
ORDERED = {*CARRIED, "krpo:kalman"}


def key(rule, scale):
    return f"{rule.name}-{scale}"


def told(rule, scale):
    return {**rule.knobs, **(rule.scales[scale] if scale else {})}


def dump(seed=0, sizes=(4,) * 8, least=-3.0):
    """Groups of one size, in two steps, with rewards that are exact in float16; no group is dead."""
    draw = random.Random(seed)
    rows = []
    for group, size in enumerate(sizes):
        parts = [[draw.randrange(48) / 8 + least, draw.randrange(16) / 8] for _ in range(size)]
        parts[0], parts[-1] = [least, 0.0], [least + 6, 2.0]
        greedy = draw.randrange(8) / 8
        rows += [(part, group, group % 2, draw.randint(1, 60), greedy) for part in parts]
    return columns_of(rows)


def like_of(rule):
    fitting = (version for version in VERSIONS if SpecifierSet(rule.versions).contains(version))
    like = f"{rule.framework}@{next(fitting)}" if rule.versions else rule.framework
    assert find(like, rule.estimator) is rule
    return like


def compute(rule, scale, columns):
    plan = Plan.of(Settings(rule.estimator, scale, like=like_of(rule)))
    return run(plan, columns).original.double()


def taken(columns, index):
    return {name: column if name == "weights" else column[index] for name, column in columns.items()}


def close(rule, found, expected, share=1e-5):
    share = max(share, HALF.get(rule.knobs.get("dtype"), 0))
    peak = float(expected.abs().max())
    torch.testing.assert_close(found, expected, rtol=0, atol=share * max(peak, 1e-3), equal_nan=True)


def moved(columns, by):
    parts = columns["parts"] + torch.tensor([by, 0.0])
    return columns | {"parts": parts, "rewards": parts @ columns["weights"]}


@every_case
def test_the_numbers_are_those_of_the_dtype_that_is_named(rule, scale):
    found = run(Plan.of(Settings(rule.estimator, scale, like=like_of(rule))), dump()).original
    dtype = rule.arithmetic.partition(",")[0]
    assert found.dtype == getattr(torch, "float32" if dtype == "bfloat16" else dtype)
    # All of its digits are the trainer's.
    assert torch.equal(found, found.to(getattr(torch, dtype)).to(found.dtype))


@every_case
def test_shift_law(rule, scale):
    for seed in SEEDS:
        columns = dump(seed)
        if key(rule, scale) not in SHIFTED:
            close(rule, compute(rule, scale, moved(columns, 3.0)), compute(rule, scale, columns), 3e-5)


def test_nobody_is_let_off_the_shift_law_for_nothing():
    columns = dump()
    broken = {
        key(rule, scale)
        for rule, scale in CASES
        if (compute(rule, scale, moved(columns, 3.0)) - compute(rule, scale, columns)).abs().max() > 0.01
    }
    assert broken == set(SHIFTED)


UNDIVIDED = (
    *("length_baseline", "nonzero_ratio", "greedy_baseline", "running_baseline"),
    *("soft_maximum", "kalman"),
)


def divides(rule, scale):
    """Whether the size of the rewards cancels."""
    knobs, function = told(rule, scale), rule.target.rpartition(":")[2]
    if function in UNDIVIDED:
        return False
    return knobs.get("divide", True) not in ("none", False) or str(knobs.get("centre")).startswith(
        "mean-ratio"
    )


@every_case
def test_positive_scale_law(rule, scale):
    """The eps, at most 1e-4 beside a spread above 1, is all that is left of the size."""
    for seed, factor in zip(SEEDS, (0.5, 0.25, 0.75), strict=True):
        columns = dump(seed, least=1.0 if "ratio" in str(rule.knobs.get("centre")) else -3.0)
        scaled = {name: columns[name] * factor for name in ("parts", "rewards", "baselines")}
        before = compute(rule, scale, columns)
        expected = before if divides(rule, scale) else factor * before
        if rule.name not in SHIFTED_BY:
            close(rule, compute(rule, scale, columns | scaled), expected, 1e-3)


@every_case
def test_the_order_of_the_rows_does_not_matter(rule, scale):
    for seed in SEEDS:
        columns = dump(seed)
        order = torch.randperm(len(columns["group"]), generator=torch.Generator().manual_seed(seed))
        found, before = compute(rule, scale, taken(columns, order)), compute(rule, scale, columns)[order]
        if rule.name not in ORDERED:
            close(rule, found, before)
        else:
            assert not torch.allclose(found, before)


@every_case
@over(sizes=[(4,) * 8, (4, 4, 3, 4, 2, 4)])
def test_the_names_of_groups_and_steps_do_not_matter(rule, scale, sizes):
    columns = dump(1, sizes)
    renamed = columns | {"group": 90 - 7 * columns["group"], "step": 2 - 2 * columns["step"]}
    close(rule, compute(rule, scale, renamed), compute(rule, scale, columns), 1e-6)


@every_case
@over(sizes=[(4,) * 8, (4, 4, 3, 4, 2, 4)])
def test_splitting_a_file_between_steps_changes_nothing(rule, scale, sizes):
    columns = dump(2, sizes)
    together = compute(rule, scale, columns)
    apart = torch.full_like(together, torch.nan)
    for step in (0, 1):
        rows = columns["step"] == step
        apart[rows] = compute(rule, scale, taken(columns, rows))
    if rule.name not in CARRIED:
        close(rule, apart, together, 1e-6)
    else:
        assert not torch.allclose(apart, together)


def sums(rule, scale):
    """Over what A sums to 0, and with which weights: the group or the batch, 1 or the tokens; None for nothing."""
    knobs, function = told(rule, scale), rule.target.rpartition(":")[2]
    centre, divide = knobs.get("centre", "mean"), knobs.get("divide", "group")
    if function == "whitened":
        if knobs.get("shift", True):
            return ("step", "lengths")
        return None if knobs.get("centre", "none") == "none" else ("group", None)
    if function in ("standardised", "over_threshold"):
        where = {"raw": None, "batch": "step"}.get(centre, "group")
        halfway = centre == "batch" and divide.startswith("group")
        return (where, None) if where and not halfway else None
    if function == "one_pass":
        return ("group", None) if knobs.get("divide") is False or knobs.get("others") is False else None
    return {
        "decoupled": ("step", None),
        "one_pass_parts": ("step", None),
        "decoupled_by_tokens": ("step", "lengths"),
        "length_baseline": ("group", "lengths"),
        "nonzero_ratio": ("group", None),
        "best_only": None,
        "greedy_baseline": None,
        "running_baseline": None,
        "kalman": None,
        "posterior": ("step", None),
        "posterior_from_scores": ("step", None),
        "thresholded": ("group", None),
        "soft_maximum": ("group", None),
        "shifted_mean": None,
        "by_length": None,
        # Its k is the size of these groups, and so everything is 0.
        "sets_of_k": ("group", None),
        "live_weighted": ("group", None),
    }[function]


@every_case
def test_advantages_sum_to_zero_where_the_rule_says_so(rule, scale):
    for seed in SEEDS:
        columns = dump(seed)
        found = compute(rule, scale, columns)
        where = sums(rule, scale)
        if where is None:
            least = 0.01 * min(1.0, float(found.abs().max()))
            assert all(total(found, columns[name]).max() > least for name in ("group", "step"))
            continue
        index, weights = where
        weight = columns[weights] if weights else torch.ones_like(found)
        size = total(weight * found.abs(), columns[index]).clamp(min=1)
        slack = 5 * HALF.get(rule.knobs.get("dtype"), 2e-6)
        assert (total(weight * found, columns[index]) <= slack * size).all()


def total(values, index):
    return torch.zeros(8, dtype=values.dtype).index_add(0, index, values).abs()


@every_case
def test_inputs_are_not_written_to(rule, scale):
    columns = dump(2, (4, 4, 3, 4, 2, 4))
    columns["parts"][::5] = torch.nan
    columns["rewards"][::5] = torch.nan
    before = {name: column.clone() for name, column in columns.items()}
    compute(rule, scale, columns)
    for name, column in columns.items():
        torch.testing.assert_close(column, before[name], rtol=0, atol=0, equal_nan=True)


@every_case
def test_no_rows(rule, scale):
    assert len(compute(rule, scale, taken(dump(), slice(0, 0)))) == 0


def spread(rule, scale, sizes):
    """Where rows of other groups change with the rewards of the first group: in its step, or beyond."""
    seen = set()
    for seed in range(4):
        columns = dump(seed, sizes)
        rows = columns["group"] == 0
        parts = columns["parts"].clone()
        parts[rows, 0] = (parts[rows, 0] == 0).double() * 2
        other = columns | {"parts": parts, "rewards": parts @ columns["weights"]}
        moved = compute(rule, scale, columns) != compute(rule, scale, other)
        group, step = columns["group"], columns["step"]
        same = step == step[rows][0]
        seen |= {"step"} if bool(moved[same & (group != group[rows][0])].any()) else set()
        seen |= {"beyond"} if bool(moved[~same].any()) else set()
    return seen


@every_case
def test_the_scope_is_how_far_a_reward_is_felt(rule, scale):
    # Some frameworks go to the batch for groups of one row only.
    sizes = (1,) * 8 if told(rule, scale).get("single") == "batch" else (4,) * 8
    felt = spread(rule, scale, sizes)
    expected = {"group": set(), "step": {"step"}, "order": {"step", "beyond"}}[rule.scope_at(scale)]
    expected = {"step"} if rule.name in RECURRING else set() if key(rule, scale) in CAPPED else expected
    assert felt == expected


@every_case
def test_where_groups_are_uneven_the_scope_may_be_wider(rule, scale):
    sizes = (4, 4, 2, 3, 5, 4, 3, 4)
    felt = spread(rule, scale, sizes)
    scope = rule.scope_at(scale, uneven=True)
    assert felt <= {"group": set(), "step": {"step"}}.get(scope, {"step", "beyond"})
    assert felt or scope != "order"


def test_a_rule_that_cuts_by_the_largest_group_of_all_looks_at_all():
    rule, columns = find("areal@1.0.4", "grpo"), dump(0, (4, 2, 3, 3, 4, 4))
    keep = columns["group"] != 5
    fewer, more = (compute(rule, "group", c) for c in (taken(columns, keep), dump(0, (4, 2, 3, 3, 4, 6))))
    assert rule.scope_at("group", uneven=True) == "all"
    assert len(fewer) < len(more)


# What is said of a row without a reward → which rows get NaN of it, of four groups of three in two steps.
SPOILT = {
    "its group is NaN": [0, 1, 2],
    "its batch is NaN": [0, 1, 2, 3, 4, 5],
    "its batch is NaN, and later ones of its prompt": [0, 1, 2, 3, 4, 5],
    "its group is NaN from there on": [1, 2],
    "NaN from there on": list(range(1, 12)),
    "NaN": [1],
    "NaN, the others of its group 0": [1],
    "left out, 0": [],
    "counts as 0": [],
    "a missing part adds 0": [],
}


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.level == "row"], ids=lambda rule: rule.name)
def test_a_row_without_a_reward_does_what_is_said_of_it(rule):
    rows = [
        ([reward, 0.0], row // 3, row // 6, 1 + row % 5, 0.5)
        for row, reward in enumerate([1, 0.25, 0, 1, 0.25, 0.5, 0, 0.75, 1, 0.5, 0.25, 0])
    ]
    columns = columns_of(rows)
    columns["rewards"][1] = columns["parts"][1, 0] = torch.nan
    found = compute(rule, None, columns)
    assert torch.nonzero(found.isnan()).flatten().tolist() == SPOILT[rule.without_reward]
    if rule.without_reward == "NaN, the others of its group 0":
        assert found[[0, 2]].tolist() == [0, 0]
