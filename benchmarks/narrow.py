"""Narrow parquet (id, step, reward), groups of 8, contiguous and shuffled: `python -m benchmarks.narrow [--rows N]`."""

from pathlib import Path

from benchmarks.processes import against_fastest, beside_peers, made, parser, table, workplace

TARGET = 1.5


def report(folder: Path, rows: int, runs: int) -> list[str]:
    """Both orders as Markdown."""
    lines = []
    for order in ("contiguous", "shuffled"):
        more = ["--shuffled"] if order == "shuffled" else []
        source = made("narrow", folder / f"narrow-{order}-{rows}.parquet", "--rows", str(rows), *more)
        found = beside_peers(source, "prompt_id,step", "reward", (), runs, folder)
        lines += [f"### Narrow parquet, {rows:,} rows, {order}", "", *table(found), ""]
        lines += [against_fastest(found, TARGET), ""]
    return lines


if __name__ == "__main__":
    args = parser(__doc__ or "", rows=10_000_000).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.rows, args.runs)))
