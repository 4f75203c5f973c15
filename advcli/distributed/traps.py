"""Checks for traps of formats that need the rows of a step, which may be in several partitions."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.dataset.load import DataSet
from advcli.distributed import scan
from advcli.distributed.scan import ScanJob, Summary
from advcli.io.formats import traps
from advcli.records.mergeable import Merge, Mergeable
from advcli.records.table import Choice

_MIX = np.uint64(1099511628211)
_MODULUS = 2**64


@dataclass(frozen=True)
class StepSeen(Mergeable):
    """A digest of a step's rows in one or several partitions.

    Attributes:
        rows: Σ h·r^p over the rows, with their digests h and positions p; mod 2^64.
        first: the position of the first row.
        low: the smallest reward; inf without any.
        high: the largest reward; -inf without any.
        sizes: the sizes of the groups.
    """

    rows: Annotated[int, Merge(lambda one, two: (one + two) % _MODULUS)]
    first: Annotated[int, Merge(min)]
    low: Annotated[float, Merge(min)]
    high: Annotated[float, Merge(max)]
    sizes: Annotated[frozenset[int], Merge(operator.or_)]

    def digest(self) -> int:
        """A digest that is the same for the same rows in the same order, at any position."""
        return self.rows * pow(int(_MIX), -self.first, _MODULUS) % _MODULUS


Seen = Mapping[int, StepSeen]


def seen(data: DataSet, columns: Mapping[str, pa.Array], positions: NDArray[np.int64]) -> Seen:
    """Step → its digest in a partition; empty if no check of the format needs it.

    Args:
        data: the rows of the partition.
        columns: the stored columns of the partition.
        positions: [N] the position of each row among all rows.
    """
    table = data.table
    if not set(table.choice.rules.checks) & set(traps.OF_ROWS) or not table.choice.prompt:
        return {}
    import pandas as pd

    usable = np.flatnonzero(table.key >= 0)
    step = table.step if table.step is not None else np.full(len(table.key), -1)
    used = [columns["key"], columns["key2"], columns["reward"]]
    used += [columns["logged"]] if "logged" in columns else []
    digests = _digests([column.to_numpy() for column in used]) * _powers(positions)
    groups = pd.DataFrame({"step": step[usable], "key": table.key[usable]}).groupby(["step", "key"]).size()
    frame = pd.DataFrame({"step": step, "digest": digests, "at": positions, "reward": table.rewards}).iloc[
        usable
    ]
    by_step = frame.replace([np.inf, -np.inf], np.nan).groupby("step")
    result = by_step.agg(
        rows=("digest", "sum"), first=("at", "min"), low=("reward", "min"), high=("reward", "max")
    )
    return {
        int(str(code)): StepSeen(
            int(rows),
            int(first),
            float(np.nan_to_num(low, nan=np.inf)),
            float(np.nan_to_num(high, nan=-np.inf)),
            frozenset(groups.loc[code].unique().tolist()),
        )
        for code, rows, first, low, high in result.itertuples()
    }


def said(job: ScanJob, summaries: Sequence[Summary], found: Seen, steps: Sequence[str]) -> tuple[str, ...]:
    """The warnings of the checks of the format.

    Args:
        job: the scan job.
        summaries: one per file.
        found: the step digests of all partitions.
        steps: the step of each code.
    """
    results = {
        "same_rows_at_several_steps": lambda: traps.again_said(_repeated_steps(job.choice, found), steps),
        "evaluation_rows": lambda: traps.sizes_said(
            {code: found[code].sizes for code in sorted(found)}, steps
        ),
        "no_advantage_yet": lambda: traps.none_logged_said(
            logged=any(summary.logged for summary in summaries)
        ),
    }
    return traps.found(replace(scan.blank(job.choice), names=job.names), job.kinds, results=results)


def _repeated_steps(choice: Choice, result: Seen) -> list[int]:
    """The steps that repeat the rows of an earlier one."""
    if choice.step is None or choice.dedup:
        return []
    seen_blocks: set[tuple[int, float, float]] = set()
    repeated = []
    for code in sorted(result):
        step = result[code]
        if step.low < step.high:
            block = (step.digest(), step.low, step.high)
            repeated += [code] if block in seen_blocks else []
            seen_blocks.add(block)
    return repeated


def _digests(columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    import pandas as pd

    result = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        result = result * _MIX + pd.util.hash_array(column)
    return pd.util.hash_array(result)


def _powers(exponents: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Powers of `_MIX`, mod 2^64."""
    result, base = np.ones(len(exponents), dtype=np.uint64), int(_MIX)
    for bit in range(int(exponents.max(initial=0)).bit_length()):
        result *= np.where((exponents >> bit) & 1, np.uint64(base), np.uint64(1))
        base = base * base % _MODULUS
    return result
