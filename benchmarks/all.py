"""All tables: `python -m benchmarks.all [--quick] [--folder DIR] >> benchmarks/README.md`; about ten minutes."""

import argparse
import datetime
from pathlib import Path

from benchmarks import files, growth, jsonl, match, memory, narrow, startup, wide
from benchmarks.processes import machine, workplace


def main() -> None:
    """Print the tables, each as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data and one run: does it work at all?")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    scale, runs = (20, 1) if args.quick else (1, args.runs)
    print(
        f"{datetime.date.today()}, {machine()}; {runs} counted runs in turn, after one that is not.\n",
        flush=True,
    )
    with workplace(args.folder) as folder:
        for report in (
            lambda: startup.report(2 * runs + 1),
            lambda: narrow.report(folder, 10_000_000 // scale, runs),
            lambda: wide.report(folder, 200_000 // scale, 4096, runs),
            lambda: jsonl.report(folder, 750 // scale, runs),
            lambda: memory.report(folder, 50_000 // scale, 1),
            lambda: growth.report(folder, 8_000_000 // scale, runs),
            lambda: files.report(folder, 1000 // scale, 200_000 // scale, runs),
        ):
            print("\n".join(report()), flush=True)
    # Imported last: what this process holds would count among the memory of those that it starts.
    from benchmarks import engine

    print("\n".join(engine.report(10_000_000 // scale)), flush=True)
    with workplace(args.folder) as folder:
        print("\n".join(match.report(folder, 1_000_000 // scale, max(2, runs))), flush=True)


if __name__ == "__main__":
    main()
