"""How the golden cases of more frameworks' rules are called: their settings, as our scales and knobs. Tables only."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

# Framework → the golden files' name of a setting → arguments of compute_advantages. A setting without a value is left out.
Setting = Callable[[Any], dict[str, Any]]


def _renamed(name: str) -> Setting:
    return lambda value: {name: float(value)}


def _bound(name: str) -> Setting:
    """A pair of bounds as the one that is symmetric."""

    def knob(value: Any) -> dict[str, Any]:
        low, high = value
        if low != -high:
            raise KeyError(f"no symmetric clip: {value}")
        return {name: float(high)}

    return knob


def _unless(value: Any) -> dict[str, Any]:
    return {"scale": "none" if value else "batch"}


def _nothing(value: Any) -> dict[str, Any]:
    """What a row of a golden case does not depend on."""
    del value
    return {}


_CPGD = {"STD_weight": "group", "naive": "none", "clip_filter_like_weight": "batch"}

# What the trainers call the longest response.
_LONGEST = ("generate_max_len", "max_new_tokens", "max_len", "max_length")

SETTINGS: Mapping[str, Mapping[str, Setting]] = {
    "trinity-rft": {
        "epsilon": _renamed("eps"),
        "std_normalize": lambda value: {"scale": "group" if value else "none"},
        "std_threshold": _renamed("std_threshold"),
        "rank_penalty": _renamed("rank_penalty"),
        "duplicate_experiences": _nothing,
    },
    "labs-molt": {"no_whiten": _unless, "clip_range": _bound("reward_clip")},
    "rlinf": {"normalize_advantages": lambda value: {"scale": "batch" if value else "none"}},
    "siirl": {"weight_factor_in_cpgd": lambda value: {"scale": _CPGD[value]}},
    "marti": {"reward_clip_range": _bound("clip"), "no_advantage_std_norm": _unless},
    "miles": {
        "rewards_normalization": lambda value: {} if value else {"estimator": "raw_reward", "scale": None}
    },
    "verl-recipe": {
        "rho_value": _renamed("rho"),
        "offline_values": lambda value: {"estimator": "spo_offline"},
        "offline_N": _renamed("scores"),
    },
}


def settings_of(framework: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for the settings that mean something else than they are called, or are called otherwise."""
    table = SETTINGS.get(framework, {})
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in table and value is not None:
            found |= table[name](value)
    if settings.get("overlong_buffer_len"):
        found["shaping"] = {"overlong": _overlong(settings)}
    return found


def _overlong(settings: Mapping[str, Any]) -> dict[str, float]:
    """The soft penalty of MARTI and OpenRLHF for long responses, which is never more than its factor."""
    longest = next(settings[name] for name in _LONGEST if name in settings)
    factor = settings.get("overlong_penalty_factor", 1.0)
    return {"max": longest, "buffer": settings["overlong_buffer_len"], "factor": factor, "cap": 1}


def columns_of(
    framework: str, settings: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """Columns that the settings hold, or that have another name."""
    if framework != "verl-recipe":
        return {}
    found = {"steps": [row["step"] for row in rows]}
    if scores := settings.get("offline_values"):
        solved = {prompt: sum(score > 0 for score in given) / len(given) for prompt, given in scores.items()}
        found["baselines"] = [solved[row["prompt"]] for row in rows]
    return found
