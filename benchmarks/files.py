"""Many small files beside one of the same rows: `python -m benchmarks.files [--files N] [--rows N]`."""

import tempfile
from pathlib import Path

from benchmarks.processes import advcli, in_turn, made, parser, ratios, spread, table, workplace


def report(folder: Path, files: int, rows: int, runs: int) -> list[str]:
    """Parquet and JSON Lines as Markdown."""
    with tempfile.TemporaryDirectory(prefix="out-", dir=folder) as written:
        return _report(folder, Path(written), files, rows, runs)


def _report(folder: Path, written: Path, files: int, rows: int, runs: int) -> list[str]:
    lines = []
    for kind, suffix in (("narrow", ".parquet"), ("jsonl", ".jsonl")):
        options = ["--rows", str(rows), "--text", "1024"]
        one = made(kind, folder / f"one-{kind}-{rows}{suffix}", *options)
        many = made(kind, folder / f"many-{kind}-{rows}-{files}", *options, "--files", str(files))
        out = written / kind
        out.mkdir()
        found = in_turn({"advcli": advcli(many), "one file": advcli(one)}, runs, out, "", keep=True)
        found = {f"{files:,} files": found["advcli"], "one file": found["one file"]}
        name = f"{files:,} files"
        lines += [f"### {name} of {rows // files:,} rows ({suffix.removeprefix('.')}) beside one file", ""]
        lines += [
            *table(found, ours=name),
            "",
            f"Ratio {spread(ratios(found[name], found['one file']))}; target ≤ 1.5.",
            "",
        ]
    return lines


if __name__ == "__main__":
    args = parser(__doc__ or "", files=1000, rows=200_000).parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.files, args.rows, args.runs)))
