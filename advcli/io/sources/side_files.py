"""Files without rollouts next to dumps: skipped among other files, refused alone, and named in either case."""

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
    """A kind of file that is not a dump.

    Attributes:
        what: its contents, as shown to the user.
        requires: columns that identify it.
        names: file name patterns that identify it if the columns don't.
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
# If the paths of two files or folders differ only in such a word, the one with the second word is read.
RIVALS = (
    (re.compile(r"(?<![a-z])all(?=[/_-])"), "effective"),
    (_EVALUATION, "train"),
    (_EVALUATION, "training"),
)
# If two files differ only in such a suffix, the one with the first suffix is read. Compressed twins are compared by content.
_TWINS = ((".jsonl", ".db"),)
_NEVER = (("*/traces/live/*", "rollouts in flight"), ("*cache-*.arrow", "a cache"))
_NUMBER = re.compile(r"\d+")


def what(name: str, shapes: Mapping[str, str]) -> str | None:
    """The contents of a file that is not a dump; None if it may be one.

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
    """Raise an error if the only input is not a dump.

    Raises:
        DataError: names what it is instead.
    """
    result = what(name, shapes)
    if result:
        raise DataError(
            f"{name}: this is {result}, expected a row per response with its reward",
            hint="the dump itself (advcli formats), or --format generic with --reward COL and --prompt-col COL",
        )


def passed_over(skipped: Mapping[str, str]) -> tuple[str, ...]:
    """The message about skipped files, given name → reason."""
    if not skipped:
        return ()
    shown = shortened([f"{name} ({why})" for name, why in skipped.items()], 3)
    return (f"{counted(len(skipped), 'file')} skipped: {shown}",)


def rivals(names: Sequence[str]) -> dict[str, str]:
    """The files that repeat others, or must not be mixed with them: name → reason.

    Example:
        >>> rivals(["s/train/all/t.jsonl", "s/train/effective/t.jsonl", "s/eval/all/t.jsonl"])
        {'s/train/all/t.jsonl': "'effective' is read", 's/eval/all/t.jsonl': "'train' is read"}
    """
    shapes = {_shape(name) for name in names}
    folders = {str(folder) for name in shapes for folder in PurePath(name).parents}
    result = {name: why for name in names if (why := _replaced(_shape(name), shapes, folders))}
    return {**result, **dict(_copies(names)), **dict(_not_listed(names))}


def is_copy(file: Path) -> bool:
    """Whether a file is trackio's parquet copy of its database."""
    stem = file.name.removesuffix(".parquet").removesuffix("_system")
    return file.suffix == ".parquet" and file.with_name(f"{stem}.db").is_file()


def _shape(name: str) -> str:
    """A path without its numbers, because evaluations may have other steps than training."""
    return _NUMBER.sub("#", str(PurePath(name)))


def _replaced(shape: str, shapes: Container[str], folders: Collection[str]) -> str:
    """Why a file is skipped: the file or its folder also exists with the preferred word; "" if neither does."""
    for word, kept in RIVALS:
        other = word.sub(kept, shape)
        if other != shape and other in shapes:
            return f"'{kept}' is read"
        for folder in PurePath(shape).parents:
            name = word.sub(kept, f"{folder.name}/").rstrip("/")
            if name and name != folder.name and str(folder.with_name(name)) in folders:
                return f"'{kept}' is read"
    for folder in PurePath(shape).parents:
        if _EVALUATION.search(folder.name) and (training := _training_beside(folder, folders)):
            return f"'{training}' is read"
    path = PurePath(shape)
    without = _EVALUATION.sub("", path.name).lstrip("_-.")
    if without != path.name and str(path.with_name(without)) in shapes:
        return "an evaluation; training is read"
    return ""


def _training_beside(folder: PurePath, folders: Collection[str]) -> str | None:
    """The folder beside one of an evaluation that holds the rollouts of training, by its name."""
    names = (path.name for path in map(PurePath, folders) if path.parent == folder.parent)
    return next(
        (name for name in sorted(names) if _ROLLOUTS.search(name) and not _EVALUATION.search(name)), None
    )


def _copies(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Files that are never read, and those that another file repeats."""
    existing = set(names)
    for name in names:
        why = next((why for pattern, why in _NEVER if fnmatch(name, pattern)), None)
        twins = (name.removesuffix(suffix) + kept for kept, suffix in _TWINS if name.endswith(suffix))
        twin = next((other for other in twins if other in existing), None)
        if why or twin:
            yield name, why or f"{PurePath(twin or '').name} is read"


def _not_listed(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Arrow files in the folder of a data set that don't belong to it."""
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
    """Whether a file has a column named like a prompt, a response or an id.

    Args:
        shapes: column → shape; adding columns never makes this False.
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
    """Whether a file holds averages: numbers with names like critic/score/mean, and no lists."""
    slashed = [name for name in shapes if "/" in name]
    return (
        len(slashed) >= 1
        and all(shapes[name] in ("number", "null") for name in slashed)
        and not any(shape == "list" for shape in shapes.values())
    )
