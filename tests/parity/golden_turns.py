"""How golden cases of turn rules are called: tables from their settings and columns to arguments of `compute_advantages`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Rows = Sequence[Mapping[str, Any]]
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Turned:
    """How the cases of one rule are called.

    Attributes:
        estimator: its name in our catalog.
        settings: setting → knob of the rule, or what makes arguments of the setting's value.
        reward: the column of the reward, the first that is there.
        roles: role → column, the first that is there.
        given: further arguments, from the settings and rows.
        like: the framework, where it has another name or a version.
        groups: the group of a row, where it is not its prompt.
        by_id: whether rollouts are gone through in the order of their ids.
    """

    estimator: str
    settings: Mapping[str, str | Callable[[Any], dict[str, Any]]] = field(default_factory=dict)
    reward: tuple[str, ...] = ("reward",)
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    given: Callable[[Settings, Rows], dict[str, Any]] = lambda settings, rows: {}
    like: str = ""
    groups: Callable[[Settings, Mapping[str, Any]], Any] | None = None
    by_id: bool = False

    def call(
        self, framework: str, settings: Settings, rows: Rows
    ) -> tuple[list[Any], list[Any], dict[str, Any]]:
        """The rewards, the groups and the other arguments of `compute_advantages`."""
        found: dict[str, Any] = {"estimator": self.estimator, "like": self.like or framework}
        for name, value in settings.items():
            way = self.settings.get(name)
            if isinstance(way, str):
                found[way] = value if isinstance(value, str) else float(value or 0)
            elif way is not None:
                found |= way(value)
        columns = {name: column(rows, names) for name, names in _COLUMNS.items()}
        found |= {name: values for name, values in columns.items() if values is not None}
        roles = {role: column(rows, names) for role, names in self.roles.items()}
        more = self.given(settings, rows)
        rewards = more.pop("rewards", None) or column(rows, self.reward)
        roles["agent"] = more.pop("agents", None)
        found["roles"] = {role: values for role, values in roles.items() if values is not None}
        groups = column(rows, ("prompt", "group")) or [0] * len(rows)
        if self.groups:
            groups = [self.groups(settings, row) for row in rows]
        return rewards, groups, found | more


# Argument → the column that has it.
_COLUMNS = {
    "rollouts": ("rollout",),
    "turns": ("turn",),
    "anchors": ("anchor", "state_hash"),
    "lengths": ("tokens",),
    "values": ("values",),
    "mask": ("mask",),
}


def column(rows: Rows, names: Sequence[str]) -> list[Any] | None:
    """The first of some columns that any row has; None where none is there."""
    name = next((name for name in names if any(name in row for row in rows)), None)
    return None if name is None else [row.get(name) for row in rows]


def _scale(value: Any) -> dict[str, Any]:
    return {"scale": "group" if value in ("mean_std_norm", "std", True) else "none"}


def _by_length(value: Any) -> dict[str, Any]:
    shares = {"num_output_tokens_weight": "output_weight", "num_input_tokens_weight": "input_weight"}
    shares["num_turns_weight"] = "turns_weight"
    # What a configuration with the penalty leaves out has its default there.
    usual = {"output_weight": 0.25, "input_weight": 0.1, "turns_weight": 0.1}
    return {} if value is None else usual | {shares[name]: float(share) for name, share in value.items()}


def _grouping(value: Any) -> dict[str, Any]:
    return {"grouping": "batch" if value == "batch" else "group"}


def _method(settings: Settings, rows: Rows) -> dict[str, Any]:
    """The older word for the two types of normalisation, where only those are set."""
    if "method" in settings or "norm_mean_type" not in settings:
        return {}
    return {"method": "mean_std" if settings.get("norm_std_type") else "mean"}


def _totals(settings: Settings, rows: Rows) -> dict[str, Any]:
    """Without rewards of steps each row has the reward of its run, which counts once."""
    return (
        {} if any("step_reward" in row for row in rows) or "anchor" in rows[0] else {"rollout_reward": "last"}
    )


def _as_lightning(settings: Settings, rows: Rows) -> dict[str, Any]:
    return {"token_norm": float(settings.get("loss_mode") == "per_rollout_mean")}


_ROLL: Mapping[str, str | Callable[[Any], dict[str, Any]]] = {
    "step_reward_gamma": "gamma",
    "gamma": "gamma",
    "grouping": _grouping,
    "method": "method",
    "episode_reward_weight": "episode_weight",
    "step_reward_weight": "weight",
    "reward_clip": "clip",
}
_GIGPO: Mapping[str, str | Callable[[Any], dict[str, Any]]] = {
    "gamma": "gamma",
    "step_advantage_w": "weight",
    "mode": _scale,
    "invalid_action_penalty_coef": "penalty",
    "compute_mean_std_cross_steps": lambda value: {"count": "rows" if value else "rollouts"},
    "group_by_agent_id": lambda value: {"count": "rows" if value else "rollouts"},
    "similarity_thresh": "similarity",
}
_HGPO: Mapping[str, str | Callable[[Any], dict[str, Any]]] = {
    "gamma": "gamma",
    "history_length": "history",
    "mode": _scale,
    "length_weight_alpha": "alpha",
    "base_group": "base",
}
_EPISODE = {"episode": ("episode_reward", "final_reward")}
_STEP = ("step_reward", "step_score", "reward")


def _verl_agent(settings: Settings, rows: Rows) -> dict[str, Any]:
    """What is off is off whatever its threshold, and the penalty of a case that names none is none."""
    found: dict[str, Any] = {} if settings.get("enable_similarity") else {"similarity": 0.0}
    if settings.get("enable_similarity") and "similarity_thresh" not in settings:
        found["similarity"] = 0.95
    if "invalid_action_penalty_coef" not in settings:
        found["penalty"] = 0.0
    return found


def _of_steps(settings: Settings, rows: Rows) -> dict[str, Any]:
    return {"count": "rows"} if settings.get("mode") == "per_step" else {}


def _steps(settings: Settings, row: Mapping[str, Any]) -> Any:
    """Step is compared with step where each has its own advantage."""
    return (row["prompt"], row["turn"]) if settings.get("mode") == "per_step" else row["prompt"]


def _by_agent(settings: Settings, rows: Rows) -> dict[str, Any]:
    return {"agents": column(rows, ("agent",))} if settings.get("group_by_agent_id") else {}


def _unscored(settings: Settings, rows: Rows) -> dict[str, Any]:
    """A rollout without scores, whatever stands in its rows."""
    scores = column(rows, ("turn_score",)) or []
    return {
        "rewards": [None if row.get("unscored") else score for row, score in zip(rows, scores, strict=True)]
    }


def _parts(settings: Settings, rows: Rows) -> dict[str, Any]:
    names = ("turn_reward", "outcome_reward", "combined_reward")
    return {"rewards": [[row[name] for name in names] for row in rows], "weights": [1.0, 1.0, 1.0]}


def _per_token(settings: Settings, rows: Rows) -> dict[str, Any]:
    lists = [row["token_rewards"] for row in rows]
    return {"rewards": [sum(one) for one in lists], "token_rewards": lists}


TURNS: Mapping[tuple[str, str], Turned] = {
    ("verl-agent", "gigpo"): Turned(
        "gigpo",
        _GIGPO,
        ("step_reward", "reward"),
        {"episode": ("episode_reward", "reward"), "valid": ("is_action_valid",)},
        _verl_agent,
    ),
    ("verl-agent", "step_discounted_returns"): Turned("step_discounted_returns", {"gamma": "gamma"}),
    ("drmas", "gigpo"): Turned(
        "gigpo",
        _GIGPO,
        roles={**_EPISODE, "env_step": ("env_step",), "valid": ("is_action_valid",)},
        given=_by_agent,
    ),
    ("trinity-rft", "gigpo"): Turned(
        "gigpo",
        {"omega": "weight", "gamma": "gamma", "fnorm": _scale},
        ("step_reward", "reward"),
        {},
        _totals,
    ),
    ("trinity-rft", "step_wise_grpo"): Turned(
        "step_wise_grpo",
        {
            "enable_step_norm": "step_norm",
            "std_cal_level": lambda value: {"scale": value},
            "std_threshold": lambda value: {"std_threshold": -1.0 if value is None else float(value)},
        },
    ),
    ("roll", "gigpo"): Turned("gigpo", _ROLL, _STEP, {"episode": ("episode_reward", "reward")}, _method),
    ("roll", "step_reinforce"): Turned("step_reinforce", _ROLL, _STEP, {}, _method),
    ("pipelinerl", "loo_per_step"): Turned("loo_per_step", {"divide_advantage_by_std": _scale}),
    ("prime-rl", "turn_credit"): Turned(
        "turn_credit",
        {"gamma": "gamma", "beta": "beta", "length_penalty": _by_length},
        ("turn_score",),
        {"episode": ("final_reward",), "input_tokens": ("env_tokens",)},
        _unscored,
    ),
    ("atropos", "mt_grpo"): Turned("mt_grpo", {"turn_level_advantage_lambda": "weight"}, roles=_EPISODE),
    ("multi-turn-rl-agent", "mt_grpo"): Turned(
        "mt_grpo", {"turn_advantage_coef": "weight"}, roles={"segment": ("result_segment",)}, given=_parts
    ),
    ("verifiers", "stepwise_returns"): Turned(
        "stepwise_returns",
        {"stepwise_gamma": "gamma", "stepwise_aggregation": "how"},
        given=lambda settings, rows: {"normalise": 0.0},
    ),
    ("verifiers", "step_reward"): Turned("step_reward", {"gamma": "gamma"}),
    ("areal", "turn_discount"): Turned("turn_discount", {"turn_discount": "gamma"}),
    ("areal", "reward_norm group/group"): Turned("grpo"),
    ("nemo-rl", "turn_level_credit"): Turned(
        "turn_level_credit",
        {
            "environment_mode": "how",
            "discount": "gamma",
            "macro_weight": "macro_weight",
            "turn_weight": "weight",
        },
        roles={"macro": ("macro_advantage",)},
    ),
    ("nemo-rl", "gae"): Turned(
        "gae",
        {
            "gae_lambda": "lam",
            "gae_gamma": "gamma",
            "normalize_advantages": "whiten",
            "gae_lambda_value": lambda value: {} if value is None else {"lam_value": value},
            "gae_lambda_policy": lambda value: {} if value is None else {"lam_policy": value},
            "length_adaptive_alpha": "alpha",
        },
    ),
    ("ragen", "bi_level_gae"): Turned(
        "bi_level_gae", {"gamma": "gamma", "lam": "lam", "high_level_gamma": "high_gamma"}, given=_per_token
    ),
    ("rllm", "stepwise_broadcast"): Turned(
        "verl_grpo", {"normalize_by_steps": "step_norm"}, given=_of_steps, groups=_steps
    ),
    ("rlinf", "grpo_dynamic"): Turned("grpo_dynamic", {"advantage_mode": "by"}),
    ("agent-lightning", "rollout_level_advantage"): Turned(
        "grpo",
        {"enable_rollout_level_advantage": lambda value: {"count": "rollouts" if value else "rows"}},
        given=_as_lightning,
        like="agent-lightning@1.0.0",
    ),
}
# What is said of a rule where its unit is what a case is about.
UNDER_OTHER_NAMES = {
    ("skyrl", "step_wise_{}"): ("grpo", "rloo", "maxrl"),
    ("labs-molt", "merge_rollouts_{}"): ("grpo", "dr_grpo", "rloo"),
    ("xtuner", "{}_by_session"): ("grpo", "rloo"),
    ("miles", "{}_by_rollout"): ("grpo", "reinforce_plus_plus_baseline"),
}
HGPO = {"paper repository": "hgpo_paper", "recipe of ADRS": "hgpo", "recipe of SERL": "hgpo_nonzero"}


def turned(framework: str, version: str, estimator: str) -> Turned | None:
    """How the cases of a rule are called; None for a rule that is none of turns."""
    if framework == "hgpo":
        name = next(ours for theirs, ours in HGPO.items() if version.startswith(theirs))
        return Turned(name, _HGPO, roles=_EPISODE, by_id=name == "hgpo_paper")
    return TURNS.get((framework, estimator))
