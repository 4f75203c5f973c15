"""JSON Lines as verl writes them: `python -m benchmarks.jsonl [--mb MEGABYTES]`. Only advcli keeps the bytes of the lines."""

from pathlib import Path

from benchmarks.processes import (
    advcli,
    fastest,
    in_turn,
    leanest,
    made,
    parser,
    peer,
    ratios,
    spread,
    table,
    workplace,
)

PEERS = ("pandas", "polars", "polars_join", "duckdb")
# Text of a row, and what stands around it.
TEXT, AROUND = 4096, 110


def report(folder: Path, mb: int, runs: int) -> list[str]:
    """The table as Markdown."""
    rows = mb * 1_000_000 // (TEXT + AROUND) // 8 * 8
    source = made("jsonl", folder / f"verl-{rows}.jsonl", "--rows", str(rows), "--text", str(TEXT))
    commands = {
        "advcli": advcli(source),
        **{name: peer(name, source, "input,step", "score") for name in PEERS},
    }
    found = in_turn(commands, runs, folder, ".jsonl")
    best, least = fastest(found, PEERS), leanest(found, PEERS)
    memory = [one.peak / other.peak for one, other in zip(found["advcli"], found[least], strict=True)]
    target = 1.0 if mb >= 5000 else 1.5
    return [
        f"### JSON Lines of verl, {source.stat().st_size / 1e9:.2f} GB, {rows:,} rows",
        "",
        *table(found),
        "",
        f"Fastest peer: {best}. advcli / {best}: {spread(ratios(found['advcli'], found[best]))}; target ≤ {target}.",
        f"Leanest peer: {least}. Peak memory, advcli / {least}: {spread(memory)}; target ≤ 0.5.",
        "",
    ]


if __name__ == "__main__":
    args = parser(__doc__ or "", mb=750).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.mb, args.runs)))
