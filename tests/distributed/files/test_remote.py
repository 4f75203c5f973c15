"""Inputs in an object store that answers 503 now and then: a local S3 server behind a proxy that says so."""

import http.client
import http.server
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from distributed import local as one_machine
from distributed import test_commands as engines
from pyarrow import fs

from advcli.common.errors import DataError, UsageError
from advcli.pipeline.compute import Output
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(
        not os.environ.get("ADVCLI_MOTO"),
        reason="needs a Python with moto[server] in ADVCLI_MOTO, as .ci/run has it",
    ),
]


class Moody(http.server.BaseHTTPRequestHandler):
    """Hands requests on, and answers some of those for files with 503."""

    protocol_version = "HTTP/1.1"
    every = 5
    moody_at = ("GET",)
    port = 0
    seen = 0
    refused = 0

    def handle_any(self) -> None:
        body = self.body()
        if self.every and self.mark() in self.path and self.command in self.moody_at:
            type(self).seen += 1
            if self.seen % self.every == 0:
                type(self).refused += 1
                return self.answer(503, {}, b"<Error><Code>SlowDown</Code></Error>")
        away = http.client.HTTPConnection("127.0.0.1", self.port)
        away.request(self.command, self.path, body, dict(self.headers))
        reply = away.getresponse()
        headers = {
            k: v for k, v in reply.getheaders() if k.lower() not in ("connection", "transfer-encoding")
        }
        return self.answer(reply.status, headers, reply.read())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815  what http.server calls

    def mark(self) -> str:
        """What the path of a request that may be refused has in it."""
        return "rewards" if self.command == "GET" else ".adv"

    def body(self) -> bytes:
        """What is sent: of a length that is told, or in pieces that each tell their own."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            """The headers that follow the last piece."""
        del self.headers["Transfer-Encoding"], self.headers["Expect"]
        return found

    def answer(self, status: int, headers: dict, body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() != "content-length" or self.command == "HEAD":
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# Before Ray is started: its workers get the environment of this process.
@pytest.fixture(scope="module")
def store():
    """The port of the proxy."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}
    Moody.port = free_port()
    moto = subprocess.Popen(
        [os.environ["ADVCLI_MOTO"], "-m", "moto.server", "-p", str(Moody.port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Moody)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", Moody.port)) == 0:
                    break
            time.sleep(0.1)
        yield proxy.server_address[1]
    finally:
        proxy.shutdown()
        proxy.server_close()
        moto.terminate()
        moto.wait(10)


@pytest.fixture(params=[".jsonl", ".parquet"])
def dump(store: int, request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[str]]:
    """The URL of a folder, and the same files on this machine."""
    names = engines.written(tmp_path / "in", engines.rows(step=False), request.param)
    system = fs.S3FileSystem(
        endpoint_override=f"127.0.0.1:{Moody.port}",
        scheme="http",
        allow_bucket_creation=True,
        region="us-east-1",
    )
    folder = f"bucket/rewards{request.param}"
    system.create_dir("bucket")
    for name in names:
        with system.open_output_stream(f"{folder}/{Path(name).name}") as out:
            out.write(Path(name).read_bytes())
    return f"s3://{folder}?endpoint_override=127.0.0.1%3A{store}&scheme=http&region=us-east-1", names


@pytest.mark.usefixtures("on_ray")
def test_a_store_that_says_503_now_and_then(dump: tuple[str, list[str]], tmp_path: Path):
    from advcli.distributed import commands

    url, names = dump
    settings, columns = Settings(scale="batch"), ColumnOptions()
    one_machine.compute(Request(tuple(names), settings, columns), Output(out=f"{tmp_path}/local/"))
    Moody.refused = 0
    commands.compute(Request((url,), settings, columns), Output(out=f"{tmp_path}/ray/"))
    assert Moody.refused, "the store was in a good mood"
    engines.same_files(tmp_path / "local", tmp_path / "ray")


@pytest.mark.usefixtures("on_ray")
def test_a_store_that_never_answers(dump: tuple[str, list[str]], tmp_path: Path, monkeypatch):
    from advcli.distributed import commands
    from advcli.distributed.files import remote

    monkeypatch.setattr(remote, "_WAITS", ())
    monkeypatch.setattr(Moody, "every", 1)
    with pytest.raises(DataError) as error:
        commands.compute(
            Request((dump[0],), Settings(scale="batch"), ColumnOptions()), Output(out=f"{tmp_path}/ray/")
        )
    assert "\n" not in str(error.value)
    assert not (tmp_path / "ray").exists()


def system() -> fs.S3FileSystem:
    """The store, past the proxy."""
    return fs.S3FileSystem(endpoint_override=f"127.0.0.1:{Moody.port}", scheme="http", region="us-east-1")


def past_the_proxy() -> str:
    """The options of a URL in the store itself: the proxy hands on no uploads."""
    return f"endpoint_override=127.0.0.1%3A{Moody.port}&scheme=http&region=us-east-1"


def brought(folder: str, here: Path) -> Path:
    """A copy of the objects of a folder, but for the notes."""
    here.mkdir()
    for info in system().get_file_info(fs.FileSelector(folder)):
        if info.type == fs.FileType.File:
            (here / info.base_name).write_bytes(
                system().open_input_stream(info.path, compression=None).read()
            )
    return here


@pytest.mark.usefixtures("on_ray")
def test_a_store_to_write_to(dump: tuple[str, list[str]], tmp_path: Path):
    """Objects are those of one machine; --resume makes the one that is gone, and passes over nothing else."""
    from advcli.distributed import commands

    url, names = dump
    settings, columns = Settings(scale="batch"), ColumnOptions()
    one_machine.compute(Request(tuple(names), settings, columns), Output(out=f"{tmp_path}/local/"))
    folder = f"bucket/out{Path(names[0]).suffix}"
    out = f"s3://{folder}/?{past_the_proxy()}"
    request = Request((url,), settings, columns)
    first = commands.compute(request, Output(out=out))
    assert sum(note.startswith(f"wrote s3://{folder}/part-") for note in first.notes) == 3
    engines.same_files(tmp_path / "local", brought(folder, tmp_path / "ray"))
    with pytest.raises(
        UsageError, match=r"^s3://bucket/out.*exists already; try --resume to go on, or --force"
    ):
        commands.compute(request, Output(out=out))
    gone = f"{folder}/part-1.adv{Path(names[0]).suffix}"
    system().delete_file(gone)
    stamps = {info.path: info.mtime_ns for info in system().get_file_info(fs.FileSelector(folder))}
    again = commands.compute(request, Output(out=out, resume=True))
    assert "2 of 3 files done already" in again.notes
    assert [note for note in again.notes if note.startswith("wrote")] == [f"wrote s3://{gone}"]
    left = {info.path: info.mtime_ns for info in system().get_file_info(fs.FileSelector(folder))}
    left.pop(gone)
    assert left == {path: stamps[path] for path in left}
    engines.same_files(tmp_path / "local", brought(folder, tmp_path / "again"))
    with pytest.raises(UsageError, match="and was not written by this run"):
        commands.compute(Request((url,), Settings(scale="none"), columns), Output(out=out, resume=True))


@pytest.mark.usefixtures("on_ray")
def test_a_store_that_refuses_uploads_now_and_then(dump: tuple[str, list[str]], tmp_path: Path, monkeypatch):
    from advcli.distributed import commands

    url, names = dump
    settings, columns = Settings(), ColumnOptions()
    one_machine.compute(Request(tuple(names), settings, columns), Output(out=f"{tmp_path}/local/"))
    monkeypatch.setattr(Moody, "moody_at", ("PUT", "POST"))
    monkeypatch.setattr(Moody, "every", 3)
    Moody.seen = Moody.refused = 0
    folder = f"bucket/moody{Path(names[0]).suffix}"
    commands.compute(
        Request((url,), settings, columns), Output(out=f"s3://{folder}/?{url.partition('?')[2]}")
    )
    assert Moody.refused, "the store was in a good mood"
    engines.same_files(tmp_path / "local", brought(folder, tmp_path / "ray"))


@pytest.mark.parametrize("dump", [".parquet"], indirect=True)
def test_a_store_that_takes_no_uploads(dump: tuple[str, list[str]], tmp_path: Path, monkeypatch):
    """One line, and no object under the name."""
    from advcli.distributed.files import remote

    monkeypatch.setattr(remote, "_WAITS", ())
    monkeypatch.setattr(Moody, "moody_at", ("PUT", "POST"))
    monkeypatch.setattr(Moody, "every", 1)
    target = remote.folder(f"s3://bucket/closed/?{dump[0].partition('?')[2]}").child("part.adv.parquet")
    with pytest.raises(DataError, match=r"part.adv.parquet: cannot be written") as error:
        target.put(bytes(1 << 20))
    assert "\n" not in str(error.value)
    assert target.size() is None


@pytest.mark.parametrize("dump", [".parquet"], indirect=True)
def test_an_object_that_is_shorter_than_what_was_sent(dump: tuple[str, list[str]], monkeypatch):
    from advcli.distributed.files import remote

    target = remote.folder(f"s3://bucket/short/?{dump[0].partition('?')[2]}").child("x.bin")
    monkeypatch.setattr(remote, "_WAITS", ())
    send = remote.RemoteOutput._send
    monkeypatch.setattr(
        remote.RemoteOutput, "_send", lambda self, store, data: send(self, store, data[:-1]) + 1
    )
    with pytest.raises(DataError, match=r"x.bin: cannot be written \(999 of 1,000 bytes arrived\)"):
        target.put(bytes(1000))
    assert target.size() is None


@pytest.mark.usefixtures("on_ray")
def test_an_object_is_there_as_a_whole_or_not_at_all(
    dump: tuple[str, list[str]], tmp_path: Path, monkeypatch
):
    """What stops in the middle leaves nothing under the name."""
    from advcli.distributed.files import remote

    target = remote.folder(f"s3://bucket/broken/?{past_the_proxy()}").child("x.bin")
    monkeypatch.setattr(remote, "retry", lambda operation, refusals: operation())
    large = tmp_path / "large"
    large.write_bytes(bytes(20 << 20))
    monkeypatch.setattr(remote, "_CHUNK", 6 << 20)
    read = []

    class Torn:
        """A file that cannot be read to its end."""

        def open(self, mode: str):
            file = large.open(mode)
            return Reader(file)

    class Reader:
        def __init__(self, file) -> None:
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def read(self, size: int) -> bytes:
            read.append(size)
            if len(read) == 3:
                raise OSError(5, "torn")
            return self.file.read(size)

    with pytest.raises(DataError, match=r"s3://bucket/broken/x.bin: cannot be written"):
        target.put(Torn())
    assert len(read) == 3
    assert target.size() is None
    target.put(large)
    assert target.size() == 20 << 20


@pytest.mark.usefixtures("on_ray")
@pytest.mark.parametrize("dump", [".jsonl"], indirect=True)
def test_where_nothing_can_be_written(dump: tuple[str, list[str]], tmp_path: Path, monkeypatch):
    from advcli.distributed import commands
    from advcli.distributed.files import remote

    monkeypatch.setattr(remote, "_WAITS", ())
    names = dump[1]
    options = past_the_proxy()
    request = Request((names[0],), Settings(), ColumnOptions())
    for out, said in (
        (
            f"s3://bucket/out?{options}",
            r"^s3://bucket/out: with --engine ray a folder is written to; try --out",
        ),
        (f"s3://no-such-bucket/out/?{options}", r"^s3://no-such-bucket/out/.*part-0.*cannot be written"),
    ):
        with pytest.raises((DataError, UsageError), match=said) as error:
            commands.compute(request, Output(out=out))
        assert "\n" not in str(error.value)
