"""The bundled sample dumps."""

from collections.abc import Iterator
from pathlib import Path

from advcli.common.errors import DataError

DUMP = "rewards.parquet"
"""The dump that is read if no input is given."""

LOGGED = "trl"
"""The default dump of `match`, which needs a logged advantage."""

_PARTS = (DUMP, "rewards.jsonl", "tokens.jsonl", LOGGED, "easyr1.yaml")


def path(name: str = DUMP) -> Path:
    """The path of a part of the sample: inside an installed package, or next to it in a checkout.

    Args:
        name: the file or folder.

    Raises:
        DataError: the package was installed without it.
    """
    package = Path(__file__).parents[2]
    for folder in (package / "sample_data", package.parent / "sample_data"):
        if (folder / DUMP).is_file():
            return folder / name
    raise DataError("the bundled sample is not installed", hint="an INPUT of your own")


def files() -> Iterator[tuple[Path, str]]:
    """Each file of the sample, with its relative name for a copy."""
    root = path().parent
    for name in _PARTS:
        part = root / name
        for file in sorted(part.rglob("*.parquet")) if part.is_dir() else [part]:
            yield file, file.relative_to(root).as_posix()
