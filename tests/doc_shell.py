"""A block of shell from a page, run with advcli in the process of the tests: a twentieth of the time."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import in_process

TOOLS = ("jq", "duckdb")
"""Programs that a page uses and a machine may lack; their lines are skipped there."""

# `advcli ARGUMENTS`, perhaps into a file, perhaps followed by an echo: no shell is needed for that.
_SIMPLE = re.compile(
    r"advcli (?P<args>[^|;&<>$`]*?(?:'[^']*'[^|;&<>$`]*?)*)(?: > (?P<file>\S+))?(?: && echo (?P<echo>.*))?"
)


class Ran(NamedTuple):
    """What a block did.

    Attributes:
        code: the exit code of the first line that failed, else 0.
        output: standard output and standard error, all lines together.
        lacking: the tools that are not installed.
    """

    code: int
    output: str
    lacking: tuple[str, ...]


def run(block: str) -> Ran:
    """Run the lines of a block in the current folder, until one fails."""
    lacking = [
        tool for tool in TOOLS if re.search(rf"^{tool} ", block, re.MULTILINE) and not shutil.which(tool)
    ]
    output = ""
    for part in parts(block):
        if part.split()[0] in lacking:
            continue
        simple = _SIMPLE.fullmatch(part)
        code, text = _inside(simple) if simple else _outside(part)
        output += text
        if code:
            return Ran(code, output, tuple(lacking))
    return Ran(0, output, tuple(lacking))


def parts(block: str) -> Iterator[str]:
    """The block cut into lines of advcli or of a tool, and what lies between them as one script.

    Example:
        >>> list(parts("mkdir a\\ncd a\\nadvcli sample\\n"))
        ['mkdir a\\ncd a', 'advcli sample']
    """
    script: list[str] = []
    for line in block.splitlines():
        alone = line.split(" ")[0] in ("advcli", *TOOLS)
        if alone and script:
            yield "\n".join(script)
            script = []
        if alone:
            yield line
        elif line.strip():
            script.append(line)
    if script:
        yield "\n".join(script)


def _inside(simple: re.Match[str]) -> tuple[int, str]:
    code, out, err = in_process.run(shlex.split(simple["args"]))
    if simple["file"]:
        Path(simple["file"]).write_bytes(out)
    shown = "" if simple["file"] else out.decode("utf-8")
    echo = f"{' '.join(shlex.split(simple['echo']))}\n" if simple["echo"] and not code else ""
    return code, shown + err + echo


def _outside(script: str) -> tuple[int, str]:
    whole = f'advcli() {{ {shlex.quote(sys.executable)} -m advcli "$@"; }}\n{script}'
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", whole], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr
