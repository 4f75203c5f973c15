"""How a Ray of our own starts and ends: as a process, seen from outside."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from advcli.common.errors import DataError, UsageError
from advcli.distributed import cluster

SMALL = {"ADVCLI_RAY_CPUS": "1", "ADVCLI_RAY_OBJECT_STORE": str(100 << 20)}


class Ray:
    """What starts a Ray, as far as it is asked to."""

    def init(self, **given: object) -> None:
        self.given = given
        self.storage = os.environ.get("RAY_REDIS_ADDRESS")


def test_without_an_address_a_ray_of_our_own_is_started_also_where_another_one_runs():
    ray = Ray()
    cluster._start(ray, None, "/somewhere")
    # Without the word Ray would connect to a cluster that runs on this machine, and refuse the rest.
    assert ray.given["address"] == "local"
    assert ray.given["_temp_dir"] == "/somewhere"


def test_a_ray_of_our_own_does_not_wait_for_the_storage_of_a_cluster(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_REDIS_ADDRESS", "127.0.0.1:1")
    ray = Ray()
    cluster._start(ray, None, "/somewhere")
    assert ray.storage is None
    assert os.environ["RAY_REDIS_ADDRESS"] == "127.0.0.1:1"


@pytest.mark.parametrize(
    "address", ["", " ", "garbage", ":6379", "host:", "127.0.0.1:x", "127.0.0.1:0", "127.0.0.1:99999"]
)
def test_what_is_no_address_is_said_before_ray_is_asked(address: str):
    with pytest.raises(UsageError, match="expected auto or HOST:PORT"):
        cluster._start(Ray(), address, None)


def test_auto_is_the_address_of_the_environment_and_has_to_answer(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(UsageError) as error:
            cluster._start(Ray(), "auto", None)
        assert str(error.value).startswith(
            f"--ray-address auto (RAY_ADDRESS={address}): cannot be reached (connection refused)"
        )
        silent.listen()
        ray = Ray()
        cluster._start(ray, "auto", None)
        assert ray.given["address"] == address


def test_an_address_of_ipv6_is_asked_without_its_brackets():
    with socket.socket(socket.AF_INET6) as server:
        try:
            server.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 here")
        server.listen()
        ray = Ray()
        cluster._start(ray, f"[::1]:{server.getsockname()[1]}", None)
        assert ray.given["address"].startswith("[::1]:")


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "two"])
@pytest.mark.parametrize("variable", ["ADVCLI_RAY_CPUS", "ADVCLI_RAY_OBJECT_STORE"])
def test_a_size_of_the_environment_is_a_whole_number(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
):
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=f"{variable} is '{value}', expected a whole number of 1 or more"):
        cluster._start(Ray(), None, "/somewhere")


def test_a_variable_that_ray_cannot_read_is_one_line(monkeypatch: pytest.MonkeyPatch):
    class Reads:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "ray":
                int(os.environ["RAY_NUM_REDIS_GET_RETRIES"])

    monkeypatch.setenv("RAY_NUM_REDIS_GET_RETRIES", "many")
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Reads(), *sys.meta_path])
    with pytest.raises(DataError, match=r"^Ray cannot be imported \(.*RAY_… set wrongly"):
        cluster.require()


def started(folder: Path, **env: str) -> subprocess.Popen:
    """`compute --engine ray` as a process, with the files of its Ray in `folder`/r."""
    rows = [{"prompt_id": f"p{n // 4}", "reward": n % 3} for n in range(400)]
    (folder / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "r").mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "advcli", "compute", "x.jsonl", "--engine", "ray", "--out", "out/"],
        cwd=folder,
        env=os.environ
        | SMALL
        | {"RAY_TMPDIR": str(folder / "r"), "PYTHONPATH": os.pathsep.join(sys.path)}
        | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def processes(folder: Path) -> list[str]:
    """The processes that were started with a path below `folder`."""
    found = subprocess.run(["ps", "-wweo", "args"], capture_output=True, text=True, check=True)
    return [line for line in found.stdout.splitlines() if str(folder / "r") in line]


def nothing_is_left(folder: Path) -> None:
    assert list((folder / "r").iterdir()) == []
    for _ in range(100):
        if not processes(folder):
            return
        time.sleep(0.1)
    raise AssertionError(processes(folder))


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory):
    """A folder with a short name, as the names of sockets are."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.ray
def test_the_folder_of_a_ray_of_our_own_is_removed(short: Path):
    run = started(short)
    _, said = run.communicate(timeout=300)
    assert run.returncode == 0, said
    assert (short / "out" / "x.adv.jsonl").is_file()
    nothing_is_left(short)


# A worker that does not come, so that the command waits for it.
LATE = """
import sys, time
if any("default_worker" in part for part in sys.orig_argv):
    time.sleep(600)
"""


@pytest.mark.ray
@pytest.mark.parametrize("sign", ["gcs_server", "default_worker"], ids=["while Ray starts", "while it runs"])
def test_sigterm_ends_ray_too(short: Path, sign: str):
    (short / "sitecustomize.py").write_text(LATE)
    run = started(short, PYTHONPATH=os.pathsep.join([str(short), *sys.path]))
    deadline = time.time() + 120
    while not any(sign in line for line in processes(short)):
        assert time.time() < deadline
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    _, said = run.communicate(timeout=120)
    assert run.returncode == 143, said
    assert "Traceback" not in said
    nothing_is_left(short)


def test_where_no_folder_can_be_made_one_line_says_so(short: Path):
    pytest.importorskip("ray")
    run = started(short, RAY_TMPDIR=str(short / "nowhere"))
    _, said = run.communicate(timeout=300)
    assert run.returncode == 3
    assert said == (
        f"advcli: a local Ray cannot be started ({short}/nowhere: No such file or directory); try RAY_TMPDIR=DIR\n"
    )
