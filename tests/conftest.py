"""What every test may use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from in_process import completed

DATA = Path(__file__).parent / "data"
# How fast a machine is, and how busy, is no property of the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need a GPU say why they do not run."""
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no CUDA device on this machine"))


def pytest_make_parametrize_id(val: object) -> str | None:
    """No test is named after thousands of characters of its input."""
    if isinstance(val, str | bytes) and len(val) > 100:
        return f"{val[:20]!a} and {len(val) - 20} more"
    return None


@pytest.fixture
def data() -> Path:
    """The folder of real dumps and golden cases."""
    return DATA


@pytest.fixture
def advcli(tmp_path: Path):
    """Run the program in a temporary folder, in this process.

    Call with the arguments; `stdin` is text or bytes (default: nothing, as from /dev/null), `env` what is added to the
    environment. Returns what `subprocess.run` returns: `returncode`, `stdout` and `stderr`, as bytes.
    """

    def run(
        *args: object,
        stdin: str | bytes | None = None,
        env: dict[str, str] | None = None,
        cwd: Path = tmp_path,
    ):
        return completed(args, stdin=stdin, env={"NO_COLOR": "1", **(env or {})}, cwd=cwd)

    return run


@pytest.fixture
def program(tmp_path: Path):
    """Run the program in a process of its own: for tests of what a process is and does.

    Call as the fixture `advcli`, which takes a tenth of the time.
    """

    def run(*args: object, env: dict[str, str] | None = None, cwd: Path = tmp_path):
        return subprocess.run(
            [sys.executable, "-m", "advcli", *map(str, args)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=cwd,
            env={**os.environ, "NO_COLOR": "1", **(env or {})},
            timeout=120,
            check=False,
        )

    return run
