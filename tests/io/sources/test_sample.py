"""The bundled sample is found in a checkout and in an installed package."""

import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError
from advcli.io.sources import sample


def test_the_sample_is_there():
    # 64 prompts of 8 rows, one with 5 of them, one with 1.
    assert pq.read_metadata(sample.path()).num_rows == 64 * 8 - 3 - 7


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package in an empty folder."""
    (tmp_path / "site" / "advcli" / "io" / "sources").mkdir(parents=True)
    monkeypatch.setattr(
        sample, "__file__", str(tmp_path / "site" / "advcli" / "io" / "sources" / "sample.py")
    )
    return tmp_path / "site" / "advcli"


def test_inside_the_package_comes_before_beside_it(package):
    beside, inside = package.parent / "sample_data", package / "sample_data"
    for folder in (beside, inside):
        folder.mkdir()
        (folder / "rewards.parquet").touch()
        assert sample.path() == folder / "rewards.parquet"


def test_without_it_the_user_is_told(package):
    with pytest.raises(DataError, match=r"the bundled sample is not installed; try an INPUT of your own"):
        sample.path()
