"""Infers reward shaping: which rule of the catalog, with which knobs.

Whatever the estimator, its advantages within a group rise linearly with its input rewards. So a shaping rule is
judged by how far the logged advantages of each group lie from a line over the shaped rewards, with its knobs
fitted to minimize that. The estimator is then searched for as usual, with the shaped rewards in place of those of
the dump.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from advcli.engine.shaped import shaped_by
from advcli.matching.inference.fitting import Residual, least_squares, shortened, square, worst
from advcli.matching.lines import ROWS, Lines
from advcli.matching.partitions import Partition
from advcli.matching.problem import Problem
from advcli.matching.sample import Slice
from advcli.records.settings import ShapeSpec
from advcli.shaping import spec
from advcli.shaping.catalog import SHAPINGS
from advcli.shaping.groups import Groups

# Knobs in tokens, fitted as shares of a long response; of these, the ones whose inverse enters the reward linearly.
_IN_TOKENS, _INVERSE = frozenset({"max", "buffer", "bound"}), frozenset({"max", "bound"})
_LONG = 0.95
# Shorter numbers are accepted if their residual is at most this multiple of the best, or this share of |A|.
_AS_GOOD, _EXACT = 2.0, 1e-9
# Changes below this share of the largest reward don't count as shaping.
_UNNOTICEABLE = 1e-6
# How many of the best starts are followed.
_FOLLOWED = 8
# A rule is dropped if none of the first starts reduces the residual to this share of the unshaped one.
_FEW, _LITTLE = 3, 0.5


@dataclass(frozen=True)
class Trial:
    """The knobs with which a rule is tried.

    Attributes:
        fitted: knob → starting values of the fit; for knobs in tokens, as shares of a long response.
        fixed: knobs that are not fitted and differ from the defaults.
        derive: reads knobs off the groups directly; returns None if it can't.
        ends: knobs that replace the logged rewards, so that they absorb a common factor of all rewards; the first stays.
    """

    fitted: Mapping[str, Sequence[float]] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    derive: Callable[[Slice, Lines], Mapping[str, float] | None] | None = None
    ends: Sequence[str] = ()


def _above(part: Slice, lines: Lines) -> Mapping[str, float] | None:
    """`grpo_lead`: the length above which groups are changed; None if none or all are."""
    rewards, lengths = part.columns["rewards"], part.columns["lengths"]
    groups = Groups.of(rewards, part.columns["group"])
    off = (lines.residuals(rewards).abs() * lines.size > lines.room).to(rewards.dtype)
    changed = lines.group.max(off) > 0
    shortest = groups.segments.rank(torch.where(groups.counted(lengths), lengths, torch.inf)) < ROWS
    mean = groups.mean(lengths, shortest)[lines.use]
    of_group = lines.group.max(mean.nan_to_num(nan=0.0))
    low = of_group[changed].min() if bool(changed.any()) else None
    below = None if low is None else of_group[~changed & (of_group < low)]
    if low is None or below is None or not len(below):
        return None
    bounds = float(below.max()), float(low)
    middle = torch.tensor([sum(bounds) / 2], dtype=torch.float64)
    return {"above": float(shortened(middle, lambda one: bounds[0] <= float(one[0]) < bounds[1]))}


_LIMITS = tuple(0.3 + 0.15 * place for place in range(14))
_BUFFERS = (0.05, 0.1, 0.2, 0.35, 0.6)
_COSINE = tuple(0.08 * 1.1**place for place in range(40))
_SLACK = {
    "beta": (0.05, 0.1, 0.3),
    "relative": (0.1, 0.4),
    "absolute": (16.0, 50.0),
    "cap": (0.2, 0.4),
}
TRIALS: Mapping[str, Sequence[Trial]] = {
    "overlong": [
        # Without a cap, the log determines only the slope and where it begins.
        Trial({"max": _LIMITS, "buffer": _BUFFERS}, {"factor": 1.0}),
        Trial({"max": _LIMITS, "buffer": _BUFFERS, "factor": (0.3, 1.0)}, {"cap": 1.0}),
    ],
    "linear": [Trial({"output": (0.25, 1.0), "input": (0.1,), "turns": (0.1,)})],
    # The log determines only coef / max.
    "length_limit": [Trial({"max": (1.0, 0.2)}, {"gated": gated}) for gated in (0.0, 1.0)],
    "efficiency": [Trial()],
    "gr3": [Trial({"alpha": (0.33, 2.0, 0.05)})],
    "alp": [Trial({"beta": (1e-7, 1e-4, 1e-2)})],
    "grpo_lead": [
        Trial({"alpha": (0.05, 0.5)}),
        Trial({"alpha": (0.05, 0.5)}, {"above": 0.0}),
        Trial({"alpha": (0.05, 0.5)}, derive=_above),
    ],
    "kimi": [Trial({"weight": (1.0, 0.1)})],
    "slack": [
        Trial({"beta": (0.1, 0.5)}),
        *(Trial(_SLACK, {"quantile": share}) for share in (0.25, 0.5, 0.1, 0.0)),
        *(Trial(_SLACK, {"quantile": share, "floor": 0.0}) for share in (0.25, 0.5)),
    ],
    "pass_rate_length": [Trial({"weight": (0.3, 0.05)})],
    "group_length": [Trial({"coef": (0.5, 0.1)})],
    "shortest": [Trial({"bonus": (0.5,)})],
    "cosine": [
        *(Trial({"max": _COSINE}, {"clamp": clamp}) for clamp in (0.0, 1.0)),
        *(
            Trial({"max": _COSINE}, {"clamp": clamp, "short_wrong": -0.5, "long_wrong": 0.0})
            for clamp in (0.0, 1.0)
        ),
        # The log determines two of the four rewards; the others amount to an estimator's scale and shift.
        *(
            Trial(
                {"max": _COSINE, "short_wrong": (-1.0, 0.0), "long_wrong": (-0.5,)},
                {"clamp": clamp},
                ends=("short_right", "long_right", "short_wrong", "long_wrong"),
            )
            for clamp in (0.0, 1.0)
        ),
    ],
    "stop_properly": [Trial({"coef": (0.5, 0.1)})],
    "effort": [Trial({"weight": (0.5,), "penalty": (1.0,), "bound": (0.5, 1.0, 2.0)})],
    "duplicate": [Trial({"alpha": (1.0, 0.3)})],
}
"""Shaping rules to try, in order of preference."""


@dataclass(frozen=True)
class Shaped:
    """A shaping rule under which every group lies on a line.

    Attributes:
        step: the rule with its knobs.
        free: how many knobs were fitted.
        scalable: whether the rewards may have another common factor.
    """

    step: ShapeSpec
    free: int
    scalable: bool = False


def usual(names: Collection[str]) -> tuple[str, ...]:
    """Expressions for the rules' inputs besides rewards and lengths, as far as columns with the usual names exist."""
    inputs = (one for name in TRIALS for one in SHAPINGS[name].inputs)
    matches = ((one, next((n for n in one.usual if n in names), None)) for one in inputs)
    return tuple(dict.fromkeys(spec.measured(one, name) for one, name in matches if name is not None))


