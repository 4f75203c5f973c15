"""Whole processes side by side: wall time and peak memory as the operating system accounts them."""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PEERS = ("pandas", "polars", "polars_column", "polars_join", "duckdb", "duckdb_column")
TORCH = "import torch"
PACKAGES = ("torch", "pyarrow", "msgspec", "pandas", "polars", "duckdb")
Command = Callable[[Path], list[str]]
"""The command line that writes to a path."""


@dataclass(frozen=True)
class Usage:
    """What one process took.

    Attributes:
        wall: seconds from its start to its end.
        cpu: seconds of all its threads.
        peak: MB of its largest resident set.
    """

    wall: float
    cpu: float
    peak: float


def run(command: Sequence[str], *, may_answer_no: bool = False) -> Usage:
    """Run a command to its end.

    Args:
        command: the program and its arguments.
        may_answer_no: whether exit code 1, an answer, is none that is raised.

    Raises:
        RuntimeError: it failed.
    """
    quiet = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    start = time.perf_counter()
    process = os.posix_spawn(command[0], command, _environment(), file_actions=quiet)
    _, status, used = os.wait4(process, 0)
    wall = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    if code and not (may_answer_no and code == 1):
        raise RuntimeError(f"{' '.join(command)} ended with {code}")
    return Usage(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def peak_together(command: Sequence[str]) -> float:
    """MB that a process and those it starts hold at most at one time; what they share counts once. Linux only.

    Looked at every hundredth of a second, so that what is held for less may be missed.
    """
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=_environment())
    most = 0.0
    while process.poll() is None:
        most = max(most, sum(map(_held, (process.pid, *_started_by(process.pid)))))
        time.sleep(0.01)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return most


