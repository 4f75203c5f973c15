"""A rule with an eps that no framework has, read off the divisors of the groups."""

from collections.abc import Iterator
from dataclasses import replace

from torch import Tensor

from advcli.engine.plan import Plan
from advcli.matching.candidates import Candidate
from advcli.matching.problem import Problem
from advcli.matching.search import Found, search
from advcli.matching.weights import level
from advcli.records.settings import Settings
from advcli.tensors.segments import Segments, Spread

_DIGITS = 4
# How many times its own uncertainty an eps must be.
_CLEAR = 20.0


def fitted(problem: Problem) -> tuple[Found, int] | None:
    """Grpo with an eps inferred from the log; None if it does not explain the log.

    Args:
        problem: what is searched for.

    Returns:
        What was found, and how many different standard deviations the live groups have.
    """
    for partition in problem.partitions:
        part = problem.part(partition)
        use = part.compared() & part.columns["rewards"].isfinite()
        group = Segments.dense(part.columns["group"][use])
        rewards, values = part.columns["rewards"][use], part.logged.values[use]
        centred = rewards - group.rows(group.mean(rewards))
        tried = [
            _with(candidate, ddof, float(f"{eps:.{digits}g}"))
            for ddof, eps in _levels(rewards, centred, values, group)
            for digits in (1, 2, 3, _DIGITS, 8)
            for candidate in _plain(problem)
        ]
        found = search(problem.but(partitions=[partition], candidates=tried)) if tried else None
        if found is not None and found.explained:
            return found, _spreads(rewards, group)
    return None


def _spreads(rewards: Tensor, group: Segments) -> int:
    """Different standard deviations of live groups."""
    std = Spread.of(rewards, group).std(1).nan_to_num(nan=0.0)
    live = std[std > 0]
    return len((live / live.max()).round(decimals=_DIGITS - 1).unique()) if len(live) else 0


def _levels(rewards: Tensor, centred: Tensor, values: Tensor, group: Segments) -> Iterator[tuple[int, float]]:
    """(ddof, eps) that the divisors of the groups agree on."""
    for ddof in (1, 0):
        spread = group.rows(Spread.of(rewards, group).std(ddof)).nan_to_num(nan=0.0)
        eps, doubt = level(centred, spread, values)
        if eps > _CLEAR * doubt:
            yield ddof, eps


def _plain(problem: Problem) -> list[Candidate]:
    """The grpo of our own catalog that divides by the group, if it was asked for."""
    able = [
        c for c in problem.candidates if c.framework is None and c.estimator == "grpo" and c.scale == "group"
    ]
    return able[:1]


def _with(candidate: Candidate, ddof: int, eps: float) -> Candidate:
    settings = Settings("grpo", candidate.scale, {"ddof": ddof, "eps": eps})
    return replace(
        candidate,
        plan=Plan.of(settings),
        ddof=ddof,
        eps=eps,
        told={**candidate.told, "ddof": ddof, "eps": eps},
    )
