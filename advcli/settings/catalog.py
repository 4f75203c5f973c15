"""The configuration keys of trainers that concern advantages. Nothing heavy is imported here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from advcli.common.registry import Registry


@dataclass(frozen=True)
class ConfigKey:
    """A key of a trainer's configuration that advcli follows.

    Attributes:
        name: the end of the dotted path; "keep_pos_ratio" also matches "algorithm.keep_pos_ratio".
        setting: the setting of advcli that it sets.
        values: translations of values; other values are used unchanged.
        only_for: the estimators that the key applies to, () for all; it is ignored with others.
        source: the trainers that have the key.
    """

    name: str
    setting: str
    values: Mapping[Any, Any] = field(default_factory=dict)
    only_for: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True)
class Unreplayable:
    """A setting that changed the advantages of the run and can't be recovered from a dump.

    Attributes:
        name: the end of the dotted path of the key that enables it.
        unless: values, in addition to null, with which it has no effect.
        why: its effect.
        also: another key and the value that it must also have.
    """

    name: str
    why: str
    unless: tuple[Any, ...] = (False, 0)
    also: tuple[str, Any] | None = None


_STD = MappingProxyType({True: "group", False: "none"})

CONFIG_KEYS: Registry[ConfigKey] = Registry(
    "configuration key",
    [
        ConfigKey("adv_estimator", "estimator", source="verl, EasyR1"),
        ConfigKey("keep_pos_ratio", "keep_pos", source="EasyR1 forks"),
        ConfigKey("keep_neg_ratio", "keep_neg", source="EasyR1 forks"),
        ConfigKey("compute_new_adv", "compute_new_adv", source="EasyR1 forks"),
        ConfigKey("norm_adv_by_std_in_grpo", "scale", values=_STD, only_for=("grpo",), source="verl"),
        ConfigKey("algorithm.gamma", "gamma", only_for=("gae", "reinforce_plus_plus"), source="verl"),
        ConfigKey("algorithm.lam", "lam", only_for=("gae",), source="verl"),
        ConfigKey("worker.rollout.n", "n", source="EasyR1"),
        ConfigKey("actor_rollout_ref.rollout.n", "n", source="verl"),
        ConfigKey("num_generations", "n", source="TRL, ms-swift, twinkle"),
        ConfigKey("scale_rewards", "scale", values=_STD, only_for=("grpo",), source="TRL, ms-swift"),
        ConfigKey("reward_weights", "weights", source="TRL, ms-swift"),
    ],
)

UNREPLAYABLE: Registry[Unreplayable] = Registry(
    "configuration key",
    [
        Unreplayable("use_kl_in_reward", "the reward was reduced by a KL term that is not in the dump"),
        Unreplayable(
            "algorithm.use_kl_loss",
            "with KL neither disabled nor in the loss, the reward was reduced by a KL term that is not in the dump",
            unless=(True,),
            also=("algorithm.disable_kl", False),
        ),
        Unreplayable("algo.kl.init_coef", "the advantage was reduced by a KL term that is not in the dump"),
        Unreplayable("filter_groups.enable", "groups were dropped before training"),
        Unreplayable("online_filtering", "groups were dropped before training"),
        Unreplayable(
            "overlong_buffer_cfg.enable", "the score in the dump may lack the penalty for overlong rows"
        ),
        Unreplayable("reward_clip_range", "rewards or advantages were clipped"),
        Unreplayable("reward.clip_range", "advantages were clipped"),
        Unreplayable("normalize_advantages", "advantages were normalised over the batch"),
        Unreplayable(
            "multi_objective_aggregation",
            "each reward was normalised before the sum",
            unless=("sum_then_normalize",),
        ),
        Unreplayable("rollout_correction.rollout_rs", "rows were rejected before advantages were computed"),
        Unreplayable("use_pf_ppo", "rows were drawn again after advantages were computed"),
    ],
)


@dataclass(frozen=True)
class Preset:
    """A named set of settings."""

    name: str
    settings: Mapping[str, Any]


PRESETS: Registry[Preset] = Registry(
    "preset",
    [
        Preset("conservative", MappingProxyType({"keep_pos": 0.8, "keep_neg": 0.7, "compute_new_adv": True})),
        Preset("aggressive", MappingProxyType({"keep_pos": 0.5, "keep_neg": 0.3, "compute_new_adv": True})),
    ],
)
