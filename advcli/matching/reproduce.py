"""The `advcli compute` options that reproduce the logged advantages."""

import shlex
from collections.abc import Iterator, Mapping

import numpy as np

from advcli.common.wording import pairs, short
from advcli.dataset.grouping import group, sizes_of
from advcli.matching.explanations import Explanation
from advcli.matching.partitions import Kind, Partition
from advcli.matching.trials import Trial
from advcli.records.settings import Settings
from advcli.records.table import RewardTable

# Changes without an option: clipping after the rule, and rows set to 0 or excluded for a reason the dump doesn't give.
_WITHOUT_OPTION = frozenset({"clip", "filtered_rows", "filtered_before", "not_broadcast"})


def flags(explanation: Explanation, best: Trial, table: RewardTable) -> str | None:
    """Options of `advcli compute` for the best rule of an explanation; None if no options express it.

    Args:
        explanation: reproduces every row.
        best: the rule.
        table: the dump as read.
    """
    grouped = _grouping(best.partition, table)
    after = explanation.after or {}
    kept = "keep_pos" in after
    untyped = _WITHOUT_OPTION - {"filtered_rows" if kept else ""}
    if grouped is None or explanation.broken or explanation.problem.blur or untyped & after.keys():
        return None
    words = [*_rule(best.candidate.plan.settings, best.candidate.options), *grouped]
    words += _rewards(explanation, table)
    words += ["--shape", explanation.shape] if explanation.shape else []
    if kept:
        words += ["--keep-pos", f"{after['keep_pos']:g}", "--keep-neg", f"{after['keep_neg']:g}"]
        words += ["--compute-new-adv"] if after["compute_new_adv"] else []
    # Several inputs need an output folder.
    words += ["--out", "adv/"] if len(table.names) > 1 else []
    return shlex.join(words)


def _rule(settings: Settings, options: Mapping[str, float | str]) -> Iterator[str]:
    if settings.like:
        yield from ("--like", settings.like)
    yield from ("--estimator", f"{settings.estimator}{pairs(options)}")
    given = {"scale": settings.scale, "count": settings.count}
    given |= {
        name: value for name in ("missing", "singleton") if (value := getattr(settings, name)) != "null"
    }
    for name, word in given.items():
        yield from (f"--{name}", word) if word else ()


def _grouping(partition: Partition, table: RewardTable) -> list[str] | None:
    """The options for a grouping; None if no options express it."""
    if partition.kind is Kind.KEY:
        return []
    if partition.kind in (Kind.CUT, Kind.POSITION):
        n = next(iter(sizes_of(partition.grouping.group, partition.grouping.count)))
        same = np.array_equal(group(table, n).group, partition.grouping.group)
        return ["--n", str(n)] if same else None
    if partition.kind is Kind.OVER_STEPS:
        return ["--group-by", ",".join(table.choice.prompt)]
    return None


def _rewards(explanation: Explanation, table: RewardTable) -> Iterator[str]:
    """The options for reward columns and weights, if there are several or they were inferred."""
    given = dict(table.choice.rewards) | {
        name: weight for name, weight in (explanation.weights or {}).items() if weight is not None
    }
    if explanation.weights is None and len(given) < 2:
        return
    for name, weight in given.items():
        yield from ("--reward", name if weight == 1 else f"{name}={short(weight)}")
