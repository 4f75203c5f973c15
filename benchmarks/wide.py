"""Wide parquet, prompt and response of 4 KB a row: `python -m benchmarks.wide [--rows N] [--text BYTES]`."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import (
    PEERS,
    against_fastest,
    against_leanest,
    beside_peers,
    made,
    parser,
    ratios,
    spread,
    table,
    workplace,
)


def report(folder: Path, rows: int, text: int, runs: int, peers: Sequence[str] = PEERS) -> list[str]:
    """The table as Markdown; `rewrite` computes nothing, it reads the file with pyarrow and writes it again."""
    source = made("wide", folder / f"wide-{rows}-{text}.parquet", "--rows", str(rows), "--text", str(text))
    found = beside_peers(source, "prompt_id,step", "reward", ("rewrite",), runs, folder, peers)
    return [
        f"### Wide parquet, {rows:,} rows, {text:,} bytes of text a row",
        "",
        *table(found),
        "",
        against_fastest(found, 1.0),
        f"advcli / rewrite: {spread(ratios(found['advcli'], found['rewrite']))}; target ≤ 1.3.",
        against_leanest(found),
        "",
    ]


if __name__ == "__main__":
    args = parser(__doc__ or "", rows=200_000, text=4096).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.rows, args.text, args.runs, args.peers)))
