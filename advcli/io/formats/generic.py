"""Dumps of any writer."""

from advcli.io.formats.format import Format

ROWS = (
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
