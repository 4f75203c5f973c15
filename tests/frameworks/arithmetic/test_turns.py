"""Rules of trainers for turns: the table that their own code gave for one dump, degenerate dumps, and laws of each."""

import math
import random

import pytest

from advcli import DataError, UsageError, compute_advantages
from advcli.frameworks.catalog import RULES, find

# Two prompts, rollouts a, b, c | d, e, states by turn; the numbers are those that each trainer's code gave.
GROUPS = ["p0"] * 7 + ["p1"] * 3
ROLLOUTS = list("aaabbccdde")
TURNS = [0, 1, 2, 0, 1, 0, 1, 0, 1, 0]
REWARDS = [0, 0, 1, 0, 0, 0, 1, 0, 1, 0]
ANCHORS = ["s0", "s1", "s1", "s0", "s1", "s0", "s1", "s0", "s1", "s0"]
STD, MEAN = {"method": "mean_std", "grouping": "group"}, {"method": "mean", "grouping": "group"}
RAN = [
    ("verl-agent", "gigpo", {}, ".6190 .5357 .5357 -1.3810 -1.4643 .6190 .5357 .8333 .3333 -1.1667"),
    ("drmas", "gigpo", {}, ".6667 .5833 .5833 -1.3333 -1.4167 .6667 .5833 1 .5 -1"),
    (
        "verl-agent",
        "gigpo",
        {"scale": "group"},
        "1.1629 1.0855 1.0855 -2.6185 -2.9638 1.1629 1.0855 1.2845 .5773 -1.8618",
    ),
    ("trinity-rft", "gigpo", {}, ".7333 .5333 .5333 -1.2667 -1.4667 .7333 .5333 .9 .7 -1.1"),
    (
        "trinity-rft",
        "gigpo",
        {"scale": "group"},
        "1.3076 1.0246 1.0246 -2.2501 -2.9435 1.3076 1.0246 1.4374 1.1543 -1.8025",
    ),
    (
        "roll",
        "gigpo",
        {"gamma": 1.0, **STD},
        "1.3158 1.0328 1.0328 -2.5593 -3.2527 1.3158 1.0328 1.3076 1.0246 -2.2501",
    ),
    ("roll", "gigpo", STD, "1.2535 .9474 1.0605 -2.5585 -3.2506 1.3462 1.0605 1.3380 1.0523 -2.2494"),
    (
        "roll",
        "gigpo",
        {"gamma": 1.0, **MEAN},
        ".6857 .4857 .4857 -1.3143 -1.5143 .6857 .4857 .7333 .5333 -1.2667",
    ),
    ("roll", "gigpo", {"gamma": 1.0, **MEAN, "clip": 0.5}, ".5 .4857 .4857 -.5 -.5 .5 .4857 .5 .5 -.5"),
    # Neither is compared: the reward of the rollout, and the return.
    ("roll", "gigpo", {"gamma": 1.0, "method": "identity"}, "2 2 2 0 0 2 2 2 2 0"),
    (
        "roll",
        "step_reinforce",
        {"gamma": 1.0, "method": "identity", "clip": 0.5},
        ".5 .5 .5 0 0 .5 .5 .5 .5 0",
    ),
    ("roll", "step_reinforce", STD, ".4606 .5617 .6681 -1.4601 -1.4601 .5617 .6681 .5324 .6211 -1.1536"),
    ("hgpo", "hgpo", {"gamma": 1.0}, ".7071 .6552 .5773 -1.4142 -1.5413 .7071 .6552 1 0 -1"),
    (
        "hgpo",
        "hgpo_paper",
        {"gamma": 1.0, "scale": "group"},
        ".7071 .6639 .5773 -1.4142 -1.5202 .7071 .6639 1 0 0",
    ),
    ("pipelinerl", "loo_per_step", {}, "0 -.8659 0 0 -.8659 0 1.7318 0 0 0"),
    ("pipelinerl", "loo_per_step", {"scale": "none"}, "0 -.5 0 0 -.5 0 1 0 0 0"),
    ("atropos", "mt_grpo", {}, ".7071 0 2.1213 -1.4142 -2.1213 .7071 2.1213 1 2 -1"),
    (
        "verifiers",
        "step_reward",
        {"gamma": 0.9},
        ".3598 .5736 .8112 -1.5647 -1.5647 .5736 .8112 .5930 .8154 -1.4084",
    ),
]


def compute(like, estimator, rewards=REWARDS, groups=GROUPS, rollouts=ROLLOUTS, **given):
    given = {"turns": TURNS, "anchors": ANCHORS, **given} if rewards is REWARDS else given
    if find(like, estimator).level == "turn" and "penalty" in find(like, estimator).options:
        given = {"penalty": 0.0, **given}
    return compute_advantages(rewards, groups, rollouts=rollouts, like=like, estimator=estimator, **given)


