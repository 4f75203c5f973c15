"""Inputs behind a URL: a local S3 server (moto), a local web server, and fsspec's memory."""

import functools
import http.server
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from advcli.common.errors import AdvcliError, DataError, MissingPackage, UsageError
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.io.sources import remote
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

ROWS = b'{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n'


def names(*inputs):
    with opened(inputs) as sources:
        return [source.name for source in sources]


def rewards(*inputs):
    with opened(inputs) as sources:
        return read(sources, ColumnOptions()).rewards.tolist()


@pytest.fixture
def memory():
    """fsspec's file system in memory, with a folder of dumps."""
    system = fsspec.filesystem("memory")
    for name in ("run/step_1/a.jsonl", "run/step_2/a.jsonl", "run/notes.txt"):
        system.pipe(f"/{name}", ROWS)
    yield system
    system.rm("/run", recursive=True)


@pytest.mark.usefixtures("memory")
class TestMemory:
    def test_a_file(self):
        assert rewards("memory://run/step_1/a.jsonl") == [1.0, 0.0]

    def test_a_folder_and_a_pattern(self):
        both = ["memory:///run/step_1/a.jsonl", "memory:///run/step_2/a.jsonl"]
        assert names("memory://run") == both
        assert names("memory://run/*/a.jsonl") == both
        assert names("memory://run/step_2/*") == both[1:]

    @pytest.mark.parametrize(
        "url", ["memory://gone/a.jsonl", "memory://run/*.parquet", "memory://run/step_1/b.jsonl"]
    )
    def test_nothing_there(self, url):
        with pytest.raises(DataError, match=r"no such file, or no dump in this folder"):
            names(url)

    def test_the_output_is_local(self, tmp_path):
        request = Request(("memory://run/step_1/a.jsonl",), Settings(), ColumnOptions())
        compute(request, Output(str(tmp_path / "out.jsonl")))
        assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2
        for out in (None, "memory://run/out.jsonl"):
            with pytest.raises(
                UsageError, match=r"memory://run/.*: advcli writes to this machine only; try --out FILE"
            ):
                compute(request, Output(out))

    def test_a_folder_keeps_its_steps(self, tmp_path):
        request = Request(("memory://run",), Settings(), ColumnOptions())
        compute(request, Output(f"{tmp_path}/out/"))
        assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.jsonl")) == [
            "out/step_1/a.adv.jsonl",
            "out/step_2/a.adv.jsonl",
        ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://b/k", True),
        ("hf://datasets/a/b", True),
        ("HTTPS://x/y", True),
        ("a.jsonl", False),
        ("-", False),
        ("file:///a", False),
        ("C:\\a", False),
        ("s3:/b", False),
        ("", False),
    ],
)
def test_is_remote(text, expected):
    assert remote.is_remote(text) is expected


def test_an_unknown_scheme(tmp_path):
    with pytest.raises(AdvcliError, match=r"odd://x: "):
        list(remote.fetched("odd://x", tmp_path, set()))


def test_a_package_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        MissingPackage, match=r"the package 'fsspec' is needed .*; try pip install 'advcli\[remote\]'"
    ):
        list(remote.fetched("hf://datasets/a/b.jsonl", tmp_path, set()))


has_aiohttp = importlib.util.find_spec("aiohttp") is not None


