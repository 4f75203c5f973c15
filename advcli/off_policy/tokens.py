"""The two log-probabilities of each token: under the sampling policy, and under the trainer before its update."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from advcli.tensors.segments import Segments

SAFETY_BOUND = 20.0
"""Most frameworks clamp a log ratio to ± this before they exponentiate it."""


@dataclass(frozen=True)
class LogProbs:
    """The two log-probabilities of T tokens in N rows, flattened row by row.

    Attributes:
        rollout: [T] float, log-probability under the sampling policy.
        train: [T] float, under the trainer before the update, dtype of `rollout`.
        mask: [T] 1 for tokens that are trained on, else 0; dtype of `rollout`.
        rows: the N rows as segments of the tokens; a row may have no token.
        padded: whether to sum over the padded [N, longest] matrix, to match a trainer to the last digit.
    """

    rollout: Tensor
    train: Tensor
    mask: Tensor
    rows: Segments
    padded: bool = False

    @classmethod
    def of(
        cls,
        rollout: Tensor,
        train: Tensor,
        counts: Tensor,
        mask: Tensor | None = None,
        *,
        as_trained: bool = False,
    ) -> "LogProbs":
        """The log-probabilities in one dtype.

        Args:
            rollout: [T] numbers.
            train: [T] numbers.
            counts: [N] int64, tokens of each row; their sum is T.
            mask: [T] numbers, 0 for a token that is not trained on; None if all are.
            as_trained: compute in float32 and on padded rows, as trainers do; else in float64.

        Example:
            >>> two = LogProbs.of(
            ...     torch.tensor([-1.0, -2.0]), torch.tensor([-1.5, -2.0]), torch.tensor([1, 1])
            ... )
            >>> two.log_ratio.tolist()
            [-0.5, 0.0]
        """
        index = torch.repeat_interleave(counts)
        counted = torch.ones_like(rollout) if mask is None else (mask != 0)
        dtype = torch.float32 if as_trained else torch.float64
        rows = Segments.of(index, len(counts))
        return cls(rollout.to(dtype), train.to(dtype), counted.to(dtype), rows, as_trained)

    def narrowed(self, keep: Tensor) -> "LogProbs":
        """The tokens with the mask restricted to `keep`, [T] bool."""
        return replace(self, mask=self.mask * keep)

    def take(self, rows: Tensor) -> "LogProbs":
        """Some of the rows.

        Args:
            rows: [M] int64, in the desired order.
        """
        at = self.places(rows)
        index = torch.repeat_interleave(self.rows.size()[rows])
        segments = Segments.of(index, len(rows))
        return LogProbs(self.rollout[at], self.train[at], self.mask[at], segments, self.padded)

    def places(self, rows: Tensor) -> Tensor:
        """[T'] int64, the positions of the tokens of some rows; `rows`: [M] int64."""
        size = self.rows.size()
        counts, starts = size[rows], (torch.cumsum(size, dim=0) - size)[rows]
        begins = torch.cumsum(counts, dim=0) - counts
        return torch.arange(int(counts.sum())) + torch.repeat_interleave(starts - begins, counts)

    @cached_property
    def log_ratio(self) -> Tensor:
        """[T] log of trainer over rollout probability; the importance weight is its exponential."""
        return self.train - self.rollout

    @cached_property
    def trained(self) -> Tensor:
        """[T] bool, the tokens that are trained on."""
        return self.mask != 0

    @cached_property
    def counts(self) -> Tensor:
        """[N] trained tokens of each row, dtype of the tokens."""
        return self.row_sum(torch.ones_like(self.mask))

    @cached_property
    def filled(self) -> Tensor:
        """[N] bool, the rows with a trained token."""
        return self.counts > 0

    def row_sum(self, values: Tensor) -> Tensor:
        """[N] sum over the trained tokens of each row; other tokens are ignored, even if NaN."""
        kept = torch.where(self.trained, values, 0.0)
        return self.laid_out(kept).sum(dim=1) if self.padded else self.rows.sum(kept)

    def row_mean(self, values: Tensor) -> Tensor:
        """[N] mean over the trained tokens of each row; 0 if there are none."""
        return self.row_sum(values) / self.counts.clamp(min=1)

    def row_max(self, values: Tensor) -> Tensor:
        """[N] largest value among the trained tokens of each row; 0 if there are none."""
        largest = self.rows.max(torch.where(self.trained, values, -torch.inf))
        return torch.where(self.filled, largest, 0.0)

    def mean(self, values: Tensor) -> Tensor:
        """Mean over all trained tokens; 0 if there are none. `values`: [T]."""
        kept = torch.where(self.trained, values, 0.0)
        total = self.laid_out(kept).sum() if self.padded else kept.sum()
        return total / self.mask.sum().clamp(min=1)

    def mean_of_rows(self, values: Tensor) -> Tensor:
        """Mean over rows of the mean over their trained tokens; a row without any counts as 0. `values`: [T]."""
        return self.row_mean(values).mean()

    def laid_out(self, values: Tensor) -> Tensor:
        """[N, longest] the values as a matrix, right-padded with 0. `values`: [T]."""
        matrix = values.new_zeros(self.rows.count, int(self.rows.size().max()))
        matrix[self.rows.index, self.rows.position()] = values
        return matrix

    def spread(self, per_row: Tensor) -> Tensor:
        """[T] row values broadcast to their tokens."""
        return self.rows.rows(per_row)

    def at_level(self, level: str) -> Tensor:
        """The log of the importance ratio, before any clamp.

        Args:
            level: "token", "sequence" for the sum over the row, or "geometric" for its mean.

        Returns:
            [T]; the same number on all tokens of a row unless the level is "token".

        Raises:
            KeyError: unknown level.

        Example:
            >>> p, q = torch.tensor([-0.5, -0.5]), torch.tensor([-1.0, -2.0])
            >>> LogProbs.of(q, p, torch.tensor([2])).at_level("geometric").tolist()
            [1.0, 1.0]
        """
        if level == "token":
            return self.log_ratio
        return self.spread({"sequence": self.row_sum, "geometric": self.row_mean}[level](self.log_ratio))


LEVELS = ("token", "sequence", "geometric")
"""The level of an importance ratio: per token, the product over the row, or its geometric mean."""


def bounded_exp(log_ratio: Tensor) -> Tensor:
    """The exponential of log ratios, clamped to ±20 first."""
    return log_ratio.clamp(-SAFETY_BOUND, SAFETY_BOUND).exp()


def kl(log_ratio: Tensor, kind: str) -> Tensor:
    """An estimate of the KL divergence at each token.

    Args:
        log_ratio: [T] d, the log of the other probability over that of the sampling policy.
        kind: "k1" for −d, "k2" for d²/2, "k3" for e^d − 1 − d.

    Returns:
        [T]; k1 is unbiased and may be negative, k2 and k3 may not.

    Raises:
        KeyError: unknown kind.

    Source:
        Schulman 2020, http://joschu.net/blog/kl-approx.html

    Example:
        >>> kl(torch.tensor([-0.5]), "k2").tolist()
        [0.125]
    """
    return {
        "k1": lambda: -log_ratio,
        "k2": lambda: log_ratio.square() / 2,
        "k3": lambda: log_ratio.exp() - 1 - log_ratio,
    }[kind]()
