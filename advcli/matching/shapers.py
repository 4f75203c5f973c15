"""Rewards that were shaped before the estimator: which rule of the catalog, with which knobs.

Whatever the estimator, its advantages in a group go up in a line with the rewards that it was given. So a rule is tried by how far
the logged advantages of each group lie from a line through the shaped rewards; its knobs are those that leave least over. What
fits is then searched for like any log, with the shaped rewards in place of those of the dump.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from advcli.engine.shaped import shaped_by
from advcli.matching.fitting import least_squares, shortened
from advcli.matching.partitions import Partition
from advcli.matching.problem import Problem
from advcli.matching.sample import Slice
from advcli.records.settings import ShapeSpec
from advcli.shaping import spec
from advcli.shaping.catalog import SHAPINGS
from advcli.tensors.segments import Segments

# A line through fewer rows leaves nothing over.
_ROWS = 3
# Times the room of the log that a row may be off before the estimator is known.
_LOOSE = 4.0
# Knobs in tokens: what they are tried with are shares of the longest response.
_IN_TOKENS = frozenset({"max", "buffer", "bound", "above"})


@dataclass(frozen=True)
class Trials:
    """With which knobs a rule is tried.

    Attributes:
        fitted: knob → the values that the fit begins with; of knobs in tokens, as shares of the longest response.
        fixed: sets of knobs that are not fitted; each is tried.
    """

    fitted: Mapping[str, Sequence[float]] = field(default_factory=dict)
    fixed: Sequence[Mapping[str, float]] = ({},)


TRIALS: Mapping[str, Trials] = {
    # Without a cap only the slope and where it begins are in the log.
    "overlong": Trials(
        {"max": (1.0, 0.8, 0.5), "buffer": (0.5, 0.2)},
        [{"factor": 1.0, "cap": 0.0}],
    ),
    "linear": Trials({"output": (0.25, 1.0), "input": (0.1,), "turns": (0.1,)}),
    # Only coef / max is in the log.
    "length_limit": Trials({"max": (1.0, 4.0, 0.2)}, [{"gated": 0.0}, {"gated": 1.0}]),
    "efficiency": Trials(),
    "gr3": Trials({"alpha": (0.33, 2.0, 0.05)}),
    "alp": Trials({"beta": (1e-7, 1e-4, 1e-2)}),
    "grpo_lead": Trials({"alpha": (0.05, 0.5)}, [{"above": 4000.0}, {"above": 0.0}]),
    "kimi": Trials({"weight": (1.0, 0.1)}),
    "slack": Trials({"beta": (0.1, 0.5)}, [{}, {"cap": 1.0, "floor": 0.0}]),
    "pass_rate_length": Trials({"weight": (0.3, 0.05)}),
    "group_length": Trials({"coef": (0.5, 0.1)}),
    "shortest": Trials({"bonus": (0.5,)}),
    "cosine": Trials(
        {"max": (1.0, 2.0, 0.5)},
        [
            {"clamp": clamp, **wrong}
            for clamp, wrong in product((0.0, 1.0), ({}, {"short_wrong": -0.5, "long_wrong": 0.0}))
        ],
    ),
    "stop_properly": Trials({"coef": (0.5, 0.1)}),
    "effort": Trials({"weight": (0.5,), "penalty": (1.0,), "bound": (1.0, 0.5)}),
    "duplicate": Trials({"alpha": (1.0, 0.3)}),
}
"""Rules that are tried, in the order in which they are believed."""


@dataclass(frozen=True)
class Shaped:
    """A rule that makes every group a line.

    Attributes:
        step: the rule with its knobs.
        free: how many knobs were fitted.
    """

    step: ShapeSpec
    free: int


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
            one.name: found
            for one in row.inputs
            if one.name not in named
            and (found := next((n for n in one.usual if f"extra {spec.measured(one, n)}" in columns), None))
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
    if lines.told:
        yield from (Shaped(step, 0) for step in asked if step.expression)
        for name, named in able(part.columns, asked):
            yield from _fitted(part, lines, name, named)


def _fitted(part: Slice, lines: "Lines", name: str, named: Mapping[str, str]) -> Iterator[Shaped]:
    """The knobs with which a rule makes a line of every group of some rows.

    Args:
        part: the rows.
        lines: their logged advantages.
        name: the rule.
        named: knob → the column that it names.
    """
    row, trials = SHAPINGS[name], TRIALS[name]
    unused = {one.weight for one in row.inputs if one.weight and one.name not in named and not one.role}
    knobs = [knob for knob in trials.fitted if knob not in unused]
    longest = float(part.columns["lengths"].nan_to_num(nan=0.0).max()) if "lengths" in part.columns else 1.0
    unit = torch.tensor([longest if knob in _IN_TOKENS else 1.0 for knob in knobs], dtype=torch.float64)
    for fixed in trials.fixed:
        defaults = {**row.optional, **dict.fromkeys(unused, 0.0), **fixed}

        def step(numbers: Tensor, defaults: Mapping[str, float] = defaults) -> ShapeSpec:
            values = dict(zip(knobs, (numbers * unit).tolist(), strict=True))
            return ShapeSpec(name, {**dict.fromkeys(row.required, 1.0), **defaults, **values}, named)

        def left(numbers: Tensor) -> Tensor:
            return lines.left(shaped_by(step(numbers), part.columns))

        found = _best(list(_starts(trials, knobs)), left, lines)
        if found is not None:
            short = shortened(found * unit, lambda numbers: lines.holds(left(numbers / unit))) / unit
            yield Shaped(step(short), len(knobs))


def _starts(trials: Trials, knobs: Sequence[str]) -> Iterator[Tensor]:
    for values in product(*(trials.fitted[knob] for knob in knobs)):
        yield torch.tensor(values, dtype=torch.float64)


def _best(starts: Sequence[Tensor], left: Callable[[Tensor], Tensor], lines: "Lines") -> Tensor | None:
    """The first numbers that leave no more over than the log's digits."""
    for start in starts:
        numbers = start if not len(start) else least_squares(left, start, enough=lines.nothing)[0]
        if lines.holds(left(numbers)):
            return numbers
    return None


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


