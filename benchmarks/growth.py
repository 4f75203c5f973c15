"""Time and memory while the rows grow: `python -m benchmarks.growth [--rows LARGEST]`."""

import statistics
from math import log
from pathlib import Path

from benchmarks.processes import advcli, in_turn, made, parser, workplace

STEPS = 4


def report(folder: Path, rows: int, runs: int) -> list[str]:
    """The table as Markdown, and the slope of a straight line through the logarithms."""
    sizes = [rows >> step for step in reversed(range(STEPS))]
    commands = {}
    for size in sizes:
        source = made("narrow", folder / f"growth-{size}.parquet", "--rows", str(size))
        commands[f"{size:,}"] = advcli(source)
    found = in_turn(commands, runs, folder, ".parquet")
    lines = ["### Growth, narrow parquet, contiguous", "", "| rows | wall s | peak MB |", "|---:|---:|---:|"]
    wall = [statistics.median(usage.wall for usage in usages) for usages in found.values()]
    peak = [statistics.median(usage.peak for usage in usages) for usages in found.values()]
    lines += [f"| {name} | {w:.2f} | {p:,.0f} |" for name, w, p in zip(found, wall, peak, strict=True)]
    slopes = (f"{slope(sizes, values):.2f}" for values in (wall, peak))
    return [*lines, "", "Slope of time {}, of memory {}; target ≤ 1.05.".format(*slopes), ""]


def slope(sizes: list[int], values: list[float]) -> float:
    """Of a straight line through the logarithms."""
    return statistics.linear_regression(list(map(log, sizes)), list(map(log, values))).slope


if __name__ == "__main__":
    args = parser(__doc__ or "", rows=8_000_000).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.rows, args.runs)))
