"""Finds the assumptions under which a rule reproduces the log, fewest assumptions first."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch

from advcli.common.wording import counted, verb
from advcli.engine.rollouts import Rollouts
from advcli.matching import wording
from advcli.matching.causes import FEW
from advcli.matching.evidence import doubt
from advcli.matching.inference import difficulty, shapers
from advcli.matching.inference.fit_options import Inferred, inferred, set_alike
from advcli.matching.inference.postprocess import After, after, recomputed
from advcli.matching.inference.rounded import hidden_digits
from advcli.matching.inference.shuffled import find_shuffle
from advcli.matching.inference.weighing import Weighed, weighed
from advcli.matching.inference.weights import listed, named
from advcli.matching.logged import half_step
from advcli.matching.partitions import Partition
from advcli.matching.problem import Problem
from advcli.matching.sample import FIRST
from advcli.matching.search import SearchResult, Tell, indistinguishable, search
from advcli.matching.trials import Trial
from advcli.records.settings import ShapeSpec
from advcli.records.table import RewardTable
from advcli.shaping import spec
from advcli.tensors.segments import Segments

# Kinds of groups required beyond one per fitted number to determine an option.
_SPARE = 1
# The option that absorbs a common factor of all rewards when they are divided by a std.
_DIVISOR = ("eps",)
# Relative difference up to which knobs count as the same, written with different precision.
_SAME_KNOB = 1e-2
_WHY_FREE = "constant within the groups, or only moving together with another part"


@dataclass(frozen=True)
class Explanation:
    """Rules that reproduce every row, and the assumptions that takes.

    Attributes:
        problem: the search problem, with the assumptions applied.
        trials: the rules on all rows, best first.
        words: the assumptions, in words.
        weights: reward column → inferred weight, or None.
        after: changes to the advantages after the rule, name → value.
        otherwise: rules that fit equally under other weights or shaping, each with those in words.
        free: how many numbers were fitted to the log.
        doubt: why the rule cannot be named although every row fits; "" if it can.
        broken: what is wrong with the excluded rows; "" for nothing.
        shape: the shaping of the rewards, as `--shape` takes it; "" for none.
    """

    problem: Problem
    trials: Sequence[Trial]
    words: Sequence[str] = ()
    weights: Mapping[str, float | None] | None = None
    after: Mapping[str, object] | None = None
    otherwise: Sequence[tuple[Trial, str]] = ()
    free: int = 0
    doubt: str = ""
    broken: str = ""
    shape: str = ""

    def with_doubt(self) -> "Explanation":
        """The explanation with its doubt filled in."""
        best = indistinguishable(self.problem, self.trials)[0]
        return self if self.doubt else replace(self, doubt=doubt(self.problem, best, self.free))


def explained(
    problem: Problem, first: SearchResult, table: RewardTable, tell: Tell
) -> tuple[Explanation | None, str | None]:
    """The first explanation that holds, adding one assumption at a time.

    Args:
        problem: the search problem.
        first: the search result without any assumption.
        table: the dump as read.
        tell: called with a progress line after each attempt.

    Returns:
        The explanation or None, and a sentence if the rows were shuffled against their advantages.
    """
    logs = [(problem, first)]
    explanation = _explain(_ATTEMPTS, problem, first, table, tell)
    if problem.logged.stored.arithmetic and not _by_a_trainer(explanation):
        wide = problem.but(logged=problem.logged.computed())
        logs.append((wide, search(wide, tell)))
        other = _explain((), *logs[-1], table, tell)
        explanation = other if explanation is None or _by_a_trainer(other) else explanation
    if explanation is not None and not explanation.doubt:
        return explanation, None
    best = next(iter(first.trials), None)
    shuffled = None if explanation or (best and best.share >= 1 - FEW) else find_shuffle(logs[-1][0])
    if shuffled is None and explanation is None:
        candidates = (_explain(_FARTHER, log, result, table, tell) for log, result in logs)
        explanation = next(filter(None, candidates), None) or _blurred(problem, tell)
    return explanation, shuffled


def _by_a_trainer(explanation: Explanation | None) -> bool:
    """Whether a framework's rule explains the log without doubt."""
    if explanation is None or explanation.doubt:
        return False
    return any(trial.candidate.framework is not None for trial in explanation.trials if trial.explained)


