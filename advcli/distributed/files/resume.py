"""Where files go, and which are done: a note next to each output, with the run that wrote it and its size.

The note is written before the output gets its name. So an output that is there without a note of the same run is
none of it, and a note without its output says nothing.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from advcli.common.errors import UsageError
from advcli.distributed.files.remote import Away, folder
from advcli.io import atomic
from advcli.io.write import Target, targets
from advcli.records.table import Source

FOLDER = ".advcli"


@dataclass(frozen=True)
class Goal:
    """Where the rows of one file go.

    Attributes:
        path: the file, or the object.
        target: the same, for the writer of files.
    """

    path: Path | Away
    target: Target


def goals(sources: Sequence[Source], out: str | None) -> list[Goal]:
    """The output path of each file; existing outputs are checked later.

    Args:
        sources: the inputs.
        out: a file, a folder, a folder in a store, or None.

    Raises:
        UsageError: what was asked for must not be written.
    """
    store = folder(out)
    if store is None:
        result = targets(sources, out, force=True)
        return [Goal(target.path, target) for target in result if target.path]
    # Under the names that they would have in a folder here.
    with tempfile.TemporaryDirectory() as here:
        result = targets(sources, f"{here}/", force=True)
        names = [target.path.relative_to(here).as_posix() for target in result if target.path]
    return [Goal(store.below(name), target) for name, target in zip(names, result, strict=True)]


def fingerprint(settings: Mapping[str, Any], sources: Sequence[Source], how: Sequence[object]) -> str:
    """What makes a run another one: settings, version, the name, size and time of each input, and how it is written."""
    inputs = [(source.name, *source.stamp) for source in sources]
    text = json.dumps([settings, inputs, list(how)], sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def note(partial: Path, target: Path | Away, run: str) -> None:
    """Tell that a file, which is complete and about to get its name, is of a run."""
    note = json.dumps({"run": run, "size": partial.stat().st_size}).encode()
    if isinstance(target, Away):
        target.beside(FOLDER, f"{target.name}.done").put(note)
        return
    with atomic.replacing(_note(target), force=True) as file:
        file.write(note)


def is_done(target: Path | Away, run: str) -> bool:
    """Whether a file was written by a run and is as long as it was then."""
    try:
        if isinstance(target, Away):
            note = json.loads(target.beside(FOLDER, f"{target.name}.done").read())
            return bool(note["run"] == run and note["size"] == target.size())
        note = json.loads(_note(target).read_bytes())
        return bool(note["run"] == run and note["size"] == target.stat().st_size)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def left(goals: Sequence[Goal], run: str, *, resume: bool, force: bool) -> list[int]:
    """The numbers of the files that are still to be written.

    Args:
        goals: where each file goes.
        run: the fingerprint.
        resume: pass over those that this run has written.
        force: overwrite the others.

    Raises:
        UsageError: a file is there that this run did not write.
    """
    open_ = []
    for number, goal in enumerate(goals):
        if resume and is_done(goal.path, run):
            continue
        if _is_there(goal.path) and not force:
            hint = "--force to overwrite it" if resume else "--resume to go on, or --force to overwrite it"
            what = "exists already" + (", and was not written by this run" if resume else "")
            raise UsageError(f"{goal.path} {what}", hint=hint)
        open_.append(number)
    return open_


def _is_there(target: Path | Away) -> bool:
    return target.size() is not None if isinstance(target, Away) else target.exists()


def staging(target: Path, run: str) -> Path:
    """The folder for what a run has not finished: on the file system of the target, as renaming takes no time there."""
    return target.parent / FOLDER / run


def _note(target: Path) -> Path:
    return target.parent / FOLDER / f"{target.name}.done"
