"""How a golden case is called: which rule, which columns, which knobs. Tables only; a new framework is a new row."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from advcli import compute_advantages
from advcli.frameworks.catalog import find

from . import golden_rules
from .golden_shaping import SHAPED
from .golden_turns import UNDER_OTHER_NAMES, turned

# The golden files' name of a framework → ours.
FRAMEWORKS = {"agentlightning": "agent-lightning"}

# Argument of compute_advantages → the columns that it is read from, best first.
COLUMNS = {
    "rewards": ("reward", "rewards", "episode_reward"),
    "groups": ("group", "prompt", "prompt_id"),
    "rollouts": ("rollout",),
    "turns": ("turn",),
    "lengths": ("length", "lengths", "tokens"),
    "baselines": ("greedy_reward", "baseline"),
    "values": ("values",),
    "mask": ("mask",),
    "log_probs": ("log_probs", "logprobs"),
    "kl": ("kl",),
    "steps": ("training_step",),
}


def _scale(value: Any) -> dict[str, Any]:
    return {"scale": value if isinstance(value, str) else "group" if value else "none"}


def _count(value: Any) -> dict[str, Any]:
    return {"count": "rollouts" if value else "rows"}


# The name of a setting in a golden file → arguments of compute_advantages. What is not here is passed on as it is where
# the rule has a knob of that name.
SETTINGS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "norm_adv_by_std_in_grpo": _scale,
    "grpo_norm_by_std": _scale,
    "grpo_std_normalization": _scale,
    "divide_advantage_by_std": _scale,
    "scale_rewards": _scale,
    "std_cal_level": _scale,
    "enable_rollout_level_advantage": _count,
    "episode_ids": _count,
    "compute_mean_std_cross_steps": lambda value: _count(not value),
    "enable_step_norm": lambda value: {"step_norm": float(value)},
    "normalize_by_steps": lambda value: {"step_norm": float(value)},
}


@dataclass(frozen=True)
class How:
    """What is special about the cases of a framework's estimator.

    Attributes:
        like: FRAMEWORK[@VERSION] and the estimator in our catalog, where they have other names; "" for the same name.
        estimator: the same.
        columns: argument → column, where it is another one than usual.
        groups: the group of a row, where no column has it.
        given: further arguments.
    """

    like: str = ""
    estimator: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    groups: Callable[[Mapping[str, Any], Mapping[str, Any]], Any] | None = None
    given: Mapping[str, Any] = field(default_factory=dict)


def _by_agent(row: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    """Agents of `episode_agents` are compared within their episode, all others within the group."""
    within = row.get("agent") in settings.get("episode_agents", ())
    return (row["agent"], row["episode"] if within else row["group"])


HOW: Mapping[tuple[str, str], How] = {
    ("prime-rl", "hierarchical_grpo"): How(groups=_by_agent),
    ("roll", "grpo"): How(estimator="agentic_grpo", columns={"rewards": "step_score"}),
    ("rllm", "grpo on agent_workflow_trainer over verl 0.9.1"): How(estimator="verl_grpo"),
    **{
        (framework, named.format(estimator)): How(estimator=estimator)
        for (framework, named), estimators in UNDER_OTHER_NAMES.items()
        for estimator in estimators
    },
}


@dataclass(frozen=True)
class Call:
    """One call of `compute_advantages`.

    Attributes:
        rewards: of every row.
        groups: of every row.
        given: the other arguments.
        rows: positions of the rows that are passed on; the others are no rows to the trainer.
    """

    rewards: Sequence[Any]
    groups: Sequence[Any]
    given: Mapping[str, Any]
    rows: Sequence[int]

    def run(self) -> dict[str, list[Any]]:
        """Compute: a list per name, with null for the rows that were left out."""
        columns = {*COLUMNS, "anchors", "token_rewards"}
        narrowed = {
            name: [value[row] for row in self.rows] for name, value in self.given.items() if name in columns
        }
        fixed = {name: value for name, value in self.given.items() if name not in columns}
        if roles := fixed.get("roles"):
            fixed["roles"] = {role: [value[row] for row in self.rows] for role, value in roles.items()}
        rewards, groups = ([column[row] for row in self.rows] for column in (self.rewards, self.groups))
        found = compute_advantages(rewards, groups, **narrowed, **fixed)
        out = {name: getattr(found, name).tolist() for name in ("original", "processed", "kept")}
        if found.returns is not None:
            out["returns"] = [part.tolist() for part in found.returns.split(found.token_counts.tolist())]
        if found.tokens is not None:
            tokens = found.tokens.split(found.token_counts.tolist())
            out["original"] = out["advantages"] = [part.tolist() for part in tokens]
        return {name: self._widened(column) for name, column in out.items()}

    def _widened(self, column: Sequence[Any]) -> list[Any]:
        full: list[Any] = [None] * len(self.rewards)
        for row, value in zip(self.rows, column, strict=True):
            full[row] = value
        return full


def call_of(
    framework: str,
    version: str,
    estimator: str,
    settings: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> Call:
    """The call of a case.

    Raises:
        UsageError: no such framework or estimator.
        KeyError: the rows lack a reward.
    """
    turn = turned(framework, version, estimator)
    if turn is not None:
        order = (
            sorted(range(len(rows)), key=lambda row: rows[row]["rollout"]) if turn.by_id else range(len(rows))
        )
        return Call(*turn.call(framework, settings, rows), order)
    if (framework, estimator) in SHAPED:
        shaped = SHAPED[framework, estimator](settings, rows)
        return Call(shaped.pop("rewards"), shaped.pop("groups"), shaped, range(len(rows)))
    trainer = f"{estimator} on {settings.get('trainer')}"
    how = HOW.get((framework, trainer)) or HOW.get((framework, estimator)) or How()
    special = golden_rules.settings_of(framework, settings)
    given: dict[str, Any] = {"estimator": special.pop("estimator", "") or how.estimator or estimator}
    if framework:
        given["like"] = how.like or _like(FRAMEWORKS.get(framework, framework), version)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {
        argument: next((name for name in known if name in names), None) for argument, known in COLUMNS.items()
    }
    columns |= {argument: name for argument, name in how.columns.items() if name in names}
    # What is special does not go with every estimator of the framework.
    given |= _settings(given, settings)
    given |= _fitting(given, special)
    parameters = inspect.signature(compute_advantages).parameters
    given |= {
        argument: [row.get(name) for row in rows]
        for argument, name in columns.items()
        if name and argument in parameters and argument not in ("rewards", "groups")
    }
    given |= golden_rules.columns_of(framework, settings, rows)
    reward, group = columns["rewards"], columns["groups"]
    if reward is None:
        raise KeyError("the rows have no reward")
    groups = [how.groups(row, settings) if how.groups else row.get(group) if group else 0 for row in rows]
    given |= how.given
    # A rollout that failed is no row to the trainer.
    there = [at for at, row in enumerate(rows) if row.get("ok", True) is not False]
    return Call([row.get(reward) for row in rows], groups, given, there)


def _fitting(call: Mapping[str, Any], special: Mapping[str, Any]) -> dict[str, Any]:
    """The special arguments that the rule takes."""
    if "like" not in call:
        return {}
    scales, able = {None, *find(call["like"], call["estimator"]).scales}, {"shaping", *_options(call)}
    return {name: value for name, value in special.items() if name in able or value in scales}


def _options(call: Mapping[str, Any]) -> set[str]:
    """The options of the rule that is called, and of its form with an advantage per token."""
    rule = find(call["like"], call["estimator"])
    return {*rule.options, *(rule.per_token.options if rule.per_token else ())}


def _like(framework: str, version: str) -> str:
    """The framework, with its version where that is a release."""
    return f"{framework}@{version}" if re.fullmatch(r"\d+(\.\d+)+", version) else framework


def _settings(call: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for the settings of a case."""
    given: dict[str, Any] = {}
    parameters = inspect.signature(compute_advantages).parameters
    options = _options(call) if "like" in call else {}
    for name, value in settings.items():
        if name in SETTINGS:
            given |= SETTINGS[name](value)
        elif name in options and value is not None:
            given[name] = value if isinstance(value, str) else float(value)
        elif name in parameters and name not in ("rewards", "groups", "estimator", "like"):
            given[name] = value
    return {
        name: value
        for name, value in given.items()
        if name in parameters or name in options or name == "scale"
    }
