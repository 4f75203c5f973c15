"""For cog: a command and what it prints, run on the bundled sample in a folder of its own.

The pages that use it are written again by `cog -r README.md docs/*.md`.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import wrap

_COLUMNS = 80
HERE = Path(__file__).parent.parent


def shown(*lines: str, only: slice = slice(None)) -> str:
    """The commands, and below them what the last one prints.

    Args:
        lines: command lines, run one after the other.
        only: which lines of the output to show.
    """
    with tempfile.TemporaryDirectory() as folder:
        _run("advcli sample --quiet", folder)
        outputs = [_run(line, folder) for line in lines]
    kept = "\n".join(map(_folded, outputs[-1].splitlines()[only])).strip("\n")
    return "```sh\n" + "\n".join(lines) + "\n```\n\n```text\n" + kept + "\n```"


def _folded(line: str) -> str:
    """A sentence as a terminal of 80 columns shows it; a line of a table, which has wide gaps, as it is."""
    if len(line) <= _COLUMNS or "   " in line or "──" in line:
        return line
    return "\n".join(
        wrap(line, _COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    )


def _run(line: str, folder: str) -> str:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    command = f'advcli() {{ "{sys.executable}" -m advcli "$@"; }}; {line}'
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=env, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{line}: {done.stderr}")
    return done.stdout
