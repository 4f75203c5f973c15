"""The result of an off-policy correction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from advcli.off_policy.tokens import LogProbs


@dataclass(frozen=True)
class Correction:
    """Metrics, weights and masks of one batch.

    Attributes:
        metrics: key → number, under the framework's metric names.
        weights: [T] factor on the loss of each token; None if the framework uses no weights.
        mask: [T] float, 1 for the tokens still trained on.
        per_row: key → [N], metrics that the framework logs per row.
        per_token: key → [T], metrics that it logs per token.
    """

    mask: Tensor
    metrics: Mapping[str, float] = field(default_factory=dict)
    weights: Tensor | None = None
    per_row: Mapping[str, Tensor] = field(default_factory=dict)
    per_token: Mapping[str, Tensor] = field(default_factory=dict)


def numbers(metrics: Mapping[str, Tensor | float], prefix: str = "") -> dict[str, float]:
    """Metrics as floats, with prefixed keys."""
    return {prefix + name: float(value) for name, value in metrics.items()}


def per_batch(
    correct: Callable[..., Correction], tokens: LogProbs, step: Tensor, advantages: Tensor | None
) -> Correction:
    """Run a framework's correction on the rows of each step, as the framework does.

    Args:
        correct: takes the tokens, and the advantages if given.
        tokens: the two log-probabilities.
        step: [N] int64, the step of each row.
        advantages: [N] float, or None.

    Returns:
        Weights and mask of all tokens; the metrics are means over the steps with a trained token.

    Source:
        the framework's own, see `off_policy.catalog`.
    """
    weights, mask = torch.ones_like(tokens.mask), tokens.mask.clone()
    of_steps: list[dict[str, float]] = []
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
        of_steps.append({**result.metrics, **per_row})
    names = dict.fromkeys(name for of_step in of_steps for name in of_step)
    metrics = {name: _mean([of_step[name] for of_step in of_steps if name in of_step]) for name in names}
    return Correction(mask, metrics, weights)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
