"""How a golden case about shaping is called: its settings as knobs of our shapers. Tables only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Settings = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Shaped:
    """What is special about the cases of an estimator.

    Attributes:
        shaper: name of the row of the catalog.
        knobs: setting → knob.
        columns: column of the rows → knob that names it; "" for one that an expression of `shape` names.
        fixed: further knobs.
        reward: column of the rewards; 0 for rows without it.
        lengths: column of the lengths.
        estimator: what the shaped rewards go through.
        choose: settings → further arguments, in place of the estimator.
        shape: settings → knobs and values that the tables cannot tell.
    """

    shaper: str = ""
    knobs: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, float | str] = field(default_factory=dict)
    reward: str = "reward"
    lengths: str = "length"
    estimator: Mapping[str, Any] = field(default_factory=lambda: {"estimator": "reinforce"})
    choose: Callable[[Settings], dict[str, Any]] = lambda settings: {}
    shape: Callable[[Settings], dict[str, Any]] = lambda settings: {}

    def arguments(self, settings: Settings, rows: Rows) -> dict[str, Any]:
        """The arguments of `compute_advantages` for a case."""
        there = {name for row in rows for name in row}
        knobs = {knob: float(settings[name]) for name, knob in self.knobs.items() if name in settings}
        named = {knob: name for name, knob in self.columns.items() if knob and name in there}
        given: dict[str, Any] = {**self.estimator, **self.choose(settings)}
        given["shaping"] = {self.shaper: {**self.fixed, **knobs, **named, **self.shape(settings)}}
        if self.lengths in there:
            given["lengths"] = [row.get(self.lengths) for row in rows]
        given["columns"] = {name: [row.get(name) for row in rows] for name in self.columns if name in there}
        given["rewards"] = [row.get(self.reward, 0.0) for row in rows]
        given["groups"] = [row.get("prompt", 0) for row in rows]
        return given


CENTRED = {"estimator": "grpo", "scale": "none", "singleton": "zero"}
CORRECT = {"correct": "correct"}
OVERLONG = Shaped("overlong", {"max": "max", "buffer": "buffer", "factor": "factor"})
CAPPED = Shaped("overlong", OVERLONG.knobs, fixed={"cap": 1})
COSINE = Shaped(
    "cosine",
    {
        "max_len": "max",
        "min_value_wrong": "short_wrong",
        "max_value_wrong": "long_wrong",
        "min_value_correct": "long_right",
        "max_value_correct": "short_right",
        "min_len_value_wrong": "short_wrong",
        "max_len_value_wrong": "long_wrong",
        "min_len_value_correct": "short_right",
        "max_len_value_correct": "long_right",
    },
    CORRECT,
    reward="correct",
)


def _baseline(settings: Settings) -> dict[str, Any]:
    return {"estimator": "opo", "scale": None} if settings.get("length_weighted_baseline") else {}


def _completed(settings: Settings) -> dict[str, Any]:
    return {"completed": "status == 'completed'"} if settings.get("require_completed", True) else {}


def _cost(settings: Settings) -> dict[str, Any]:
    """The tokens of both kinds with their weights."""
    completion, tool = settings.get("completion_weight", 1.0), settings.get("tool_response_weight", 1.0)
    return {"cost": f"{completion} * output_tokens + {tool} * tool_tokens"}


LIMIT = Shaped(
    "length_limit",
    {"coef": "coef", "gate_by_correctness": "gated", "max_seq_len": "max"},
    lengths="output_tokens",
    estimator=CENTRED,
    choose=_baseline,
)
EFFICIENCY = Shaped(
    "efficiency", columns={"output_tokens": "", "tool_tokens": ""}, estimator=CENTRED, shape=_cost
)


def _prime_rl(settings: Settings, rows: Rows) -> dict[str, Any]:
    """The name of two generations of one setting: which one, its settings tell."""
    if "coef" in settings:
        return LIMIT.arguments(settings, rows)
    return EFFICIENCY.arguments(settings, rows)


def _entropy(settings: Settings, rows: Rows) -> dict[str, Any]:
    return {
        "rewards": [row["advantage"] for row in rows],
        "groups": [0] * len(rows),
        "estimator": "reinforce",
        "entropies": [row["entropy"] for row in rows],
        "shaping": {"entropy": dict(settings)},
    }


SLACK = Shaped(
    "slack",
    {
        "success_threshold": "threshold",
        "beta": "beta",
        "cap": "cap",
        "ref_quantile": "quantile",
        "relative_slack": "relative",
        "absolute_slack": "absolute",
        "success_floor": "floor",
    },
    {"status": ""},
    estimator={"like": "miles", "estimator": "grpo"},
    shape=_completed,
)

SHAPED: Mapping[tuple[str, str], Callable[[Settings, Rows], dict[str, Any]]] = {
    ("prime-rl", "grpo+length_penalty linear"): Shaped(
        "linear",
        {
            "num_output_tokens_weight": "output",
            "num_input_tokens_weight": "input",
            "num_turns_weight": "turns",
        },
        {"input_tokens": "input_tokens", "turns": "num_turns"},
        lengths="output_tokens",
        estimator=CENTRED,
    ).arguments,
    ("prime-rl", "default+length_penalty"): _prime_rl,
    ("prime-rl", "default+length_penalty tokens"): _prime_rl,
    ("prime-rl", "default+length_penalty turns"): Shaped(
        "efficiency", columns={"turns": "cost"}, estimator=CENTRED
    ).arguments,
    ("prime-rl", "default+length_shaping_alpha (GR3)"): Shaped(
        "gr3", {"length_shaping_alpha": "alpha"}, lengths="output_tokens", estimator=CENTRED
    ).arguments,
    ("miles", "length_reward then grpo"): SLACK.arguments,
    ("grpo-lead", "length reward"): Shaped(
        "grpo_lead", {"alpha": "alpha", "epsilon": "eps", "min_mean_of_three_shortest": "above"}
    ).arguments,
    ("grpo-lead", "difficulty weight"): Shaped(
        "difficulty",
        {"A": "low", "B": "high", "x0": "middle", "k": "steepness"},
        estimator={"like": "verl", "estimator": "grpo"},
    ).arguments,
    ("open-r1", "len_reward (Kimi k1.5)"): Shaped("kimi", {}, CORRECT, reward="zero").arguments,
    ("trl", "cosine length reward"): Shaped(**{**vars(COSINE), "fixed": {"clamp": 1}}).arguments,
    ("open-r1", "cosine length reward"): COSINE.arguments,
    ("ms-swift", "cosine length reward"): COSINE.arguments,
    ("trl", "soft overlong"): CAPPED.arguments,
    ("open-r1", "soft overlong"): CAPPED.arguments,
    ("ms-swift", "soft overlong"): OVERLONG.arguments,
    ("nemo-rl", "soft overlong"): OVERLONG.arguments,
    ("tunix", "soft overlong"): OVERLONG.arguments,
    ("verl", "soft overlong"): OVERLONG.arguments,
    ("marti", "soft overlong"): CAPPED.arguments,
    ("openrlhf", "soft overlong"): CAPPED.arguments,
    ("nemo-rl", "stop_properly_penalty_coef"): Shaped(
        "stop_properly", {"coef": "coef"}, {"truncated": "truncated"}
    ).arguments,
    ("nemo-rl", "effort levels"): Shaped(
        "effort",
        {"low_weight": "weight", "low_penalty": "penalty", "low_ub": "bound"},
        {"low_effort": "low"},
    ).arguments,
    ("nemo-rl", "pass_rate_length_penalty"): Shaped(
        "pass_rate_length", {"pass_rate_length_penalty_weight": "weight"}
    ).arguments,
    ("nemo-rl", "group_total_length_penalty"): Shaped(
        "group_length", {"group_total_length_penalty_coeff": "coef"}
    ).arguments,
    ("alp", "alp"): Shaped("alp", {"beta": "beta"}, CORRECT).arguments,
    ("entropy-shaped", "entropy advantage"): _entropy,
    ("duplicate", "duplicate discount"): Shaped(
        "duplicate", {"alpha": "alpha"}, {"response": "response"}
    ).arguments,
}
"""(framework, estimator) of a golden file → settings and rows to arguments of `compute_advantages`."""
