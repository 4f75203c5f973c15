"""Detects rows shuffled against their advantages: a rule gives the logged ones, in another order."""

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

# Number of rows up to which every rule is checked for another order; with more rows, how many rules are.
_ROWS, _RULES = 65_536, 6
# Largest mean difference between a rule's sorted advantages and the logged ones, relative to their RMS.
_LARGEST_DISTANCE = 0.1
# The same if only the eps differs.
_CLOSE = 0.06
# Largest factor that another eps or ddof can cause.
_FAR = 2.0
# Largest difference between a sample of some thousand rows and all rows.
_NOISE = 0.05
_DIGITS = 5
_EVERYWHERE = "file"
_WORDS: Mapping[str, str] = {
    "group": "within each group",
    "step": "within each step",
    _EVERYWHERE: "over all rows",
}


def find_shuffle(problem: Problem) -> str | None:
    """A sentence naming the shuffle and the rule; None if no rule gives the logged advantages in another order.

    Args:
        problem: the search problem.
    """
    whole = problem.whole(problem.partitions[0])
    scopes = {"group": problem.part(problem.partitions[0])}
    if int(whole.columns["step"].max()) > 0:
        scopes["step"] = problem.step(problem.partitions[0]) or whole
    likely = _Likely(problem)
    tried: list[tuple[float, Candidate]] = []
    for distance, candidate in likely:
        tried.append((round(distance, 2), candidate))
        feasible = {s: p for s, p in scopes.items() if p.size <= _ROWS or len(tried) <= _RULES}
        for scope, part in feasible.items():
            if _reordered(candidate, part, scope) and (part is whole or _reordered(candidate, whole, scope)):
                return _sentence(candidate, scope)
        if any(_close(candidate, part, scope) for scope, part in feasible.items()):
            likely.more(candidate)
    tried.sort(key=lambda pair: pair[0])
    result = next((c for c in _everywhere(problem, tried) if _reordered(c, whole, _EVERYWHERE)), None)
    return None if result is None else _sentence(result, _EVERYWHERE)


def _everywhere(problem: Problem, tried: Sequence[tuple[float, Candidate]]) -> Iterator[Candidate]:
    """The rules to try over all rows; with many rows, the few whose distribution also matches on a larger sample."""
    whole = problem.whole(problem.partitions[0])
    if whole.size <= _ROWS:
        yield from (candidate for _, candidate in tried)
        return
    larger = _even_sample(problem, MANY)
    for distance, candidate in tried[:_RULES]:
        if distance <= _NOISE:
            comparison = _Comparison.at(candidate, larger)
            if comparison is not None and comparison.distance <= _NOISE * (SIZE / MANY) ** 0.5:
                yield candidate


def _sentence(candidate: Candidate, scope: str) -> str:
    name = candidate.fit("", 0.0, 0.0).name
    return f"rows and advantages are shuffled: {_WORDS[scope]}, the logged advantages are those of {name} in another order"


class _Likely:
    """The rules whose advantages are distributed like the logged ones, without duplicates, preferred rules first.

    One rule per family comes first; the others, which differ in eps or ddof, come last, if that one was close to the log.
    """

    def __init__(self, problem: Problem) -> None:
        self._ranked = sorted(
            problem.candidates,
            key=lambda c: (c.framework != problem.framework, c.framework is None, c.order),
        )
        self._even_sample, self._step = _even_sample(problem), problem.step(problem.partitions[0])
        self._close: set[object] = set()
        self._seen: set[tuple[object, ...]] = set()

    def __iter__(self) -> Iterator[tuple[float, Candidate]]:
        """Each rule with the distance of its sorted advantages from the logged ones, relative to their RMS."""
        kinds: set[object] = set()
        others = []
        for candidate in self._ranked:
            if candidate.family in kinds:
                others.append(candidate)
            else:
                kinds.add(candidate.family)
                yield from self._compared(candidate)
        for candidate in others:
            if candidate.family in self._close:
                yield from self._compared(candidate)

    def more(self, candidate: Candidate) -> None:
        """Include the rest of a candidate's family."""
        self._close.add(candidate.family)

    def _compared(self, candidate: Candidate) -> Iterator[tuple[float, Candidate]]:
        # On part of a step, a batch-level rule is determined only up to a factor.
        by_step = candidate.of_batch and self._step is not None and not self._even_sample.whole
        part = self._step if by_step and self._step is not None else self._even_sample
        if any(name not in part.columns for name in candidate.plan.entry.needs):
            return
        comparison = _Comparison.at(candidate, part)
        if (
            comparison is None
            or not 1 / _FAR <= comparison.factor <= _FAR
            or comparison.distance > _LARGEST_DISTANCE
        ):
            return
        if abs(comparison.factor - 1) > 2 * _LARGEST_DISTANCE:
            # Another ddof may give the right scale.
            self.more(candidate)
            return
        # Rules that differ by a factor only are tried once.
        same = (by_step, *comparison.figures)
        if same not in self._seen:
            self._seen.add(same)
            yield comparison.distance, candidate


