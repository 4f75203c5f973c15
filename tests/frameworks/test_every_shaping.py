"""How each framework shapes a reward: where it takes it off, or that it does not. Expected values are plain loops over tokens."""

import math

import pytest
import torch
from repeated import over

from advcli import UsageError, compute_advantages
from advcli.frameworks.catalog import RULES, frameworks
from advcli.shaping.catalog import SHAPINGS

REWARDS = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0]
GROUPS = list("aaaabbbb")
LENGTHS = [3, 1, 2, 4, 2, 3, 1, 2]
KL = [[0.1 * (1 + (row + token) % 5) for token in range(n)] for row, n in enumerate(LENGTHS)]
BETA = 0.5
KNOBS = {
    "overlong": {"max": 4, "buffer": 2},
    "affine": {"scale": 10, "shift": -0.5},
    "clip": {"min": 0, "max": 0.5},
    "kl": {"coef": BETA},
}
# Written from the notes on each framework: where its own code shapes a reward before the statistics, in this order.
BEFORE = {
    **dict.fromkeys(["verl", "easyr1", "ms-swift"], ("overlong", "kl")),
    "trl": ("overlong",),
    **dict.fromkeys(["openrlhf", "marti"], ("overlong",)),
    "nemo-rl": ("clip", "affine", "overlong"),
    "skyrl": ("kl",),
    "areal": ("overlong", "affine", "clip"),
    **dict.fromkeys(
        ["twinkle", "slime", "roll", "prime-rl", "tinker-cookbook", "open-instruct", "rllm", "art", "oat"], ()
    ),
    **dict.fromkeys(
        ["pipelinerl", "rlinf", "siirl", "tunix", "areno", "verl-recipe", "krpo"],
        (),
    ),
    **dict.fromkeys(["drmas", "hgpo", "verifiers", "atropos", "multi-turn-rl-agent"], ()),
    # Trainers of agents: the rewards that are logged are those of the statistics.
    **dict.fromkeys(
        ["verl-agent", "agent-lightning", "ragen", "miles", "labs-molt", "trinity-rft", "xtuner"], ()
    ),
}
AFTER = {"openrlhf", "areal", "roll", "marti"}


def mean(numbers):
    return sum(numbers) / len(numbers)


def std(numbers):
    return math.sqrt(sum((x - mean(numbers)) ** 2 for x in numbers) / (len(numbers) - 1))


def by_group(function, rewards):
    of = {g: [r for r, h in zip(rewards, GROUPS, strict=True) if h == g] for g in GROUPS}
    return [function(r, of[g]) for r, g in zip(rewards, GROUPS, strict=True)]


def computed(**settings):
    return compute_advantages(REWARDS, GROUPS, lengths=LENGTHS, **settings)


def test_every_framework_is_here():
    assert set(BEFORE) == set(frameworks())


@pytest.mark.parametrize("shaping", KNOBS)
@pytest.mark.parametrize("framework", BEFORE)
def test_the_first_rule_shapes_as_the_framework_or_refuses(framework, shaping):
    given = {"like": framework, "shaping": {shaping: KNOBS[shaping]}}
    able = shaping in BEFORE[framework] or (shaping == "kl" and framework in AFTER)
    if not able:
        with pytest.raises(UsageError) as caught:
            computed(kl=[mean(row) for row in KL], **given)
        flag = SHAPINGS[shaping].flag
        assert f"{flag} is not part of {framework}'s" in str(caught.value)
        assert f"without {flag}" in str(caught.value)
    elif shaping != "kl":
        shaped = {
            "overlong": [r + min(0, (2 - n) / 2) for r, n in zip(REWARDS, LENGTHS, strict=True)],
            "affine": [10 * (r - 0.5) for r in REWARDS],
            "clip": [min(r, 0.5) for r in REWARDS],
        }[shaping]
        plain = compute_advantages(shaped, GROUPS, lengths=LENGTHS, like=framework).original
        assert computed(**given).original.tolist() == pytest.approx(plain.tolist(), abs=1e-5)


@pytest.mark.parametrize("form", ["a number per row", "a list per row"])
@pytest.mark.parametrize("framework", [name for name, ways in BEFORE.items() if "kl" in ways])
def test_kl_in_the_reward_is_in_the_statistics(framework, form):
    totals = [sum(row) for row in KL]
    shaped = [r - BETA * kl for r, kl in zip(REWARDS, totals, strict=True)]
    eps = 1e-4 if framework == "ms-swift" else 1e-6
    expected = by_group(lambda r, all_: (r - mean(all_)) / (std(all_) + eps), shaped)
    found = computed(like=framework, kl=KL if "list" in form else totals, shaping={"kl": KNOBS["kl"]})
    assert found.original.tolist() == pytest.approx(expected, abs=1e-5)