@dataclass(frozen=True)
class Lines:
    """The logged advantages of some rows, to be laid beside rewards that rise with them in a line.

    Attributes:
        use: [N] bool, the rows that are compared.
        lines: [M] the group of each, or 0 for all where groups are too small to tell.
        group: [M] the group of each.
        values: [M] the logged advantages, centred in their group.
        room: [M] how far each may be off.
    """

    use: Tensor
    lines: Segments
    group: Segments
    values: Tensor
    room: Tensor

    @classmethod
    def of(cls, part: Slice) -> "Lines":
        """Look at the rows once."""
        use = part.compared() & part.columns["rewards"].isfinite()
        group = Segments.dense(part.columns["group"][use])
        logged = part.logged.values[use]
        values = logged - group.rows(group.mean(logged))
        room = _LOOSE * part.logged.room()[use]
        large = group.size() >= _ROWS
        lines = group if int(large.sum()) >= _ROWS else Segments.of(torch.zeros_like(group.index), 1)
        return cls(use, lines, group, values, room)

    @property
    def told(self) -> bool:
        """Whether there is anything to be told."""
        return len(self.values) > 2 * _ROWS and bool((self.values.abs() > self.room).any())

    @property
    def nothing(self) -> float:
        """The sum of squares that is as good as none."""
        return float((1e-3 * self.room).square().sum() / self._square)

    @property
    def _square(self) -> float:
        return float(self.values.square().sum())

    def left(self, rewards: Tensor) -> Tensor:
        """[M] how far each row lies from the rising line of its group, in units of a typical |A|; inf if it has no reward.

        Args:
            rewards: [N] float64.
        """
        given = rewards[self.use]
        centred = given - self.group.rows(self.group.mean(given))
        spread = self.lines.sum(centred * centred)
        slope = torch.where(spread > 0, self.lines.sum(centred * self.values) / spread, 0.0).clamp(min=0)
        left = self.values - self.lines.rows(slope) * centred
        return left.nan_to_num(nan=torch.inf) / self._square**0.5

    def holds(self, left: Tensor) -> bool:
        """Whether no row lies farther from its line than the log's digits allow."""
        return bool((left.abs() * self._square**0.5 <= self.room).all())
