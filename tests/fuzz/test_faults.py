"""A fault at every step: whatever cannot be opened, read, written or renamed, the old output or the new one is there.

The n-th open, read, write, fsync, link or rename of a run fails, for every n, in every way.
"""

import builtins
import errno
import gzip
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import run

from advcli.common.errors import AdvcliError
from advcli.io import atomic
from advcli.pipeline import report
from advcli.pipeline.compute import Output
from advcli.pipeline.follow import Follower
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

REAL_OPEN = io.open
ROWS = [{"prompt_id": p, "reward": r, "text": "x" * 300} for p in "ab" for r in (1, 0, 0.5)] * 3
LISTS = [{"prompt_id": [p] * 3, "reward": [1, 0, 0.5], "text": ["x", "y", "z"]} for p in "ab"]
WAYS = {
    "unreadable": OSError(errno.EIO, os.strerror(errno.EIO)),
    "full": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "no memory": MemoryError(),
}


class Faults:
    """Counts the steps of a run, and lets one of them fail."""

    def __init__(self, folder, at, error):
        self.folder, self.at, self.error = str(folder), at, error
        self.steps = 0

    def put(self, patched):
        """Make the places that files go through count."""
        patched.setattr(io, "open", self.open)
        patched.setattr(builtins, "open", self.open)
        patched.setattr(pa, "OSFile", self.arrow_file())
        for function in ("fsync", "link", "replace", "fchmod"):
            patched.setattr(os, function, self.before(getattr(os, function)))

    def arrow_file(self):
        """A file of arrow whose reads are steps."""

        class Counted(pa.PythonFile):
            def __init__(counted, path):  # noqa: N805  the other self is needed too
                super().__init__(self.open(path, "rb"), "r")

        return Counted

    def step(self):
        self.steps += 1
        if self.steps == self.at:
            raise self.error

    def open(self, file, *args, **more):
        here = isinstance(file, str | Path) and str(Path(file).absolute()).startswith(self.folder)
        if not here:
            return REAL_OPEN(file, *args, **more)
        self.step()
        return Watched(REAL_OPEN(file, *args, **more), self)

    def before(self, function):
        def watched(*args, **more):
            self.step()
            return function(*args, **more)

        return watched


