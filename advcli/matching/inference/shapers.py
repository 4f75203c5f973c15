"""Rewards that were shaped before the estimator: which rule of the catalog, with which knobs.

Whatever the estimator, its advantages in a group go up in a line with the rewards that it was given. So a
rule is tried by how far the logged advantages of each group lie from a line through the shaped rewards; its
knobs are those that leave least over. What fits is then searched for like any log, with the shaped rewards in
place of those of the dump.
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

# Knobs in tokens, which are tried as shares of a long response; of these, the inverse goes into the reward in a line.
_IN_TOKENS, _INVERSE = frozenset({"max", "buffer", "bound"}), frozenset({"max", "bound"})
_LONG = 0.95
# Shorter numbers are as good if they leave so many times as much over, or this share of |A|.
_AS_GOOD, _EXACT = 2.0, 1e-9
# Share of the largest reward that is no shaping.
_NOTHING = 1e-6
# How many of the starts that leave least over are followed.
_FOLLOWED = 8
# After so many, a rule is given up if none leaves less than this share of what the rewards leave as they are.
_FEW, _LITTLE = 3, 0.5


@dataclass(frozen=True)
class Trial:
    """With which knobs a rule is tried.

    Attributes:
        fitted: knob → the values that the fit begins with; of knobs in tokens, as shares of a long response.
        fixed: knobs that are not fitted and differ from the defaults.
        told: gives knobs that the groups tell at once; None where they cannot.
        ends: knobs that are rewards in place of the logged ones, so that a factor of all rewards is in them. The first stays.
    """

    fitted: Mapping[str, Sequence[float]] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    told: Callable[[Slice, Lines], Mapping[str, float] | None] | None = None
    ends: Sequence[str] = ()


def _above(part: Slice, lines: Lines) -> Mapping[str, float] | None:
    """Of `grpo_lead`: the length above which groups are not what they are without it; None if none is or all are."""
    rewards, lengths = part.columns["rewards"], part.columns["lengths"]
    groups = Groups.of(rewards, part.columns["group"])
    off = (lines.left(rewards).abs() * lines.size > lines.room).to(rewards.dtype)
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
        # Without a cap only the slope and where it begins are in the log.
        Trial({"max": _LIMITS, "buffer": _BUFFERS}, {"factor": 1.0}),
        Trial({"max": _LIMITS, "buffer": _BUFFERS, "factor": (0.3, 1.0)}, {"cap": 1.0}),
    ],
    "linear": [Trial({"output": (0.25, 1.0), "input": (0.1,), "turns": (0.1,)})],
    # Only coef / max is in the log.
    "length_limit": [Trial({"max": (1.0, 0.2)}, {"gated": gated}) for gated in (0.0, 1.0)],
    "efficiency": [Trial()],
    "gr3": [Trial({"alpha": (0.33, 2.0, 0.05)})],
    "alp": [Trial({"beta": (1e-7, 1e-4, 1e-2)})],
    "grpo_lead": [
        Trial({"alpha": (0.05, 0.5)}),
        Trial({"alpha": (0.05, 0.5)}, {"above": 0.0}),
        Trial({"alpha": (0.05, 0.5)}, told=_above),
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
        # Two of the four rewards are in the log: the others are the factor and the shift of any estimator.
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
"""Rules that are tried, in the order in which they are believed."""


@dataclass(frozen=True)
class Shaped:
    """A rule that makes every group a line.

    Attributes:
        step: the rule with its knobs.
        free: how many knobs were fitted.
        scalable: whether the rewards may have another factor.
    """

    step: ShapeSpec
    free: int
    scalable: bool = False


def usual(names: Collection[str]) -> tuple[str, ...]:
    """What rules may look at beside rewards and lengths, as far as the columns have usual names: expressions over columns."""
    inputs = (one for name in TRIALS for one in SHAPINGS[name].inputs)
    met = ((one, next((n for n in one.usual if n in names), None)) for one in inputs)
    return tuple(dict.fromkeys(spec.measured(one, name) for one, name in met if name is not None))


def able(
    columns: Mapping[str, Tensor], asked: Sequence[ShapeSpec] = ()
) -> Iterator[tuple[str, dict[str, str]]]:
    """The rules that can be tried on some columns, each with the columns that its knobs name.

    Args:
        columns: what was read.
        asked: rules that the user asked for; () for all.
    """
    for name in TRIALS:
        row = SHAPINGS[name]
        mine = [step for step in asked if step.name == name]
        if asked and not mine:
            continue
        named = dict(mine[0].columns) if mine else {}
        named |= {
            one.name: result
            for one in row.inputs
            if one.name not in named
            and (result := next((n for n in one.usual if f"extra {spec.measured(one, n)}" in columns), None))
        }
        there = {one.role for one in row.inputs if one.role} <= columns.keys() or all(
            one.name in named for one in row.inputs if one.role
        )
        given = all(one.name in named or one.optional or one.role or one.weight for one in row.inputs)
        if there and given and all(need in columns or need == "group" for need in row.needs):
            yield name, named


def fitting(part: Slice, asked: Sequence[ShapeSpec] = ()) -> Iterator[Shaped]:
    """The rules, each with its knobs, that make a line of every group of some rows.

    Args:
        part: the rows.
        asked: rules that the user asked for; () for all. An expression is tried as it is.
    """
    lines = Lines.of(part)
    # Where the rewards of the dump make lines already, no knob can be told.
    if lines.told and not lines.holds(lines.left(part.columns["rewards"])):
        yield from (Shaped(step, 0) for step in asked if step.expression)
        for name, named in able(part.columns, asked):
            yield from _fitted(part, lines, name, named)


def _fitted(part: Slice, lines: Lines, name: str, named: Mapping[str, str]) -> Iterator[Shaped]:
    """The knobs with which a rule makes a line of every group of some rows.

    Args:
        part: the rows.
        lines: their logged advantages.
        name: the rule.
        named: knob → the column that it names.
    """
    row = SHAPINGS[name]
    unused = {one.weight for one in row.inputs if one.weight and one.name not in named and not one.role}
    lengths = part.columns.get("lengths")
    long = 1.0 if lengths is None else float(lengths[lengths.isfinite()].quantile(_LONG).clamp(min=1.0))
    for trial in TRIALS[name]:
        told = trial.told(part, lines) if trial.told else {}
        if told is None:
            continue
        knobs = [knob for knob in trial.fitted if knob not in unused]
        fixed = {**row.optional, **dict.fromkeys(unused, 0.0), **trial.fixed, **told}

        def step(
            values: Tensor, knobs: Sequence[str] = knobs, fixed: Mapping[str, float] = fixed
        ) -> ShapeSpec:
            return ShapeSpec(name, {**fixed, **dict(zip(knobs, values.tolist(), strict=True))}, named)

        starts = [
            torch.tensor(one, dtype=torch.float64) for one in product(*(trial.fitted[k] for k in knobs))
        ]
        scale = _Scale.of(knobs, long)
        result = _on_lines(part, lines, step, starts, scale)
        # One slope for all groups tells knobs that in a group are but a factor.
        closer = _on_lines(part, lines.joined(), step, starts, scale) if result and lines.apart else ()
        for one in closer or result:
            if _visible(part, one):
                yield Shaped(one, len(knobs), scalable=bool(trial.ends))
                stretched = _stretched(part, lines, one, trial.ends)
                if stretched is not None:
                    yield Shaped(stretched, len(knobs) + 1)


def _visible(part: Slice, step: ShapeSpec) -> bool:
    """Whether a rule changes rewards by more than nothing: in groups of equal rewards the least change makes a line."""
    rewards = part.columns["rewards"]
    changed = (shaped_by(step, part.columns) - rewards).nan_to_num(nan=0.0).abs().max()
    return bool(changed > _NOTHING * rewards.nan_to_num(nan=0.0).abs().max())


def _on_lines(
    part: Slice,
    lines: Lines,
    step: Callable[[Tensor], ShapeSpec],
    starts: Sequence[Tensor],
    scale: "_Scale",
) -> Sequence[ShapeSpec]:
    """A rule with the knobs that lay every row on its line: with short ones, and with those that leave least; () if none do."""

    def left(values: Tensor) -> Tensor:
        return lines.left(shaped_by(step(values), part.columns))

    unshaped = square(lines.left(part.columns["rewards"]))
    result = _best(starts, lambda numbers: left(scale.values(numbers)), lines, _LITTLE * unshaped)
    if result is None:
        return ()
    exact = scale.values(result)
    least = _AS_GOOD * max(worst(left(exact)), _EXACT)
    short = shortened(exact, lambda values: worst(left(values)) <= least)
    return [step(short)] if bool((short == exact).all()) else [step(short), step(exact)]


def _stretched(part: Slice, lines: Lines, step: ShapeSpec, ends: Sequence[str]) -> ShapeSpec | None:
    """A rule with the factor that all logged advantages have beside it in its own rewards; None if there is none.

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

    def left(values: Tensor) -> float:
        return worst(lines.off(shaped_by(stretched(values), part.columns)))

    exact = torch.tensor([first + factor * (other - first) for other in others], dtype=torch.float64)
    least = _AS_GOOD * max(left(exact), _EXACT)
    return stretched(shortened(exact, lambda values: left(values) <= least))


