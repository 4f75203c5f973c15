"""JSON Lines as verl writes them: `python -m benchmarks.jsonl [--mb MEGABYTES]`. Only advcli keeps the bytes of the lines."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import (
    PEERS,
    advcli,
    against_fastest,
    against_leanest,
    beside_peers,
    in_turn,
    made,
    parser,
    peer,
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
    return [
        f"### JSON Lines of verl, {source.stat().st_size / 1e9:.2f} GB, {rows:,} rows",
        "",
        *table(found),
        "",
        against_fastest(found, 1.1),
        against_leanest(found),
        "",
    ]


def alone(folder: Path, mb: int, runs: int, peers: Sequence[str]) -> list[str]:
    """Each way several times in a row, so that none finds the memory as another left it; medians."""
    rows = mb * 1_000_000 // (TEXT + AROUND) // 8 * 8
    source = made("jsonl", folder / f"verl-{rows}.jsonl", "--rows", str(rows), "--text", str(TEXT))
    ways = {"advcli": advcli(source), **{name: peer(name, source, "input,step", "score") for name in peers}}
    found = {name: in_turn({name: way}, runs, folder, ".jsonl")[name] for name, way in ways.items()}
    return [
        f"### {source.stat().st_size / 1e9:.2f} GB, each way {runs} times in a row",
        "",
        *table(found),
        "",
    ]


if __name__ == "__main__":
    options = parser(__doc__ or "", mb=750)
    options.add_argument("--alone", action="store_true", help="each way several times in a row, not in turn")
    args = options.parse_args()
    with workplace(args.folder) as place:
        print("\n".join((alone if args.alone else report)(place, args.mb, args.runs, args.peers)))