def applicable(
    columns: Mapping[str, Tensor], asked: Sequence[ShapeSpec] = ()
) -> Iterator[tuple[str, dict[str, str]]]:
    """The rules that can be tried on some columns, each with the columns for its knobs.

    Args:
        columns: the columns of the dump.
        asked: rules that the user asked for; () for all.
    """
    for name in TRIALS:
        row = SHAPINGS[name]
        requested = [step for step in asked if step.name == name]
        if asked and not requested:
            continue
        named = dict(requested[0].columns) if requested else {}
        named |= {
            one.name: result
            for one in row.inputs
            if one.name not in named
            and (result := next((n for n in one.usual if f"extra {spec.measured(one, n)}" in columns), None))
        }
        available = {one.role for one in row.inputs if one.role} <= columns.keys() or all(
            one.name in named for one in row.inputs if one.role
        )
        given = all(one.name in named or one.optional or one.role or one.weight for one in row.inputs)
        if available and given and all(need in columns or need == "group" for need in row.needs):
            yield name, named


def fitting(part: Slice, asked: Sequence[ShapeSpec] = ()) -> Iterator[Shaped]:
    """The shaping rules, with fitted knobs, under which every group lies on a line.

    Args:
        part: the rows.
        asked: rules that the user asked for; () for all. An expression is tried as it is.
    """
    lines = Lines.of(part)
    # If the dump's own rewards lie on lines already, no knob can be determined.
    if lines.informative and not lines.holds(lines.residuals(part.columns["rewards"])):
        yield from (Shaped(step, 0) for step in asked if step.expression)
        for name, named in applicable(part.columns, asked):
            yield from _fitted(part, lines, name, named)


def _fitted(part: Slice, lines: Lines, name: str, named: Mapping[str, str]) -> Iterator[Shaped]:
    """A rule with the knobs under which every group lies on a line.

    Args:
        part: the rows.
        lines: their logged advantages.
        name: the rule.
        named: knob → the column it names.
    """
    row = SHAPINGS[name]
    unused = {one.weight for one in row.inputs if one.weight and one.name not in named and not one.role}
    lengths = part.columns.get("lengths")
    long = 1.0 if lengths is None else float(lengths[lengths.isfinite()].quantile(_LONG).clamp(min=1.0))
    for trial in TRIALS[name]:
        derived = trial.derive(part, lines) if trial.derive else {}
        if derived is None:
            continue
        knobs = [knob for knob in trial.fitted if knob not in unused]
        fixed = {**row.optional, **dict.fromkeys(unused, 0.0), **trial.fixed, **derived}

        def step(
            values: Tensor, knobs: Sequence[str] = knobs, fixed: Mapping[str, float] = fixed
        ) -> ShapeSpec:
            return ShapeSpec(name, {**fixed, **dict(zip(knobs, values.tolist(), strict=True))}, named)

        starts = [
            torch.tensor(one, dtype=torch.float64) for one in product(*(trial.fitted[k] for k in knobs))
        ]
        scale = _Scale.of(knobs, long)
        result = _on_lines(part, lines, step, starts, scale)
        # A common slope determines knobs that within a group are only a factor.
        closer = _on_lines(part, lines.joined(), step, starts, scale) if result and lines.separate else ()
        for one in closer or result:
            if _visible(part, one):
                yield Shaped(one, len(knobs), scalable=bool(trial.ends))
                stretched = _stretched(part, lines, one, trial.ends)
                if stretched is not None:
                    yield Shaped(stretched, len(knobs) + 1)


