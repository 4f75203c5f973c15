"""Data sets that were saved to disk with `datasets`."""

from pathlib import Path

from advcli.io.formats.format import Contents, Format, Opener

ROWS = (
    Format(
        name="hf-datasets",
        requires=(),
        files=("data-*-of-*.arrow",),
        opener=Opener(r"\xff\xff\xff\xff", "advcli.io.formats.datasets:opened", (".arrow",)),
        summary="a data set that datasets saved to disk: data-*-of-*.arrow",
        source="datasets/arrow_dataset.py, save_to_disk",
        switch="Dataset.save_to_disk(DIR)",
        traps=(
            "columns are detected as in any other table",
            "of several splits 'train' is read",
        ),
    ),
)


def opened(path: Path, name: str) -> Contents | None:
    """The rows of a file of a data set; None if it is an Arrow stream of another writer."""
    import pyarrow as pa

    rows = pa.ipc.open_stream(pa.memory_map(str(path)))
    of_a_set = b"huggingface" in (rows.schema.metadata or {}) or Path(name).with_name("state.json").is_file()
    return Contents(rows, format="hf-datasets") if of_a_set else None
