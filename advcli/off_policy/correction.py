"""What a framework's off-policy correction gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor


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
