"""Checks for known traps of formats; each returns a one-sentence warning or None.

The catalog names the checks of a format. They use the columns of the first pass only.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from advcli.common.wording import counted, verb
from advcli.records.table import RewardTable
from advcli.tensors.codes import in_order

Check = Callable[[RewardTable, Mapping[str, str]], str | None]


_NO_METRICS = ("doc_id", "target")


def found(
    table: RewardTable,
    kinds: Mapping[str, str],
    *,
    results: Mapping[str, Callable[[], str | None]] | None = None,
) -> tuple[str, ...]:
    """The warnings of the checks of the table's format.

    Args:
        table: the columns of the first pass.
        kinds: column of the dump → kind.
        results: functions that replace the checks in `OF_ROWS`, if the rows are not in the table.
    """
    results = results or {}
    warnings = (
        results[name]() if name in results else CHECKS[name](table, kinds)
        for name in table.choice.rules.checks
    )
    return tuple(text for text in warnings if text)


def same_rows_at_several_steps(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn about a generation batch logged again at a later step: the same prompts and rewards in the same order."""
    del kinds
    if table.step is None or table.choice.dedup:
        return None
    blocks: dict[tuple[bytes, bytes], int] = {}
    repeated: list[int] = []
    for code, rows in _steps(table):
        rewards = table.rewards[rows]
        if len(set(rewards[np.isfinite(rewards)].tolist())) < 2:
            continue
        logged = b"" if table.logged is None else table.logged[rows].tobytes()
        block = (table.key[rows].tobytes(), rewards.tobytes() + logged)
        if block in blocks:
            repeated.append(code)
        blocks.setdefault(block, code)
    return again_said(repeated, table.step_names)


def again_said(repeated: Sequence[int], names: Sequence[str]) -> str | None:
    """The warning about steps that repeat the rows of an earlier one."""
    if not repeated:
        return None
    return (
        f"{counted(len(repeated), 'step')} {verb(len(repeated), 'holds', 'hold')} the rows of an earlier step again "
        f"(the first: step {names[repeated[0]]}), as when one generation batch is logged at several steps; try --dedup"
    )


