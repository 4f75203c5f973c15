"""`--follow`: what is written while files grow is what one run over all of it writes, whatever kills it."""

import errno
import json
import os
import random
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, Interrupted, UsageError
from advcli.io import growing
from advcli.io.growing import STATE
from advcli.pipeline import follow
from advcli.pipeline.compute import Output
from advcli.pipeline.follow import Follower, looks
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions


def lines(steps, draw=None):
    draw = draw or random.Random(3)
    rows = (
        {
            "prompt_id": prompt,
            "step": step,
            "reward": draw.randint(0, 2),
            "response": "né" * draw.randint(1, 9),
        }
        for step in steps
        for prompt in "abc"
        for _ in range(4)
    )
    return [json.dumps(row) + "\n" for row in rows]


def follower(run, out, settings=None, *, force=False, **columns):
    request = Request((str(run),), settings or Settings(), ColumnOptions(**columns))
    return Follower(request, Output(out=f"{out}/", force=force))


def once(run, out, *args):
    """What one run writes."""
    done = CliRunner().invoke(app, ["compute", str(run), "--out", f"{out}/", "--force", "-q", *args])
    assert done.exit_code == 0, done.stderr
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name != STATE}


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("settings", "args"),
    [
        (Settings(), ()),
        (Settings(scale="batch"), ("--scale", "batch")),
        (Settings(like="verl", keep_pos=0.5), ("--like", "verl", "--keep-pos", "0.5")),
    ],
)
def test_a_file_that_grows_byte_by_byte(run, tmp_path, settings, args):
    file, text = run / "r.jsonl", "".join(lines(range(8))).encode()
    one, draw, at = follower(run, tmp_path / "out", settings), random.Random(5), 0
    rows = 0
    while at < len(text):
        more = draw.randint(1, 900)
        with file.open("ab") as stream:
            stream.write(text[at : at + more])
        at += more
        found = one.look()
        rows += found.rows if found else 0
        # Whole groups only.
        written = (tmp_path / "out" / "r.adv.jsonl").read_bytes() if rows else b""
        assert written.count(b"\n") == rows
        assert rows % 12 == 0
    assert (rows, found.waiting) == (7 * 12, 12)
    full = once(run, tmp_path / "full", *args)["r.adv.jsonl"]
    assert b"".join(full.splitlines(keepends=True)[:rows]) == written


def test_a_file_per_step_and_one_that_is_half_written(run, tmp_path):
    one = follower(run, tmp_path / "out")
    for step in range(4):
        rows = [json.loads(line) for line in lines([step], random.Random(step))]
        path = run / f"step_{step}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        whole = path.read_bytes()
        path.write_bytes(whole[:-9])
        with pytest.raises(DataError):
            one.look()
        path.write_bytes(whole)
        one.look()
    names = [f"step_{step}.adv.parquet" for step in range(3)]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [STATE, *names]
    once(run, tmp_path / "full")
    for name in names:
        assert pq.read_table(tmp_path / "out" / name).equals(pq.read_table(tmp_path / "full" / name))


def test_n_rows_are_a_group_before_the_step_is_over(run, tmp_path):
    file, text = run / "r.jsonl", lines([1])
    one = follower(run, tmp_path / "out", n=4)
    file.write_text("".join(text[:7]))
    assert (one.look().rows, one.look()) == (4, follow.Written(0, 0, (), 3))
    file.write_text("".join(text))
    assert one.look().rows == 8
    assert one.look() is None
    assert (
        once(run, tmp_path / "full", "--n", "4")["r.adv.jsonl"]
        == (tmp_path / "out" / "r.adv.jsonl").read_bytes()
    )


def test_a_second_file_of_the_same_name_changes_no_output(run, tmp_path):
    for folder, steps in (("a", [1, 2]), ("b", [3, 4])):
        (run / folder).mkdir()
        (run / folder / "r.jsonl").write_text("".join(lines(steps)))
        one = follower(run, tmp_path / "out")
        one.look()
    assert len((tmp_path / "out" / "r.adv.jsonl").read_text().splitlines()) == 24
    assert len((tmp_path / "out" / "b" / "r.adv.jsonl").read_text().splitlines()) == 12


