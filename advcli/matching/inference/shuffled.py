"""Rows that were shuffled against their advantages: a rule gives the logged ones, in another order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.matching.candidates import Candidate
from advcli.matching.problem import MANY, Problem
from advcli.matching.sample import SIZE, Slice
from advcli.matching.trials import predict
from advcli.tensors.masks import chosen
from advcli.tensors.segments import Segments

# Rows up to which the advantages of every rule are looked for in another order; of more rows, of so many rules.
_ROWS, _RULES = 65_536, 6
# How far the advantages of a rule, in order of size, may be from the logged ones on average, as a share of their size.
_APART = 0.1
# How far they may be where only the eps is another one.
_CLOSE = 0.06
# How much larger or smaller the advantages of a rule are with another eps or ddof.
_FAR = 2.0
# How far those of some thousand rows are from those of all, at most.
_NOISE = 0.05
_DIGITS = 5
_EVERYWHERE = "file"
_WORDS: Mapping[str, str] = {
    "group": "within each group",
    "step": "within each step",
    _EVERYWHERE: "over all rows",
}


def find_shuffle(problem: Problem) -> str | None:
    """A sentence that says so, and of which rule the advantages are; None if no rule gives them in another order.

    Args:
        problem: what was searched for.
    """
    whole = problem.whole(problem.partitions[0])
    scopes = {"group": problem.part(problem.partitions[0])}
    if int(whole.columns["step"].max()) > 0:
        scopes["step"] = problem.step(problem.partitions[0]) or whole
    likely = _Likely(problem)
    met: list[tuple[float, Candidate]] = []
    for apart, candidate in likely:
        met.append((round(apart, 2), candidate))
        able = {s: p for s, p in scopes.items() if p.size <= _ROWS or len(met) <= _RULES}
        for scope, part in able.items():
            if _reordered(candidate, part, scope) and (part is whole or _reordered(candidate, whole, scope)):
                return _told(candidate, scope)
        if any(_close(candidate, part, scope) for scope, part in able.items()):
            likely.more(candidate)
    met.sort(key=lambda pair: pair[0])
    result = next((c for c in _everywhere(problem, met) if _reordered(c, whole, _EVERYWHERE)), None)
    return None if result is None else _told(result, _EVERYWHERE)


def _everywhere(problem: Problem, met: Sequence[tuple[float, Candidate]]) -> Iterator[Candidate]:
    """The rules to try on all rows; of many rows, a few that lie as the log does on ever more of them."""
    whole = problem.whole(problem.partitions[0])
    if whole.size <= _ROWS:
        yield from (candidate for _, candidate in met)
        return
    larger = _even(problem, MANY)
    for apart, candidate in met[:_RULES]:
        if apart <= _NOISE:
            look = _Look.at(candidate, larger)
            if look is not None and look.apart <= _NOISE * (SIZE / MANY) ** 0.5:
                yield candidate


def _told(candidate: Candidate, scope: str) -> str:
    name = candidate.fit("", 0.0, 0.0).name
    return f"rows and advantages are shuffled: {_WORDS[scope]}, the logged advantages are those of {name} in another order"


class _Likely:
    """The rules whose advantages lie as the logged ones do, one of those with the same numbers.

    Those that are believed first come first. Of a kind that differs in the eps or the ddof, one; the others come last,
    where the one was close to the log.
    """

    def __init__(self, problem: Problem) -> None:
        self._ranked = sorted(
            problem.candidates,
            key=lambda c: (c.framework != problem.framework, c.framework is None, c.order),
        )
        self._even, self._step = _even(problem), problem.step(problem.partitions[0])
        self._close: set[object] = set()
        self._seen: set[tuple[object, ...]] = set()

    def __iter__(self) -> Iterator[tuple[float, Candidate]]:
        """Each with the distance of its advantages, in order of size, from the logged ones: a share of their size."""
        kinds: set[object] = set()
        others = []
        for candidate in self._ranked:
            if candidate.kin in kinds:
                others.append(candidate)
            else:
                kinds.add(candidate.kin)
                yield from self._looked(candidate)
        for candidate in others:
            if candidate.kin in self._close:
                yield from self._looked(candidate)

    def more(self, candidate: Candidate) -> None:
        """Let the others of its kind come too."""
        self._close.add(candidate.kin)

    def _looked(self, candidate: Candidate) -> Iterator[tuple[float, Candidate]]:
        # Of a part of a step a rule of the batch is known up to a factor only.
        by_step = candidate.of_batch and self._step is not None and not self._even.whole
        part = self._step if by_step and self._step is not None else self._even
        if any(name not in part.columns for name in candidate.plan.entry.needs):
            return
        look = _Look.at(candidate, part)
        if look is None or not 1 / _FAR <= look.factor <= _FAR or look.apart > _APART:
            return
        if abs(look.factor - 1) > 2 * _APART:
            # Another ddof may have the size.
            self.more(candidate)
            return
        # What differs by a factor only is looked for once.
        same = (by_step, *look.figures)
        if same not in self._seen:
            self._seen.add(same)
            yield look.apart, candidate


@dataclass(frozen=True)
class _Look:
    """How the sorted advantages of a rule compare with the sorted logged ones.

    Attributes:
        factor: by which they have to be multiplied to be as large.
        apart: how far they are from the logged ones then, in order of size, on average; a share of their size.
        figures: what no factor changes.
    """

    factor: float
    apart: float
    figures: tuple[float, float]

    @classmethod
    def at(cls, candidate: Candidate, part: Slice) -> "_Look | None":
        """A rule on some rows; None if it cannot be computed on them."""
        predicted = predict(candidate, part)
        if predicted is None:
            return None
        one, size = predicted[part.compared()].nan_to_num(nan=0.0), _size(part.given.values)
        own = max(_size(one), 1e-300)
        apart = float((one.sort().values * (size / own) - part.sorted_values).abs().mean()) / size
        mean, most = float(one.abs().mean()) / own, float(one.max()) / own
        return cls(size / own, apart, (round(mean, _DIGITS), round(most, _DIGITS)))


def _even(problem: Problem, size: int = SIZE) -> Slice:
    """Groups from all over the file, none chosen for what it is: their advantages lie as all do."""
    whole = problem.whole(problem.partitions[0])
    if whole.size <= 2 * size:
        return whole
    count = whole.groups.segments.count
    picked = torch.zeros(count, dtype=torch.bool)
    picked[torch.linspace(0, count - 1, max(1, size * count // whole.size)).long()] = True
    rows = torch.nonzero(picked[whole.groups.index.clamp(min=0)] & whole.groups.used).squeeze(1)
    return Slice.of(whole.columns, whole.logged, rows, whole=False)


def _size(values: Tensor) -> float:
    """Root mean square."""
    return float(values.square().mean().sqrt())


def _scaled(
    candidate: Candidate, part: Slice, scope: str, room: float = _APART
) -> tuple[Tensor, Segments] | None:
    """The advantages of a rule in the rows that are compared, and the segments within which the order is not known.

    They are multiplied by a factor that is at most `room` from 1, that of another eps or ddof, which the order of the
    rows hides. None if there is no such factor, or a row has none.
    """
    predicted = predict(candidate, part)
    if predicted is None:
        return None
    one = chosen(predicted, part.compared())
    factor = _size(part.given.values) / max(_size(one), 1e-300)
    if not abs(factor - 1) <= room:
        return None
    index = {**part.columns, _EVERYWHERE: torch.zeros_like(part.columns["step"])}[scope]
    return one * factor, Segments.dense(chosen(index, part.compared()))


def _close(candidate: Candidate, part: Slice, scope: str) -> bool:
    """Whether a rule nearly has the logged advantages in every segment, in whatever order."""
    scaled = _scaled(candidate, part, scope, 2 * _APART)
    if scaled is None:
        return False
    one, segments = scaled
    other = part.given.values
    off = (one[segments.order(one)] - other[segments.order(other)]).abs().mean()
    return float(off) <= _CLOSE * _size(other)


def _reordered(candidate: Candidate, part: Slice, scope: str) -> bool:
    """Whether a rule has the logged advantages in every segment, in whatever order, but for a factor near to 1."""
    scaled = _scaled(candidate, part, scope)
    if scaled is None:
        return False
    one, segments = scaled
    other = part.given.values
    # Cheap and nearly always enough: sums have to agree before anything is sorted.
    room = part.logged.tolerance * segments.size()
    sums = ((one.abs(), other.abs(), room), (one**2, other**2, 2 * part.logged.peak * room))
    if any(bool(((segments.sum(a) - segments.sum(b)).abs() > most).any()) for a, b, most in sums):
        return False
    one, other = one[segments.order(one)], other[segments.order(other)]
    return bool(((one - other).abs() <= part.logged.tolerance).all())
