"""The weights of the reward parts, from the advantages that they led to.

With scale none the advantages are the centred parts times the weights: linear least squares. With scale group
each group's advantages are parallel to its centred parts times the weights (with scale batch each step's are):

    (I − â âᵀ) C w = 0 for every segment, so w is the smallest singular vector of the stacked left side.

The common factor of w is then only in the eps: |C w| / |A| = std + eps / factor.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.matching.candidates import EPS
from advcli.matching.partitions import Partition
from advcli.matching.sample import Slice, sample
from advcli.matching.search import Found, Problem, Tell, search
from advcli.segments import Segments

_ROWS = 16_384
# Share of |A| that may be left over, and share of the largest singular value that counts as none.
_RESIDUAL, _RANK = 1e-3, 1e-6
# How many times its own uncertainty the part of the eps must be to tell the common factor.
_CLEAR = 20.0
# Factors between which weights are believed.
_SMALLEST, _LARGEST = 0.05, 20.0


@dataclass(frozen=True)
class Solution:
    """Weights that may have been used.

    Attributes:
        weights: [K] float64; 0 for a part that no weight is determined for.
        determined: [K] bool.
        residual: share of the length of A that they leave over.
        scale: "none", "group" or "batch": the equations that they solve.
        factor_known: whether their common factor is determined.
    """

    weights: Tensor
    determined: Tensor
    residual: float
    scale: str
    factor_known: bool


@dataclass(frozen=True)
class Weighed:
    """A search that succeeded with inferred weights.

    Attributes:
        solution: the weights.
        problem: the search with them.
        found: its outcome.
    """

    solution: Solution
    problem: Problem
    found: Found


def weighed(problem: Problem, tell: Tell, *, skip_missing_parts: bool) -> Weighed | None:
    """Infer the weights of the reward parts; None if no weights explain the log.

    Args:
        problem: what is searched for; its columns have "parts" [N, K].
        tell: takes a line each time something has been tried.
        skip_missing_parts: a missing part counts 0 as long as one part of the row is there.
    """
    best: Weighed | None = None
    for partition in problem.partitions:
        part = sample(problem.grouped(partition), problem.logged, _ROWS)
        for solution in _solutions(part):
            tell(
                f"{partition.label}: weights {', '.join(f'{w:.4g}' for w in solution.weights.tolist())} tried"
            )
            tried = _reweighed(problem, partition, solution, skip_missing_parts=skip_missing_parts)
            found = search(tried)
            if found.explained:
                weighed_ = Weighed(solution, tried, found)
                best = weighed_ if best is None or _better(weighed_, best) else best
        if best is not None:
            return best
    return best


def _better(one: Weighed, other: Weighed) -> bool:
    return (
        one.problem.preference(one.found.trials[0])[1:] < other.problem.preference(other.found.trials[0])[1:]
    )


def _reweighed(
    problem: Problem, partition: Partition, solution: Solution, *, skip_missing_parts: bool
) -> Problem:
    """The same search with other weights, and only the rules that the equations stand for."""
    parts = problem.columns["parts"]
    absent = ~parts.isfinite()
    total = (torch.where(absent, 0.0, parts) * solution.weights).sum(dim=1)
    gone = absent.all(dim=1) if skip_missing_parts else absent.any(dim=1)
    columns = {
        **problem.columns,
        "rewards": torch.where(gone, torch.nan, total),
        "weights": solution.weights,
    }
    fitting = [candidate for candidate in problem.candidates if solution.scale in (candidate.scale, "any")]
    return replace(problem, columns=columns, partitions=[partition], candidates=fitting)


def _solutions(part: Slice) -> Iterator[Solution]:
    """Weights that solve the equations of one of the scales, the most telling first."""
    use = part.compared() & part.columns["parts"].isfinite().any(dim=1)
    parts = part.columns["parts"][use].nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    values = part.logged.values[use]
    group = Segments.dense(part.columns["group"][use])
    step = Segments.dense(part.columns["step"][use])
    centred = _centred(parts, group)
    size = group.rows(group.size()).to(values.dtype)
    others = torch.where(size > 1, size / (size - 1).clamp(min=1), 1.0)
    for matrix in (centred, centred * others[:, None]):
        yield from _linear(matrix, values)
    # One reward is parallel to itself: its factor would be an eps in disguise.
    scales = (("group", group), ("batch", step)) if parts.shape[1] > 1 else ()
    for scale, segments in scales:
        yield from _parallel(centred, values, segments, scale)


def _linear(matrix: Tensor, values: Tensor) -> Iterator[Solution]:
    """Scale none: A = C w."""
    used = _independent(matrix)
    weights = torch.zeros(matrix.shape[1], dtype=matrix.dtype)
    if not bool(used.any()):
        return
    weights[used] = torch.linalg.lstsq(matrix[:, used], values[:, None]).solution.squeeze(1)
    residual = float((matrix @ weights - values).norm() / values.norm().clamp(min=1e-300))
    if residual <= _RESIDUAL:
        yield Solution(weights, _determined(matrix), residual, "none", factor_known=True)


def _parallel(matrix: Tensor, values: Tensor, segments: Segments, scale: str) -> Iterator[Solution]:
    """Scale group or batch: A of each segment is parallel to C w."""
    used = _independent(matrix)
    if not bool(used.any()):
        return
    weights, residual = _direction(matrix[:, used], values, segments)
    if residual > _RESIDUAL:
        return
    full = torch.zeros(matrix.shape[1], dtype=matrix.dtype)
    full[used] = weights / weights[weights.abs().argmax()].abs()
    first = full[used][0]
    # The first weight is 1, as in a trainer's default, unless it is nearly nothing.
    if float(first) > 0.01:
        full = full / first
    for factor, known in _factors(matrix @ full, values, segments):
        yield Solution(full * factor, _determined(matrix), residual, scale, factor_known=known)


def _direction(matrix: Tensor, values: Tensor, segments: Segments) -> tuple[Tensor, float]:
    """[K] w of length 1 for which every segment's C w is parallel to its A, and what is left over."""
    length = segments.sum(values**2)
    unit = values / segments.rows(length).clamp(min=1e-300).sqrt()
    live = segments.rows(length) > 0
    along = torch.stack(
        [segments.rows(segments.sum(column * unit)) for column in matrix.unbind(dim=1)], dim=1
    )
    across = (matrix - along * unit[:, None])[live]
    _, sizes, vectors = torch.linalg.svd(across, full_matrices=False)
    weights = vectors[-1]
    weights = weights if float((matrix @ weights) @ values) >= 0 else -weights
    whole = (matrix[live] @ weights).norm().clamp(min=1e-300)
    return weights, float(sizes[-1] / whole)