@dataclass(frozen=True)
class _Comparison:
    """Compares the sorted advantages of a rule with the sorted logged ones.

    Attributes:
        factor: the scale factor that gives both the same RMS.
        distance: mean difference after scaling, relative to the RMS.
        figures: scale-invariant figures.
    """

    factor: float
    distance: float
    figures: tuple[float, float]

    @classmethod
    def at(cls, candidate: Candidate, part: Slice) -> "_Comparison | None":
        """The comparison on some rows; None if the rule can't be computed on them."""
        predicted = predict(candidate, part)
        if predicted is None:
            return None
        computed, size = predicted[part.compared()].nan_to_num(nan=0.0), _rms(part.given.values)
        rms = max(_rms(computed), 1e-300)
        distance = float((computed.sort().values * (size / rms) - part.sorted_values).abs().mean()) / size
        mean, most = float(computed.abs().mean()) / rms, float(computed.max()) / rms
        return cls(size / rms, distance, (round(mean, _DIGITS), round(most, _DIGITS)))


def _even_sample(problem: Problem, size: int = SIZE) -> Slice:
    """An evenly spaced sample of groups, so that its advantages are distributed like all."""
    whole = problem.whole(problem.partitions[0])
    if whole.size <= 2 * size:
        return whole
    count = whole.groups.segments.count
    picked = torch.zeros(count, dtype=torch.bool)
    picked[torch.linspace(0, count - 1, max(1, size * count // whole.size)).long()] = True
    rows = torch.nonzero(picked[whole.groups.index.clamp(min=0)] & whole.groups.used).squeeze(1)
    return Slice.of(whole.columns, whole.logged, rows, whole=False)


def _rms(values: Tensor) -> float:
    """Root mean square."""
    return float(values.square().mean().sqrt())


def _scaled(
    candidate: Candidate, part: Slice, scope: str, room: float = _LARGEST_DISTANCE
) -> tuple[Tensor, Segments] | None:
    """The advantages of a rule for the compared rows, scaled to the log, and the segments of unknown order.

    The factor, which allows for another eps or ddof, must be within `room` of 1. None if it isn't, or if the rule can't be
    computed.
    """
    predicted = predict(candidate, part)
    if predicted is None:
        return None
    computed = chosen(predicted, part.compared())
    factor = _rms(part.given.values) / max(_rms(computed), 1e-300)
    if not abs(factor - 1) <= room:
        return None
    index = {**part.columns, _EVERYWHERE: torch.zeros_like(part.columns["step"])}[scope]
    return computed * factor, Segments.dense(chosen(index, part.compared()))


def _close(candidate: Candidate, part: Slice, scope: str) -> bool:
    """Whether a rule gives nearly the logged advantages in every segment, in any order."""
    scaled = _scaled(candidate, part, scope, 2 * _LARGEST_DISTANCE)
    if scaled is None:
        return False
    computed, segments = scaled
    logged = part.given.values
    off = (computed[segments.order(computed)] - logged[segments.order(logged)]).abs().mean()
    return float(off) <= _CLOSE * _rms(logged)


def _reordered(candidate: Candidate, part: Slice, scope: str) -> bool:
    """Whether a rule gives the logged advantages in every segment, in any order, up to a factor near 1."""
    scaled = _scaled(candidate, part, scope)
    if scaled is None:
        return False
    computed, segments = scaled
    logged = part.given.values
    # Compare sums before sorting: cheap, and nearly always sufficient.
    room = part.logged.tolerance * segments.size()
    sums = ((computed.abs(), logged.abs(), room), (computed**2, logged**2, 2 * part.logged.peak * room))
    if any(bool(((segments.sum(a) - segments.sum(b)).abs() > most).any()) for a, b, most in sums):
        return False
    computed, logged = computed[segments.order(computed)], logged[segments.order(logged)]
    return bool(((computed - logged).abs() <= part.logged.tolerance).all())
