"""Dumps of any writer."""

from advcli.io.formats.format import Format, Opener

_OPENERS = "advcli.io.sources.openers"

ROWS = (
    Format(
        name="csv",
        requires=(),
        otherwise=("*.csv", "*.tsv"),
        opener=Opener(r"(?!\s*[<{\[])[^\x00]*$", f"{_OPENERS}:delimited", (".csv", ".tsv")),
        summary="CSV or TSV; columns are detected as in any other dump",
        source="any writer",
        traps=("an id with leading zeros stays as it is, an empty cell is null",),
    ),
    Format(
        name="arrow",
        requires=(),
        otherwise=("*.arrow", "*.feather"),
        opener=Opener("ARROW1", f"{_OPENERS}:arrow_file"),
        summary="an Arrow file or Feather (version 2)",
        source="any writer",
    ),
    Format(
        name="arrow-stream",
        requires=(),
        otherwise=("*.arrow",),
        opener=Opener(r"\xff\xff\xff\xff", f"{_OPENERS}:arrow_stream"),
        summary="an Arrow stream",
        source="any writer",
    ),
    Format(
        name="zip",
        requires=(),
        otherwise=("*.zip",),
        opener=Opener(r"PK\x03\x04", f"{_OPENERS}:archive"),
        summary="a zip archive with one dump of any kind in it",
        source="any writer",
    ),
    Format(
        name="nested",
        requires=(),
        layout="nested",
        files=("*.parquet", "*.jsonl", "*.ndjson"),
        summary="a prompt per line with a list of objects, a reward in each",
        source="any writer",
        switch="--explode COL names the list",
    ),
    Format(
        name="lists",
        requires=(),
        layout="lists",
        files=("*.parquet", "*.jsonl", "*.ndjson"),
        summary="a prompt or step per line: rewards, and lists as long",
        source="any writer",
        switch="--explode COL names the list of rewards",
    ),
    Format(
        name="generic",
        requires=(),
        files=("*.parquet", "*.jsonl", "*.ndjson"),
        summary="a row per response: a prompt id or text, a reward, a step",
        source="any writer",
    ),
)
