"""A rule with other options than its defaults: words and whole numbers one by one, other numbers fitted to the log.

What a fit gives is shortened and then compared like any rule: it only says which numbers to try.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import torch
from torch import Tensor

from advcli.common.errors import AdvcliError
from advcli.engine.run import run
from advcli.matching.candidates import Candidate
from advcli.matching.inference.fitting import Steps, least_squares, shortened, slopes_at, square, worst
from advcli.matching.inference.options import Fitted, Form, forms
from advcli.matching.partitions import Kind, Partition
from advcli.matching.problem import Problem
from advcli.matching.sample import Slice
from advcli.matching.search import Found, able, search
from advcli.matching.trials import Trial, judge, predict

# Rows that a fit looks at, and rows of a step up to which whole steps are looked at.
_ROWS, _STEP_ROWS = 512, 8192
# By which share of a number a slope is measured: enough to be seen in float32.
_CHANGE, _DAMPING = 1e-3, 1e4
# Share of |A|² that a fit may be going to leave over; how many forms are looked at closer, and how many are fitted.
_LEFT, _CLOSER, _FITTED = 0.5, 64, 24
# Times the room of the log within which a fit is near, and the share of |A|² that is too much all the same.
_NEARBY, _FAR = 1e3, 1e-2
# Shorter numbers are as good if they leave so many times as much at most.
_AS_GOOD = 2.0
# A number that can be so many times larger or smaller is not in the log.
_FAR_OFF = 10.0
# What a rule says, or torch, of numbers that nobody would set.
_UNDEFINED = (AdvcliError, ArithmeticError, RuntimeError)
# Rows up to which every rule is compared on all of them.
_FEW = 131_072
_DIGITS = (1, 2, 3, 4, 5, 6, 8)


@dataclass(frozen=True)
class Inferred:
    """A search that succeeded with other options.

    Attributes:
        found: its outcome.
        problem: what was searched for.
        fitted: how many numbers of the best rule were fitted to the log.
    """

    found: Found
    problem: Problem
    fitted: int


def inferred(problem: Problem, only: Collection[str] | None = None) -> Inferred | None:
    """The rules that explain a log with the fewest numbers fitted; None if none does.

    Args:
        problem: what is searched for.
        only: options that are tried; None for all.
    """
    # Rules of the batch have seen whole steps where prompts are the groups.
    for partition in (one for one in problem.partitions if one.kind is not Kind.STEP):
        fits = list(_fits(problem, partition, only))
        for count in sorted({fit.fitted for fit in fits}):
            tried = [fit.candidate for fit in fits if fit.fitted == count]
            again = problem.but(partitions=[partition], candidates=tried)
            result = search(again)
            if result.explained:
                return Inferred(result, again, count)
    return None


@dataclass(frozen=True)
class _Fit:
    """A rule that fits a part of the rows, and how many of its options were fitted to them."""

    candidate: Candidate
    fitted: int


def _fits(problem: Problem, partition: Partition, only: Collection[str] | None) -> Iterator[_Fit]:
    """Of each rule the choice of options that fits a part of the rows with the fewest changed."""
    models = [
        _Model(form, fitted, partition, part)
        for rule in _rules(problem)
        for form in forms(rule)
        if (part := _part(problem, partition, form.candidate)) is not None
        for fitted in [tuple(one for one in form.fitted if only is None or one.name in only)]
        if only is None or (fitted and not form.chosen)
    ]
    done: set[tuple[object, ...]] = set()
    for model in sorted(_promising(models), key=lambda model: model.form.chosen):
        whose = model.form.candidate.whose
        if whose not in done and (fit := model.fit()):
            done.add(whose)
            yield fit


def set_alike(problem: Problem, trials: Sequence[Trial]) -> Sequence[Trial]:
    """Rules that explain a log too if their configuration sets what the best rule has; of many rows only the dump's framework.

    Args:
        problem: what is searched for.
        trials: rules that explain it by default, the best first.
    """
    best = trials[0]
    few = problem.whole(best.partition).size <= _FEW
    rules = (one for one in _rules(problem) if one.plan.rule and (few or one.framework == problem.framework))
    tried = []
    for rule in rules:
        usual = rule.plan.rule.options if rule.plan.rule else {}
        given = {name: best.candidate.told[name] for name in usual if name in best.candidate.told}
        given = {name: value for name, value in given.items() if value != usual[name]}
        if given:
            tried.append(rule.with_options(given))
    if not tried:
        return ()
    result = search(problem.but(partitions=[best.partition], candidates=tried))
    return [trial for trial in result.trials if trial.explained]


def _rules(problem: Problem) -> Iterator[Candidate]:
    """Every rule that is searched for, with its options as they are by default."""
    seen: set[tuple[object, ...]] = set()
    for candidate in able(problem, problem.candidates, {}):
        settings = candidate.plan.settings
        plain = settings.missing == settings.singleton == "null" and settings.count is None
        if plain and candidate.whose not in seen:
            seen.add(candidate.whose)
            bare = Candidate.of(replace(settings, knobs={}))
            yield replace(bare, order=candidate.order, unit=candidate.unit)


def _part(problem: Problem, partition: Partition, candidate: Candidate) -> Slice | None:
    """Rows with all that a rule's advantages depend on, few if they can be; None if they are too many."""
    everything = problem.whole(partition)
    scope = candidate.plan.scope(uneven=False)
    key = (f"{partition.label} by {scope}", _ROWS)
    if everything.size <= _ROWS:
        return everything
    if key not in problem.slices:
        if scope == "group":
            count = everything.groups.segments.count
            picked = torch.zeros(count, dtype=torch.bool)
            picked[torch.linspace(0, count - 1, max(1, _ROWS * count // everything.size)).long()] = True
            mine = picked[everything.groups.index.clamp(min=0)] & everything.groups.used
        else:
            # The first rows are all that those after them depend on.
            step = everything.columns["step"]
            sizes = torch.bincount(step).cumsum(0)
            last = int((sizes < _ROWS).sum())
            mine = step <= last if everything.one_step_each or scope == "step" else step >= 0
            if int(mine.sum()) > _STEP_ROWS:
                return None
        rows = torch.nonzero(mine).squeeze(1)
        problem.slices[key] = Slice.of(
            everything.columns, problem.logged, rows, whole=scope != "group", blur=problem.blur
        )
    return problem.slices[key]


def _promising(models: Sequence["_Model"]) -> list["_Model"]:
    """The few that may fit: those whose advantages are like the logged ones, as they are or as the first slope says."""
    first = sorted(models, key=lambda model: model.unlike)[:_CLOSER]
    second = sorted(((model.unlike_by_slope, position) for position, model in enumerate(first)))
    return [first[position] for unlike, position in second[:_FITTED] if unlike <= _LEFT]


@dataclass(frozen=True, eq=False)
class _Model:
    """A rule whose options are fitted to some rows.

    Attributes:
        form: the rule with its words and whole numbers.
        fitted: the options.
        partition: the groups.
        part: some of the rows.
    """

    form: Form
    fitted: tuple[Fitted, ...]
    partition: Partition
    part: Slice

    @cached_property
    def _usual(self) -> Tensor:
        return torch.tensor([one.starts[0] for one in self.fitted], dtype=torch.float64)

    @cached_property
    def _unit(self) -> Tensor:
        return torch.tensor([one.unit for one in self.fitted], dtype=torch.float64)

    @cached_property
    def _ends(self) -> tuple[Tensor, Tensor]:
        """[K] the smallest and the largest numbers that are allowed."""
        low = torch.tensor([one.low for one in self.fitted], dtype=torch.float64)
        high = torch.tensor([one.high for one in self.fitted], dtype=torch.float64)
        return low / self._unit, high / self._unit

    @cached_property
    def _use(self) -> Tensor:
        """[N] bool, the rows that are fitted: of groups of equal rewards, where there are others, float32 may make anything."""
        compared = self.part.compared()
        live = compared & (self.part.groups.std > 0)
        return live if bool(live.any()) else compared

    @cached_property
    def _size(self) -> float:
        return max(float(self.part.logged.values[self._use].norm()), 1e-300)

    @cached_property
    def _start(self) -> tuple[Tensor, Tensor]:
        """[K] the numbers that a fit begins with, and [M] what they leave over."""
        starts = [self._usual]
        for position, one in enumerate(self.fitted):
            for value in one.starts[1:]:
                starts.append(self._usual.clone())
                starts[-1][position] = value
        tried = [(start / self._unit, self._left(start / self._unit)) for start in starts]
        return min(tried, key=lambda pair: square(pair[1]))

    @cached_property
    def _logged(self) -> Tensor:
        return self.part.logged.values[self._use] / self._size

    @cached_property
    def unlike(self) -> float:
        """The share of |A|² that the rule's advantages do not give, whatever their factor and their shift."""
        return _unlike(self._start[1], self._logged)

    @cached_property
    def unlike_by_slope(self) -> float:
        """The share of |A|² that is left if every option changes the advantages as it does at first."""
        numbers, left = self._start
        if not self.fitted or not bool(left.isfinite().all()):
            return square(left)
        slopes = slopes_at(self._left, numbers, left, Steps(_CHANGE, _DAMPING, *self._ends))
        if not bool(slopes.isfinite().all()):
            return torch.inf
        change = torch.linalg.lstsq(slopes, left[:, None], driver="gelsd").solution
        return min(square(left), square(left - (slopes @ change).squeeze(1)))

    def fit(self) -> _Fit | None:
        """The rule with the options that fit the rows; None if none do."""
        if self._holds(self.form.candidate):
            return _Fit(self.form.candidate, self.form.free) if self.form.chosen else None
        near = self._near(self.fitted, self._start[0]) if self.fitted else None
        if near is None:
            return None
        # Fewest first: what is not set would be fitted to the digits that the log lacks.
        for count in dict.fromkeys((1, 2, len(self.fitted))):
            for free in combinations(self.fitted, count):
                best = self._least(free, near)
                if best is not None:
                    return _Fit(self.form.candidate.with_options(best), count + self.form.free)
        return None

    def _near(self, free: Sequence[Fitted], start: Tensor) -> Tensor | None:
        """[K] the numbers that leave least near a start, those of some options as by default; None if that is too much."""
        mine, base = self._mine(free), self._with_defaults(free, start)
        room = self.part.logged.room()[self._use] / self._size
        most = min(_FAR, float((_NEARBY * room).square().sum()))
        low, high = self._ends
        steps = Steps(_CHANGE, _DAMPING, low[mine], high[mine])

        def left(some: Tensor) -> Tensor:
            return self._left(base.masked_scatter(mine, some))

        result, over = least_squares(left, base[mine], near=most, steps=steps)
        return base.masked_scatter(mine, result) if over <= most else None

    def _least(self, free: Sequence[Fitted], start: Tensor) -> dict[str, float] | None:
        """Values of some options that fit the rows, short if they can be, all others as by default; None if none do."""
        result = self._near(free, start)
        if result is None:
            return None
        mine = self._mine(free)
        most = _AS_GOOD * max(worst(self._left(result)), self.part.logged.exact / self._size)

        def fits(values: Tensor) -> bool:
            numbers = result.masked_scatter(mine, values / self._unit[mine])
            return worst(self._left(numbers)) <= most and self._holds_with(_named(free, values))

        short = shortened(result[mine] * self._unit[mine], fits, _DIGITS)
        options = _named(free, short)
        return options if fits(short) and all(self._matters(options, name) for name in options) else None

    def _matters(self, options: Mapping[str, float], name: str) -> bool:
        """Whether the rows show the size of a number: it is none of a limit that all far larger and smaller ones come to."""
        others = (options[name] / _FAR_OFF, options[name] * _FAR_OFF)
        return options[name] == 0 or not all(self._holds_with({**options, name: other}) for other in others)

    def _mine(self, free: Sequence[Fitted]) -> Tensor:
        """[K] bool, which options those are."""
        return torch.tensor([one in free for one in self.fitted], dtype=torch.bool)

    def _with_defaults(self, free: Sequence[Fitted], numbers: Tensor) -> Tensor:
        """[K] the numbers of some options, and the others as they are by default."""
        return torch.where(self._mine(free), numbers, self._default / self._unit)

    @cached_property
    def _default(self) -> Tensor:
        """[K] the options as they are by default."""
        told = self.form.candidate.told
        return torch.tensor([float(told[one.name]) for one in self.fitted], dtype=torch.float64)

    def _holds_with(self, options: Mapping[str, float]) -> bool:
        try:
            return self._holds(self.form.candidate.with_options(options))
        except _UNDEFINED:
            return False

    def _holds(self, candidate: Candidate) -> bool:
        """Whether a rule fits every row."""
        predicted = predict(candidate, self.part)
        return predicted is not None and judge(candidate, self.partition, self.part, predicted).explained

    def _left(self, numbers: Tensor) -> Tensor:
        """[M] the rule's advantages minus the logged ones, in units of the length of those; inf where the rule has none."""
        values = dict(zip((one.name for one in self.fitted), (numbers * self._unit).tolist(), strict=True))
        plan = self.form.candidate.plan
        exact = {"dtype": "float64"} if "dtype" in self.form.candidate.told else {}
        try:
            result = run(replace(plan, knobs={**plan.knobs, **values, **exact}), self.part.columns).processed
        except _UNDEFINED:
            return torch.full_like(self._logged, torch.inf)
        return (result.double()[self._use] / self._size - self._logged).nan_to_num(nan=torch.inf)


def _named(free: Sequence[Fitted], values: Tensor) -> dict[str, float]:
    """Options and their values, as they are typed."""
    return {one.name: float(f"{value:.8g}") for one, value in zip(free, values.tolist(), strict=True)}


def _unlike(left: Tensor, logged: Tensor) -> float:
    """What is left of the logged advantages by a factor and a shift of those that a rule gives."""
    if not bool(left.isfinite().all()):
        return torch.inf
    given, wanted = (one - one.mean() for one in (left + logged, logged))
    along = float((given @ wanted) ** 2 / (given @ given).clamp(min=1e-300))
    return float(wanted @ wanted) - along
