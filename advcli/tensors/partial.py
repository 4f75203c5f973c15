"""Step statistics over rows that are spread over several partitions: each gives a partial result, and these are merged.

The estimator runs unchanged on every partition. Where it needs a size, a sum or an extreme of a step, the run stops
with its partial result (`NeedsReduction`); the partial results of all partitions are merged, and the runs restart with
the reductions known so far. A standard deviation takes two passes: one for the mean, one for the centred squares. No formula
is written twice, and no row moves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import torch
from torch import Tensor

from advcli.tensors.segments import Segments, partial_steps

_MERGE: Mapping[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda parts: parts.sum(dim=0),
    "max": lambda parts: parts.amax(dim=0),
}


@dataclass(frozen=True)
class Reduction:
    """A reduction over the steps.

    Attributes:
        how: "sum" or "max".
        values: [S], of the rows of one partition, or of all.
    """

    how: str
    values: Tensor


class NeedsReduction(Exception):  # noqa: N818  not an error: a request
    """A run needs reductions over all partitions before it can continue.

    Args:
        asked: this partition's part of each.
    """

    def __init__(self, asked: Sequence[Reduction]) -> None:
        self.asked = tuple(asked)
        super().__init__(self.asked)


class NeedsOrder(Exception):  # noqa: N818  the caller turns it into an error
    """An estimator asks for the order of the rows within a step, which no single partition knows."""


def merged(parts: Sequence[Sequence[Reduction]]) -> tuple[Reduction, ...]:
    """The reductions over all partitions.

    Args:
        parts: what each partition asked for; all ask for the same reductions.

    Example:
        >>> one, two = [Reduction("sum", torch.tensor([1.0]))], [Reduction("sum", torch.tensor([2.0]))]
        >>> merged([one, two])[0].values.tolist()
        [3.0]
    """
    reductions = []
    for asked in zip(*parts, strict=True):
        how = asked[0].how
        assert all(part.how == how for part in asked), "the partitions ask for different reductions"
        reductions.append(Reduction(how, _MERGE[how](torch.stack([part.values for part in asked]))))
    return tuple(reductions)


def run_part(run: Callable[[], object], known: Sequence[Reduction], steps: int) -> object:
    """Run a function on the rows of one partition.

    Args:
        run: what to run; estimators take their steps from `Segments.batch`.
        known: the reductions over all partitions known so far, in the order in which they are asked for.
        steps: S, of all partitions.

    Returns:
        What `run` returns.

    Raises:
        NeedsReduction: more reductions are needed.
        NeedsOrder: the rows of a step would have to be in one partition.

    Example:
        >>> step = torch.zeros(2, dtype=torch.int64)
        >>> mean = lambda: Segments.batch(step).mean(torch.tensor([1.0, 2.0]))
        >>> run_part(mean, [Reduction("sum", torch.tensor([n])) for n in (4, 10.0, 0.0)], 1).tolist()
        [2.5]
    """
    answers = list(known)
    with partial_steps(lambda index: _PartialSegments(index, steps, None, answers)):
        return run()


@dataclass(frozen=True)
class _PartialSegments(Segments):
    """Steps with only some of their rows in this partition: [S] reductions cover all rows, the rest is local."""

    answers: list[Reduction]

    def size(self) -> Tensor:
        """Rows per step, over all partitions."""
        return self._total("sum", torch.bincount(self.index, minlength=self.count))

    def sum(self, values: Tensor) -> Tensor:
        """Sum per step, over all partitions."""
        return self._total("sum", super().sum(values))

    def max(self, values: Tensor) -> Tensor:
        """Largest value per step, over all partitions."""
        return self._total("max", super().max(values))

    def order(self, values: Tensor) -> NoReturn:
        """Unknown to a single partition."""
        raise NeedsOrder

    rank = order

    def position(self) -> NoReturn:
        """Unknown to a single partition."""
        raise NeedsOrder

    def parent(self, outer: Tensor) -> NoReturn:
        """Unknown to a single partition."""
        raise NeedsOrder

    def _total(self, how: str, local: Tensor) -> Tensor:
        if not self.answers:
            raise NeedsReduction([Reduction(how, local)])
        result = self.answers.pop(0)
        assert result.how == how, "the previous run asked for another reduction"
        return result.values
