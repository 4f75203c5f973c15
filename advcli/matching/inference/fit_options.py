"""Infers non-default options of a rule: choices and integers are enumerated, other numbers fitted to the log.

Fitted numbers are shortened and then judged like any rule: the fit only proposes values to try.
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
from advcli.matching.search import SearchResult, applicable, search
from advcli.matching.trials import Trial, judge, predict

# Rows used for a fit, and the largest number of rows if whole steps are needed.
_ROWS, _STEP_ROWS = 512, 8192
# Relative step for numerical slopes (large enough for float32), and the damping at which a fit ends.
_CHANGE, _DAMPING = 1e-3, 1e4
# Largest share of |A|² that a linearized fit may leave; how many forms are linearized, and how many are fitted.
_LARGEST_RESIDUAL, _LINEARIZED, _FITTED = 0.5, 64, 24
# A fit counts as near within this multiple of the log's tolerance, but only below this share of |A|².
_NEARBY, _FAR = 1e3, 1e-2
# Shorter numbers are accepted if their residual is at most this multiple of the best.
_AS_GOOD = 2.0
# An option whose value could be so many times larger or smaller is not determined by the log.
_FAR_OFF = 10.0
# Errors that a rule or torch raises for absurd option values.
_UNDEFINED = (AdvcliError, ArithmeticError, RuntimeError)
# Number of rows up to which every rule is compared on all of them.
_FEW = 131_072
_DIGITS = (1, 2, 3, 4, 5, 6, 8)


@dataclass(frozen=True)
class Inferred:
    """A successful search with non-default options.

    Attributes:
        found: the search result.
        problem: the search problem.
        fitted: how many numbers of the best rule were fitted to the log.
    """

    found: SearchResult
    problem: Problem
    fitted: int


def inferred(problem: Problem, only: Collection[str] | None = None) -> Inferred | None:
    """The rules that explain the log with the fewest fitted numbers; None if none does.

    Args:
        problem: the search problem.
        only: options to try; None for all.
    """
    # With prompts as groups, batch-level rules have covered whole steps already.
    for partition in (one for one in problem.partitions if one.kind is not Kind.STEP):
        fits = list(_fits(problem, partition, only))
        for count in sorted({fit.fitted for fit in fits}):
            tried = [fit.candidate for fit in fits if fit.fitted == count]
            narrowed = problem.but(partitions=[partition], candidates=tried)
            result = search(narrowed)
            if result.explained:
                return Inferred(result, narrowed, count)
    return None


@dataclass(frozen=True)
class _Fit:
    """A rule that fits a sample, and how many of its options were fitted to it."""

    candidate: Candidate
    fitted: int


def _fits(problem: Problem, partition: Partition, only: Collection[str] | None) -> Iterator[_Fit]:
    """For each rule, the options that fit a sample with the fewest changes."""
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
    """Rules that also explain a log if configured like the best one; with many rows, only the dump's framework is tried.

    Args:
        problem: the search problem.
        trials: rules that explain it with default options, best first.
    """
    best = trials[0]
    few = problem.whole(best.partition).size <= _FEW
    rules = (one for one in _rules(problem) if one.plan.rule and (few or one.framework == problem.framework))
    tried = []
    for rule in rules:
        usual = rule.plan.rule.options if rule.plan.rule else {}
        given = {name: best.candidate.arguments[name] for name in usual if name in best.candidate.arguments}
        given = {name: value for name, value in given.items() if value != usual[name]}
        if given:
            tried.append(rule.with_options(given))
    if not tried:
        return ()
    result = search(problem.but(partitions=[best.partition], candidates=tried))
    return [trial for trial in result.trials if trial.explained]


def _rules(problem: Problem) -> Iterator[Candidate]:
    """Every candidate rule with default options."""
    seen: set[tuple[object, ...]] = set()
    for candidate in applicable(problem, problem.candidates, {}):
        settings = candidate.plan.settings
        plain = settings.missing == settings.singleton == "null" and settings.count is None
        if plain and candidate.whose not in seen:
            seen.add(candidate.whose)
            yield candidate.bare


def _part(problem: Problem, partition: Partition, candidate: Candidate) -> Slice | None:
    """A sample that includes all rows a rule's advantages depend on; None if those are too many."""
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
            selected = picked[everything.groups.index.clamp(min=0)] & everything.groups.used
        else:
            # Later rows depend only on earlier ones.
            step = everything.columns["step"]
            sizes = torch.bincount(step).cumsum(0)
            last = int((sizes < _ROWS).sum())
            selected = step <= last if everything.one_step_each or scope == "step" else step >= 0
            if int(selected.sum()) > _STEP_ROWS:
                return None
        rows = torch.nonzero(selected).squeeze(1)
        problem.slices[key] = Slice.of(
            everything.columns, problem.logged, rows, whole=scope != "group", blur=problem.blur
        )
    return problem.slices[key]


