"""Every row of the catalog of frameworks fits its function, and the right row is found."""

import inspect
import math

import pytest
import torch
from packaging.specifiers import SpecifierSet
from repeated import over

from advcli import DataError, UsageError, compute_advantages
from advcli.common.registry import load
from advcli.engine.plan import Plan
from advcli.estimators.catalog import SCALES
from advcli.frameworks.absent import ABSENT
from advcli.frameworks.catalog import RULES, find, frameworks, rules_of
from advcli.frameworks.proven import PROVEN
from advcli.frameworks.rule import Unit
from advcli.records.roles import ROLES
from advcli.records.settings import Settings


@over(rule=RULES)
def test_row_fits_its_function(rule):
    parameters = inspect.signature(load(rule.target)).parameters.values()
    assert rule.target.startswith("advcli.frameworks.")
    assert tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY) == rule.needs
    assert set(rule.needs) <= set(ROLES.names())
    known = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    for told in (rule.knobs, *rule.scales.values()):
        assert set(told) <= known
    assert set(rule.scales) <= set(SCALES)
    assert rule.formula
    assert rule.source.endswith(".py")
    assert rule.proof in ("package", "code", "notes")
    SpecifierSet(rule.versions)


def test_versions_of_a_rule_do_not_overlap():
    tried = [f"{major}.{minor}.{patch}" for major in range(5) for minor in range(30) for patch in range(3)]
    for framework in frameworks():
        for estimator in {rule.estimator for rule in rules_of(framework)}:
            rows = [rule for rule in rules_of(framework) if rule.estimator == estimator]
            for version in tried:
                assert sum(SpecifierSet(rule.versions).contains(version) for rule in rows) <= 1


@pytest.mark.parametrize(
    ("like", "estimator", "versions"),
    [
        ("trl", None, ">=1.6"),
        ("TRL@1.6", "GRPO", ">=1.6"),
        ("trl@1.16.0.dev0", "grpo", ">=1.6"),
        ("trl@1.5.1", "grpo", ">=0.22.2,<1.6"),
        ("trl@0.22.1", "grpo", ">=0.22.0,<0.22.2"),
        ("trl@0.21", "grpo", ">=0.16,<0.22.0"),
        ("verl@0.7.1", "grpo_vectorized", ">=0.6,<0.8.0"),
        ("verl@0.8", "grpo_vectorized", ">=0.8.0"),
        ("verl", "rloo_vectorized", ">=0.6"),
        ("verl@0.3.1", "grpo", "<0.4"),
        ("openrlhf@0.8.4", "rloo", "<0.8.5"),
        ("openrlhf@0.11.2", "rloo", ">=0.8.5"),
        ("nemo-rl", "grpo", ">0.7.0"),
        ("nemo-rl@0.7.0", "grpo", ">=0.4,<=0.7.0"),
        ("nemo-rl@0.3.1", "grpo", "<0.4"),
        ("areal@1.0.4", "grpo", ">=0.3.4,<=1.0.4"),
        ("areal@0.3.3", "grpo", "<0.3.4"),
        ("areal", "grpo", ">1.0.4"),
        ("easyr1@0.3.2", "remax", "<=0.3.2"),
        ("easyr1", "gae", "<=0.3.2"),
        ("trl@0.23", "ppo", ">=0.16"),
    ],
)
def test_find(like, estimator, versions):
    assert find(like, estimator).versions == versions


def estimators(framework):
    return ", ".join(dict.fromkeys(rule.estimator for rule in RULES if rule.framework == framework))


@pytest.mark.parametrize(
    ("like", "estimator", "message"),
    [
        ("verll", None, "unknown framework 'verll'; try verl, roll, rllm"),
        ("zzz", None, f"unknown framework 'zzz'; try {', '.join(frameworks())}"),
        ("verl", "vtrace", f"verl has no estimator 'vtrace'; try {estimators('verl')}"),
        ("art", "vtrace", f"art has no estimator 'vtrace'; try {estimators('art')}"),
        ("verl", "gspo", "gspo"),
        (
            "TRL@1.5",
            "MiniLLM",
            (
                "MiniLLM of trl cannot be replayed from a dump: it needs the probabilities that a teacher "
                "gives to the whole vocabulary at each token; "
                f"try {estimators('trl')}"
            ),
        ),
        ("verl@0.3", "gpg", "no rule for gpg of verl 0.3; known: >=0.5; try --estimator grpo, rloo,"),
        ("trl@0.15", None, "no rule for trl 0.15; known: 0.16 to 1.16.0; try --like trl"),
        (
            "trl@0.15",
            "grpo",
            (
                "no rule for grpo of trl 0.15; known: >=1.6, >=0.22.2,<1.6, >=0.22.0,<0.22.2, >=0.16,<0.22.0; "
                "try --like trl"
            ),
        ),
        ("trl@new", None, "'new' is not a version"),
    ],
)
def test_not_found(like, estimator, message):
    with pytest.raises(UsageError) as caught:
        find(like, estimator)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("like", "estimator", "doubt"),
    [
        ("trl", None, None),
        ("trl@1.16.0", None, None),
        ("trl@0.16", "grpo", None),
        (
            "trl@99",
            None,
            "its releases 0.16 to 1.16.0 were compared, not this one; the rule is that of >=1.6",
        ),
        (
            "verl@0.1",
            "grpo",
            "its releases 0.2 to 0.9.1 were compared, not this one; the rule is that of <0.4",
        ),
        ("skyrl@0.2", None, "its release 0.3.0 was compared, not this one"),
        ("slime@0.1", None, "like slime 0.1: code of 2025 and 2026 was compared, not this one"),
        ("openrlhf@0.5", None, "like openrlhf 0.5: it has no group_norm; this is rloo"),
        ("openrlhf@0.5", "rloo", None),
    ],
)
def test_what_is_said_of_a_version_that_was_not_compared(like, estimator, doubt):
    found = compute_advantages(
        [1, 0], [0, 0], like=like, estimator=estimator or "grpo", lengths=[1, 2]
    ).warnings
    assert len(found) == (doubt is not None)
    assert all(doubt in text for text in found)


