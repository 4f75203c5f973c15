"""Data sets saved to disk with `datasets`."""

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
            "if there are several splits, 'train' is read",
        ),
    ),
)


def opened(path: Path, name: str) -> Contents | None:
    """The rows of a file of a data set; None if the Arrow stream has another writer."""
    import pyarrow as pa

    rows = pa.ipc.open_stream(pa.memory_map(str(path)))
    is_data_set = (
        b"huggingface" in (rows.schema.metadata or {}) or Path(name).with_name("state.json").is_file()
    )
    return Contents(rows, format="hf-datasets") if is_data_set else None