def to_go(advantages):
    """The advantage of the row at its last token, less the KL of each token, summed up from the last."""
    return [[a - BETA * sum(row[t:]) for t in range(len(row))] for a, row in zip(advantages, KL, strict=True)]


def flat(rows):
    return [a for row in rows for a in row]


def whitened(rows, ddof, eps=0.0, floor=0.0):
    numbers = flat(rows)
    centre = mean(numbers)
    variance = sum((a - centre) ** 2 for a in numbers) / (len(numbers) - ddof)
    return [(a - centre) / math.sqrt(max(variance, floor) + eps) for a in numbers]


CENTRED = by_group(lambda r, rows: r - mean(rows), REWARDS)
SCORES = {
    eps: by_group(lambda r, rows, eps=eps: (r - mean(rows)) / (std(rows) + eps), REWARDS)
    for eps in (1e-5, 1e-6, 1e-9)
}
AT_EACH = [[a - BETA * kl for kl in row] for a, row in zip(CENTRED, KL, strict=True)]
RAW = [[r - BETA * kl for kl in row] for r, row in zip(REWARDS, KL, strict=True)]
TOKENS = {
    ("areal", "grpo"): flat(to_go(SCORES[1e-5])),
    ("areal", "drgrpo"): flat(to_go(CENTRED)),
    ("roll", "grpo"): flat(to_go(SCORES[1e-6])),
    ("roll", "reinforce"): flat(to_go(REWARDS)),
    ("openrlhf", "group_norm"): flat(to_go(SCORES[1e-9])),
    ("slime", "reinforce_plus_plus_baseline"): whitened(AT_EACH, 1, eps=1e-8),
    ("slime", "reinforce_plus_plus"): whitened(to_go(REWARDS), 1, eps=1e-8),
    ("nemo-rl", "reinforce_plus_plus"): whitened(AT_EACH, 0, floor=1e-8),
    ("nemo-rl", "reinforce_plus_plus_raw"): whitened(RAW, 0, floor=1e-8),
    ("skyrl", "reinforce++"): whitened(to_go(REWARDS), 1, eps=1e-8),
    ("verl", "reinforce_plus_plus"): whitened(to_go(REWARDS), 1, eps=1e-8),
    ("easyr1", "reinforce_plus_plus"): whitened(to_go(REWARDS), 1, eps=1e-8),
}


@pytest.mark.parametrize(("like", "estimator"), TOKENS)
def test_kl_taken_off_token_by_token(like, estimator):
    given = {"like": like, "estimator": estimator, "shaping": {"kl": KNOBS["kl"]}}
    # ROLL's rewards are float16.
    room = 2e-3 if like == "roll" else 2e-5
    assert computed(kl=KL, **given).tokens.tolist() == pytest.approx(TOKENS[like, estimator], abs=room)
    with pytest.raises(UsageError, match="subtracts the KL token by token, but there is one number per row"):
        computed(kl=[sum(row) for row in KL], **given)


def test_the_kl_is_taken_off_in_the_dtype_of_the_framework():
    # At 1e6 a float32 number has a sixteenth for its last digit, so r − β·KL is rounded to that.
    rewards, kl = [1e6, 1e6 + 1, 1e6, 1e6 + 2], [0.3, 1.7, 2.9, 0.04]
    shaped = torch.tensor(rewards) - 0.04 * torch.tensor(kl)
    expected = shaped - shaped.mean()
    found = compute_advantages(
        rewards, [0] * 4, like="ms-swift", scale="none", kl=kl, shaping={"kl": {"coef": 0.04}}
    )
    assert found.original.tolist() == expected.tolist()


def test_parts_are_added_up_as_the_framework_does():
    parts, weights = [[0.6, 0.3], [0.9, 0.0], [math.nan, 0.5], [math.nan, math.nan]], [0.7, 0.1]
    sums = (torch.tensor(parts) * torch.tensor(weights)).nansum(dim=1)
    found = compute_advantages(parts, [0] * 4, like="trl", scale="none", weights=weights).original
    assert found.tolist() == [*(sums[:3] - sums[:3].mean()).tolist(), 0.0]


def test_parts_that_are_equal_as_written_and_not_in_float32():
    # As a run of twinkle logged it: 0.6 + 0.3 is above 0.9 there.
    parts = [[0.6, 0.3], [0.9, 0.0], [0.9, 0.0], [0.9, 0.0]]
    found = compute_advantages(
        torch.tensor([*parts, *parts], dtype=torch.float64), list("aaaabbbb"), like="twinkle"
    ).original
    assert found.tolist() == [1.4975167512893677, 0, 0, 0] * 2
    assert compute_advantages(torch.tensor(parts, dtype=torch.float64), [0] * 4).original.tolist() == [
        0,
        0,
        0,
        0,
    ]


@over(rule=RULES)
def test_names_are_of_the_catalog(rule):
    for form in (rule, rule.per_token):
        assert form is None or set(form.shaped) <= set(SHAPINGS.names())
