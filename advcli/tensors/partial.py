"""Statistics of steps whose rows lie in several places: each place gives its part, and the parts are merged.

An estimator is run on every part as it stands. Where it asks for a size, a sum or an extreme of a step, the run
stops with its own part of it (`NeedsReduction`); the parts of all places are merged, and the runs begin again with what is
known by now. A standard deviation is so two passes: one for the mean, one for the centred squares. No formula is
written a second time, and no row leaves its place.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import torch
from torch import Tensor

from advcli.tensors.segments import Segments, partial_steps

_MERGED: Mapping[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda parts: parts.sum(dim=0),
    "max": lambda parts: parts.amax(dim=0),
}


@dataclass(frozen=True)
class Reduction:
    """A reduction over the steps.

    Attributes:
        how: "sum" or "max".
        values: [S], of the rows of one place, or of all.
    """

    how: str
    values: Tensor


class NeedsReduction(Exception):  # noqa: N818  no error: a question
    """A run cannot go on before some reductions over all places are known.

    Args:
        asked: the part of this place in each.
    """

    def __init__(self, asked: Sequence[Reduction]) -> None:
        self.asked = tuple(asked)
        super().__init__(self.asked)


class NeedsOrder(Exception):  # noqa: N818  reported to the user in other words
    """An estimator asks for the order of the rows of a step, which no place knows."""


def merged(parts: Sequence[Sequence[Reduction]]) -> tuple[Reduction, ...]:
    """The reductions over all places.

    Args:
        parts: what each place asked; all ask the same.

    Example:
        >>> one, two = [Reduction("sum", torch.tensor([1.0]))], [Reduction("sum", torch.tensor([2.0]))]
        >>> merged([one, two])[0].values.tolist()
        [3.0]
    """
    together = []
    for asked in zip(*parts, strict=True):
        how = asked[0].how
        assert all(one.how == how for one in asked), "the places ask different questions"
        together.append(Reduction(how, _MERGED[how](torch.stack([one.values for one in asked]))))
    return tuple(together)


def run_part(run: Callable[[], object], known: Sequence[Reduction], steps: int) -> object:
    """Run something on the rows of one place.

    Args:
        run: what to run; estimators take their steps from `Segments.batch`.
        known: the reductions over all places that are known, in the order in which they are asked for.
        steps: S, of all places.

    Returns:
        What `run` returns.

    Raises:
        NeedsReduction: more reductions have to be known.
        NeedsOrder: a step would have to be in one place.

    Example:
        >>> step = torch.zeros(2, dtype=torch.int64)
        >>> mean = lambda: Segments.batch(step).mean(torch.tensor([1.0, 2.0]))
        >>> run_part(mean, [Reduction("sum", torch.tensor([n])) for n in (4, 10.0, 0.0)], 1).tolist()
        [2.5]
    """
    answers = list(known)
    with partial_steps(lambda index: _Shared(index, steps, None, answers)):
        return run()


@dataclass(frozen=True)
class _Shared(Segments):
    """Steps of which only some rows are here: [S] reductions are over all rows, the rest is as it is."""

    answers: list[Reduction]

    def size(self) -> Tensor:
        """Rows per step, of all places."""
        return self._total("sum", torch.bincount(self.index, minlength=self.count))

    def sum(self, values: Tensor) -> Tensor:
        """Sum per step, over all places."""
        return self._total("sum", super().sum(values))

    def max(self, values: Tensor) -> Tensor:
        """Largest value per step, over all places."""
        return self._total("max", super().max(values))

    def order(self, values: Tensor) -> NoReturn:
        """No place knows it."""
        raise NeedsOrder

    rank = order

    def position(self) -> NoReturn:
        """No place knows it."""
        raise NeedsOrder

    def parent(self, outer: Tensor) -> NoReturn:
        """No place knows it."""
        raise NeedsOrder

    def _total(self, how: str, here: Tensor) -> Tensor:
        if not self.answers:
            raise NeedsReduction([Reduction(how, here)])
        result = self.answers.pop(0)
        assert result.how == how, "another question than in the run before"
        return result.values