def _explain(
    attempts: "Sequence[Attempt]", problem: Problem, first: SearchResult, table: RewardTable, tell: Tell
) -> Explanation | None:
    """The explanation of the first successful attempt; a doubtful one only if no other succeeds."""
    if first.explained:
        return Explanation(problem, [*first.trials, *set_alike(problem, first.trials)]).with_doubt()
    doubtful = None
    for attempt in attempts:
        explanation = attempt(problem, first, table, tell)
        explanation = explanation and explanation.with_doubt()
        if explanation is not None and not explanation.doubt:
            return explanation
        doubtful = doubtful or explanation
    return doubtful


def _as_not_broadcast(
    problem: Problem, first: SearchResult, table: RewardTable, tell: Tell
) -> Explanation | None:
    """Rows logged as 0 although another row of their rollout has an advantage."""
    del first
    if "rollout" not in problem.columns:
        return None
    values, rollouts = (
        problem.logged.values,
        Rollouts.of(problem.columns["rollout"], problem.columns.get("turn")),
    )
    has_advantage = torch.zeros(rollouts.count, dtype=torch.bool)
    has_advantage[rollouts.index[(values != 0) & values.isfinite()]] = True
    blank = (values == 0) & has_advantage[rollouts.index]
    if not bool(blank.any()):
        return None
    log = replace(problem.logged, values=torch.where(blank, torch.nan, values))
    # Passing columns drops the cached slices: other rows are compared now.
    kept = problem.but(columns=problem.columns, logged=log)
    result = search(kept, tell)
    best = next(iter(result.trials), None)
    if best is None or not result.explained or best.candidate.plan.unit.counts != "rollouts":
        return None
    count, rows = int(blank.sum()), int(torch.nonzero(blank)[0])
    last = torch.zeros_like(blank)
    last[rollouts.last] = True
    where = "" if bool((blank & last).any()) else ", all before the last turn"
    return Explanation(
        kept,
        result.trials,
        after={"not_broadcast": count},
        broken=f"{counted(count, 'row')} (first: {table.place(rows)}) {verb(count, 'has', 'have')} 0 "
        f"in place of the advantage of {verb(count, 'its', 'their')} rollout{where}",
    )


def _as_changed(problem: Problem, first: SearchResult, table: RewardTable, tell: Tell) -> Explanation | None:
    """Advantages that were clipped, or rows set to 0."""
    del table, tell
    return _of_after(problem, after(problem, list(first.trials)))


def _as_recomputed(
    problem: Problem, first: SearchResult, table: RewardTable, tell: Tell
) -> Explanation | None:
    """Keep ratios, with the kept rows recomputed."""
    del first, table, tell
    return _of_after(problem, recomputed(problem))


def _of_after(problem: Problem, done: After | None) -> Explanation | None:
    if done is None:
        return None
    summary: dict[str, object] = {"clip": list(done.clip)} if done.clip else {}
    if done.keep:
        summary |= {"keep_pos": done.keep[0], "keep_neg": done.keep[1], "compute_new_adv": done.recomputed}
    if done.filtered:
        summary |= {"filtered_rows": done.filtered, "filtered_in": done.where}
    words = list(wording.done(done))
    return Explanation(problem, done.trials, words, after=summary, free=done.free, doubt=done.doubt)


def _as_set(problem: Problem, first: SearchResult, table: RewardTable, tell: Tell) -> Explanation | None:
    """A rule with non-default options."""
    del first, table
    tell("options of rules tried")
    return _of_options(inferred(problem))