class Watched:
    """A file of which every read and write is a step."""

    def __init__(self, file, faults):
        self._file, self._faults = file, faults

    def __getattr__(self, name):
        found = getattr(self._file, name)
        return (
            self._faults.before(found)
            if name in ("read", "read1", "readline", "readinto", "write")
            else found
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __iter__(self):
        return iter(self._file)

    def close(self):
        is_open = not self._file.closed
        self._file.close()
        if is_open and "w" in getattr(self._file, "mode", "") + "x":
            self._faults.step()


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(rows):
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


JUDGED = [{**row, "judge": n % 2, "step": n % 3} for n, row in enumerate(ROWS)]


def case(source, data, out, *more, command="compute"):
    """A command line that reads a file and writes another; the bytes of the one, and the name of the other."""
    return [command, source, "--out", out, "--force", *more], data


CASES = {
    "json lines": case("a.jsonl", jsonl(ROWS), "b.jsonl"),
    "compressed": case("a.jsonl.gz", gzip.compress(jsonl(ROWS), mtime=0), "b.jsonl.gz"),
    "lists": case("a.jsonl", jsonl(LISTS), "b.jsonl"),
    "same layout": case("a.jsonl", jsonl(LISTS), "b.jsonl", "--same-layout"),
    "parquet": case("a.parquet", parquet(ROWS), "b.parquet"),
    "parquet of lists": case("a.parquet", parquet(LISTS), "b.parquet"),
    "to parquet": case("a.jsonl", jsonl(ROWS), "b.parquet"),
    "from parquet": case("a.parquet", parquet(ROWS), "b.jsonl"),
    "a document": case("a.json", json.dumps(ROWS).encode(), "b.jsonl"),
    "with metrics": case("a.jsonl", jsonl(ROWS), "b.jsonl", "--metrics", "m.jsonl"),
    "between": case("a.jsonl", jsonl(ROWS), "b.csv", "--between", "a.jsonl", command="compare"),
    "select": case(
        "a.jsonl",
        jsonl(ROWS),
        "b.jsonl",
        "--as",
        "sft",
        "--response",
        "text",
        "--prompt-text",
        "prompt_id",
        command="select",
    ),
    "select parquet": case(
        "a.parquet",
        parquet(ROWS),
        "b.parquet",
        "--as",
        "prompts",
        "--prompt-text",
        "prompt_id",
        command="select",
    ),
    "verify": case(
        "a.parquet",
        parquet(JUDGED),
        "b.jsonl",
        "--vs-reward",
        "judge",
        "--pass-at",
        "1",
        "--vs-pass-at",
        "1",
        command="verify",
    ),
    "prompts": case("a.jsonl", jsonl(JUDGED), "b.csv", "--reward", "reward", command="prompts"),
    "sweep": case("a.jsonl", jsonl(ROWS), "b.parquet", "--estimator", "grpo,rloo", command="sweep"),
    "report": case("a.jsonl", jsonl(ROWS), "b.html", "--no-match", command="report"),
}


def attempt(folder, case, at, error, old, monkeypatch):
    """Run a case of which a step fails; the number of steps, the exit code, and what was said."""
    args, data = case
    for path in folder.iterdir():
        path.unlink()
    (folder / args[1]).write_bytes(data)
    # The page says when its inputs were written.
    os.utime(folder / args[1], (1e9, 1e9))
    if old:
        (folder / args[3]).write_bytes(b"old")
    faults = Faults(folder, at, error)
    with monkeypatch.context() as patched:
        # The page says when it was made.
        patched.setattr(report, "_now", lambda: "2026-01-01 00:00 UTC")
        faults.put(patched)
        code, _, err = run(args)
    return faults.steps, code, err


# Where nothing is replaced, one case for each way to write.
NEW = ("json lines", "compressed", "parquet", "with metrics", "verify")


@pytest.mark.parametrize(
    ("name", "old"),
    [(name, old) for name in CASES for old in (True, False) if old or name in NEW],
    ids=lambda value: {True: "replaced", False: "new"}.get(value, value),
)
def test_a_fault_at_every_step(tmp_path, monkeypatch, name, old):
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    (_, source, _, out, *more), data = case
    steps, code, err = attempt(tmp_path, case, 0, None, old, monkeypatch)
    assert code == 0, err
    new = (tmp_path / out).read_bytes()
    assert steps > 5
    for at in range(1, steps + 1):
        # Here one way in turn for each step; by hand every way.
        ways = list(WAYS.items())
        for way, error in ways if "ADVCLI_FUZZ" in os.environ else [ways[at % len(ways)]]:
            done, code, err = attempt(tmp_path, case, at, error, old, monkeypatch)
            explain = f"step {at} of {steps}, {way}: {err}"
            assert done >= at, explain
            left = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
            assert left.pop(source) == data, explain
            metrics = left.pop("m.jsonl", None)
            assert metrics is None or more, explain
            found = left.pop(out, None)
            assert not left, explain
            assert found in (b"old" if old else None, new), explain
            if code == 0:
                # What failed was tried in another way.
                assert found == new, explain
            else:
                assert code == 3, explain
                errors = [line for line in err.splitlines() if ": wrote " not in line]
                assert errors[-1].startswith("advcli: "), explain
                assert all(line.startswith("advcli: ") for line in err.splitlines()), explain


def test_what_a_kill_leaves_is_gone_after_the_next_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = (
        "import os, signal\nfrom pathlib import Path\nfrom advcli.io import atomic\n"
        "with atomic.replacing(Path('b.jsonl'), force=True) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    (part,) = tmp_path.iterdir()
    assert part.name.startswith(".b.jsonl.")
    (tmp_path / "a.jsonl").write_bytes(jsonl(ROWS))
    code, _, err = run(["compute", "a.jsonl", "--out", "b.jsonl"])
    assert code == 0
    assert f"advcli: removed {part.name}, which a killed run left behind\n" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]
    assert atomic.leftovers([tmp_path / "b.jsonl"]) == ()


def lines(count):
    """What a run writes in so many steps."""
    return jsonl(
        {"prompt_id": p, "step": s, "reward": r} for s in range(count) for p in "ab" for r in (1, 0, 0.5)
    )


def followed(folder, *, faults=None, monkeypatch=None):
    """Look once at what a run has written, as `--follow` does; the error that ended it."""
    one = Follower(
        Request((str(folder / "run"),), Settings(), ColumnOptions()), Output(out=f"{folder / 'out'}/")
    )
    with monkeypatch.context() as patched:
        if faults:
            faults.put(patched)
        try:
            one.look()
        except (AdvcliError, OSError, MemoryError) as error:
            return error
    return None


def test_a_fault_at_every_step_of_following_a_run(tmp_path, monkeypatch):
    def begun(folder):
        (folder / "run").mkdir(parents=True)
        (folder / "run" / "r.jsonl").write_bytes(lines(3))
        assert followed(folder, monkeypatch=monkeypatch) is None
        (folder / "run" / "r.jsonl").write_bytes(lines(6))
        return folder

    def written(folder):
        return (folder / "out" / "r.adv.jsonl").read_bytes()

    whole = begun(tmp_path / "whole")
    before = written(whole)
    faults = Faults(whole, 0, None)
    assert followed(whole, faults=faults, monkeypatch=monkeypatch) is None
    after = written(whole)
    assert after.startswith(before)
    assert len(after) > len(before)
    for at in range(1, faults.steps + 1):
        folder = begun(tmp_path / str(at))
        error = list(WAYS.values())[at % len(WAYS)]
        followed(folder, faults=Faults(folder, at, error), monkeypatch=monkeypatch)
        # Whatever failed, whole lines of whole groups are there, and the next look brings the rest.
        assert written(folder) in (before, after), at
        assert followed(folder, monkeypatch=monkeypatch) is None
        assert written(folder) == after, at
        assert not [path.name for path in (folder / "out").iterdir() if path.name.endswith(".part")], at
