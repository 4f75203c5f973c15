"""Bytes go out whole or not at all: whatever happens, the old file or the complete new one is there."""

import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError, Interrupted, UsageError
from advcli.io import atomic
from advcli.io import write as write_module
from advcli.pipeline import compute as compute_module
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions, Source

ROWS = b'{"prompt_id": "a", "reward": 1, "x": "%s"}\n' % (b"y" * 50) * 2000


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def source(folder):
    (folder / "a.jsonl").write_bytes(ROWS)
    return Source("a.jsonl", folder / "a.jsonl", "jsonl")


def run(out, name="a.jsonl", *, force=False):
    compute(Request((name,), Settings(), ColumnOptions()), Output(str(out), force=force))


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_under_its_name_when_it_is_whole(folder):
    with atomic.replacing(folder / "out", force=False) as file:
        file.write(b"one")
        file.flush()
        (partial,) = folder.iterdir()
        assert partial.name.startswith(".out.")
        assert partial.read_bytes() == b"one"
    assert listing(folder) == ["out"]
    assert (folder / "out").read_bytes() == b"one"


@pytest.mark.parametrize(
    "error", [Interrupted("x"), KeyboardInterrupt(), RuntimeError(), DataError("x")], ids=repr
)
@pytest.mark.parametrize("old", [None, b"old"])
def test_nothing_is_left_when_something_goes_wrong(folder, old, error):
    if old:
        (folder / "out").write_bytes(old)

    def fail():
        with atomic.replacing(folder / "out", force=bool(old)) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert listing(folder) == (["out"] if old else [])
    assert not old or (folder / "out").read_bytes() == old


def test_a_file_that_appears_meanwhile_is_not_overwritten(folder):
    def meanwhile():
        with atomic.replacing(folder / "out", force=False) as file:
            file.write(b"mine")
            (folder / "out").write_bytes(b"theirs")

    with pytest.raises(UsageError, match=r"out exists already; try --force"):
        meanwhile()
    assert listing(folder) == ["out"]
    assert (folder / "out").read_bytes() == b"theirs"


def test_the_file_behind_a_link_is_replaced_not_the_link(folder):
    (folder / "real").write_bytes(b"old")
    (folder / "link").symlink_to("real")
    with atomic.replacing(folder / "link", force=True) as file:
        file.write(b"new")
    assert (folder / "link").is_symlink()
    assert (folder / "real").read_bytes() == b"new"


def test_a_dangling_link_gets_its_file(folder):
    (folder / "link").symlink_to("real")
    with atomic.replacing(folder / "link", force=False) as file:
        file.write(b"new")
    assert (folder / "link").is_symlink()
    assert (folder / "real").read_bytes() == b"new"


def test_a_hard_link_of_the_old_file_keeps_its_bytes(folder):
    (folder / "out").write_bytes(b"old")
    (folder / "backup").hardlink_to("out")
    with atomic.replacing(folder / "out", force=True) as file:
        file.write(b"new")
    assert (folder / "backup").read_bytes() == b"old"
    assert (folder / "out").read_bytes() == b"new"


def test_a_file_system_without_hard_links(folder, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with atomic.replacing(folder / "out", force=False) as file:
        file.write(b"new")
    assert listing(folder) == ["out"]


# Devices and pipes.


@pytest.fixture
def device(folder):
    """The null or the full device; for root a node of its own, so that no bug can do harm to /dev."""

    def make(name):
        if os.geteuid():
            return Path("/dev") / name
        node = folder / name
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, {"null": 3, "full": 7}[name]))
        try:
            node.open("wb").close()
        except PermissionError:
            pytest.skip("the temporary folder is mounted without devices")
        return node

    return make


@pytest.mark.parametrize("force", [False, True])
def test_a_device_stays_a_device(source, device, force):
    null = device("null")
    run(null, force=force)
    assert stat.S_ISCHR(null.stat().st_mode)


@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
def test_a_full_device(source, device, layout):
    name, full = f"a.{layout}", device("full")
    if layout == "parquet":
        pq.write_table(pa.table({"prompt_id": [1] * 2000, "reward": [0.5] * 2000}), name)
    with pytest.raises(
        DataError, match=r"full: cannot be written \(no space left on device\); try another --out"
    ):
        run(full, name)
    assert stat.S_ISCHR(full.stat().st_mode)


