"""What dies while a command runs: the result is right, or one line says what to do, and --resume completes it."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from distributed import local as one_machine
from distributed import test_commands as engines

from advcli.common.errors import DataError, UsageError
from advcli.pipeline.compute import Output
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("on_ray")]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return engines.written(tmp_path_factory.mktemp("faults-in"), engines.rows(step=False), ".jsonl")


@pytest.fixture(scope="module")
def local(inputs: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults-local")
    one_machine.compute(Request(tuple(inputs), BATCH, ColumnOptions()), Output(out=f"{folder}/"))
    return folder


BATCH = Settings(scale="batch")


def on_ray_into(folder: Path, inputs: list[str], **output):
    from advcli.distributed import commands

    return commands.compute(
        Request(tuple(inputs), BATCH, ColumnOptions()), Output(out=f"{folder}/", **output)
    )


def complete(folder: Path) -> list[str]:
    """The files of a folder: none of them hidden, none of them a part, nothing staged."""
    names = sorted(path.name for path in folder.iterdir() if path.name != ".advcli")
    assert not [name for name in names if name.startswith(".") or "part" in Path(name).suffix]
    assert not [path for path in (folder / ".advcli").iterdir() if path.is_dir()]
    return names


def dies(function, number: int, mark: Path, before: bool):
    """A function of a worker that kills it when it comes to `number`, once: `mark` is removed first.

    A closure, so it is sent to the workers as it is.
    """

    def wrapped(at: int, *given):
        answer = None if before else function(at, *given)
        if at == number and mark.exists():
            mark.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return function(at, *given) if before else answer

    return wrapped


# In every pass one worker, with its work to do or done and the answer lost; where a file is written, both.
@pytest.mark.parametrize(
    ("target", "number", "before"),
    [
        ("scan.scan", 1, True),
        ("crossing.find_in_task", 1, True),
        ("placement.joined", 0, False),
        ("run.apply", 1, True),
        ("files.write.advantages", 2, False),
        ("files.write.write_file", 0, True),
        ("files.write.write_file", 0, False),
    ],
)
def test_a_worker_that_is_killed(
    target: str,
    number: int,
    before: bool,
    inputs: list[str],
    local: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    module, _, name = target.rpartition(".")
    part = import_module(f"advcli.distributed.{module}")
    mark = tmp_path / "mark"
    mark.touch()
    monkeypatch.setattr(part, name, dies(getattr(part, name), number, mark, before))
    on_ray_into(tmp_path / "out", inputs)
    assert not mark.exists(), "nobody was killed"
    engines.same_files(local, tmp_path / "out")
    complete(tmp_path / "out")


def test_resume_writes_only_the_file_that_is_not_there(inputs: list[str], local: Path, tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()
    blocked = out / "part-1.adv.jsonl"
    first = on_ray_into(out, inputs)
    assert len(complete(out)) == 3
    blocked.unlink()
    stamps = {name: (out / name).stat().st_mtime_ns for name in complete(out)}
    again = on_ray_into(out, inputs, resume=True)
    assert "2 of 3 files done already" in again.notes
    assert [note for note in again.notes if note.startswith("wrote")] == [f"wrote {blocked}"]
    assert {name: (out / name).stat().st_mtime_ns for name in stamps} == stamps
    engines.same_files(local, out)
    engines.same_reports(first, replace(again, notes=first.notes, written=first.written))


def test_resume_passes_over_nothing_that_this_run_did_not_write(inputs: list[str], tmp_path: Path):
    from advcli.distributed import commands

    out = tmp_path / "out"
    on_ray_into(out, inputs)
    with pytest.raises(UsageError, match=r"exists already; try --resume to go on, or --force"):
        on_ray_into(out, inputs)
    with pytest.raises(UsageError, match="was not written by this run"):
        commands.compute(
            Request(tuple(inputs), Settings(scale="none"), ColumnOptions()),
            Output(out=f"{out}/", resume=True),
        )
    # Longer than it was when it was written: somebody else has been there.
    with (out / "part-0.adv.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(
        UsageError, match=r"part-0\.adv\.jsonl exists already, and was not written by this run"
    ):
        on_ray_into(out, inputs, resume=True)
    report = on_ray_into(out, inputs, resume=True, force=True)
    assert "2 of 3 files done already" in report.notes


def test_an_error_of_a_worker_is_that_of_one_machine(tmp_path: Path):
    broken = tmp_path / "broken.jsonl"
    # So late that it is not seen when the first records are looked at.
    broken.write_text('{"prompt_id": "a", "reward": 1}\n' * 300 + '{"prompt_id": "a", "rew\n')
    whole = tmp_path / "whole.jsonl"
    whole.write_text('{"prompt_id": "a", "reward": 1}\n')
    for compute in (one_machine.compute, engine()):
        with pytest.raises(DataError, match=r"broken.jsonl:301: not valid JSON") as error:
            compute(
                Request((str(broken), str(whole)), BATCH, ColumnOptions()), Output(out=f"{tmp_path}/out/")
            )
        assert type(error.value) is DataError
        assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def engine():
    from advcli.distributed import commands

    return commands.compute


def test_a_node_that_is_removed(inputs: list[str], local: Path, tmp_path: Path):
    """Of two nodes one goes away while files are written: the other one makes again what it held."""
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("two_nodes.py")), f"{tmp_path}/out/", *inputs],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "a node was removed" in run.stdout, run.stderr
    if run.returncode == 0:
        engines.same_files(local, tmp_path / "out")
    else:
        # One clear line; what is there is whole.
        assert run.stdout.splitlines()[-1].startswith("DataError: --engine ray:"), run.stdout
    on_ray_into(tmp_path / "out", inputs, resume=True)
    engines.same_files(local, tmp_path / "out")
    complete(tmp_path / "out")