def test_what_was_compared_lies_within_the_rules():
    assert set(PROVEN) <= set(frameworks())
    for framework, ends in PROVEN.items():
        assert all(find(f"{framework}@{end}").framework == framework for end in ends)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"like": "verl", "compute_new_adv": True}, "fixes the rules, so compute_new_adv cannot be set"),
        ({"like": "verl", "singleton": "zero"}, "fixes the rules, so singleton cannot be set"),
        ({"like": "verl", "missing": "zero"}, "fixes the rules, so missing cannot be set"),
        ({"like": "verl", "eps": 1.0}, "fixes the rules, so eps cannot be set"),
        ({"like": "verl", "scale": "batch"}, "verl's grpo has no scale 'batch'; it has group, none"),
        ({"like": "verl", "estimator": "rloo", "scale": "group"}, "it has none to choose"),
    ],
)
def test_what_a_framework_fixes_cannot_be_set(settings, message):
    with pytest.raises(UsageError) as caught:
        compute_advantages([0, 1], [0, 0], **settings)
    assert message in str(caught.value)


def test_keep_ratios_work_on_a_frameworks_advantages():
    found = compute_advantages([1, 0, 0, 0], [0] * 4, like="art", scale="none", keep_neg=0.0)
    assert found.processed.tolist() == [0.75, 0, 0, 0]
    assert found.kept.tolist() == [True, False, False, False]


def test_a_scale_of_a_rule_whose_form_per_token_has_none():
    # The KL of each token needs no scale; the advantage per row has one to name.
    plan = Plan.of(Settings(like="openrlhf", estimator="group_norm", scale="group"))
    assert plan.entry.default_scale == "group"
    columns = {"token_kl": torch.zeros(1), "group": torch.zeros(1, dtype=torch.int64)}
    assert plan.at(columns).entry.level == "token"


def test_what_is_absent_is_of_a_known_framework_and_has_no_row():
    rows = {(rule.framework, rule.estimator) for rule in RULES}
    assert not rows & set(ABSENT)
    assert {framework for framework, _ in ABSENT} <= set(frameworks())


@over(rule=[r for r in RULES if r.level == "row"])
def test_what_a_row_says_of_groups_of_one_is_what_it_does(rule):
    """Two groups of one, and one of two; at the default scale, with rewards that no mean is equal to."""
    given = {"lengths": [3, 1, 2, 2], "baselines": [0.1] * 4, "weights": [1.0]}
    like = f"{rule.framework}@{version_of(rule)}"
    if rule.alone == "refused":
        with pytest.raises(DataError) as caught:
            compute_advantages([0.7, 0.2, 1, 0], [0, 1, 2, 2], like=like, estimator=rule.estimator, **given)
        assert str(caught.value) == (
            "a group has one row, which this trainer rejects; try --singleton null without --like, or other groups"
        )
        return
    # Groups of one only where the uneven ones are cut by position.
    rewards, groups = ([0.7, 0.2], [0, 1]) if rule.ragged != "key" else ([0.7, 0.2, 1, 0], [0, 1, 2, 2])
    given = {name: values[: len(rewards)] for name, values in given.items()}
    found = (
        compute_advantages(rewards, groups, like=like, estimator=rule.estimator, **given).original[0].item()
    )
    whitened = rule.target.endswith(("whitened", "by_tokens", "one_pass_parts", ":decoupled"))
    if rule.alone == "NaN":
        assert math.isnan(found)
    elif whitened or rule.alone.startswith("like "):
        assert math.isfinite(found)
    else:
        alpha = 4 / 3 if rule.estimator == "gpg" else 1
        scale = {"0": 0, "r": alpha, "r / (1 + eps)": 1}[rule.alone]
        exact = rule.knobs.get("dtype") != "bfloat16"
        assert found == pytest.approx(scale * 0.7, abs=0 if not scale else 1e-6 if exact else 3e-3)


