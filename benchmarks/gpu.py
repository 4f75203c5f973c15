"""GRPO from the CPU's memory and back with each `--device`: `python benchmarks/gpu.py`. Needs a CUDA device; prints Markdown.

Each measurement is a process of its own, its start included.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

import torch

from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.records.settings import Settings

SIZES = (100_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)


def main() -> None:
    """Print the table, or one measurement for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=3, metavar=("DEVICE", "ROWS", "ORDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        device, rows, order = args.one
        print(json.dumps(_one(device, int(rows), shuffled=order == "shuffled")))
        return
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    _devices()


def _devices() -> None:
    """The three devices, a fresh process for each measurement."""
    print("\n| rows | order | cpu s | cuda s | auto s | auto chose | auto / best |\n|" + " --- |" * 7)
    for rows in SIZES:
        for order in ("contiguous", "shuffled"):
            found = {}
            for device in ("cpu", "cuda", "auto"):
                tried = [_measured(device, rows, order) for _ in range(3)]
                found[device] = (statistics.median(one["seconds"] for one in tried), tried[0]["device"])
            seconds = {device: took for device, (took, _) in found.items()}
            best = min(seconds["cpu"], seconds["cuda"])
            print(
                f"| {rows:,} | {order} | {seconds['cpu']:.3f} | {seconds['cuda']:.3f} | {seconds['auto']:.3f} | "
                f"{found['auto'][1]} | {seconds['auto'] / best:.2f} |",
                flush=True,
            )


def _measured(device: str, rows: int, order: str) -> dict:
    done = subprocess.run(
        [sys.executable, __file__, "--one", device, str(rows), order],
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def _one(device: str, rows: int, *, shuffled: bool) -> dict:
    group = torch.arange(rows) // 8
    if shuffled:
        group = group[torch.randperm(rows, generator=torch.Generator().manual_seed(0))]
    columns = {
        "rewards": torch.randint(0, 9, (rows,)).double() / 8,
        "group": group,
        "step": torch.zeros_like(group),
    }
    plan = Plan.of(Settings(device=device))
    start = time.perf_counter()
    plan = plan.at(columns)
    run(plan, columns)
    return {"seconds": time.perf_counter() - start, "device": plan.device.type}


if __name__ == "__main__":
    main()