def _visible(part: Slice, step: ShapeSpec) -> bool:
    """Whether a rule changes the rewards noticeably: in groups of equal rewards even rounding noise makes a line."""
    rewards = part.columns["rewards"]
    changed = (shaped_by(step, part.columns) - rewards).nan_to_num(nan=0.0).abs().max()
    return bool(changed > _UNNOTICEABLE * rewards.nan_to_num(nan=0.0).abs().max())


def _on_lines(
    part: Slice,
    lines: Lines,
    step: Callable[[Tensor], ShapeSpec],
    starts: Sequence[Tensor],
    scale: "_Scale",
) -> Sequence[ShapeSpec]:
    """A rule with knobs that put every row on its line: with short ones, and with the best fit; () if none do."""

    def residuals(values: Tensor) -> Tensor:
        return lines.residuals(shaped_by(step(values), part.columns))

    unshaped = square(lines.residuals(part.columns["rewards"]))
    result = _best(starts, lambda numbers: residuals(scale.values(numbers)), lines, _LITTLE * unshaped)
    if result is None:
        return ()
    exact = scale.values(result)
    least = _AS_GOOD * max(worst(residuals(exact)), _EXACT)
    short = shortened(exact, lambda values: worst(residuals(values)) <= least)
    return [step(short)] if bool((short == exact).all()) else [step(short), step(exact)]


def _stretched(part: Slice, lines: Lines, step: ShapeSpec, ends: Sequence[str]) -> ShapeSpec | None:
    """A rule whose own rewards absorb the common factor of the logged advantages; None if there is none.

    Args:
        part: the rows.
        lines: their logged advantages.
        step: the rule.
        ends: see `Trial`.
    """
    factor = lines.factor(shaped_by(step, part.columns)) if ends else None
    if factor is None:
        return None
    first, *others = (step.knobs[name] for name in ends)

    def stretched(values: Tensor) -> ShapeSpec:
        return ShapeSpec(
            step.name, {**step.knobs, **dict(zip(ends[1:], values.tolist(), strict=True))}, step.columns
        )

    def residual(values: Tensor) -> float:
        return worst(lines.residuals_at(shaped_by(stretched(values), part.columns)))

    exact = torch.tensor([first + factor * (other - first) for other in others], dtype=torch.float64)
    least = _AS_GOOD * max(residual(exact), _EXACT)
    return stretched(shortened(exact, lambda values: residual(values) <= least))


@dataclass(frozen=True)
class _Scale:
    """Maps fitted numbers to knob values; the numbers are near 1 and enter the rewards roughly linearly.

    Attributes:
        unit: [K] the knob value for a number of 1.
        inverse: [K] bool, whether the number is the inverse of the knob.
    """

    unit: Tensor
    inverse: Tensor

    @classmethod
    def of(cls, knobs: Sequence[str], long: float) -> "_Scale":
        unit = [long if knob in _IN_TOKENS else 1.0 for knob in knobs]
        inverse = [knob in _INVERSE and "buffer" not in knobs for knob in knobs]
        return cls(torch.tensor(unit, dtype=torch.float64), torch.tensor(inverse, dtype=torch.bool))

    def values(self, numbers: Tensor) -> Tensor:
        return self.unit * torch.where(self.inverse, 1 / numbers, numbers)


def _best(starts: Sequence[Tensor], residuals: Residual, lines: Lines, little: float) -> Tensor | None:
    """The numbers with the smallest residual within the log's tolerance; None if there are none.

    The best starts are followed first. The search ends at the first fit to the last digit, or when the first few fits
    all leave a sum of squares above `little`.
    """
    result, least, squares = None, torch.inf, []
    for start in sorted(starts, key=lambda start: float(residuals(start).square().sum()))[:_FOLLOWED]:
        numbers = least_squares(residuals, start, near=lines.near)[0] if len(start) else start
        fit_residuals = residuals(numbers)
        squares.append(square(fit_residuals))
        if len(squares) == _FEW and min(squares) > little:
            break
        if lines.holds(fit_residuals) and worst(fit_residuals) < least:
            result, least = numbers, worst(fit_residuals)
            if lines.to_the_last_digit(fit_residuals):
                break
    return result


def applied(problem: Problem, partition: Partition, one: Shaped) -> Problem:
    """The problem with shaped rewards.

    Args:
        problem: the search problem.
        partition: the groups.
        one: the shaping rule.
    """
    rewards = shaped_by(one.step, problem.grouped(partition))
    weights = torch.ones(1, dtype=rewards.dtype)
    columns = {**problem.columns, "rewards": rewards, "parts": rewards[:, None], "weights": weights}
    return problem.but(columns=columns, partitions=[partition])
