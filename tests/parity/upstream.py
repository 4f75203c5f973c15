"""`python -m tests.parity.upstream [FRAMEWORK...]`: the newest release of each framework beside the one that is proven.

Asks pip for the newest release on the package index. Where that is another one than the proven one and the reference cases are
made by a package, it installs the newest into the environment of `make.py` and runs the recorded cases against it:

    python -m tests.parity.upstream --list      # ask only, install nothing
    python -m tests.parity.upstream --save      # keep the table for docs/fidelity.md

One line per framework; the exit status is 1 if a recorded case comes out different.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from advcli.frameworks.catalog import frameworks
from advcli.frameworks.proven import PROVEN

HERE = Path(__file__).resolve().parent
SAVED = HERE / "upstream.json"
# Framework → its name on the package index, where that is another one.
PACKAGES = {
    "art": "openpipe-art",
    "twinkle": "twinkle-kit",
    "tunix": "google-tunix",
    "oat": "oat-llm",
    "agent-lightning": "agentlightning",
    "atropos": "atroposlib",
}
# What is published as a repository only, or of which the index has another project of that name.
UNPUBLISHED = (
    *("easyr1", "slime", "roll", "prime-rl", "open-instruct", "verl-agent", "ragen", "miles", "labs-molt"),
    *(
        "pipelinerl",
        "marti",
        "verl-recipe",
        "krpo",
        "nemo-rl",
        "rllm",
        "drmas",
        "hgpo",
        "multi-turn-rl-agent",
    ),
)
# Framework → the file of its newest reference cases.
FILES = {
    "art": "art",
    **{name: name for name in ("verl", "twinkle", "ms-swift", "trl", "openrlhf", "skyrl", "areal")},
    **{name: name for name in ("tinker-cookbook", "trinity-rft", "tunix", "rlinf", "siirl", "areno")},
}
_SECONDS = 120
_WIDTH = 80

Ask = Callable[[str], str]
Run = Callable[[str, str], list[dict[str, Any]]]


@dataclass(frozen=True)
class Watched:
    """What was found out about one framework.

    Attributes:
        framework: its name.
        proven: the newest release that was compared or read; "" for none.
        newest: the newest release on the package index; "" where it has none, or did not answer.
        outcome: what that means, in a few words.
        differs: whether a recorded case comes out different.
    """

    framework: str
    proven: str
    newest: str
    outcome: str
    differs: bool = False

    @property
    def line(self) -> str:
        """The framework in one line."""
        text = f"{self.framework:<19} {self.proven or '–':<9} {self.newest or '–':<9} {self.outcome}"
        return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


class NotThereError(Exception):
    """Why there is no release, or no number, to compare with."""


def newest(package: str) -> str:
    """The newest release of a package on the index that pip is set up for.

    Raises:
        NotThereError: it has no such package, or cannot be reached.
    """
    command = [sys.executable, "-m", "pip", "index", "versions", package]
    quiet = ["--disable-pip-version-check", "--retries", "1", "--timeout", "15"]
    try:
        done = subprocess.run(
            [*command, *quiet], check=False, capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        raise NotThereError("the package index did not answer") from None
    if found := re.search(rf"^{re.escape(package)} \((\S+)\)", done.stdout, re.MULTILINE | re.IGNORECASE):
        return found[1]
    absent = "No matching distribution" in done.stderr and "Could not fetch" not in done.stderr
    raise NotThereError("not on the package index" if absent else "the package index did not answer")


def rerun(framework: str, release: str, *, venv: Path) -> list[dict[str, Any]]:
    """The cases of a framework, made by another release.

    Raises:
        NotThereError: it cannot be installed here, or its code has moved.
    """
    name = FILES[framework]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(HERE / "make.py"), name, "--release", release]
        done = subprocess.run(
            [*command, "--out", folder, "--venv", str(venv)], check=False, capture_output=True, text=True
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise NotThereError(f"does not run here: {last}")
        found: list[dict[str, Any]] = json.loads((Path(folder) / f"{name}.json").read_text())["cases"]
        return found


def watch(framework: str, ask: Ask, run: Run | None) -> Watched:
    """Compare the newest release of a framework with the proven one.

    Args:
        framework: its name.
        ask: gives the newest release of a package.
        run: gives the cases that a release makes; None to ask only.
    """
    proven = PROVEN.get(framework, ("", ""))[1]
    if framework in UNPUBLISHED:
        return Watched(framework, proven, "", "not published on the package index")
    try:
        release = ask(PACKAGES.get(framework, framework))
    except NotThereError as reason:
        return Watched(framework, proven, "", str(reason))
    if release == proven:
        return Watched(framework, proven, release, "proven")
    if framework not in FILES:
        return Watched(framework, proven, release, "no case is made by its package")
    if run is None:
        return Watched(framework, proven, release, "not compared yet")
    try:
        return _compared(framework, proven, release, run(framework, release))
    except NotThereError as reason:
        return Watched(framework, proven, release, str(reason))


def _compared(framework: str, proven: str, release: str, fresh: Sequence[Mapping[str, Any]]) -> Watched:
    """The recorded cases beside those that another release makes of the same batches."""
    text = (HERE / "data" / f"{FILES[framework]}.json").read_text(encoding="utf-8")
    recorded, now = (
        {_key(case): case["advantages"] for case in side} for side in (json.loads(text)["cases"], fresh)
    )
    other = [key for key, advantages in recorded.items() if now.get(key) != advantages]
    if not other:
        return Watched(framework, proven, release, f"all {len(recorded)} recorded cases are the same")
    first = json.loads(other[0])
    said = f"{len(other)} of {len(recorded)} cases differ, first {first[0]} on {first[2]}"
    return Watched(framework, proven, release, said, differs=True)


def _key(case: Mapping[str, Any]) -> str:
    return json.dumps([case["estimator"], case["knobs"], case["batch"], case["rewards"]])


def main(arguments: Sequence[str]) -> int:
    """Print a line per framework; 1 if a recorded case comes out different."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help="all by default")
    parser.add_argument("--list", action="store_true", help="ask for the newest releases, install nothing")
    parser.add_argument("--save", action="store_true", help=f"write {SAVED.name} for docs/fidelity.md")
    parser.add_argument("--venv", type=Path, default=HERE / ".venv", help="the environment of make.py")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.frameworks if name not in frameworks()]
    if unknown:
        parser.error(f"unknown framework '{unknown[0]}'; one of {', '.join(frameworks())}")

    def run(framework: str, release: str) -> list[dict[str, Any]]:
        return rerun(framework, release, venv=options.venv)

    found = []
    sys.stdout.write(f"{'framework':<19} {'proven':<9} {'newest':<9} outcome\n")
    for framework in options.frameworks or frameworks():
        found.append(watch(framework, newest, None if options.list else run))
        sys.stdout.write(f"{found[-1].line}\n")
        sys.stdout.flush()
    if options.save:
        SAVED.write_text(
            json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return int(any(one.differs for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
