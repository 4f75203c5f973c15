"""JSON Lines as verl writes them: `python -m benchmarks.jsonl [--mb MEGABYTES]`. Only advcli keeps the bytes of the lines."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import (
    PEERS,
    against_fastest,
    against_leanest,
    beside_peers,
    made,
    parser,
    table,
    workplace,
)

# Text of a row, and what stands around it.
TEXT, AROUND = 4096, 110


def report(folder: Path, mb: int, runs: int, peers: Sequence[str] = PEERS) -> list[str]:
    """The table as Markdown."""
    rows = mb * 1_000_000 // (TEXT + AROUND) // 8 * 8
    source = made("jsonl", folder / f"verl-{rows}.jsonl", "--rows", str(rows), "--text", str(TEXT))
    found = beside_peers(source, "input,step", "score", (), runs, folder, peers)
    target = 1.0 if mb >= 5000 else 1.5
    return [
        f"### JSON Lines of verl, {source.stat().st_size / 1e9:.2f} GB, {rows:,} rows",
        "",
        *table(found),
        "",
        against_fastest(found, target),
        against_leanest(found),
        "",
    ]


if __name__ == "__main__":
    args = parser(__doc__ or "", mb=750).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.mb, args.runs, args.peers)))
