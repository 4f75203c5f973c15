"""Output paths, and which outputs are done: a note next to each output has the run that wrote it and its size.

The note is written before the output is renamed to its final name. So an output without a note of the run is not
the run's, and a note without an output has no meaning.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from advcli.common.errors import UsageError
from advcli.distributed.files.remote import RemoteOutput, folder
from advcli.io import atomic
from advcli.io.write import Target, targets
from advcli.records.table import Source

FOLDER = ".advcli"


@dataclass(frozen=True)
class Goal:
    """The output of one file.

    Attributes:
        path: the local file or the remote object.
        target: the local target that the writer uses.
    """

    path: Path | RemoteOutput
    target: Target


def goals(sources: Sequence[Source], out: str | None) -> list[Goal]:
    """The output path of each file; existing outputs are checked later.

    Args:
        sources: the inputs.
        out: a file, a folder, a folder in a store, or None.

    Raises:
        UsageError: the output must not be written.
    """
    store = folder(out)
    if store is None:
        result = targets(sources, out, force=True)
        return [Goal(target.path, target) for target in result if target.path]
    # The names are the same as in a local folder.
    with tempfile.TemporaryDirectory() as local:
        result = targets(sources, f"{local}/", force=True)
        names = [target.path.relative_to(local).as_posix() for target in result if target.path]
    return [Goal(store.child(name), target) for name, target in zip(names, result, strict=True)]


def fingerprint(settings: Mapping[str, Any], sources: Sequence[Source], how: Sequence[object]) -> str:
    """The identity of a run: settings, version, name, size and time of each input, and output options."""
    inputs = [(source.name, *source.stamp) for source in sources]
    text = json.dumps([settings, inputs, list(how)], sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def note(partial: Path, target: Path | RemoteOutput, run: str) -> None:
    """Write the note that a complete file, about to be renamed, belongs to a run."""
    note = json.dumps({"run": run, "size": partial.stat().st_size}).encode()
    if isinstance(target, RemoteOutput):
        target.sibling(FOLDER, f"{target.name}.done").put(note)
        return
    with atomic.replacing(_note(target), force=True) as file:
        file.write(note)


def is_done(target: Path | RemoteOutput, run: str) -> bool:
    """Whether a file was written by a run and still has the same size."""
    try:
        if isinstance(target, RemoteOutput):
            note = json.loads(target.sibling(FOLDER, f"{target.name}.done").read())
            return bool(note["run"] == run and note["size"] == target.size())
        note = json.loads(_note(target).read_bytes())
        return bool(note["run"] == run and note["size"] == target.stat().st_size)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def left(goals: Sequence[Goal], run: str, *, resume: bool, force: bool) -> list[int]:
    """The numbers of the files to write.

    Args:
        goals: the output of each file.
        run: the fingerprint.
        resume: skip the files that this run has written.
        force: overwrite the others.

    Raises:
        UsageError: an output exists that this run did not write.
    """
    open_ = []
    for number, goal in enumerate(goals):
        if resume and is_done(goal.path, run):
            continue
        if _exists(goal.path) and not force:
            hint = "--force to overwrite it" if resume else "--resume to go on, or --force to overwrite it"
            what = "exists already" + (", and was not written by this run" if resume else "")
            raise UsageError(f"{goal.path} {what}", hint=hint)
        open_.append(number)
    return open_


def _exists(target: Path | RemoteOutput) -> bool:
    return target.size() is not None if isinstance(target, RemoteOutput) else target.exists()


def staging(target: Path, run: str) -> Path:
    """The folder for a run's unfinished files, on the file system of the target, so that they can be renamed."""
    return target.parent / FOLDER / run


def _note(target: Path) -> Path:
    return target.parent / FOLDER / f"{target.name}.done"
