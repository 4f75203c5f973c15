"""The engine alone, in one process: `python -m benchmarks.engine [ROWS] [--device cuda]`.

The same GRPO advantages four ways, in one run: advcli's engine, the expression of polars, the one-liner of pandas, and the
loop over rows that verl ships. Groups are numbers already; only the ratios mean anything, each of medians.
"""

import argparse
import gc
import statistics
import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.records.settings import Settings

RUNS = 5
# Rows that the loop gets: it is linear, and all of them would take minutes.
LOOPED = 80_000


def main() -> None:
    """Time the ways and print the ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", type=int, nargs="?", default=10_000_000)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    # As in every command of advcli; here for all of them.
    gc.disable()
    print("\n".join(report(args.rows, args.device)))


def report(rows: int, device: str = "cpu") -> list[str]:
    """The table as Markdown."""
    lines = [
        f"### Engine alone, {rows:,} rows in groups of 8, {device}, {torch.get_num_threads()} threads",
        "",
        "| rows lie | advcli s | polars expression | pandas transform | verl's loop |",
        "|---|---:|---:|---:|---:|",
    ]
    for order in ("contiguous", "shuffled"):
        rewards, group = _data(rows, shuffled=order == "shuffled")
        step = np.zeros_like(group)
        ours = _time(lambda r=rewards, g=group, s=step: _engine(r, g, s, device))
        others = (
            _polars(rewards, group),
            _time(lambda r=rewards, g=group: _pandas(r, g), 3),
            _loop_time(rewards, group),
        )
        shown = " | ".join(f"{seconds / ours:,.2f} ×" for seconds in others)
        lines.append(f"| {order} | {ours:.3f} | {shown} |")
    return [*lines, "", f"A ratio is the time of the other over ours. The loop ran on {LOOPED:,} rows.", ""]


def _data(rows: int, *, shuffled: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    group = np.arange(rows) // 8
    return rng.random(rows).round(2), rng.permutation(group) if shuffled else group


def _engine(rewards: np.ndarray, group: np.ndarray, step: np.ndarray, device: str) -> torch.Tensor:
    # New tensors each time: what is known of a tensor, how its rows lie by groups, would be known the second time.
    columns = {"rewards": rewards, "group": group, "step": step}
    tensors = {name: torch.from_numpy(column) for name, column in columns.items()}
    return run(Plan.of(Settings(device=device)), tensors).original


def _pandas(rewards: np.ndarray, group: np.ndarray) -> pd.Series:
    by_group = pd.Series(rewards).groupby(group)
    return (rewards - by_group.transform("mean")) / by_group.transform("std")


def _polars(rewards: np.ndarray, group: np.ndarray) -> float:
    import polars as pl

    frame, r = pl.DataFrame({"r": rewards, "g": group}), pl.col("r")
    return _time(lambda: frame.select((r - r.mean().over("g")) / r.std().over("g")))


def _loop(rewards: torch.Tensor, index: np.ndarray, epsilon: float = 1e-6) -> torch.Tensor:
    """The loop of verl 0.9.1, verl/trainer/ppo/core_algos.py, compute_grpo_outcome_advantage, statement by statement."""
    scores = rewards.clone()
    id2score, id2mean, id2std = defaultdict(list), {}, {}
    with torch.no_grad():
        for i in range(scores.shape[0]):
            id2score[index[i]].append(scores[i])
        for idx in id2score:
            scores_tensor = torch.stack(id2score[idx])
            id2mean[idx] = torch.mean(scores_tensor)
            id2std[idx] = torch.std(scores_tensor)
        for i in range(scores.shape[0]):
            scores[i] = (scores[i] - id2mean[index[i]]) / (id2std[index[i]] + epsilon)
    return scores


def _loop_time(rewards: np.ndarray, group: np.ndarray) -> float:
    """Seconds that the loop would take on all rows."""
    some = min(LOOPED, len(rewards))
    index = (np.arange(some) // 8).astype(object)
    if not (group[:-1] <= group[1:]).all():
        index = np.random.default_rng(0).permutation(index)
    scores = torch.from_numpy(rewards[:some]).float()
    return _time(lambda: _loop(scores, index), 1) * len(rewards) / some


def _time(work: Callable[[], object], runs: int = RUNS) -> float:
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    main()