def test_groups_of_one_row_so_far_are_no_error(run, tmp_path):
    text = lines([1, 2])
    file = run / "r.jsonl"
    file.write_text("".join([text[0], text[4], text[8]]))
    one = follower(run, tmp_path / "out")
    assert (one.look().rows, one.look().waiting) == (0, 3)
    file.write_text("".join([*text[::4], *(row for at, row in enumerate(text) if at % 4)]))
    assert one.look().rows == 0


def test_a_row_that_follows_a_group_which_was_left_over(run, tmp_path):
    """With --n 4 the step is over with 3 rows of c: a fourth one would make other numbers."""
    file, text = run / "r.jsonl", lines([1, 2])
    one = follower(run, tmp_path / "out", n=4)
    file.write_text("".join([*text[:11], *text[12:20]]))
    assert one.look().rows == 19
    with file.open("a") as stream:
        stream.write(text[11])
    with pytest.raises(DataError, match=r"r\.jsonl:20: a row of step 1, whose groups are already written"):
        one.look()


def test_groups_that_lie_in_several_files_are_written_together(run, tmp_path):
    """Ranks: every second row of a group is in the other file, which is behind."""
    one, text = follower(run, tmp_path / "out"), lines(range(4))
    (run / "rank0.jsonl").write_text("".join(text[::2]))
    (run / "rank1.jsonl").write_text("".join(text[1::2][:10]))
    assert (one.look().rows, one.look().rows) == (12, 0)
    (run / "rank1.jsonl").write_text("".join(text[1::2]))
    found = one.look()
    assert (found.rows, found.waiting) == (24, 12)
    # Nothing new in the other one.
    with (run / "rank0.jsonl").open("a") as stream:
        stream.write("".join(lines([4, 5])[::2]))
    assert one.look().rows == 0
    for name, rows in once(run, tmp_path / "full").items():
        assert (tmp_path / "out" / name).read_bytes() == b"".join(rows.splitlines(keepends=True)[:18])


def test_a_file_per_step(run, tmp_path):
    one = follower(run, tmp_path / "out")
    for step in range(3):
        (run / f"{step}.jsonl").write_text("".join(lines([step])))
        assert one.look().rows == (12 if step else 0)


def test_a_run_that_goes_on_continues(run, tmp_path):
    file, text = run / "r.jsonl", lines(range(6))
    file.write_text("".join(text[:30]))
    assert follower(run, tmp_path / "out").look().rows == 24
    out = tmp_path / "out" / "r.adv.jsonl"
    # What a killed run left behind what counts.
    with out.open("ab") as stream:
        stream.write(b'{"torn": ')
    file.write_text("".join(text))
    assert follower(run, tmp_path / "out").look().rows == 36
    full = once(run, tmp_path / "full")["r.adv.jsonl"]
    assert out.read_bytes() == b"".join(full.splitlines(keepends=True)[:60])
    with pytest.raises(UsageError, match="is from a run with other inputs or options"):
        follower(run, tmp_path / "out", n=4)
    with pytest.raises(UsageError, match=r"is not empty and has no \.advcli-follow\.json"):
        follower(run, tmp_path / "full")
    assert follower(run, tmp_path / "out", force=True).look().rows == 60


HALF = """
from pathlib import Path
def append(path, written, more):
    with path.open("ab") as file:
        file.write(more.read_bytes()[:50])
    os.kill(os.getpid(), 9)
follow.append = append
"""
UNSAVED = "follow.State.save = lambda *_: os.kill(os.getpid(), 9)"
SAVED = """
save = follow.State.save
follow.State.save = lambda *given: (save(*given), os.kill(os.getpid(), 9))
"""


