"""What a footer says, beside what pyarrow says of files that it does not stumble over."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from advcli.common.errors import DataError
from advcli.inspection.details import Wanted
from advcli.io.parquet import footer, thrift
from advcli.io.sources import find
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.inspect import inspect
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

TABLE = pa.table(
    {
        "prompt_id": ["a", "a", "b", "b"] * 50,
        "reward": [1.0, 0.0] * 100,
        "text": ["x" * n for n in range(200)],
        "nested": [[{"a": 1, "b": "q"}]] * 200,
    }
)


def bytes_of(table, **options):
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def footer_of(data):
    length = int.from_bytes(data[-8:-4], "little")
    return data[-8 - length : -8]


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_it_says_what_pyarrow_says(codec):
    data = bytes_of(TABLE, compression=codec, row_group_size=70)
    metadata = pq.ParquetFile(io.BytesIO(data)).metadata
    groups = footer.row_groups(footer_of(data))
    assert len(groups) == metadata.num_row_groups == 3
    for place, group in enumerate(groups):
        theirs = metadata.row_group(place)
        assert len(group) == theirs.num_columns
        for ours, at in zip(group, range(theirs.num_columns), strict=True):
            chunk = theirs.column(at)
            assert ".".join(ours.path) == chunk.path_in_schema
            assert (ours.values, ours.size) == (chunk.num_values, chunk.total_uncompressed_size)
            assert (ours.physical, ours.encrypted) == (chunk.physical_type, False)
            assert ours.codec == {"UNCOMPRESSED": "none"}.get(chunk.compression, chunk.compression.lower())


@pytest.mark.parametrize("data", [b"", b"\x19\x1c\x15", b"\x49\x1c\x18\x01a\x00\x00", b"\x45\x02\x00"])
def test_other_bytes_are_an_error_of_ours(data):
    with pytest.raises(thrift.UnsupportedFooter):
        footer.row_groups(data)


class Vault(pe.KmsClient):
    """Wraps a key in itself."""

    def __init__(self, config):
        super().__init__()
        del config

    def wrap_key(self, key_bytes, master_key_identifier):
        del master_key_identifier
        return key_bytes

    def unwrap_key(self, wrapped_key, master_key_identifier):
        del master_key_identifier
        return wrapped_key


def write_encrypted(path, columns, *, plaintext_footer):
    factory = pe.CryptoFactory(Vault)
    config = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": columns}, plaintext_footer=plaintext_footer
    )
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    with pq.ParquetWriter(path, TABLE.schema, encryption_properties=properties) as writer:
        writer.write_table(TABLE)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def request(name):
    return Request((name,), Settings(), ColumnOptions())


def test_encrypted_columns_are_left_out_and_said(here):
    write_encrypted("x.parquet", ["text", "nested.list.element.a"], plaintext_footer=True)
    found = inspect(request("x.parquet"), Wanted(top=1))
    assert found.facts.rows == 200
    assert "skipped the encrypted columns nested, text" in found.files.lint
    for out in ("y.parquet", "y.jsonl"):
        with pytest.raises(
            DataError, match=r"x.parquet: the columns nested, text are encrypted and cannot be"
        ):
            compute(request("x.parquet"), Output(out))
    assert [path.name for path in here.iterdir()] == ["x.parquet"]


def test_a_file_of_encrypted_columns_only(here):
    write_encrypted(
        "x.parquet",
        ["prompt_id", "reward", "text", "nested.list.element.a", "nested.list.element.b"],
        plaintext_footer=True,
    )
    with pytest.raises(DataError, match=r"x.parquet: all columns are encrypted"):
        inspect(request("x.parquet"), Wanted())


def test_an_encrypted_footer(here):
    write_encrypted("x.parquet", ["text"], plaintext_footer=False)
    with (
        pytest.raises(DataError, match="this is a parquet file whose footer is encrypted"),
        find.found(["x.parquet"]),
    ):
        pass


def test_columns_shorter_than_their_row_group(here):
    data = bytes_of(TABLE, row_group_size=100)
    told = thrift.decode(footer_of(data), {4: {}})
    for group in told[4][1]:
        group[3] = (thrift.I64, thrift.of_integer(120))
    told[3] = (thrift.I64, thrift.of_integer(240))
    changed = thrift.encode(told)
    (here / "x.parquet").write_bytes(
        data[: -8 - len(footer_of(data))] + changed + len(changed).to_bytes(4, "little") + b"PAR1"
    )
    with pytest.raises(
        DataError, match=r"x.parquet: not a readable parquet file \(row group 1 has 120 rows, and 100"
    ):
        inspect(request("x.parquet"), Wanted())
