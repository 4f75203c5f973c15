"""Files next to dumps that have no rollouts: skipped among others, refused alone, and named either way."""

import json
import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePath

from advcli.common.errors import DataError
from advcli.common.wording import counted, shortened


@dataclass(frozen=True)
class SideFile:
    """A kind of file that is no dump.

    Attributes:
        what: what it holds.
        requires: columns that tell it.
        names: file names that tell it where the columns say nothing else.
    """

    what: str
    requires: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


SIDE_FILES = (
    SideFile("EasyR1's experiment_log.jsonl, averages per step", ("step", "reward", "critic")),
    SideFile("verl's log of averages per step", ("step", "data")),
    SideFile("what 'verifiers validate' found, without rewards", ("index", "valid", "mode")),
    SideFile(
        "the settings of an evaluation",
        ("env_id", "num_examples", "rollouts_per_example"),
        ("metadata.json",),
    ),
    SideFile("the settings of a run", ("run_name", "git_commit", "model_name"), ("*_metadata.jsonl",)),
    SideFile("prime-rl's tokens, without rewards", ("micro_step", "loss_mask", "token_ids")),
    SideFile("the state of a trainer", ("log_history", "global_step"), ("trainer_state.json",)),
    SideFile("a log of averages per step", ("learning_rate", "loss"), ("log_history.json", "logging.jsonl")),
    SideFile("a log of averages per step", ("grad_norm", "loss")),
    SideFile("a log of averages per step", (), ("metrics.jsonl",)),
    SideFile("averages over a file of results", (), ("aggregated_results.jsonl",)),
    SideFile("the summary of a batch", (), ("batch_summary.json",)),
    SideFile("the settings of a run", (), ("experiment_config.json", "config.json", "*_config.json")),
    SideFile("a tree of logs", (), ("*_logtree.json",)),
    SideFile("prime-rl's updates, which are read with the stream", ("trace_id", "info")),
    SideFile("an index of episodes", ("trace_ids", "offset")),
    SideFile("the summary of a job", ("n_total_trials", "stats")),
    SideFile("averages over a file of samples", ("results", "configs"), ("results_*.json",)),
    SideFile("miles' tokens, without rewards", ("sample_index", "loss_mask", "tokens")),
)

_EVALUATION = re.compile(r"(?<![a-z])(evals?|evaluation|val|valid|validation|test)(?![a-z])", re.IGNORECASE)
_ROLLOUTS = re.compile(r"(?<![a-z])(train|training|rollouts?)(?![a-z])", re.IGNORECASE)
# Of two files, or two folders, whose paths differ in one such word only, that with the second one is read.
RIVALS = (
    (re.compile(r"(?<![a-z])all(?=[/_-])"), "effective"),
    (_EVALUATION, "train"),
    (_EVALUATION, "training"),
)
# Of two files of one name, that with the first suffix is read. Compressed twins are compared by their contents.
_TWINS = ((".jsonl", ".db"),)
_NEVER = (("*/traces/live/*", "rollouts in flight"), ("*cache-*.arrow", "a cache"))
_NUMBER = re.compile(r"\d+")


def what(name: str, shapes: Mapping[str, str]) -> str | None:
    """What a file holds that is no dump; None if it may be one.

    Args:
        name: its path.
        shapes: column → what it holds.
    """
    if not shapes or may_be_a_dump(shapes):
        return None
    base = PurePath(name).name
    known = next(
        (row for row in SIDE_FILES if row.requires and all(key in shapes for key in row.requires)), None
    )
    if known is None:
        known = next(
            (row for row in SIDE_FILES if any(fnmatch(base, pattern) for pattern in row.names)), None
        )
    if known is None and _is_metrics(shapes):
        return "a log of averages per step"
    return known.what if known else None


def refuse(name: str, shapes: Mapping[str, str]) -> None:
    """Refuse the only input if it is no dump.

    Raises:
        DataError: says what it is.
    """
    result = what(name, shapes)
    if result:
        raise DataError(
            f"{name}: this is {result}, expected a row per response with its reward",
            hint="the dump itself (advcli formats), or --format generic with --reward COL and --prompt-col COL",
        )


