"""The tables of configuration keys and presets: every row does what it says."""

from dataclasses import fields

import pytest

from advcli.common.registry import knobs
from advcli.estimators.catalog import ESTIMATORS
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions
from advcli.settings import config
from advcli.settings.catalog import CONFIG_KEYS, PRESETS, UNREPLAYABLE

SETTINGS = {field.name for field in fields(Settings)}


def test_every_key_sets_something_that_exists():
    columns = {field.name for field in fields(ColumnOptions)}
    discounts = set(knobs(ESTIMATORS["gae"].target))
    assert {row.setting for row in CONFIG_KEYS} <= SETTINGS | columns | discounts
    assert all(row.source for row in CONFIG_KEYS)


@pytest.mark.parametrize(
    ("key", "value", "setting", "told"),
    [
        ("algorithm.adv_estimator", "rloo", "estimator", "rloo"),
        ("algorithm.keep_pos_ratio", 0.7, "keep_pos", 0.7),
        ("algorithm.keep_neg_ratio", 0.5, "keep_neg", 0.5),
        ("algorithm.compute_new_adv", True, "compute_new_adv", True),
        ("algorithm.norm_adv_by_std_in_grpo", True, "scale", "group"),
        ("algorithm.norm_adv_by_std_in_grpo", False, "scale", "none"),
        ("worker.rollout.n", 5, "n", 5),
        ("actor_rollout_ref.rollout.n", 8, "n", 8),
        ("num_generations", 4, "n", 4),
        ("rl.num_generations", 8, "n", 8),
        ("scale_rewards", "group", "scale", "group"),
        ("scale_rewards", "batch", "scale", "batch"),
        ("scale_rewards", "none", "scale", "none"),
        ("scale_rewards", True, "scale", "group"),
        ("scale_rewards", False, "scale", "none"),
        ("scale_rewards", "False", "scale", "none"),
        ("reward_weights", [1.0, 0.5], "weights", [1.0, 0.5]),
        ("algorithm.gamma", 0.99, "gamma", 0.99),
        ("algorithm.lam", 0.95, "lam", 0.95),
    ],
)
def test_key(key, value, setting, told):
    found, _, warnings = config.settings({key: value}, "c.yaml")
    assert found == {setting: told}
    assert type(found[setting]) is type(told)
    assert warnings == []


def test_every_key_is_tried_above():
    tried = {mark.args[1][i][0] for mark in test_key.pytestmark for i in range(len(mark.args[1]))}
    assert {row.name for row in CONFIG_KEYS if not any(key.endswith(row.name) for key in tried)} == set()


@pytest.mark.parametrize(
    "key",
    [
        "actor_rollout_ref.rollout.val_kwargs.n",
        "worker.rollout.val_override_config.n",
        "num_generations_eval",
        "max_num_generations",
        "algorithm.no_keep_pos_ratio",
        "n",
        "learning_rate",
        "actor_rollout_ref.actor.use_kl_loss",
        "beta",
        "loss_type",
    ],
)
def test_other_keys_are_ignored(key):
    assert config.settings({key: 3}, "c.yaml") == ({}, {}, [])
    assert config.unreplayable({key: 3}, "c.yaml") == []


@pytest.mark.parametrize(
    ("key", "active", "idle"),
    [
        ("algorithm.use_kl_in_reward", True, (False, None)),
        ("algo.kl.init_coef", 0.001, (0, 0.0, None)),
        ("algorithm.filter_groups.enable", True, (False, None)),
        ("algorithm.online_filtering", True, (False,)),
        ("reward_model.reward_kwargs.overlong_buffer_cfg.enable", True, (False,)),
        ("reward_clip_range", [-10, 10], (None,)),
        ("reward.clip_range", [-10, 10], (None,)),
        ("normalize_advantages", True, (False,)),
        ("multi_objective_aggregation", "normalize_then_sum", ("sum_then_normalize",)),
        ("algorithm.rollout_correction.rollout_rs", "token", (None,)),
        ("algorithm.use_pf_ppo", True, (False,)),
    ],
)
def test_what_cannot_be_replayed_is_named(key, active, idle):
    (warning,) = config.unreplayable({key: active}, "c.yaml")
    assert config.settings({key: active}, "c.yaml") == ({}, {}, [])
    assert warning.startswith(f"c.yaml: {key} is {active!r}: ")
    (row,) = (row for row in UNREPLAYABLE if key.endswith(row.name))
    assert warning.endswith(row.why)
    for value in idle:
        assert config.unreplayable({key: value}, "c.yaml") == []


@pytest.mark.parametrize(
    ("disable", "in_loss", "warns"), [(False, False, True), (False, True, False), (True, False, False)]
)
def test_easyr1_puts_kl_into_the_reward_unless_told_otherwise(disable, in_loss, warns):
    flat = {"algorithm.disable_kl": disable, "algorithm.use_kl_loss": in_loss}
    warnings = config.unreplayable(flat, "c.yaml")
    assert [text.partition(" is ")[0] for text in warnings] == ["c.yaml: algorithm.use_kl_loss"] * warns


def test_presets_are_those_of_the_contract():
    assert {row.name: dict(row.settings) for row in PRESETS} == {
        "conservative": {"keep_pos": 0.8, "keep_neg": 0.7, "compute_new_adv": True},
        "aggressive": {"keep_pos": 0.5, "keep_neg": 0.3, "compute_new_adv": True},
    }
    assert all(row.settings.keys() <= SETTINGS for row in PRESETS)
    with pytest.raises(TypeError):
        PRESETS["aggressive"].settings["keep_pos"] = 1
