"""Infers the weights of the reward parts from the advantages.

With scale none, the advantages are the centred parts times the weights: linear least squares. With scale group,
each group's advantages are parallel to its centred parts times the weights (with scale batch, each step's):

    (I − â âᵀ) C w = 0 for every segment, so w is the smallest singular vector of the stacked left-hand side.

The common factor of w then shows only through the eps: |C w| / |A| = std + eps / factor.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.matching.candidates import EPS, Candidate
from advcli.matching.sample import Slice
from advcli.tensors.segments import Segments, Spread

# Largest residual relative to |A|, and the relative size below which a singular value counts as 0.
_RESIDUAL, _RANK = 1e-3, 1e-6
# An estimated eps is used if it exceeds this multiple of its standard error, and determines the common factor if its
# relative error is below this.
_CLEAR, _SURE = 5.0, 3e-4
# Relative weight below which the first weight isn't used for normalization, and below which a weight is 0; fewest
# informative rows; default eps.
_NEGLIGIBLE, _ZERO, _FEWEST, _DEFAULT_EPS = 0.01, 1e-6, 3, 1e-6
# Most digits of a printed weight.
_PRINTED = 7
# Range of plausible common factors.
_SMALLEST, _LARGEST = 0.05, 20.0


@dataclass(frozen=True)
class Solution:
    """Candidate weights.

    Attributes:
        weights: [K] float64; 0 for a part whose weight is not determined.
        determined: [K] bool.
        residual: norm of the residuals, relative to that of A.
        scale: "none", "group", "batch" or "parts" (each part normalised on its own): the equations they solve.
        factor_known: whether their common factor is determined.
    """

    weights: Tensor
    determined: Tensor
    residual: float
    scale: str
    factor_known: bool

    @property
    def free(self) -> int:
        """How many numbers were fitted."""
        return int(self.determined.sum()) - (self.scale != "none")

    @property
    def digits(self) -> int:
        """Significant digits of the longest weight."""
        return max((_length(weight) for weight in self.weights.tolist()), default=0)

    def rounded(self, digits: int) -> "Solution":
        """The solution rounded to some digits; negligible weights become 0."""
        largest = float(self.weights.abs().max())
        short = [0.0 if abs(w) < _ZERO * largest else float(f"{w:.{digits}g}") for w in self.weights.tolist()]
        return replace(self, weights=torch.tensor(short, dtype=self.weights.dtype))


def solutions(part: Slice, candidates: Sequence[Candidate]) -> Iterator[Solution]:
    """Weights that solve the equations of one of the scales, most informative rows first."""
    use = part.compared() & part.columns["parts"].isfinite().any(dim=1)
    if not bool(use.any()):
        return
    parts = part.columns["parts"][use].nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    values = part.logged.values[use]
    group = Segments.dense(part.columns["group"][use])
    step = Segments.dense(part.columns["step"][use])
    centred = _centred(parts, group)
    size = group.rows(group.size()).to(values.dtype)
    leave_one_out = torch.where(size > 1, size / (size - 1).clamp(min=1), 1.0)
    # Clipped rows and rows set to 0 carry no information on the weights.
    for informative in _informative(values):
        result = False
        for matrix in (centred, centred * leave_one_out[:, None]):
            for solution in _linear(matrix[informative], values[informative]):
                result = True
                yield solution
        # A single reward is parallel to itself; its factor can't be told from the eps.
        equations = _equations(part, use, centred, group, step, candidates) if parts.shape[1] > 1 else ()
        for equation in equations:
            for solution in _parallel(equation, parts, values, informative):
                result = True
                yield solution
        if result:
            return


def _informative(values: Tensor) -> Iterator[Tensor]:
    """Row masks to try: all rows, then those that are neither 0 nor at a bound shared by several rows."""
    yield torch.ones_like(values, dtype=torch.bool)
    bound = torch.zeros_like(values, dtype=torch.bool)
    for edge in (values.max(), values.min()):
        at = values == edge
        bound |= at & (at.sum() > 1)
    inner = ~bound & (values != 0)
    if bool((~inner).any()) and int(inner.sum()) >= _FEWEST:
        yield inner


@dataclass(frozen=True)
class _Equation:
    """The equation "A of each segment is parallel to M w".

    Attributes:
        scale: "group", "batch" or "parts".
        matrix: [N, K] M.
        segments: the segments that share a factor.
        raw: [N, K] the values whose standard deviation is taken.
        over: the segments it is taken over.
        shift: whether to centre A over the segment before comparing.
    """

    scale: str
    matrix: Tensor
    segments: Segments
    raw: Tensor
    over: Segments
    shift: bool = False


def _equations(
    part: Slice,
    use: Tensor,
    centred: Tensor,
    group: Segments,
    step: Segments,
    candidates: Sequence[Candidate],
) -> Iterator[_Equation]:
    yield _Equation("group", centred, group, centred, group)
    if not part.whole:
        return
    raw = part.columns["parts"][use].nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    yield _Equation("batch", centred, step, raw, step)
    several = [c.eps for c in candidates if "parts" in c.plan.entry.needs]
    for eps in dict.fromkeys(eps if eps is not None else _DEFAULT_EPS for eps in several):
        spread = torch.stack(
            [group.rows(Spread.of(column, group).std(1)) for column in raw.unbind(dim=1)], dim=1
        ).nan_to_num(nan=0.0)
        scores = torch.where(spread > 0, centred / (spread + eps), 0.0)
        yield _Equation("parts", _centred(scores, step), step, scores, step, shift=True)


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


def _parallel(equation: _Equation, parts: Tensor, values: Tensor, informative: Tensor) -> Iterator[Solution]:
    """Scale group or batch: A of each segment is parallel to M w."""
    segments = Segments.dense(equation.segments.index[informative])
    matrix, a = equation.matrix[informative], values[informative]
    if equation.shift:
        a = a - segments.rows(segments.mean(a))
        matrix = _centred(matrix, segments)
    used = _independent(matrix)
    # Advantages that are all 0 have no direction.
    if not bool(used.any()) or not bool(a.any()):
        return
    weights, residual = _direction(matrix[:, used], a, segments)
    if residual > _RESIDUAL:
        return
    full = torch.zeros(matrix.shape[1], dtype=matrix.dtype)
    full[used] = weights / weights[weights.abs().argmax()].abs()
    first = full[used][0]
    # Normalize the first weight to 1, as in a trainer's default, unless it is negligible.
    if float(first) > _NEGLIGIBLE:
        full = full / first
    total = equation.raw @ full
    spreads = [
        equation.over.rows(Spread.of(total, equation.over).std(ddof)).nan_to_num(nan=0.0)[informative]
        for ddof in (1, 0)
    ]
    for factor, known in _factors(matrix @ full, spreads, a):
        yield Solution(full * factor, _determined(matrix), residual, equation.scale, factor_known=known)


def _direction(matrix: Tensor, values: Tensor, segments: Segments) -> tuple[Tensor, float]:
    """[K] w of length 1 for which every segment's C w is parallel to its A, and the relative residual."""
    length = segments.sum(values**2)
    unit = values / segments.rows(length).clamp(min=1e-300).sqrt()
    live = segments.rows(length) > 0
    along = torch.stack(
        [segments.rows(segments.sum(column * unit)) for column in matrix.unbind(dim=1)], dim=1
    )
    across = (matrix - along * unit[:, None])[live]
    # Groups of two are parallel for any weights.
    across = across[across.norm(dim=1) > _RANK * matrix[live].norm(dim=1)]
    if len(across) < matrix.shape[1]:
        return values.new_ones(matrix.shape[1]), torch.inf
    _, sizes, vectors = torch.linalg.svd(across, full_matrices=False)
    if len(sizes) > 1 and float(sizes[-2]) <= _RANK * float(sizes[0]):
        # The solution is not unique.
        return vectors[-1], torch.inf
    weights = vectors[-1]
    weights = weights if float((matrix @ weights) @ values) >= 0 else -weights
    whole = (matrix[live] @ weights).norm().clamp(min=1e-300)
    return weights, float(sizes[-1] / whole)