@pytest.mark.parametrize(("like", "estimator", "given", "expected"), RAN)
def test_one_dump_every_rule(like, estimator, given, expected):
    found = compute(like, estimator, **given).original.tolist()
    assert found == pytest.approx([float(number) for number in expected.split()], abs=6e-5)


def test_progress_of_prime_rl():
    scores = [0, 0.5, 1, 0, 0.1, 0, 0.5, 0, 0.5, 0]
    episodes = [1] * 3 + [0] * 2 + [1] * 2 + [1] * 2 + [0]
    found = compute(
        "prime-rl", "turn_credit", scores, roles={"episode": episodes}, lengths=[3] * 10, turns=TURNS
    )
    expected = ".8530 .8959 .6512 -1.1026 -1.0974 .2868 .3132 .7368 .7632 -.75"
    assert found.original.tolist() == pytest.approx([float(x) for x in expected.split()], abs=6e-5)


@pytest.mark.parametrize(
    ("like", "estimator", "given", "expected"),
    [
        ("verl-agent", "gigpo", {}, [0.7]),
        ("verl-agent", "gigpo", {"scale": "group"}, [0.7 / (1 + 1e-6)]),
        ("drmas", "gigpo", {}, [0.7]),
        ("trinity-rft", "gigpo", {}, [0.699999]),
        ("roll", "gigpo", STD, [0.0]),
        ("hgpo", "hgpo", {}, [0.0]),
        ("pipelinerl", "loo_per_step", {}, [0.0]),
        ("rlinf", "grpo_dynamic", {}, [math.nan]),
        ("verifiers", "step_reward", {}, [0.0]),
    ],
)
def test_one_rollout_of_one_turn(like, estimator, given, expected):
    found = compute(like, estimator, [0.7], ["p"], ["a"], anchors=["s"], turns=[0], **given)
    assert found.original.tolist() == pytest.approx(expected, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize(
    ("like", "estimator", "given", "expected"),
    [
        ("verl-agent", "gigpo", {}, 0.0),
        ("drmas", "gigpo", {}, 0.7),
        ("trinity-rft", "gigpo", {}, 0.699999),
        ("roll", "gigpo", {**STD, "gamma": 1.0}, 0.0),
    ],
)
def test_one_rollout_of_two_turns(like, estimator, given, expected):
    found = compute(
        like, estimator, [0, 0.7], ["p"] * 2, ["a"] * 2, anchors=["s0", "s1"], turns=[0, 1], **given
    )
    assert found.original.tolist() == pytest.approx([expected] * 2, abs=1e-6)


@pytest.mark.parametrize(
    ("like", "expected"), [("verl-agent", [0, 0]), ("trinity-rft", [-0.25, -0.25]), ("roll", [-0.5, -0.5])]
)
def test_equal_states_of_two_prompts(like, expected):
    given = STD if like == "roll" else {}
    found = compute(
        like,
        "gigpo",
        [1, 0, 0, 0],
        ["p", "p", "q", "q"],
        list("abcd"),
        anchors=["s"] * 4,
        turns=[0] * 4,
        **given,
    )
    assert found.original.tolist()[2:] == pytest.approx(expected, abs=1e-5)


def test_equal_states_of_two_batches_of_roll():
    given = {"anchors": ["s"] * 4, "turns": [0] * 4, "steps": [0, 0, 1, 1], "gamma": 1.0, **MEAN}
    found = compute("roll", "gigpo", [1, 0, 1, 1], list("ppqq"), list("abcd"), **given).original
    # ±½ among the rollouts and ±½ among the states of the first batch; the second is equal throughout.
    assert found.tolist() == [1, -1, 0, 0]
    # No state is a state like any other.
    found = compute(
        "roll", "gigpo", [1, 0, 1, 1], list("ppqq"), list("abcd"), **{**given, "anchors": [None] * 4}
    )
    assert found.original.tolist() == [1, -1, 0, 0]


def test_the_turns_of_roll_have_numbers():
    found = compute(
        "roll", "step_reinforce", [1, 0], [0, 0], list("aa"), turns=[1, 0], gamma=0.5, method="identity"
    )
    assert found.original.tolist() == [1, 0.5]


def test_the_penalty_is_taken_off_the_return_too():
    given = {"anchors": ["s", "s"], "roles": {"valid": [1, 0]}, "penalty": 0.5, "scale": "none"}
    # Scores and returns 1 and −½, each minus their mean.
    found = compute("verl-agent", "gigpo", [1, 0], [0, 0], list("ab"), **given).original
    assert found.tolist() == pytest.approx([1.5, -1.5], abs=1e-6)


def test_the_penalty_of_an_invalid_action_is_that_turns_alone():
    given = {"anchors": ["x", "y", "z"], "roles": {"valid": [1, 0, 1]}}
    off = compute("verl-agent", "gigpo", [0, 1, 0], [0] * 3, list("aab"), **given, penalty=0.0).original
    on = compute("verl-agent", "gigpo", [0, 1, 0], [0] * 3, list("aab"), **given, penalty=0.3).original
    # The mean of the three scores sinks by 0.1.
    assert (on - off).tolist() == pytest.approx([0.1, -0.2, 0.1], abs=1e-6)


def test_states_that_are_alike():
    given = {"anchors": ["a red door", "a red doos", "the sea"], "scale": "none"}
    rows = ([1, 0, 0], [0] * 3, list("abc"))
    equal, alike = (
        compute("verl-agent", "gigpo", *rows, **given, similarity=bound).original.tolist()
        for bound in (0, 0.9)
    )
    assert equal == pytest.approx([2 / 3, -1 / 3, -1 / 3], abs=1e-6)
    assert alike == pytest.approx([2 / 3 + 0.5, -1 / 3 - 0.5, -1 / 3], abs=1e-6)


def test_turns_of_one_step_of_the_environment_count_once():
    found = compute(
        "drmas",
        "gigpo",
        [1, 1, 0.5, 0],
        [0] * 4,
        list("aaab"),
        anchors=["x", "x", "y", "x"],
        roles={"env_step": [0, 0, 1, 0], "episode": [1, 1, 1, 0]},
        gamma=1.0,
    ).original.tolist()
    # R: 1.5, 1.5 (not 2.5), 0.5, 0; the state x has 1.5, 1.5 and 0.
    assert found == pytest.approx([1.0, 1.0, 0.5, -1.5], abs=1e-6)


def test_the_largest_discounted_reward():
    given = {"how": "max", "gamma": 0.5, "normalise": 0}
    found = compute("verifiers", "stepwise_returns", [1, -4, 3, -2], [0] * 4, list("aaab"), **given)
    assert found.original.tolist() == [1.0, 1.5, 3.0, -2.0]


def test_a_loss_that_is_a_mean_over_rollouts():
    """Over the tokens of the rollout, 3 and 1, and the three rows of the step."""
    given = {"lengths": [2, 1, 1], "like": "agent-lightning@1.0.0", "estimator": "grpo", "scale": "none"}
    found = compute_advantages([1, 1, 0], [0] * 3, rollouts=list("aab"), token_norm=1, **given)
    assert found.original.tolist() == pytest.approx([0.5 / 9, 0.5 / 9, -0.5 / 3])
    rows = compute_advantages([1, 1, 0], [0] * 3, rollouts=list("aab"), token_norm=1, count="rows", **given)
    assert rows.original.tolist() == pytest.approx([1 / 27, 1 / 27, -2 / 9], abs=1e-6)


def test_tasks_of_little_spread_are_left_out():
    given = {"like": "trinity-rft", "estimator": "step_wise_grpo", "std_threshold": 0.1}
    found = compute_advantages([1, 0, 0.5, 0.5, 1], list("ppqqr"), rollouts=list("abcde"), **given)
    assert found.original.isnan().tolist() == [False, False, True, True, True]
    assert found.kept.tolist() == [True, True, False, False, False]


def test_words_that_a_rule_does_not_know():
    with pytest.raises(UsageError, match="method is 'fast'"):
        compute("roll", "gigpo", method="fast")


CASES = [rule for rule in RULES if rule.level == "turn"]


@pytest.mark.parametrize("rule", CASES, ids=lambda rule: rule.name)
def test_rollouts_may_be_interleaved(rule):
    """The rows of each rollout keep their order; the order of the rollouts decides nothing but one slip of HGPO."""
    draw = random.Random(rule.name)
    rewards = [draw.choice([0.0, 0.5, 1.0]) for _ in REWARDS]
    given = {"turns": TURNS, "anchors": ANCHORS, "lengths": [2.0] * 10}
    roles = {"macro": [float(of == "a") for of in ROLLOUTS]} if "macro" in rule.needs else {}
    order = [7, 0, 3, 8, 1, 9, 5, 2, 4, 6]
    found = compute(rule.framework, rule.estimator, rewards, GROUPS, ROLLOUTS, roles=roles, **given)
    mixed = compute(
        rule.framework,
        rule.estimator,
        *([column[row] for row in order] for column in (rewards, GROUPS, ROLLOUTS)),
        roles={role: [values[row] for row in order] for role, values in roles.items()},
        **{name: [column[row] for row in order] for name, column in given.items()},
    )
    if rule.estimator != "hgpo_paper":
        expected = [found.original[row].item() for row in order]
        assert mixed.original.tolist() == pytest.approx(expected, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("rule", CASES, ids=lambda rule: rule.name)
def test_no_rows(rule):
    roles = {"macro": []} if "macro" in rule.needs else {}
    found = compute(rule.framework, rule.estimator, [], [], [], anchors=[], turns=[], lengths=[], roles=roles)
    assert found.original.tolist() == []


def test_what_a_rule_for_turns_needs():
    with pytest.raises(DataError, match="needs the turns of each rollout"):
        compute_advantages([0, 1], [0, 0], like="roll", estimator="step_reinforce")