def _promising(models: Sequence["_Model"]) -> list["_Model"]:
    """The few models that may fit: closest to the logged advantages, first as they are, then after a linearized fit."""
    first = sorted(models, key=lambda model: model.unlike)[:_LINEARIZED]
    second = sorted(((model.unlike_by_slope, position) for position, model in enumerate(first)))
    return [first[position] for unlike, position in second[:_FITTED] if unlike <= _LARGEST_RESIDUAL]


@dataclass(frozen=True, eq=False)
class _Model:
    """A rule whose options are fitted to some rows.

    Attributes:
        form: the rule with its enumerated options chosen.
        fitted: the options to fit.
        partition: the groups.
        part: some of the rows.
    """

    form: Form
    fitted: tuple[Fitted, ...]
    partition: Partition
    part: Slice

    @cached_property
    def _first_starts(self) -> Tensor:
        return torch.tensor([one.starts[0] for one in self.fitted], dtype=torch.float64)

    @cached_property
    def _unit(self) -> Tensor:
        return torch.tensor([one.unit for one in self.fitted], dtype=torch.float64)

    @cached_property
    def _ends(self) -> tuple[Tensor, Tensor]:
        """[K] the smallest and the largest allowed numbers."""
        low = torch.tensor([one.low for one in self.fitted], dtype=torch.float64)
        high = torch.tensor([one.high for one in self.fitted], dtype=torch.float64)
        return low / self._unit, high / self._unit

    @cached_property
    def _use(self) -> Tensor:
        """[N] bool, the rows used for the fit: live groups if any, since float32 rounding dominates in dead ones."""
        compared = self.part.compared()
        live = compared & (self.part.groups.std > 0)
        return live if bool(live.any()) else compared

    @cached_property
    def _size(self) -> float:
        return max(float(self.part.logged.values[self._use].norm()), 1e-300)

    @cached_property
    def _start(self) -> tuple[Tensor, Tensor]:
        """[K] the starting numbers of a fit, and [M] their residuals."""
        starts = [self._first_starts]
        for position, one in enumerate(self.fitted):
            for value in one.starts[1:]:
                starts.append(self._first_starts.clone())
                starts[-1][position] = value
        tried = [(start / self._unit, self._residuals(start / self._unit)) for start in starts]
        return min(tried, key=lambda pair: square(pair[1]))

    @cached_property
    def _logged(self) -> Tensor:
        return self.part.logged.values[self._use] / self._size

    @cached_property
    def unlike(self) -> float:
        """The share of |A|² that the rule's advantages don't explain, up to scale and shift."""
        return _unlike(self._start[1], self._logged)

    @cached_property
    def unlike_by_slope(self) -> float:
        """The share of |A|² that a linearized fit leaves."""
        numbers, residuals = self._start
        if not self.fitted or not bool(residuals.isfinite().all()):
            return square(residuals)
        slopes = slopes_at(self._residuals, numbers, residuals, Steps(_CHANGE, _DAMPING, *self._ends))
        if not bool(slopes.isfinite().all()):
            return torch.inf
        change = torch.linalg.lstsq(slopes, residuals[:, None], driver="gelsd").solution
        return min(square(residuals), square(residuals - (slopes @ change).squeeze(1)))

    def fit(self) -> _Fit | None:
        """The rule with the options that fit the rows; None if none do."""
        if self._holds(self.form.candidate):
            return _Fit(self.form.candidate, self.form.free) if self.form.chosen else None
        near = self._near(self.fitted, self._start[0]) if self.fitted else None
        if near is None:
            return None
        # Fewest options first, to avoid fitting rounding errors.
        for count in dict.fromkeys((1, 2, len(self.fitted))):
            for free in combinations(self.fitted, count):
                best = self._least(free, near)
                if best is not None:
                    return _Fit(self.form.candidate.with_options(best), count + self.form.free)
        return None

    def _near(self, free: Sequence[Fitted], start: Tensor) -> Tensor | None:
        """[K] the best numbers near a start, with only the `free` options fitted; None if they don't fit."""
        is_free, base = self._is_free(free), self._with_defaults(free, start)
        room = self.part.logged.room()[self._use] / self._size
        most = min(_FAR, float((_NEARBY * room).square().sum()))
        low, high = self._ends
        steps = Steps(_CHANGE, _DAMPING, low[is_free], high[is_free])

        def residuals(values: Tensor) -> Tensor:
            return self._residuals(base.masked_scatter(is_free, values))

        result, over = least_squares(residuals, base[is_free], near=most, steps=steps)
        return base.masked_scatter(is_free, result) if over <= most else None

    def _least(self, free: Sequence[Fitted], start: Tensor) -> dict[str, float] | None:
        """Values of the `free` options that fit the rows, as short as possible, the others at default; None if none do."""
        result = self._near(free, start)
        if result is None:
            return None
        is_free = self._is_free(free)
        most = _AS_GOOD * max(worst(self._residuals(result)), self.part.logged.exact / self._size)

        def fits(values: Tensor) -> bool:
            numbers = result.masked_scatter(is_free, values / self._unit[is_free])
            return worst(self._residuals(numbers)) <= most and self._holds_with(_named(free, values))

        short = shortened(result[is_free] * self._unit[is_free], fits, _DIGITS)
        options = _named(free, short)
        return options if fits(short) and all(self._matters(options, name) for name in options) else None

    def _matters(self, options: Mapping[str, float], name: str) -> bool:
        """Whether the rows determine an option's size: far larger and smaller values do not fit just as well."""
        others = (options[name] / _FAR_OFF, options[name] * _FAR_OFF)
        return options[name] == 0 or not all(self._holds_with({**options, name: other}) for other in others)

    def _is_free(self, free: Sequence[Fitted]) -> Tensor:
        """[K] bool, True for the `free` options."""
        return torch.tensor([one in free for one in self.fitted], dtype=torch.bool)

    def _with_defaults(self, free: Sequence[Fitted], numbers: Tensor) -> Tensor:
        """[K] the numbers of the `free` options, and the defaults of the others."""
        return torch.where(self._is_free(free), numbers, self._default / self._unit)

    @cached_property
    def _default(self) -> Tensor:
        """[K] the default values of the options."""
        arguments = self.form.candidate.arguments
        return torch.tensor([float(arguments[one.name]) for one in self.fitted], dtype=torch.float64)

    def _holds_with(self, options: Mapping[str, float]) -> bool:
        try:
            return self._holds(self.form.candidate.with_options(options))
        except _UNDEFINED:
            return False

    def _holds(self, candidate: Candidate) -> bool:
        """Whether a rule fits every row."""
        predicted = predict(candidate, self.part)
        return predicted is not None and judge(candidate, self.partition, self.part, predicted).explained

    def _residuals(self, numbers: Tensor) -> Tensor:
        """[M] the rule's advantages minus the logged ones, relative to the norm of those; inf where the rule has none."""
        values = dict(zip((one.name for one in self.fitted), (numbers * self._unit).tolist(), strict=True))
        plan = self.form.candidate.plan
        exact = {"dtype": "float64"} if "dtype" in self.form.candidate.arguments else {}
        try:
            result = run(replace(plan, knobs={**plan.knobs, **values, **exact}), self.part.columns).processed
        except _UNDEFINED:
            return torch.full_like(self._logged, torch.inf)
        return (result.double()[self._use] / self._size - self._logged).nan_to_num(nan=torch.inf)


def _named(free: Sequence[Fitted], values: Tensor) -> dict[str, float]:
    """Options and their values, rounded as they are printed."""
    return {one.name: float(f"{value:.8g}") for one, value in zip(free, values.tolist(), strict=True)}


def _unlike(residuals: Tensor, logged: Tensor) -> float:
    """The squared residual of the logged advantages after the best scale and shift of a rule's."""
    if not bool(residuals.isfinite().all()):
        return torch.inf
    given, wanted = (one - one.mean() for one in (residuals + logged, logged))
    along = float((given @ wanted) ** 2 / (given @ given).clamp(min=1e-300))
    return float(wanted @ wanted) - along
