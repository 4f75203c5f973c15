"""Recognizes other file types by their first bytes, so that errors can name them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HEAD = 512
"""The number of bytes that are checked."""

_DUMP = "a .parquet or .jsonl dump"
_PICKLE = (
    "this is a pickle, which can run code when it is opened, so advcli never opens one",
    "a conversion where you trust the file: torch.load, then json.dumps of one row per line",
)


@dataclass(frozen=True)
class Stranger:
    """A type of file that is not a dump.

    Attributes:
        magic: a pattern that the first bytes match.
        what: what it is, as shown to the user.
        hint: what to try.
    """

    magic: re.Pattern[bytes]
    what: str
    hint: str = _DUMP


def _begins(text: bytes) -> re.Pattern[bytes]:
    return re.compile(re.escape(text))


STRANGERS = (
    Stranger(
        re.compile(rb"version https://git-lfs"),
        "this is a Git LFS pointer, not the file itself",
        "git lfs pull; then a .parquet or .jsonl dump",
    ),
    Stranger(
        re.compile(rb"(\.\./)*\.git/annex/objects/|/annex/objects/"),
        "this is a git-annex pointer, not the file itself",
        "git annex get",
    ),
    Stranger(
        re.compile(rb"PK\x03\x04.{26,90}(data\.pkl|/version|\.format_version|byteorder)", re.DOTALL),
        "this is a zip archive as torch.save writes it (a checkpoint, or slime's .pt dump); the pickle in it can "
        "run code when it is opened, so advcli never opens one",
        _PICKLE[1],
    ),
    Stranger(
        re.compile(rb"PK\x03\x04.{26}(\[Content_Types\]\.xml|_rels/|xl/|docProps/)", re.DOTALL),
        "this is an Excel workbook",
        "saving its sheet as CSV",
    ),
    Stranger(_begins(b"PK\x03\x04"), "this is a zip archive without a dump in it", f"unpacking it: {_DUMP}"),
    Stranger(_begins(b"PK\x05\x06"), "this is an empty zip archive"),
    Stranger(re.compile(rb"\x80[\x02-\x05]"), *_PICKLE),
    Stranger(re.compile(rb"\(?[dl]p0\n|c(copy_reg|numpy|torch|builtins|collections)[\w.]*\n"), *_PICKLE),
    Stranger(
        re.compile(rb"\s*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE),
        "this is an HTML page (an error or a login page, saved in place of the file?)",
        f"downloading it again; expected {_DUMP}",
    ),
    Stranger(re.compile(rb"\s*<(\?xml|Error>)"), "this is an XML document (an error of a storage service?)"),
    Stranger(
        _begins(b"SQLite format 3"),
        "this is an SQLite database without a table of rollouts that advcli knows",
        "sqlite3 -json FILE 'select * from TABLE' > dump.json",
    ),
    Stranger(
        _begins(b"FEA1"),
        "this is a Feather file of version 1, which pyarrow no longer supports",
        "pandas.read_feather(FILE).to_parquet('dump.parquet') with pyarrow below 25",
    ),
    Stranger(
        _begins(b"ORC"),
        "this is an ORC file",
        "pyarrow.orc.read_table, then pyarrow.parquet.write_table",
    ),
    Stranger(
        _begins(b"Obj\x01"),
        "this is an Avro file",
        "fastavro.reader, then json.dumps of one row per line",
    ),
    Stranger(
        re.compile(rb".{12}.{0,24}brain\.Event:", re.DOTALL),
        "this is a TensorBoard log, which holds averages",
        f"{_DUMP} that the trainer writes: advcli formats",
    ),
    Stranger(
        _begins(b":W&B"),
        "this is a W&B log of a run, which holds averages",
        "the tables next to it: files/media/table/",
    ),
    Stranger(_begins(b"\xd0\xcf\x11\xe0"), "this is an old Excel workbook", "saving its sheet as CSV"),
    Stranger(_begins(b"\x93NUMPY"), "this is a numpy array"),
    Stranger(
        _begins(b"PARE"), "this is a parquet file whose footer is encrypted", "a copy that is not encrypted"
    ),
    Stranger(_begins(b"\x89HDF\r\n"), "this is an HDF5 file"),
    Stranger(_begins(b"%PDF-"), "this is a PDF document"),
    Stranger(_begins(b"\x89PNG"), "this is a PNG picture"),
    Stranger(_begins(b"\x7fELF"), "this is a program"),
    Stranger(_begins(b"BZh"), "this is compressed with bzip2, which is not read", "bunzip2"),
    Stranger(_begins(b"\xfd7zXZ\x00"), "this is compressed with xz, which is not read", "unxz"),
    Stranger(
        re.compile(rb"\x1f\x8b|\x28\xb5\x2f\xfd"), "this was compressed twice", "gunzip, or unzstd, once"
    ),
    Stranger(_begins(b"Rar!"), "this is a RAR archive", "unpacking it"),
    Stranger(_begins(b"7z\xbc\xaf\x27\x1c"), "this is a 7z archive", "unpacking it"),
    Stranger(re.compile(rb".{257}ustar", re.DOTALL), "this is a tar archive", f"unpacking it: {_DUMP}"),
    Stranger(
        re.compile(rb"\xff\xfe|\xfe\xff|[{\[]\x00|\x00[{\[]"),
        "this is UTF-16 or UTF-32 text, expected UTF-8",
        "saving it as UTF-8: iconv -f UTF-16 -t UTF-8",
    ),
    Stranger(re.compile(rb".{8}\{\"[^\"]{1,80}\": ?\{\"dtype\"", re.DOTALL), "this is a safetensors file"),
    Stranger(re.compile(rb"\x00+$", re.DOTALL), "the file holds nothing but zero bytes (a torn copy?)"),
)
"""Types of files that users pass by mistake, specific ones before general ones."""

# A text table has separators and no brace in its first line.
_TABLE = re.compile(rb"[^{\[\r\n]*?[,;\t][^{\[\r\n]*\r?\n")
# The start of a JSON object or array; "[INFO]" and "[12:00]" start a log line instead.
_OBJECT = re.compile(
    rb"^(\xef\xbb\xbf)?[ \t]*(\{|\[\s*($|[{\[\]\"]|(-?\d[\d.eE+-]*|true|false|null)\s*([,\]]|$)))",
    re.MULTILINE,
)
_LOG = re.compile(rb"\s*(\[[^\]\r\n]+\]|\d{4}-\d\d-\d\d[T ]|(DEBUG|INFO|WARN|WARNING|ERROR)\b|[A-Z]+:\d+:)")
_YAML = re.compile(rb"(---\s*\n|[\w./-]+:(\s|$)|- [\w\"'{])")


def stranger(head: bytes) -> Stranger | None:
    r"""The type of a file that is not a dump, by its first bytes; None if it may be one.

    Example:
        >>> stranger(b"PK\x03\x04....").what, stranger(b'{"reward": 1}')
        ('this is a zip archive without a dump in it', None)
    """
    known = next((row for row in STRANGERS if row.magic.match(head)), None)
    if known or not head.strip() or _OBJECT.search(head):
        return known
    if _LOG.match(head):
        return Stranger(_LOG, "not JSON: this is a text log")
    if _YAML.match(head) and not head.startswith(b'"'):
        return Stranger(_YAML, "this is YAML or plain text", "yaml.safe_load, then one JSON object per line")
    if _TABLE.match(head):
        return Stranger(
            _TABLE, "this is a table of text, which is read if its name ends in .csv or .tsv", "renaming it"
        )
    return None


_NOTABLE = {
    ".pt": "torch files (slime's dumps are pickles, which advcli never opens)",
    ".pth": "torch files",
    ".pkl": "pickles (SkyRL's training_input.pkl cannot be grouped either)",
    ".pickle": "pickles",
    ".yaml": "YAML files (older ART trajectories: yaml.safe_load, then one JSON object per line)",
    ".yml": "YAML files",
    ".json": "JSON documents",
    ".log": "text logs",
    ".tar": "tar archives (unpack them)",
    ".xlsx": "Excel workbooks (save the sheet as CSV)",
    ".orc": "ORC files (pyarrow.orc.read_table, then pyarrow.parquet.write_table)",
    ".avro": "Avro files (fastavro.reader, then one JSON object per line)",
    ".wandb": "W&B logs of averages (the tables are in files/media/table/)",
    ".safetensors": "model weights",
}


def without_dumps(files: Iterable[Path]) -> str:
    r"""A message about notable files in a folder without a dump; "" if there are none.

    Example:
        >>> without_dumps([Path("a/0.pt"), Path("a/1.pt")])
        "it holds 2 .pt: torch files (slime's dumps are pickles, which advcli never opens)"
    """
    counts: dict[str, int] = {}
    for file in files:
        suffix = file.suffix.lower()
        if suffix in _NOTABLE:
            counts[suffix] = counts.get(suffix, 0) + 1
    shown = (f"{count:,} {suffix}: {_NOTABLE[suffix]}" for suffix, count in counts.items())
    result = ", ".join(shown)
    return f"it holds {result}" if result else ""
