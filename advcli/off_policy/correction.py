"""What a framework's off-policy correction gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from advcli.off_policy.tokens import LogProbs


@dataclass(frozen=True)
class Correction:
    """Metrics, weights and masks of one batch.

    Attributes:
        metrics: key → number, under the keys that the framework logs.
        weights: [T] what the loss of each token is multiplied by; None where the framework weighs nothing.
        mask: [T] float, 1 for the tokens that are trained on afterwards.
        per_row: key → [N], what the framework logs for each row.
        per_token: key → [T], what it logs for each token.
    """

    mask: Tensor
    metrics: Mapping[str, float] = field(default_factory=dict)
    weights: Tensor | None = None
    per_row: Mapping[str, Tensor] = field(default_factory=dict)
    per_token: Mapping[str, Tensor] = field(default_factory=dict)


def numbers(metrics: Mapping[str, Tensor | float], prefix: str = "") -> dict[str, float]:
    """Metrics as plain numbers, with a prefix before each key."""
    return {prefix + name: float(value) for name, value in metrics.items()}


def per_batch(
    correct: Callable[..., Correction], tokens: LogProbs, step: Tensor, advantages: Tensor | None
) -> Correction:
    """Run a framework's correction on the rows of each step, as the framework does.

    Args:
        correct: takes the tokens, and the advantages where there are any.
        tokens: the two log-probabilities.
        step: [N] int64, the step of each row.
        advantages: [N] float, or None.

    Returns:
        Weights and mask of all tokens; the metrics are means over the steps, and a step without a trained token has none.

    Source:
        the framework's own, see `off_policy.catalog`.
    """
    weights, mask = torch.ones_like(tokens.mask), tokens.mask.clone()
    seen: list[dict[str, float]] = []
    order = torch.argsort(step, stable=True)
    for rows in order.split(torch.bincount(step).tolist()):
        part = tokens.take(rows)
        if not part.trained.any():
            continue
        result = correct(part) if advantages is None else correct(part, advantages[rows])
        at = tokens.places(rows)
        mask[at] = result.mask
        if result.weights is not None:
            weights[at] = result.weights
        per_row = {name: float(values.double().mean()) for name, values in result.per_row.items()}
        seen.append({**result.metrics, **per_row})
    names = dict.fromkeys(name for one in seen for name in one)
    metrics = {name: _mean([one[name] for one in seen if name in one]) for name in names}
    return Correction(mask, metrics, weights)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