def level(total: Tensor, spread: Tensor, values: Tensor) -> tuple[float, float]:
    """The constant added to the standard deviation, and its standard error.

    From A (s + e) = c, row by row, as a least-squares slope: (c − s A) = e A, each row weighted by 1 / s².

    Args:
        total: [N] float64, c: centred rewards.
        spread: [N] float64, s: the standard deviation of each row's group or step.
        values: [N] float64, A.

    Returns:
        e and its standard error; (0, inf) if it isn't determined.

    Example:
        >>> c, s = torch.tensor([1.0, -1.0, 0.5]).double(), torch.tensor([1.0, 1.0, 0.5]).double()
        >>> [round(v, 6) for v in level(c, s, c / (s + 0.25))]
        [0.25, 0.0]
    """
    live = (spread > 0) & (values != 0)
    if int(live.sum()) < _FEWEST - 1:
        return 0.0, torch.inf
    gap, a = (total / spread - values)[live], (values / spread)[live]
    below = float((a**2).sum())
    slope = float((gap * a).sum()) / below
    residual = float(((gap - slope * a) ** 2).sum())
    return slope, (residual / (len(a) - 1) / below) ** 0.5


def _factors(total: Tensor, spreads: Sequence[Tensor], values: Tensor) -> Iterator[tuple[float, bool]]:
    """Common factors of the weights to try: the one implied by the divisors for each eps, then 1."""
    for spread in spreads:
        result, doubt = level(total, spread, values)
        if result > _CLEAR * doubt:
            for eps in EPS[:0:-1]:
                if _SMALLEST <= eps / result <= _LARGEST:
                    yield eps / result, doubt <= _SURE * result
    yield 1.0, False


def _independent(matrix: Tensor) -> Tensor:
    """[K] bool, the parts that vary within some group and are linearly independent of the previous ones."""
    result = torch.zeros(matrix.shape[1], dtype=torch.bool)
    basis: list[Tensor] = []
    largest = float(matrix.norm(dim=0).max()) if matrix.numel() else 0.0
    for position, column in enumerate(matrix.unbind(dim=1)):
        remainder = column
        for vector in basis:
            remainder = remainder - (remainder @ vector) * vector
        length = float(remainder.norm())
        if length > _RANK * max(float(column.norm()), _RANK * largest) and length > 0:
            result[position] = True
            basis.append(remainder / length)
    return result


def _determined(matrix: Tensor) -> Tensor:
    """[K] bool, the parts whose weight is unique: no change of the other weights can compensate for it."""
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


def listed(weights: Mapping[str, float | None]) -> str:
    """Reward columns and their determined weights, as text.

    Example:
        >>> listed({"accuracy": 1.0, "format": 0.3, "style": None})
        'accuracy 1, format 0.3'
    """
    return ", ".join(
        f"{name} {weight:.{_PRINTED}g}" for name, weight in weights.items() if weight is not None
    )


def _length(weight: float) -> int:
    """Number of significant digits of a weight as printed."""
    digits = f"{weight:.{_PRINTED - 1}e}".partition("e")[0].replace(".", "").lstrip("-")
    return len(digits.rstrip("0"))
