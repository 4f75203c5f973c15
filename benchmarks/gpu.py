"""The engine on a GPU: `python benchmarks/gpu.py [--rows 1000000000]`. Needs a CUDA device; prints Markdown.

Two tables. How long GRPO takes on rewards that lie on the card, over the time of a copy there that reads and writes as
many bytes; and how long it takes from the CPU's memory and back with each `--device`, in a process of its own each, its start included.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch

from advcli.engine.dispatch import in_blocks
from advcli.engine.run import Plan, run
from advcli.estimators.catalog import ESTIMATORS
from advcli.records.settings import Settings

RUNS = 7
WIDTHS = (8, 64)
SIZES = (100_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)


def main() -> None:
    """Print both tables, or one measurement for the second."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    parser.add_argument("--table", choices=["card", "devices"], help="one of the two tables")
    parser.add_argument("--one", nargs=3, metavar=("DEVICE", "ROWS", "ORDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        device, rows, order = args.one
        print(json.dumps(_one(device, int(rows), shuffled=order == "shuffled")))
        return
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    if args.table != "devices":
        _resident(args.rows)
    if args.table != "card":
        _devices()


def _resident(rows: int) -> None:
    """The engine on rewards that lie on the card."""
    rewards = torch.randint(0, 9, (rows,), device="cuda").float() / 8
    copy = _milliseconds(lambda: torch.empty_like(rewards).copy_(rewards))
    print(
        f"{rows:,} float32 rewards on the card; a copy of them: {copy:.2f} ms, {8e-6 * rows / copy:,.0f} GB/s\n"
    )
    print("| estimator | scale | groups of | form | ms | × the copy |\n| --- | --- | --- | --- | --- | --- |")
    for name, scale in (("grpo", "group"), ("grpo", "none"), ("rloo", "none")):
        for width in WIDTHS:
            for compiled in (True, False):
                torch.compiler.reset()
                estimate = in_blocks(ESTIMATORS[name], width, compiled=compiled, scale=scale)
                took = _milliseconds(lambda call=estimate: call(rewards))
                form = "compiled" if compiled else "step by step"
                print(f"| {name} | {scale} | {width} | {form} | {took:.2f} | {took / copy:.2f} |", flush=True)


def _milliseconds(call: Callable[[], object]) -> float:
    """Median of several runs on the card, after two that do not count."""
    took = []
    for _ in range(RUNS + 2):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        took.append(start.elapsed_time(end))
    return statistics.median(took[2:])


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
