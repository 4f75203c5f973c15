"""How long `advcli match` searches: `python -m benchmarks.match [--rows 1e6]`.

Logs of every outcome, made by numpy: a rule is found, weights are, one row is off, rows were shuffled against their rewards,
nothing fits. Each as a whole process, and the reading and the search by themselves in a process that has imported torch.
"""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.processes import parser, run, workplace

GROUP, STEPS = 8, 100
WEIGHTS = (1.0, 0.35)
Values = NDArray[np.float64]


def _over_std(total: Values) -> Values:
    by_group = total.reshape(-1, GROUP)
    std = by_group.std(axis=1, ddof=1, keepdims=True)
    return ((by_group - by_group.mean(axis=1, keepdims=True)) / (std + 1e-4)).reshape(-1)


def _centred(total: Values) -> Values:
    by_group = total.reshape(-1, GROUP)
    return (by_group - by_group.mean(axis=1, keepdims=True)).reshape(-1)


def _over_std_of_step(total: Values) -> Values:
    by_step = total.reshape(STEPS, -1)
    return (_centred(total).reshape(STEPS, -1) / (by_step.std(axis=1, ddof=1, keepdims=True) + 1e-4)).reshape(
        -1
    )


def _shuffled(values: Values) -> Values:
    return np.random.default_rng(1).permuted(values.reshape(STEPS, -1), axis=1).reshape(-1)


def _off(values: Values) -> Values:
    values = values.copy()
    values[len(values) // 3] += 0.5
    return values


LOGS: Mapping[str, tuple[bool, Callable[[Values], Values]]] = {
    # what made it: (whether parts were weighed, the advantages of the total)
    "grpo, scale group": (False, _over_std),
    "grpo, scale none": (False, _centred),
    "grpo, scale batch": (False, _over_std_of_step),
    "one row is off": (False, lambda total: _off(_over_std(total))),
    "reward weights": (True, _over_std),
    "shuffled in each step": (False, lambda total: _shuffled(_over_std(total))),
    "reward weights, shuffled": (True, lambda total: _shuffled(_over_std(total))),
    "no rule": (False, lambda total: np.random.default_rng(2).normal(size=len(total))),
}


def report(folder: Path, rows: int, runs: int) -> list[str]:
    """The table as Markdown."""
    rows = rows // (GROUP * STEPS) * GROUP * STEPS
    torch = min(run([sys.executable, "-c", "import torch"]).wall for _ in range(runs + 1))
    lines = [
        f"### `advcli match`, {rows:,} rows; `import torch` takes {torch:.1f} s",
        "",
        "| log | whole process, wall s | CPU s | reading and search, wall s | CPU s |",
        "|---|---:|---:|---:|---:|",
    ]
    for place, (name, (parts, rule)) in enumerate(LOGS.items()):
        path = folder / f"match-{place}-{rows}.parquet"
        if not path.exists():
            _write(path, rows, rule, parts=parts)
        whole = [
            run([sys.executable, "-m", "advcli", "match", str(path)], may_answer_no=True) for _ in range(runs)
        ]
        wall, cpu = min(_searched(path) for _ in range(runs))
        best = min(whole, key=lambda used: used.wall)
        lines.append(f"| {name} | {best.wall:.1f} | {best.cpu:.1f} | {wall:.1f} | {cpu:.1f} |")
    return [*lines, "", f"The best of {runs} runs each.", ""]


def _write(path: Path, rows: int, rule: Callable[[Values], Values], *, parts: bool) -> None:
    draw = np.random.default_rng(0)
    group = np.arange(rows) // GROUP
    given = draw.random((rows, 2 if parts else 1)).round(3)
    total = given @ WEIGHTS[: given.shape[1]]
    columns = {
        "prompt_id": np.char.add("prompt-", group.astype(str)),
        "step": np.arange(rows) * STEPS // rows,
    }
    names = ("correct_reward", "format_reward") if parts else ("reward",)
    columns |= dict(zip(names, given.T, strict=True)) | {"advantage": rule(total)}
    pq.write_table(pa.table(columns), path)


def _searched(path: Path) -> tuple[float, float]:
    """Wall and CPU seconds of the reading and the search."""
    from advcli.pipeline.match import match
    from advcli.pipeline.request import Request
    from advcli.records.settings import Settings
    from advcli.records.table import ColumnOptions

    wall, cpu = time.perf_counter(), time.process_time()
    match(Request((str(path),), Settings(), ColumnOptions()))
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    args = parser(__doc__ or "", rows=1_000_000).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.rows, args.runs)))