@dataclass(frozen=True)
class _Scale:
    """From the numbers that are fitted to the values of knobs: near 1, and in a line with what they change.

    Attributes:
        unit: [K] what a number of 1 stands for.
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


def _best(starts: Sequence[Tensor], left: Residual, lines: Lines, little: float) -> Tensor | None:
    """The numbers that leave least over, of those that leave no more than the log's digits and rounding may.

    Those starts first that leave least; the first that leaves no more than the last digit ends the search, and so do a
    few that all leave more than `little`, a sum of squares.
    """
    result, least, squares = None, torch.inf, []
    for start in sorted(starts, key=lambda start: float(left(start).square().sum()))[:_FOLLOWED]:
        numbers = least_squares(left, start, near=lines.near)[0] if len(start) else start
        over = left(numbers)
        squares.append(square(over))
        if len(squares) == _FEW and min(squares) > little:
            break
        if lines.holds(over) and worst(over) < least:
            result, least = numbers, worst(over)
            if lines.to_the_last_digit(over):
                break
    return result


def applied(problem: Problem, partition: Partition, one: Shaped) -> Problem:
    """The search for the estimator behind the shaped rewards.

    Args:
        problem: what is searched for.
        partition: the groups.
        one: the rule.
    """
    rewards = shaped_by(one.step, problem.grouped(partition))
    weights = torch.ones(1, dtype=rewards.dtype)
    columns = {**problem.columns, "rewards": rewards, "parts": rewards[:, None], "weights": weights}
    return problem.but(columns=columns, partitions=[partition])
