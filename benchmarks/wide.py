"""Wide parquet, prompt and response of 4 KB a row: `python -m benchmarks.wide [--rows N] [--text BYTES]`."""

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


def report(folder: Path, rows: int, text: int, runs: int) -> list[str]:
    """The table as Markdown; `rewrite` computes nothing, it reads the file with pyarrow and writes it again."""
    source = made("wide", folder / f"wide-{rows}-{text}.parquet", "--rows", str(rows), "--text", str(text))
    names = (*PEERS, "rewrite")
    commands = {
        "advcli": advcli(source),
        **{name: peer(name, source, "prompt_id,step", "reward") for name in names},
    }
    found = in_turn(commands, runs, folder, ".parquet")
    best, least = fastest(found, PEERS), leanest(found, PEERS)
    memory = [one.peak / other.peak for one, other in zip(found["advcli"], found[least], strict=True)]
    return [
        f"### Wide parquet, {rows:,} rows, {text:,} bytes of text a row",
        "",
        *table(found),
        "",
        f"Fastest peer: {best}. advcli / {best}: {spread(ratios(found['advcli'], found[best]))}; target ≤ 1.0.",
        f"advcli / rewrite: {spread(ratios(found['advcli'], found['rewrite']))}; target ≤ 1.3.",
        f"Leanest peer: {least}. Peak memory, advcli / {least}: {spread(memory)}; target ≤ 0.5.",
        "",
    ]


if __name__ == "__main__":
    args = parser(__doc__ or "", rows=200_000, text=4096).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.rows, args.text, args.runs)))
