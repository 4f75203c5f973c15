"""Searches with reward weights inferred from the log."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.matching.candidates import Candidate
from advcli.matching.inference.weights import Solution, solutions
from advcli.matching.partitions import Partition
from advcli.matching.problem import Problem
from advcli.matching.sample import FIRST, Slice
from advcli.matching.search import SearchResult, Tell, search
from advcli.matching.trials import Trial, tried

_ROWS = 16_384
# Numbers of digits to which weights are rounded first.
_SHORT = (1, 2, 3, 4)


@dataclass(frozen=True)
class Weighed:
    """A search with inferred weights.

    Attributes:
        solution: the weights.
        problem: the search problem with these weights.
        found: the search result.
        doubt: why the weights are not determined by the log; "" if they are.
    """

    solution: Solution
    problem: Problem
    found: SearchResult
    doubt: str = ""


def weighed(problem: Problem, tell: Tell, *, skip_missing_parts: bool) -> Iterator[Weighed]:
    """Searches with inferred weights that explain every row that isn't clipped or 0; complete explanations come first.

    Args:
        problem: the search problem; its columns have "parts" [N, K].
        tell: called with a progress line after each attempt.
        skip_missing_parts: a missing part counts as 0 if another part of the row is there.
    """
    for partition in problem.partitions:
        solved = list(_solved(problem, partition, tell, skip_missing_parts=skip_missing_parts))
        partial: list[Weighed] = []
        doubt = _single_reward_doubt(problem, partition)
        for solution, fitting, _ in sorted(solved, key=lambda one: _preference(problem, one[0], one[2])):
            columns = _reweighed(problem.columns, solution, skip_missing_parts=skip_missing_parts)
            reweighed = problem.but(columns=columns, partitions=[partition], candidates=fitting)
            result = search(reweighed)
            if result.explained:
                yield Weighed(solution, reweighed, result, doubt)
            elif result.trials:
                partial.append(Weighed(solution, reweighed, result, doubt))
        if partial:
            yield from partial
            return


def _single_reward_doubt(problem: Problem, partition: Partition) -> str:
    """Why the factor of a single reward is not determined: with two distinct rewards per group any rule is linear."""
    if problem.columns["parts"].shape[1] > 1:
        return ""
    part = problem.part(partition)
    use = part.compared() & part.columns["rewards"].isfinite() & (part.groups.std > 0)
    pairs = torch.stack([part.columns["group"][use].double(), part.columns["rewards"][use]], dim=1).unique(
        dim=0
    )
    if len(pairs) and int(torch.bincount(pairs[:, 0].long()).max()) > 2:
        return ""
    return "a factor was fitted, and no group has more than two different rewards: ranks, a sign or a tanh fit as well"


def _solved(
    problem: Problem, partition: Partition, tell: Tell, *, skip_missing_parts: bool
) -> Iterator[tuple[Solution, Sequence[Candidate], Sequence[Trial]]]:
    """Weights with which a rule explains a sample, except clipped and zero rows; with the rules to search and the trials."""
    first = problem.part(partition, FIRST)
    for solution in solutions(problem.part(partition, _ROWS), problem.candidates):
        shown = ", ".join(f"{w:.4g}" for w in solution.weights.tolist())
        tell(f"{partition.label}: weights {shown} tried")
        fitting = [candidate for candidate in problem.candidates if _solves(candidate, solution)]
        near: list[tuple[Solution, list[Trial]]] = []
        # Configured weights have few digits, so round ones are tried first.
        for short in (*(solution.rounded(digits) for digits in _SHORT), solution):
            columns = _reweighed(first.columns, short, skip_missing_parts=skip_missing_parts)
            small = Slice.of(columns, first.logged, None, whole=first.whole)
            known = [c for c in fitting if all(name in columns for name in c.plan.entry.needs)]
            trials = [t for t in tried(partition, known, small, brief=True) if t.explained or t.core]
            if trials:
                near.append((short, trials))
            if any(trial.explained for trial in trials):
                break
        if near:
            short, trials = next((one for one in near if any(t.explained for t in one[1])), near[0])
            yield short, fitting, trials


def _preference(
    problem: Problem, solution: Solution, trials: Sequence[Trial]
) -> tuple[bool, bool, int, float, bool, bool, int]:
    """Sort key of preference, lowest first.

    The dump's own framework, few digits, a largest weight near 1, any framework.
    """
    fitting = [trial for trial in trials if trial.explained] or list(trials)
    best = min(fitting, key=problem.preference)
    by_own_framework = any(trial.candidate.framework == problem.framework for trial in fitting)
    largest = float(solution.weights.abs().max())
    return (
        not best.explained,
        problem.framework is not None and not by_own_framework,
        min(solution.digits, _SHORT[-1] + 1),
        # Without division the log determines the factor.
        abs(math.log10(largest)) if largest and solution.scale != "none" else 0.0,
        best.candidate.framework is None,
        solution.scale != best.candidate.scale,
        problem.preference(best)[-1],
    )


def _reweighed(
    columns: Mapping[str, Tensor], solution: Solution, *, skip_missing_parts: bool
) -> dict[str, Tensor]:
    """The columns with other weights."""
    parts = columns["parts"]
    absent = ~parts.isfinite()
    total = (torch.where(absent, 0.0, parts) * solution.weights).sum(dim=1)
    missing = absent.all(dim=1) if skip_missing_parts else absent.any(dim=1)
    return {
        **columns,
        "rewards": torch.where(missing, torch.nan, total),
        "weights": solution.weights,
    }


def _solves(candidate: Candidate, solution: Solution) -> bool:
    """Whether the solved equations apply to a rule."""
    if "parts" in candidate.plan.entry.needs:
        return solution.scale == "parts"
    return solution.scale == candidate.scale or (solution.scale == "none" and candidate.scale is None)