@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet", "out.jsonl.gz", "out.parquet.zst"])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_disk_that_is_full_in_the_middle(folder, source, out, old):
    """A limit on the size of files stands for the disk; Python ignores its signal."""
    if old:
        (folder / out).write_bytes(old)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(DataError, match=rf"{out}: cannot be written \(file too large\)"):
            run(out, force=bool(old))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert listing(folder) == sorted(["a.jsonl", *([out] if old else [])])
    assert not old or (folder / out).read_bytes() == old
    assert (folder / "a.jsonl").read_bytes() == ROWS


def test_a_named_pipe_is_written_to(folder, source):
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    run("pipe")
    reader.join(10)
    assert got[0].count(b'"adv_group": 0}\n') == 2000
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_of_this_process(source, force):
    """As `--out >(gzip > x)` and `--out /dev/stdout | ...` give it: /dev/fd/N."""
    read, write = os.pipe()
    got = []

    def collect():
        with os.fdopen(read, "rb") as end:
            got.append(end.read())

    reader = threading.Thread(target=collect, daemon=True)
    reader.start()
    try:
        run(f"/dev/fd/{write}", force=force)
    finally:
        os.close(write)
        reader.join(10)
    assert got[0].count(b'"adv_group": 0}\n') == got[0].count(b"\n") == 2000


# Folders without permission: root may write anywhere, so the test becomes somebody else.


@pytest.fixture
def locked():
    """A read-only folder, where rights count even for root: outside pytest's own, which is closed to others."""
    with tempfile.TemporaryDirectory() as name:
        dump = Path(name) / "dump"
        dump.mkdir()
        (dump / "a.jsonl").write_bytes(ROWS)
        (dump / "old.jsonl").write_bytes(b"old")
        (dump / "old.jsonl").chmod(0o666)
        (dump / "secret.jsonl").touch(mode=0o000)
        Path(name).chmod(0o755)
        dump.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        yield dump
        os.seteuid(user)
        dump.chmod(0o755)


@pytest.mark.parametrize(
    ("out", "written"),
    [
        ("a.adv.jsonl", "a.adv.jsonl"),
        ("old.jsonl", "old.jsonl"),
        ("new/", "new/a.adv.jsonl"),
        ("x.parquet", "x.parquet"),
    ],
)
def test_a_read_only_folder(locked, out, written):
    with pytest.raises(
        DataError, match=rf"{written}: cannot be written \(permission denied\); try another --out"
    ) as error:
        run(f"{locked}/{out}", f"{locked}/a.jsonl", force=True)
    assert error.value.exit_code == 3
    assert listing(locked) == ["a.jsonl", "old.jsonl", "secret.jsonl"]
    assert (locked / "old.jsonl").read_bytes() == b"old"


def test_a_file_that_may_not_be_read(locked):
    with pytest.raises(DataError, match=r"secret\.jsonl: permission denied"):
        run("out.jsonl", f"{locked}/secret.jsonl")


