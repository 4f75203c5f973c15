"""Files that lie beside dumps and hold no rollouts: passed over among others, refused alone, and named either way."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePath

from advcli.errors import DataError
from advcli.wording import counted, shortened


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
)

# Of two files whose paths differ in one such word only, the first word's is read.
RIVALS = (("effective", "all"), ("train", "eval"), ("train", "val"), ("train", "valid"))


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
    found = what(name, shapes)
    if found:
        raise DataError(
            f"{name}: this is {found}, expected a row per response with its reward",
            hint="the dump itself (advcli formats), or --format generic with --reward COL and --prompt-col COL",
        )


def passed_over(found: Mapping[str, str]) -> tuple[str, ...]:
    """What to say about files that were not read, from name → why."""
    if not found:
        return ()
    shown = shortened([f"{name} ({why})" for name, why in found.items()], 3)
    return (f"{counted(len(found), 'file')} passed over: {shown}",)


def rivals(names: list[str]) -> dict[str, str]:
    """The files that say the same as others, or must not be mixed with them: name → why.

    Example:
        >>> rivals(["s/train/all/t.jsonl", "s/train/effective/t.jsonl", "s/eval/all/t.jsonl"])
        {'s/train/all/t.jsonl': "'effective' is read", 's/eval/all/t.jsonl': "'train' is read"}
    """
    found: dict[str, str] = {}
    if not any(left in name for name in names for _, left in RIVALS):
        return found
    there = [PurePath(name) for name in names]
    files = set(there)
    folders = {path.parts[:length] for path in there for length in range(1, len(path.parts))}
    for kept, left in RIVALS:
        for path in there:
            if str(path) not in found and _replaced(path, left, kept, files, folders):
                found[str(path)] = f"'{kept}' is read"
    return {name: found[str(PurePath(name))] for name in names if str(PurePath(name)) in found}


def _replaced(
    path: PurePath, left: str, kept: str, there: set[PurePath], folders: set[tuple[str, ...]]
) -> bool:
    """Whether the same path with the other word is among the files; of a folder, whether any file is in the other one."""
    if left in path.parts[:-1]:
        at = len(path.parts) - 2 - path.parts[:-1][::-1].index(left)
        return (*path.parts[:at], kept) in folders
    if path.name.startswith(f"{left}_"):
        return path.with_name(f"{kept}_{path.name.removeprefix(f'{left}_')}") in there
    return False


def may_be_a_dump(shapes: Mapping[str, str]) -> bool:
    """Whether something could be a response's text or prompt beside its reward.

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