def _held(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _started_by(pid: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, file.read_text().split())
    return found


def in_turn(
    commands: Mapping[str, Command], runs: int, folder: Path, suffix: str, *, keep: bool = False
) -> dict[str, list[Usage]]:
    """Run all commands one after the other, `runs` times, after a round that is not counted.

    With `keep`, what they write stays in the folder, under names of its own: ext4 passes over every inode that was freed
    within the last minutes, so that a thousand files take several times as long after a thousand others were removed.
    """
    found: dict[str, list[Usage]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for place, (name, command) in enumerate(commands.items()):
            target = folder / (f"out-{number}-{place}{suffix}" if keep else f"out{suffix}")
            usage = run(command(target))
            if not keep:
                _remove(target)
            if number:
                found[name].append(usage)
    return found


def in_turn_of(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, list[Usage]]:
    """Run commands that write nothing, as `in_turn`."""
    found: dict[str, list[Usage]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            usage = run(command)
            if number:
                found[name].append(usage)
    return found


def advcli(source: Path, *options: str) -> Command:
    """`advcli compute`."""
    return lambda target: [
        *_python("advcli"),
        "compute",
        str(source),
        "--out",
        _folder(source, target),
        "--force",
        "--quiet",
        *options,
    ]


def peer(name: str, source: Path, keys: str, reward: str) -> Command:
    """One of `benchmarks.peers`."""
    return lambda target: [*_python(f"benchmarks.peers.{name}"), str(source), str(target), keys, reward]


def made(kind: str, file: Path, *options: str) -> Path:
    """A file of `benchmarks.data`, made by a process of its own so that this one stays small."""
    if not file.exists():
        run([*_python("benchmarks.data"), kind, str(file), *options])
    return file


def table(found: Mapping[str, Sequence[Usage]], *, ours: str = "advcli") -> list[str]:
    """A Markdown table: each command, and how much longer ours takes than it, pair by pair."""
    lines = ["| | wall s | CPU s | peak MB | advcli / this, median (min–max) |", "|---|---:|---:|---:|---|"]
    for name, usages in found.items():
        figures = (
            statistics.median(getattr(usage, key) for usage in usages) for key in ("wall", "cpu", "peak")
        )
        wall, cpu, peak = figures
        against = "" if name == ours else spread(ratios(found[ours], usages))
        lines.append(f"| {name} | {wall:.2f} | {cpu:.2f} | {peak:,.0f} | {against} |")
    return lines


def ratios(ours: Sequence[Usage], theirs: Sequence[Usage]) -> list[float]:
    """Wall time of each of our runs over that of the run beside it."""
    return [one.wall / other.wall for one, other in zip(ours, theirs, strict=True)]


def spread(values: Sequence[float]) -> str:
    """Median, and the extremes."""
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def fastest(found: Mapping[str, Sequence[Usage]], names: Sequence[str]) -> str:
    """The peer with the lowest median."""
    return min(names, key=lambda name: statistics.median(usage.wall for usage in found[name]))


def leanest(found: Mapping[str, Sequence[Usage]], names: Sequence[str]) -> str:
    """The peer with the lowest peak."""
    return min(names, key=lambda name: statistics.median(usage.peak for usage in found[name]))


def beside_peers(  # noqa: PLR0913  what runs, on what, how often and where
    source: Path,
    key: str,
    reward: str,
    more: Sequence[str],
    runs: int,
    folder: Path,
    peers: Sequence[str] = PEERS,
) -> dict[str, list[Usage]]:
    """Run advcli and every peer on a file in turn.

    Args:
        source: the file.
        key: the columns that make a group, with commas.
        reward: the column with the reward.
        more: what runs too, although it does less.
        runs: counted runs of each.
        folder: where they write.
        peers: which of them.
    """
    commands = {
        "advcli": advcli(source),
        **{name: peer(name, source, key, reward) for name in (*peers, *more)},
        TORCH: lambda target: [sys.executable, "-c", TORCH],
    }
    return in_turn(commands, runs, folder, source.suffix)


def against_fastest(found: Mapping[str, Sequence[Usage]], target: float, *, torch: bool = False) -> str:
    """The ratio of time to the fastest peer, in a sentence; with `torch` to both, as `import torch` is in our times only."""
    best = fastest(found, [name for name in PEERS if name in found])
    named, theirs = best, [one.wall for one in found[best]]
    if torch:
        named = f"({TORCH} + {best})"
        theirs = [one + other.wall for one, other in zip(theirs, found[TORCH], strict=True)]
    times = [ours.wall / wall for ours, wall in zip(found["advcli"], theirs, strict=True)]
    return f"Fastest peer: {best}. advcli / {named}: {spread(times)}; target ≤ {target}."


def against_leanest(found: Mapping[str, Sequence[Usage]], target: float = 1.0) -> str:
    """The ratio of memory to the leanest peer, in a sentence."""
    least = leanest(found, [name for name in PEERS if name in found])
    memory = [one.peak / other.peak for one, other in zip(found["advcli"], found[least], strict=True)]
    return f"Leanest peer: {least}. Peak memory, advcli / {least}: {spread(memory)}; target ≤ {target}."


def machine() -> str:
    """What this ran on, in a line."""
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} missing")
    cpu = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")),
        platform.machine(),
    )
    return f"{os.cpu_count()} × {cpu}, Python {platform.python_version()}, {', '.join(versions)}"


def parser(what: str, **defaults: int) -> argparse.ArgumentParser:
    """The options that all tables have."""
    found = argparse.ArgumentParser(description=what)
    found.add_argument(
        "--runs", type=int, default=defaults.pop("runs", 3), help="counted runs of each command"
    )
    found.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, help="beside which of them")
    found.add_argument("--folder", type=Path, help="where the data lie and stay; else a temporary folder")
    for name, value in defaults.items():
        found.add_argument(f"--{name}", type=int, default=value)
    return found


@contextmanager
def workplace(folder: Path | None) -> Iterator[Path]:
    """The folder of the data."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="advcli-bench-") as name:
        yield Path(name)


def _environment() -> dict[str, str]:
    """As after an installation, where modules lie compiled: the run that is not counted compiles those of a checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _python(module: str) -> list[str]:
    return [sys.executable, "-m", module]


def _folder(source: Path, target: Path) -> str:
    return f"{target}/" if source.is_dir() else str(target)


def _remove(target: Path) -> None:
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