def version_of(rule):
    tried = (f"{a}.{b}.{c}" for a in range(5) for b in range(30) for c in range(6))
    return next(version for version in tried if SpecifierSet(rule.versions).contains(version))


NAN = {
    ("verl", "gae"): "all",
    ("verl@0.4.1", "gae"): "all",
    ("verl@0.8", "reinforce_plus_plus"): "all",
    ("skyrl", "reinforce++"): "all",
    ("openrlhf", "gae"): "all",
    ("openrlhf", "reinforce"): "all",
    ("twinkle", "gae"): "all",
    ("verl", "remax"): "row",
    ("verl", "optimal_token_baseline"): "group",
}


@pytest.mark.parametrize(("like", "estimator"), NAN)
def test_a_row_without_a_reward_spoils_as_much_as_in_the_framework(like, estimator):
    # A plain loop over NaN: a mean over tokens has it everywhere, a baseline of the group in the group, else the row.
    lengths = [2, 3, 2, 2]
    ones = [[0.5] * n for n in lengths]
    found = compute_advantages(
        [1.0, math.nan, 0.0, 1.0],
        list("aabb"),
        like=like,
        estimator=estimator,
        lengths=lengths,
        mask=[[1] * n for n in lengths],
        baselines=[0.5] * 4,
        values=ones,
        log_probs=[[-0.5] * n for n in lengths],
        sum_pi_squared=ones,
        kl=[[0.0] * n for n in lengths],
    )
    spoilt = {"all": [0, 1, 2, 3], "group": [0, 1], "row": [1]}[NAN[like, estimator]]
    assert torch.nonzero(found.original.isnan()).flatten().tolist() == spoilt
    what = {"all": "its batch", "group": "its group"}.get(NAN[like, estimator])
    said = [text for text in found.warnings if "no advantage" in text]
    assert [f"makes {what} NaN" in text for text in said] == [True] * (what is not None)


@pytest.mark.parametrize(
    ("unit", "counted", "given"),
    [
        (Unit(), "rollouts, by the reward of its last turn", "that of the rollout"),
        (Unit(reward="sum"), "rollouts, by the reward of the sum of its turns", "that of the rollout"),
        (
            Unit(at_last=True),
            "rollouts, by the reward of its last turn",
            "that of the rollout; 0 where the last has no token",
        ),
        (
            Unit(by_turn=False, differ=0.0),
            "rollouts, by the reward of its last row in the file",
            "that of the rollout; rows that differ in their reward are refused",
        ),
        (Unit("rows"), "rows", "their own"),
        (Unit("refused"), "rollouts of several rows are refused", "–"),
    ],
)
def test_what_is_said_of_rollouts(unit, counted, given):
    assert (unit.counted, unit.given) == (counted, given)


@pytest.mark.parametrize(
    ("like", "arithmetic", "grouping", "without_reward", "spoils"),
    [
        ("verl", "float32", "by key", "its group is NaN", "its group"),
        ("trl", "float32", "by position", "left out, 0", ""),
    ],
)
def test_what_is_said_of_a_rule(like, arithmetic, grouping, without_reward, spoils):
    rule = find(like)
    assert (rule.arithmetic, rule.grouping) == (arithmetic, grouping)
    assert (rule.without_reward, rule.spoils) == (without_reward, spoils)
    assert find("verl").as_in_the_run is None


@pytest.mark.parametrize(
    ("like", "estimator", "alone", "without_reward"),
    [
        # A critic compares no rows; where its advantages are whitened, all of the batch share a mean.
        ("verl", "gae", "like any row", "its batch is NaN"),
        ("skyrl", "gae", "like any row", "its batch is NaN"),
        ("slime", "ppo", "like any row", "NaN"),
        ("areal", "ppo", "like any row", "NaN"),
        ("roll", "gae", "like any row", "NaN"),
        # The baseline is 0 on the stretch where one row of the group is left.
        ("verl", "optimal_token_baseline", "r", "its group is NaN"),
    ],
)
def test_what_is_said_of_rules_for_tokens(like, estimator, alone, without_reward):
    rule = find(like, estimator)
    assert (rule.alone, rule.without_reward) == (alone, without_reward)
    ones = [[0.5]] * 6
    given = {"values": ones, "log_probs": ones, "sum_pi_squared": ones, "lengths": [1] * 6}
    # Steps of four and two rows; the last two have no others in their groups.
    given |= {"steps": [0, 0, 0, 0, 1, 1], "like": like, "estimator": estimator}
    found = compute_advantages([1.0, math.nan, 0, 1, 0.25, 0.75], list("aabbcd"), **given).original
    spoilt = {"NaN": [1], "its group is NaN": [0, 1], "its batch is NaN": [0, 1, 2, 3]}[without_reward]
    assert torch.nonzero(found.isnan()).flatten().tolist() == spoilt
    assert (found[4:].tolist() == [0.25, 0.75]) == (alone == "r")
