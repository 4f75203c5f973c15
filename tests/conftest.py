"""What every test may use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

DATA = Path(__file__).parent / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need a GPU say why they do not run."""
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no CUDA device on this machine"))


@pytest.fixture
def data() -> Path:
    """The folder of real dumps and golden cases."""
    return DATA


@pytest.fixture
def advcli(tmp_path: Path):
    """Run the program as a user does, in a process of its own, in a temporary folder.

    Call with the arguments; `stdin` is text or bytes (default: nothing, as from /dev/null). Returns the
    completed process with text output.
    """

    def run(
        *args: object,
        stdin: str | bytes | None = None,
        env: dict[str, str] | None = None,
        cwd: Path = tmp_path,
    ):
        return subprocess.run(
            [sys.executable, "-m", "advcli", *map(str, args)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            cwd=cwd,
            env={**os.environ, "NO_COLOR": "1", **(env or {})},
            timeout=120,
            check=False,
        )

    return run
