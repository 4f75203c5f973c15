"""Narrow parquet (id, step, reward), groups of 8, contiguous and shuffled: `python -m benchmarks.narrow [--rows N]`."""

from pathlib import Path

from benchmarks.processes import (
    advcli,
    fastest,
    in_turn,
    made,
    parser,
    peer,
    ratios,
    spread,
    table,
    workplace,
)

PEERS = ("pandas", "polars", "polars_join", "duckdb")
TARGET = 1.5


def report(folder: Path, rows: int, runs: int) -> list[str]:
    """Both orders as Markdown."""
    lines = []
    for order in ("contiguous", "shuffled"):
        more = ["--shuffled"] if order == "shuffled" else []
        source = made("narrow", folder / f"narrow-{order}-{rows}.parquet", "--rows", str(rows), *more)
        commands = {
            "advcli": advcli(source),
            **{name: peer(name, source, "prompt_id,step", "reward") for name in PEERS},
        }
        found = in_turn(commands, runs, folder, ".parquet")
        best = fastest(found, PEERS)
        lines += [f"### Narrow parquet, {rows:,} rows, {order}", "", *table(found), ""]
        lines += [
            f"Fastest peer: {best}. advcli / {best}: {spread(ratios(found['advcli'], found[best]))}; target ≤ {TARGET}.",
            "",
        ]
    return lines


if __name__ == "__main__":
    args = parser(__doc__ or "", rows=10_000_000).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.rows, args.runs)))