# Processes that are ended while they write.


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file whose copy takes a while."""
    path = tmp_path_factory.mktemp("large") / "a.jsonl"
    path.write_bytes(ROWS * 50)
    return path


@pytest.mark.parametrize(
    ("number", "code", "out"),
    [(signal.SIGKILL, -9, "out.jsonl"), (signal.SIGINT, 130, "out.parquet")],
    ids=["kill", "Ctrl-C"],
)
def test_ended_while_writing(folder, large, number, code, out):
    (folder / out).write_bytes(b"old")
    before = large.stat()
    command = [sys.executable, "-m", "advcli", "compute", large, "--out", out, "--force", "--quiet"]
    env = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not any(path.stat().st_size for path in folder.glob(".*.part")):
            time.sleep(0.002)
        process.send_signal(number)
        talk = process.stderr.read()
    assert process.returncode == code
    assert (folder / out).read_bytes() == b"old"
    assert (large.stat().st_size, large.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    if number == signal.SIGINT:
        assert talk == b"advcli: interrupted\n"
        assert listing(folder) == [out]


# Standard output and compression.


def test_check_accepts_what_is_new(folder, source):
    atomic.check(folder / "new", [source], force=False)
    atomic.check(folder / "gone" / "new", [source], force=False, parent=False)


def test_check_refuses_a_folder(folder, source):
    with pytest.raises(UsageError, match=r"is a folder, expected a file; try --out .*/FILE"):
        atomic.check(folder, [source], force=True)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_compressed(folder, codec):
    data = os.urandom(3_000_000)
    with (folder / "x").open("wb") as raw:
        with atomic.compressed(raw, codec) as out:
            for start in range(0, len(data), 700_000):
                out.write(data[start : start + 700_000])
        raw.write(b"")
        assert not raw.closed
    with pa.input_stream(str(folder / "x"), compression=codec) as file:
        assert file.read() == data


def test_not_compressed(folder):
    with (folder / "x").open("wb") as raw, atomic.compressed(raw, None) as out:
        assert out is raw


def test_only_a_file_that_replaces_another_is_forced_to_the_disk(tmp_path, monkeypatch):
    forced = []
    monkeypatch.setattr(os, "fsync", forced.append)
    for expected in (0, 1):
        with atomic.replacing(tmp_path / "a", force=True) as file:
            file.write(b"x")
        assert len(forced) == expected


@pytest.mark.parametrize(
    ("mode", "umask", "expected"),
    [(0o600, 0o022, 0o600), (0o644, 0o077, 0o600), (0o440, 0o022, 0o640), (0o755, 0o022, 0o644)],
)
def test_a_copy_may_be_read_by_those_who_may_read_the_input(folder, source, mode, umask, expected):
    source.path.chmod(mode)
    before = os.umask(umask)
    try:
        run("b.jsonl")
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "b.jsonl").stat().st_mode) == expected


def test_a_file_that_replaces_another_has_its_mode_and_owner(folder, source):
    out = folder / "b.jsonl"
    out.write_text("old")
    out.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(out, 12345, 54321)
    owner = out.stat().st_uid, out.stat().st_gid
    run("b.jsonl", force=True)
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert (out.stat().st_uid, out.stat().st_gid) == owner


def test_what_a_killed_run_left_is_removed_and_said_and_what_a_live_one_writes_is_not(folder, source):
    left, other = folder / ".b.jsonl.0123abcd.part", folder / ".c.jsonl.0123abcd.part"
    left.write_text("half")
    other.write_text("of another output")
    with atomic.replacing(folder / "b.jsonl", force=False) as file:
        file.write(b"x")
        file.flush()
        (live,) = (path for path in folder.iterdir() if path.name.startswith(".b.jsonl.") and path != left)
        assert atomic.leftovers([folder / "b.jsonl", None]) == (
            f"removed {left}, which a killed run left behind",
        )
        assert live.exists()
    assert listing(folder) == [other.name, "a.jsonl", "b.jsonl"]
    left.write_text("half")
    report = compute(Request(("a.jsonl",), Settings(), ColumnOptions()), Output("b.jsonl", force=True))
    assert [text for text in report.notes if "killed" in text] == [
        "removed .b.jsonl.0123abcd.part, which a killed run left behind"
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_an_input_that_goes_away_is_not_blamed_on_the_output(folder, suffix, monkeypatch):
    if suffix == "parquet":
        pq.write_table(pa.table({"prompt_id": ["a"] * 4, "reward": [0.0, 1.0] * 2}), "x.parquet")
    else:
        Path("x.jsonl").write_bytes(ROWS)
    real = write_module.write

    def gone(sources, *rest, **more):
        sources[0].path.unlink()
        return real(sources, *rest, **more)

    monkeypatch.setattr(compute_module, "write", gone)
    with pytest.raises(DataError, match=rf"^x\.{suffix}: (was removed while it was read|no such file)"):
        run(f"y.{suffix}", f"x.{suffix}")
    assert listing(folder) == []


def test_a_folder_of_many_targets_is_listed_once(folder, monkeypatch):
    parts = [f".{name}.0123abcd.part" for name in ("b.jsonl", "deadbeef.part", "c.jsonl")]
    for part in parts:
        (folder / part).write_text("half")
    listed, listdir = [], os.listdir
    monkeypatch.setattr(atomic.os, "listdir", lambda path: listed.append(path) or listdir(path))
    targets = [folder / "b.jsonl", folder / "deadbeef.part", folder / "d.jsonl"]
    assert len(atomic.leftovers(targets)) == 2
    assert len(listed) == 1
    assert [path.name for path in folder.glob(".*.part")] == [".c.jsonl.0123abcd.part"]