def _of_options(done: Inferred | None) -> Explanation | None:
    if done is None:
        return None
    best = indistinguishable(done.problem, done.found.trials)[0]
    doubted = doubt(done.problem, best, done.fitted, spare=_SPARE)
    return Explanation(done.problem, done.found.trials, free=done.fitted, doubt=doubted)


def _as_weighed(problem: Problem, first: SearchResult, table: RewardTable, tell: Tell) -> Explanation | None:
    """Inferred weights of the reward parts, possibly with clipping or rows set to 0."""
    del first
    choice = table.choice
    names = [name for name, _ in choice.rewards]
    results = weighed(problem, tell, skip_missing_parts=choice.skip_missing_parts)
    doubtful = None
    for best in results:
        weights = named(best.solution, names)
        words, free = [_describe_weights(best, weights)], best.solution.free
        if best.found.explained:
            trials = best.found.trials
            explanation = Explanation(best.problem, trials, words, weights, free=free, doubt=best.doubt)
            if not explanation.with_doubt().doubt:
                return replace(explanation, otherwise=_otherwise(best, results, names))
        else:
            changed = _of_after(best.problem, after(best.problem, list(best.found.trials)))
            if changed is None:
                continue
            words, free = [*words, *changed.words], free + changed.free
            explanation = replace(
                changed, words=words, weights=weights, free=free, doubt=changed.doubt or best.doubt
            )
            if not explanation.with_doubt().doubt:
                return explanation
        doubtful = doubtful or explanation
    return doubtful


def _otherwise(
    best: Weighed, alternatives: Iterable[Weighed], names: Sequence[str]
) -> list[tuple[Trial, str]]:
    """Rules that explain all rows with other weights: a constant factor can sit in a weight, a rule or an eps."""
    known = {(trial.candidate, listed(named(best.solution, names))) for trial in best.found.trials}
    result = []
    for other in alternatives:
        weights = listed(named(other.solution, names))
        fitting = indistinguishable(other.problem, other.found.trials)
        result += [
            (t, f"with reward weights {weights}") for t in fitting if (t.candidate, weights) not in known
        ]
        known |= {(trial.candidate, weights) for trial in fitting}
    return result


def shaped(problem: Problem, tell: Tell) -> Explanation | None:
    """The explanation by a shaping rule of the catalog, of rewards or advantages; None if none explains the log."""
    explanations: list[tuple[Explanation, str]] = []
    steps: list[ShapeSpec] = []
    for partition in problem.partitions:
        for shaping, apply in _shapes(problem, partition):
            if any(_equivalent(shaping.step, other) for other in steps):
                continue
            words = f"with {'advantages' if spec.after(shaping.step) else 'rewards'} shaped by {spec.typed(shaping.step)}"
            tell(f"{partition.label}: {words}")
            reshaped = apply(problem, partition, shaping)
            result = search(reshaped, tell)
            # Divided by the group's std, a common factor of the rewards only changes the eps.
            reached = (
                Explanation(reshaped, result.trials)
                if result.explained
                else _of_options(inferred(reshaped, only=_DIVISOR))
                if shaping.scalable
                else None
            )
            if reached is not None:
                free, shape = reached.free + shaping.free, spec.typed(shaping.step)
                explanations.append((replace(reached, words=[words], free=free, shape=shape), words))
                steps.append(shaping.step)
        if explanations:
            break
    sure = [pair for pair in explanations if not pair[0].with_doubt().doubt] or explanations
    if not sure:
        return None
    best, _ = sure[0]
    otherwise = [(other.trials[0], words) for other, words in sure[1:]]
    return replace(best, otherwise=otherwise).with_doubt()


def _equivalent(one: ShapeSpec, other: ShapeSpec) -> bool:
    """Whether two steps are equivalent: weights of advantages may fit several estimators, each with its own knobs."""
    if one.name != other.name:
        return False
    return not spec.after(one) or all(
        math.isclose(one.knobs[name], other.knobs[name], rel_tol=_SAME_KNOB) for name in one.knobs
    )