@pytest.mark.parametrize("dies", [HALF, UNSAVED, SAVED], ids=["half written", "state not saved", "saved"])
def test_kill_minus_nine(run, tmp_path, dies):
    file, text, out = run / "r.jsonl", lines(range(5)), tmp_path / "out"
    file.write_text("".join(text[:30]))
    follower(run, out).look()
    file.write_text("".join(text))
    script = (
        f"import os; from advcli.pipeline import follow\n{dies}\nfrom advcli.pipeline.compute import Output\n"
        "from advcli.pipeline.request import Request\nfrom advcli.records.settings import Settings\n"
        "from advcli.records.table import ColumnOptions\n"
        f"request = Request(({str(run)!r},), Settings(), ColumnOptions())\n"
        f"follow.Follower(request, Output(out={str(out)!r} + '/')).look()"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    follower(run, out).look()
    full = once(run, tmp_path / "full")["r.adv.jsonl"]
    assert (out / "r.adv.jsonl").read_bytes() == b"".join(full.splitlines(keepends=True)[:48])


def test_what_cannot_be_followed(run, tmp_path):
    file = run / "r.jsonl"
    file.write_text("".join(lines([1, 2])))
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"prompt": "p", "reward": 1}\n{"prompt": "p", "reward": 0}\n')
    with pytest.raises(UsageError, match="nothing says when a group is complete"):
        follower(bare, tmp_path / "b").look()
    one = follower(run, tmp_path / "c")
    assert one.look().rows == 12
    with file.open("a") as stream:
        stream.write("".join(lines([1, 3])))
    with pytest.raises(DataError, match=r"r\.jsonl:25: a row of step 1, whose groups are already written"):
        one.look()
    file.write_text("".join(lines([1])[:5]))
    with pytest.raises(DataError, match="has changed since it was annotated"):
        one.look()
    # Another file of that name, as large or larger, is as wrong.
    file.write_text("".join(lines([1, 3, 4], random.Random(4))))
    with pytest.raises(DataError, match="has changed since it was annotated"):
        one.look()
    for args, said in {
        (): "--out DIR/",
        ("--out", "x/", "--json"): "--json needs all rows",
        ("--out", "x/", "--engine", "ray"): "does not run on Ray",
    }.items():
        with pytest.raises(UsageError, match=said):
            CliRunner().invoke(app, ["compute", str(run), "--follow", *args], catch_exceptions=False)


def test_an_output_that_cannot_be_written_is_named(run, tmp_path, monkeypatch):
    (run / "r.jsonl").write_text("".join(lines([1, 2])))

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(growing.os, "fsync", full)
    with pytest.raises(DataError, match=r"out/r\.adv\.jsonl: cannot be written \(no space left on device\)"):
        follower(run, tmp_path / "out").look()


def test_looks_again_only_after_a_change_and_stops_at_what_stays_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "_TRIES", 1)
    file, seen = tmp_path / "r.jsonl", []

    def look():
        seen.append(file.read_text())
        if seen[-1] == "torn":
            raise DataError("torn")
        return seen[-1]

    written = iter(["", "a", "a", "torn", "b", "torn", "torn"])

    def wait():
        text = next(written)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
            os.utime(file, ns=(len(seen) + 1, len(seen) + 1))

    found = looks(look, [str(file)], wait)
    assert [next(found) for _ in range(4)] == [None, "", "a", "b"]
    with pytest.raises(DataError, match="torn"):
        next(found)
    assert seen == ["", "a", "torn", "b", "torn", "torn"]


def test_inspect_reads_complete_lines_and_goes_on(run, monkeypatch):
    text = lines([1, 2])
    (run / "r.jsonl").write_text("".join(text[:12]) + text[12][:20])
    monkeypatch.setattr(follow, "_INTERVAL", 0)
    monkeypatch.setattr(follow.time, "sleep", lambda _: (run / "r.jsonl").write_text("".join(text)))
    done = CliRunner().invoke(app, ["inspect", str(run), "--follow", "--json", "--fail-if", "rows > 20"])
    assert [json.loads(line)["rows"] for line in done.stdout.splitlines()] == [12, 24]
    assert done.exit_code == 1


def test_compute_says_what_it_wrote(run, tmp_path, monkeypatch, capsys):
    (run / "r.jsonl").write_text("".join(lines([1, 2, 3])))

    def sleep(_):
        raise Interrupted("interrupted")

    monkeypatch.setattr(follow.time, "sleep", sleep)
    with pytest.raises(Interrupted):
        app(["compute", str(run), "--follow", "--out", f"{tmp_path / 'out'}/"], standalone_mode=False)
    assert capsys.readouterr().err.splitlines() == [
        "advcli: wrote 24 rows in 6 groups, steps 1 to 2",
        "advcli: not written: 12 rows of incomplete groups; run without --follow to write them",
    ]
