"""Peak memory while the texts grow and the rows stay: `python -m benchmarks.memory [--rows N]`."""

import statistics
from pathlib import Path

from benchmarks.processes import advcli, in_turn, made, parser, peak_together, workplace

TEXTS = (2048, 4096, 8192)
SUFFIX = {"wide": ".parquet", "jsonl": ".jsonl"}


def report(folder: Path, rows: int, runs: int) -> list[str]:
    """The table as Markdown."""
    lines = [f"### Peak memory of advcli, {rows:,} rows, 1, 2 and 4 times the text", ""]
    lines += [
        "| | " + " | ".join(f"{text:,} B a row" for text in TEXTS) + " | largest / smallest |",
        "|---|" + "---:|" * 4,
    ]
    for kind, suffix in SUFFIX.items():
        peaks, together = [], []
        for text in TEXTS:
            file = folder / f"memory-{kind}-{rows}-{text}{suffix}"
            source = made(kind, file, "--rows", str(rows), "--text", str(text))
            usages = in_turn({"advcli": advcli(source)}, runs, folder, suffix)["advcli"]
            peaks.append(statistics.median(usage.peak for usage in usages))
            together.append(peak_together(advcli(source)(folder / f"out{suffix}")))
        for what, found in ((kind, peaks), (f"{kind}, all its processes", together)):
            shown = " | ".join(f"{peak:,.0f} MB" for peak in found)
            lines.append(f"| {what} | {shown} | {max(found) / min(found):.2f} (target ≤ 1.1) |")
    return [*lines, ""]


if __name__ == "__main__":
    args = parser(__doc__ or "", rows=50_000, runs=1).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.rows, args.runs)))
