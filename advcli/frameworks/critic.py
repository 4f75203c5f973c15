"""Builds the rows of rules with a critic."""

from collections.abc import Mapping
from typing import Any

from advcli.frameworks.rule import PER_TOKEN, Rule

_FORMULA = "Σ_k (γλ)^k δ_{t+k}"
WHITENED = f"{_FORMULA}, whitened over tokens: (A_t − m) / sqrt(v + 1e-8), ddof 1"
PLAIN_OR_WHITENED = f"{_FORMULA}; with scale batch whitened over tokens"

_NEEDS = ("rewards", "values", "row", "place", "step")


def through_gaps(framework: str, estimator: str, **row: Any) -> Rule:  # noqa: ANN401
    """A rule whose GAE covers every token up to the last one of the policy, including tool tokens."""
    return _rule(framework, estimator, "gae_through_gaps", (*_NEEDS, "counted"), **row)


def over_gaps(framework: str, estimator: str, **row: Any) -> Rule:  # noqa: ANN401
    """A rule whose GAE skips tool tokens."""
    return _rule(framework, estimator, "gae", _NEEDS, **row)


def _rule(
    framework: str,
    estimator: str,
    function: str,
    needs: tuple[str, ...],
    **row: Any,  # noqa: ANN401
) -> Rule:
    knobs: Mapping[str, Any] = {"eps": 1e-8, **row.pop("knobs", {})}
    options = {"gamma": 1.0, "lam": row.pop("lam", 1.0)}
    formula = row.pop("formula", PLAIN_OR_WHITENED if "scales" in row else WHITENED)
    return Rule(
        framework,
        estimator,
        formula,
        f"{PER_TOKEN}:{function}",
        needs,
        knobs,
        options=options,
        level="token",
        scope="step",
        **row,
    )


NO_WHITENING = {"none": {"whiten": False}}
IF_ASKED: Mapping[str, Mapping[str, Any]] = {**NO_WHITENING, "batch": {}}
"""Whitening is off unless the user sets scale batch."""