def passed_over(found: Mapping[str, str]) -> tuple[str, ...]:
    """What to say about files that were not read, from name → why."""
    if not found:
        return ()
    shown = shortened([f"{name} ({why})" for name, why in found.items()], 3)
    return (f"{counted(len(found), 'file')} skipped: {shown}",)


def rivals(names: Sequence[str]) -> dict[str, str]:
    """The files that say the same as others, or must not be mixed with them: name → why.

    Example:
        >>> rivals(["s/train/all/t.jsonl", "s/train/effective/t.jsonl", "s/eval/all/t.jsonl"])
        {'s/train/all/t.jsonl': "'effective' is read", 's/eval/all/t.jsonl': "'train' is read"}
    """
    there = {_shape(name) for name in names}
    folders = {str(folder) for name in there for folder in PurePath(name).parents}
    result = {name: why for name in names if (why := _replaced(_shape(name), there, folders))}
    return {**result, **dict(_copies(names)), **dict(_not_listed(names))}


def is_copy(file: Path) -> bool:
    """Whether a file is a copy that trackio makes of its database."""
    stem = file.name.removesuffix(".parquet").removesuffix("_system")
    return file.suffix == ".parquet" and file.with_name(f"{stem}.db").is_file()


def _shape(name: str) -> str:
    """A path without its numbers: an evaluation may be of other steps than those of training."""
    return _NUMBER.sub("#", str(PurePath(name)))


def _replaced(shape: str, there: Container[str], folders: Collection[str]) -> str:
    """Why a file is not read: the same one, or a folder in place of its own, is there under the other word; "" if none is."""
    for left, kept in RIVALS:
        other = left.sub(kept, shape)
        if other != shape and other in there:
            return f"'{kept}' is read"
        for folder in PurePath(shape).parents:
            name = left.sub(kept, f"{folder.name}/").rstrip("/")
            if name and name != folder.name and str(folder.with_name(name)) in folders:
                return f"'{kept}' is read"
    for folder in PurePath(shape).parents:
        if _EVALUATION.search(folder.name) and (training := _training_beside(folder, folders)):
            return f"'{training}' is read"
    path = PurePath(shape)
    without = _EVALUATION.sub("", path.name).lstrip("_-.")
    if without != path.name and str(path.with_name(without)) in there:
        return "an evaluation; training is read"
    return ""


def _training_beside(folder: PurePath, folders: Collection[str]) -> str | None:
    """The folder beside one of an evaluation that holds the rollouts of training, by its name."""
    names = (path.name for path in map(PurePath, folders) if path.parent == folder.parent)
    return next(
        (name for name in sorted(names) if _ROLLOUTS.search(name) and not _EVALUATION.search(name)), None
    )


def _copies(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Files that are never read, and those that say what another one says."""
    there = set(names)
    for name in names:
        why = next((why for pattern, why in _NEVER if fnmatch(name, pattern)), None)
        twins = (name.removesuffix(left) + kept for kept, left in _TWINS if name.endswith(left))
        twin = next((other for other in twins if other in there), None)
        if why or twin:
            yield name, why or f"{PurePath(twin or '').name} is read"


def _not_listed(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Arrow files next to a data set that do not belong to it."""
    for folder in {PurePath(name).parent for name in names if name.endswith(".arrow")}:
        try:
            state = json.loads((Path(folder) / "state.json").read_bytes())
            listed = {file["filename"] for file in state["_data_files"]}
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for name in names:
            path = PurePath(name)
            if path.parent == folder and path.suffix == ".arrow" and path.name not in listed:
                yield name, "not part of the data set (state.json)"


def may_be_a_dump(shapes: Mapping[str, str]) -> bool:
    """Whether a value could be a response's text or prompt.

    Args:
        shapes: column → what it holds; more columns never make this false.
    """
    texts = {
        "prompt",
        "input",
        "completion",
        "response",
        "output",
        "messages",
        "prompt_id",
        "uid",
        "example_id",
    }
    return bool(texts & shapes.keys())


def _is_metrics(shapes: Mapping[str, str]) -> bool:
    """Whether a file holds averages: names like critic/score/mean, numbers, and no text of a response."""
    slashed = [name for name in shapes if "/" in name]
    return (
        len(slashed) >= 1
        and all(shapes[name] in ("number", "null") for name in slashed)
        and not any(shape == "list" for shape in shapes.values())
    )