def _shapes(
    problem: Problem, partition: Partition
) -> Iterator[tuple[shapers.Shaped, Callable[[Problem, Partition, shapers.Shaped], Problem]]]:
    """The shaping rules that may have been used, each with the function that sets up the search behind it."""
    for one in shapers.fitting(problem.part(partition, FIRST), problem.shapes):
        yield one, shapers.applied
    if not problem.shapes or any(step.name == difficulty.NAME for step in problem.shapes):
        for one in difficulty.fitting(problem, partition):
            yield one, difficulty.applied


def _blurred(problem: Problem, tell: Tell) -> Explanation | None:
    """Rewards that were rounded when logged."""
    half = half_step(problem.columns["rewards"])
    if not half:
        return None
    blurred = problem.but(blur=half)
    result = search(blurred, tell)
    if not result.explained or not _is_conclusive(blurred, result):
        return None
    best = result.trials[0]
    if best.predicted is None or not hidden_digits(blurred.whole(best.partition), best.predicted):
        return None
    return Explanation(blurred, result.trials, [f"with rewards that the dump has rounded to {2 * half:g}"])


def _describe_weights(best: Weighed, weights: Mapping[str, float | None]) -> str:
    determined = listed(weights)
    free = [name for name, weight in weights.items() if weight is None]
    text = f"reward weights: {determined}" if determined else "reward weights"
    if not best.solution.factor_known:
        text += " (their ratios only: the scale divides a common factor out)"
    if free:
        text += f"; not determined: {', '.join(free)} ({_WHY_FREE})"
    return f"{text}; residual {best.solution.residual:.1g}"


def _as_filtered_before(
    problem: Problem, first: SearchResult, table: RewardTable, tell: Tell
) -> Explanation | None:
    """Rows that were excluded from the statistics."""
    del first, table
    group = torch.from_numpy(problem.partitions[0].grouping.group)
    used = group >= 0
    segments = Segments.of(group[used], problem.partitions[0].grouping.count)
    blank = (problem.logged.values == 0) | ~problem.logged.values.isfinite()
    alive = torch.zeros_like(blank)
    alive[used] = segments.rows(segments.max((~blank[used]).double())) > 0
    live = problem.whole(problem.partitions[0]).groups.std > 0
    exclusions = {"rows": blank & alive, "groups": blank & ~alive, "rows and groups": blank}
    for what, excluded in exclusions.items():
        # Zeros in dead groups are not due to a filter.
        if not bool((excluded & used & live).any()) or bool(excluded[used].all()):
            continue
        values = torch.where(excluded, torch.nan, problem.logged.values)
        kept = problem.but(excluded=excluded, logged=replace(problem.logged, values=values))
        result = search(kept, tell)
        if result.explained and _is_conclusive(kept, result):
            count, of = int((excluded & used).sum()), int((used & live).sum())
            out = f"{counted(count, 'row')} with no advantage (whole {what})"
            words = f"{out} {verb(count, 'was', 'were')} left out before the statistics"
            ambiguity = (
                f"{count:,} of {of:,} rows of live groups carry no advantage, and the dump does not say why"
            )
            return Explanation(
                kept,
                result.trials,
                [words],
                after={"filtered_before": count},
                free=1,
                doubt=ambiguity if what != "groups" and 2 * count > of else "",
            )
    return None


def _is_conclusive(problem: Problem, result: SearchResult) -> bool:
    """Whether enough rows remain to tell rules apart."""
    compared = problem.logged.values.isfinite()
    return (
        int((compared & (problem.logged.values != 0)).sum()) >= 8 and result.trials[0].partition is not None
    )


Attempt: TypeAlias = Callable[[Problem, SearchResult, RewardTable, Tell], Explanation | None]
_ATTEMPTS: Sequence[Attempt] = (_as_not_broadcast, _as_changed, _as_set, _as_weighed, _as_recomputed)
# Attempts to make only if the log isn't shuffled.
_FARTHER: Sequence[Attempt] = (_as_filtered_before,)
