"""The sample that comes with the package."""

from pathlib import Path

from advcli.errors import DataError


def path() -> Path:
    """The bundled dump: inside an installed package, or beside it in a checkout.

    Raises:
        DataError: the package was installed without it.
    """
    package = Path(__file__).parents[2]
    for folder in (package / "sample_data", package.parent / "sample_data"):
        if (folder / "rewards.parquet").is_file():
            return folder / "rewards.parquet"
    raise DataError("the bundled sample is not installed", hint="an INPUT of your own")