def levels(total: Tensor, values: Tensor, segments: Segments) -> Iterator[tuple[int, float]]:
    """What was added to the standard deviation: (ddof, eps) that the divisors |C| / |A| of the segments agree on.

    Args:
        total: [N] float64, centred rewards.
        values: [N] float64, logged advantages.
        segments: the groups, or the steps.
    """
    live = segments.sum(values**2) > 0
    length = segments.sum(total**2)[live].sqrt()
    divisor = length / segments.sum(values**2)[live].sqrt()
    size = segments.size()[live].to(total.dtype)
    for ddof in (1, 0):
        above = divisor - length / (size - ddof).clamp(min=1).sqrt()
        level = float(above.median())
        doubt = float((above - level).abs().median()) / max(len(above), 1) ** 0.5
        if level > 0 and level > _CLEAR * doubt:
            yield ddof, level


def _factors(total: Tensor, values: Tensor, segments: Segments) -> Iterator[tuple[float, bool]]:
    """Common factors of the weights: 1, and for each eps the one that the divisors tell."""
    for _, level in levels(total, values, segments):
        for eps in EPS[:0:-1]:
            if _SMALLEST <= eps / level <= _LARGEST:
                yield eps / level, True
    yield 1.0, False


def _independent(matrix: Tensor) -> Tensor:
    """[K] bool, the parts that change within some group and are no combination of the parts before them."""
    found = torch.zeros(matrix.shape[1], dtype=torch.bool)
    basis: list[Tensor] = []
    largest = float(matrix.norm(dim=0).max()) if matrix.numel() else 0.0
    for place, column in enumerate(matrix.unbind(dim=1)):
        rest = column
        for vector in basis:
            rest = rest - (rest @ vector) * vector
        length = float(rest.norm())
        if length > _RANK * max(float(column.norm()), _RANK * largest) and length > 0:
            found[place] = True
            basis.append(rest / length)
    return found


def _determined(matrix: Tensor) -> Tensor:
    """[K] bool, the parts whose weight no change of the other weights makes up for."""
    length = matrix.norm(dim=0)
    constant = length <= _RANK * length.max()
    scaled = matrix / torch.where(constant, 1.0, length)
    scaled = torch.where(constant, 0.0, scaled)
    _, sizes, vectors = torch.linalg.svd(scaled, full_matrices=False)
    free = vectors[sizes <= _RANK * sizes.max().clamp(min=1e-300)]
    determined: Tensor = ~constant & (free.abs() <= _RANK).all(dim=0)
    return determined


def _centred(matrix: Tensor, segments: Segments) -> Tensor:
    """[N, K] each column minus its mean in the segment."""
    columns = [column - segments.rows(segments.mean(column)) for column in matrix.unbind(dim=1)]
    return torch.stack(columns, dim=1)


def named(solution: Solution, names: Sequence[str]) -> Mapping[str, float | None]:
    """Reward column → weight; None where it is not determined."""
    pairs = zip(names, solution.weights.tolist(), solution.determined.tolist(), strict=True)
    return {name: weight if known else None for name, weight, known in pairs}