def evaluation_rows(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn about several group sizes within one step: training and evaluation rows in one file."""
    del kinds
    return sizes_said({code: _sizes(table, rows) for code, rows in _steps(table)}, table.step_names)


def sizes_said(sizes: Mapping[int, Collection[int]], names: Sequence[str]) -> str | None:
    """The warning about steps whose groups have several sizes.

    Args:
        sizes: code of the step (-1 for all rows of a dump without steps) → the sizes of its groups.
        names: the step of each code.
    """
    mixed = [code for code, result in sizes.items() if len(set(result)) > 1]
    if not mixed:
        return None
    first = ", ".join(str(size) for size in sorted(set(sizes[mixed[0]])))
    return (
        f"{counted(len(mixed), 'step')} {verb(len(mixed), 'has', 'have')} groups of several sizes (step "
        f"{names[mixed[0]] if mixed[0] >= 0 else 'none'}: {first}): "
        "evaluation rows among the training rows, or a group that was cut?"
    )


def numbers_from_log_extra(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn about numeric columns, logged by the user, that look like reward functions."""
    odd = [
        name
        for name, _ in table.choice.rewards
        if len(table.choice.rewards) > 1 and not any(word in name.lower() for word in ("reward", "score"))
    ]
    typical = [name for name, _ in table.choice.rewards if name not in odd]
    del kinds
    if not odd or not typical:
        return None
    flags = " ".join(f"--reward {name}" for name in typical)
    return (
        f"{', '.join(repr(name) for name in odd)} {verb(len(odd), 'counts as a reward function', 'count as reward functions')}; "
        f"if logged with log_extra, try {flags}"
    )


def overlong_penalty(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn about a score without the overlong penalty that training used."""
    if "overlong_reward" not in kinds or any(name == "overlong_reward" for name, _ in table.choice.rewards):
        return None
    return (
        "there is an 'overlong_reward', so 'score' may not include the penalty that was trained with; try --reward score "
        "--reward overlong_reward"
    )


def rewards_of_other_rows(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn that NeMo-RL's rewards under dynamic sampling belong to other rows."""
    if "filtered_rewards" not in kinds:
        return None
    used = [name for name, _ in table.choice.rewards]
    if used == ["rewards"]:
        return (
            "'rewards' belong to other rows under dynamic sampling ('filtered_rewards' is there); "
            "try --reward filtered_rewards"
        )
    return "'rewards' belong to other rows under dynamic sampling: 'filtered_rewards' is read"


def no_advantage_yet(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn about prime-rl's file of all arrivals, which is written before groups are scored."""
    del kinds
    return none_logged_said(logged=table.logged is not None and bool(np.isfinite(table.logged).any()))


def none_logged_said(*, logged: bool) -> str | None:
    """The warning about a prime-rl file without any logged advantage."""
    if logged:
        return None
    return (
        "no advantage is logged: this is the window of all arrivals, written before groups were scored ('effective' beside "
        "'all' holds what was trained on)"
    )


def no_updates(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn about a prime-rl stream without the updates that hold its advantages."""
    if table.choice.logged is not None or "info.advantage" in kinds:
        return None
    return "no advantage is logged: there are no updates in annotations/ next to the stream"


def no_groups(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn that each line of lm-eval holds all repeats of a document with one metric."""
    del table, kinds
    return "no groups: the repeats of a document share one row and one metric, so every row is its own group"


def several_metrics(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn about several metrics without a total, of which one is read."""
    read = [name for name, _ in table.choice.rewards]
    other = [name for name in table.choice.others if kinds.get(name) == "number" and name not in _NO_METRICS]
    if not other:
        return None
    flags = " or ".join(f"--reward {name}" for name in other)
    return f"{counted(len(other) + 1, 'metric')} without a total: '{read[0]}' is read; try {flags}"


def several_splits(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn about training and evaluation files read as one data set."""
    del kinds
    evals = [name for name in table.names if name.rpartition("/")[2].startswith("eval")]
    if not evals or len(evals) == len(table.names):
        return None
    return (
        f"{counted(len(evals), 'file')} of evaluation among those of training: statistics of a step mix them "
        "(groups do not); try the train_ files alone"
    )


def already_normalised(table: RewardTable, kinds: Mapping[str, str]) -> str | None:
    """Warn that ROLL's logging board holds normalised rewards."""
    del table, kinds
    return "the rewards of this file are already normalised: advantages of them are not those of the run"


CHECKS: Mapping[str, Check] = {
    check.__name__: check
    for check in (
        same_rows_at_several_steps,
        evaluation_rows,
        numbers_from_log_extra,
        overlong_penalty,
        rewards_of_other_rows,
        no_advantage_yet,
        no_updates,
        no_groups,
        several_metrics,
        several_splits,
        already_normalised,
    )
}
"""The checks that a format can name."""

OF_ROWS = ("same_rows_at_several_steps", "evaluation_rows", "no_advantage_yet")
"""The checks that need the rows."""


def _steps(table: RewardTable) -> list[tuple[int, "np.ndarray"]]:
    """The rows of each step, in order of first appearance; all rows as step -1 if there are no steps."""
    usable = np.flatnonzero(table.key >= 0)
    if table.step is None:
        return [(-1, usable)]
    rows = usable[in_order(table.step[usable])]
    steps = np.split(rows, np.flatnonzero(np.diff(table.step[rows])) + 1) if len(rows) else []
    return [(int(table.step[step[0]]), step) for step in sorted(steps, key=lambda step: int(step[0]))]


def _sizes(table: RewardTable, rows: "np.ndarray") -> list[int]:
    return [int(size) for size in np.unique(table.key[rows], return_counts=True)[1]]
