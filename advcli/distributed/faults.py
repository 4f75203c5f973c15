"""A worker that dies at a wanted moment, for the tests: nothing happens unless the environment names a folder."""

import os
import signal
from pathlib import Path

FOLDER = "ADVCLI_TEST_FAULTS"
"""A folder; a file WHERE-NUMBER in it kills the process that works on that, once: it is taken away first."""


def strike(where: str, number: int) -> None:
    """Kill this process if it was asked for."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    try:
        (Path(folder) / f"{where}-{number}").unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
