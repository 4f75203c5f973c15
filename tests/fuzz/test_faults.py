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

from advcli.io import atomic

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


CASES = {
    "json lines": ("a.jsonl", jsonl(ROWS), "b.jsonl", ()),
    "compressed": ("a.jsonl.gz", gzip.compress(jsonl(ROWS), mtime=0), "b.jsonl.gz", ()),
    "lists": ("a.jsonl", jsonl(LISTS), "b.jsonl", ()),
    "same layout": ("a.jsonl", jsonl(LISTS), "b.jsonl", ("--same-layout",)),
    "parquet": ("a.parquet", parquet(ROWS), "b.parquet", ()),
    "parquet of lists": ("a.parquet", parquet(LISTS), "b.parquet", ()),
    "to parquet": ("a.jsonl", jsonl(ROWS), "b.parquet", ()),
    "from parquet": ("a.parquet", parquet(ROWS), "b.jsonl", ()),
    "a document": ("a.json", json.dumps(ROWS).encode(), "b.jsonl", ()),
    "with metrics": ("a.jsonl", jsonl(ROWS), "b.jsonl", ("--metrics", "m.jsonl")),
}


def attempt(folder, case, at, error, old, monkeypatch):
    """Run a case of which a step fails; the number of steps, the exit code, and what was said."""
    name, data, out, more = case
    for path in folder.iterdir():
        path.unlink()
    (folder / name).write_bytes(data)
    if old:
        (folder / out).write_bytes(b"old")
    faults = Faults(folder, at, error)
    with monkeypatch.context() as patched:
        patched.setattr(io, "open", faults.open)
        patched.setattr(builtins, "open", faults.open)
        for function in ("fsync", "link", "replace", "fchmod"):
            patched.setattr(os, function, faults.before(getattr(os, function)))
        code, _, err = run(["compute", name, "--out", out, "--force", *more])
    return faults.steps, code, err


# Where nothing is replaced, one case for each way to write.
NEW = ("json lines", "compressed", "parquet", "with metrics")


@pytest.mark.parametrize(
    ("name", "old"),
    [(name, old) for name in CASES for old in (True, False) if old or name in NEW],
    ids=lambda value: {True: "replaced", False: "new"}.get(value, value),
)
def test_a_fault_at_every_step(tmp_path, monkeypatch, name, old):
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    source, data, out, more = case
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