@pytest.mark.skipif(not has_aiohttp, reason="the extra 'remote' (aiohttp) is not installed")
def test_a_web_server(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(ROWS)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        assert rewards(f"{url}/a.jsonl") == [1.0, 0.0]
        with pytest.raises(DataError, match=r"gone\.jsonl: no such file"):
            names(f"{url}/gone.jsonl")
        server.shutdown()


@pytest.fixture(scope="module")
def s3():
    """A bucket on a local S3 server, as what to put behind a URL.

    moto needs an older python-dateutil than pandas has here, so it runs in an environment of its own, whose Python
    ADVCLI_MOTO names; .ci/run makes one.
    """
    python = os.environ.get("ADVCLI_MOTO")
    if python is None:
        pytest.skip("ADVCLI_MOTO does not name a Python with moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}
    before = {name: os.environ.get(name) for name in keys}
    os.environ |= keys
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        system = fs.S3FileSystem(
            endpoint_override=f"127.0.0.1:{port}",
            scheme="http",
            allow_bucket_creation=True,
            region="us-east-1",
        )
        system.create_dir("bucket")
        for step in (1, 2):
            with system.open_output_stream(f"bucket/run/step_{step}/rollouts.jsonl") as out:
                out.write(ROWS)
        with system.open_output_stream("bucket/run/rewards.parquet") as out:
            pq.write_table(pa.table({"prompt_id": ["a", "a"], "reward": [0.5, 0.25]}), out)
        yield f"?endpoint_override=127.0.0.1%3A{port}&scheme=http&region=us-east-1"
    finally:
        server.terminate()
        server.wait(10)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


def test_s3_files(s3):
    assert rewards(f"s3://bucket/run/step_1/rollouts.jsonl{s3}") == [1.0, 0.0]
    assert rewards(f"s3://bucket/run/rewards.parquet{s3}") == [0.5, 0.25]


def test_s3_folders_and_patterns(s3):
    steps = ["s3://bucket/run/step_1/rollouts.jsonl", "s3://bucket/run/step_2/rollouts.jsonl"]
    assert names(f"s3://bucket/run{s3}") == ["s3://bucket/run/rewards.parquet", *steps]
    assert names(f"s3://bucket/run/step_*/rollouts.jsonl{s3}") == steps


def test_s3_is_annotated(s3, tmp_path):
    request = Request((f"s3://bucket/run/step_1/rollouts.jsonl{s3}",), Settings(), ColumnOptions())
    compute(request, Output(str(tmp_path / "out.jsonl")))
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["adv_kept"] for row in rows] == [True, True]


@pytest.mark.parametrize("path", ["bucket/gone.jsonl", "gone/a.jsonl"])
def test_s3_nothing_there(s3, path):
    with pytest.raises(DataError, match=r"s3://.*: "):
        names(f"s3://{path}{s3}")


class Server(http.server.BaseHTTPRequestHandler):
    """Answers with the status that a path names; /cut breaks off in the middle."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        name = self.path.split("?")[0].strip("/").split("/")[0]
        status = int(name) if name.isdecimal() else 200
        self.send_response(status)
        self.send_header("Content-Length", str(len(ROWS) if status == 200 else 0))
        self.send_header("Connection", "close")
        self.end_headers()
        if body and status == 200:
            self.wfile.write(ROWS[: 20 if name == "cut" else None])
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    if not has_aiohttp:
        pytest.skip("the extra 'remote' (aiohttp) is not installed")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("401", "the server says 401"),
        ("403", "the server says 403"),
        ("404", "no such file"),
        ("500", "the server says 500"),
        ("503", "the server says 503"),
        ("cut", ""),
    ],
)
@pytest.mark.parametrize("user", ["", "me:hunter22@"])
def test_what_a_server_says_is_said_without_the_secrets(server, name, told, user):
    with pytest.raises(DataError) as caught:
        names(f"http://{user}{server}/{name}/a.jsonl?token=sesame99&x=1")
    assert told in str(caught.value)
    assert (name == "404") is ("no such file" in str(caught.value))
    assert "hunter22" not in str(caught.value)
    assert "sesame99" not in str(caught.value)


def test_nobody_there_is_not_no_such_file():
    if not has_aiohttp:
        pytest.skip("the extra 'remote' (aiohttp) is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DataError) as caught:
        names(f"http://127.0.0.1:{port}/a.jsonl")
    assert "no such file" not in str(caught.value)
    assert "connect" in str(caught.value).lower()


SECRET = "http://me:hunter22@{}/a.jsonl?token=sesame99"


@pytest.mark.parametrize(
    "args",
    [
        "inspect URL --json",
        "inspect URL --top 1",
        "compute URL --out o.jsonl",
        "compute URL --out o.parquet",
        "compute URL",
        "compute URL --out URL",
        "compute URL --reward none",
        "compare URL URL --between --out b.csv",
        "compare URL gone.jsonl --between --json",
        "sweep URL --keep-pos 0.5,1",
        "report URL --force",
        "match URL",
    ],
)
def test_no_secret_of_a_url_is_shown_or_written(server, args, advcli, tmp_path):
    done = advcli(*args.replace("URL", SECRET.format(server)).split())
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2, 3)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for text in (done.stdout, done.stderr, written):
        assert b"hunter22" not in text
        assert b"sesame99" not in text


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIAKEY1:se/cret+1@bucket/a.jsonl",
        "s3://bucket/a.jsonl?access_key=AKIAKEY1&secret_key=se%2Fcret%2B1&x=y",
    ],
)
def test_keys_of_s3(url):
    with pytest.raises(AdvcliError) as caught:
        names(url)
    assert "AKIAKEY1" not in str(caught.value)
    assert "cret" not in str(caught.value)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_copy_for_which_there_is_no_room(tmp_path):
    fsspec.filesystem("memory").pipe("/room/a.jsonl", ROWS)
    (tmp_path / "remote-1-0").symlink_to("/dev/full")
    with pytest.raises(
        DataError, match=r"a\.jsonl: its copy cannot be written \(no space left on device\); try TMPDIR"
    ):
        list(remote.fetched("memory://room/a.jsonl", tmp_path, ()))
