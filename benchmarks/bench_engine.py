"""How fast are the advantages? `python benchmarks/bench_engine.py [ROWS] [--device cuda]`.

The same GRPO advantages three ways, in one run: advcli's engine, the pandas one-liner that a notebook has, and
the loop over prompts that trainers ship. Only the ratios mean anything; each is a median of five runs.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

from advcli.advantages import Plan, run
from advcli.records import Settings

RUNS = 5


def main() -> None:
    """Time the ways and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    print(
        f"{args.rows:,} rows, groups of 8, {args.device}, torch {torch.__version__}, {torch.get_num_threads()} threads"
    )
    for shuffled in (False, True):
        _report(*_data(args.rows, shuffled=shuffled), "shuffled" if shuffled else "contiguous", args.device)


def _report(rewards: np.ndarray, group: np.ndarray, order: str, device: str) -> None:
    frame = pd.DataFrame({"r": rewards, "g": group})
    ours = _time(lambda: _engine(rewards, group, device))
    others = {
        "pandas groupby.transform": _time(lambda: _pandas(frame)),
        "loop over rows": _loop_time(rewards, group),
    }
    print(f"{order}: advcli {1e3 * ours:.0f} ms")
    for name, seconds in others.items():
        print(f"  {name}: {seconds / ours:.2f} × that")


def _data(rows: int, *, shuffled: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    group = np.arange(rows) // 8
    return rng.random(rows).round(2), rng.permutation(group) if shuffled else group


def _engine(rewards: np.ndarray, group: np.ndarray, device: str) -> torch.Tensor:
    columns = {"rewards": torch.from_numpy(rewards), "group": torch.from_numpy(group)}
    columns["step"] = torch.zeros_like(columns["group"])
    return run(Plan.of(Settings(device=device)), columns).original


def _pandas(frame: pd.DataFrame) -> pd.Series:
    by_group = frame.groupby("g")["r"]
    return (frame["r"] - by_group.transform("mean")) / by_group.transform("std")


def _loop(rewards: list[float], group: list[int]) -> list[float]:
    members = defaultdict(list)
    for reward, g in zip(rewards, group, strict=True):
        members[g].append(reward)
    mean = {g: statistics.fmean(values) for g, values in members.items()}
    std = {g: float(np.std(values, ddof=1)) if len(values) > 1 else 1.0 for g, values in members.items()}
    return [(reward - mean[g]) / (std[g] or 1.0) for reward, g in zip(rewards, group, strict=True)]


def _loop_time(rewards: np.ndarray, group: np.ndarray) -> float:
    """The loop is slow: time a tenth of the rows and multiply."""
    some = max(8, len(rewards) // 10 // 8 * 8)
    few = rewards[:some].tolist(), (np.arange(some) // 8).tolist()
    return _time(lambda: _loop(*few), runs=1) * len(rewards) / some


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
