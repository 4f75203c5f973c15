"""The requested columns, the data read, and its groups."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advcli.records.layout import NO_RULES, PLAIN, Condition, Derived, Layout, Rules

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of standard output in `--out`; a new file must never replace one of these."""


CAUSES = ("null", "NaN", "inf")
"""Why a reward is missing; the position + 1 is the code in `RewardTable.cause`."""


MAX_LINE = 64_000_000
"""Default limit of bytes per line: compressed data has no other bound on its decompressed size."""


@dataclass(frozen=True)
class Choice:
    """The column of each role.

    Attributes:
        format: name of a row of the format catalog.
        prompt: columns that together identify the prompt; empty if groups are formed by position.
        step: the training step, or None.
        rewards: (column, weight) of each reward part.
        skip_missing_parts: a missing part counts as 0 if the row has another part (TRL's rule);
            otherwise one missing part makes the row missing.
        length: tokens per row, or None.
        extra: columns of numbers that a filter or a shaping step uses.
        tokens: (role, column) of each column with a list per row, with a number per token.
        logged: the advantage that the trainer logged, or None.
        rollout: columns that together name the rollout within its group; empty if each row is a rollout.
        turn: the number of the row in its rollout, or None for file order.
        roles: (role, column) of each column with a number or a label per row, by the roles of `records.roles`.
        turn_list: a list with the reward of each turn, in a file with a row per rollout; None without.
        sure: whether the user or the format named the rollout column; else it was chosen by its name.
        mask: which tokens of the logged advantage count, if it is a list, or None.
        others: columns of numbers or lists without a role.
        row: the column that identifies rows, or None.
        named: whether prompts are identified by name.
        step_in_key: whether the same prompt at another step is another group.
        layout: how rows are stored in the records.
        derived: columns that are computed from others.
        rules: which rows are not rollouts, and what must hold in a group.
        dedup: whether exact duplicates are dropped.
        by: the column that splits the figures, or None.
        outcomes: further reward columns, which are described but not summed.
        tests: expressions among `extra`: 1 where true and 0 where false, or their numeric value.
        unread: columns of numbers without a role that could be rewards or parts of one.
        likely: columns that could be the prompt, if the chosen one differs in every row.
        doubts: choices with a nearly as likely alternative, one sentence each.
        found: roles of `tokens` that were detected, not named by the user: a row without such a list is not an error.
        aside: roles of `tokens` that no advantage is computed from.
    """

    format: str
    prompt: tuple[str, ...]
    step: str | None
    rewards: tuple[tuple[str, float], ...]
    skip_missing_parts: bool = False
    length: str | None = None
    extra: tuple[str, ...] = ()
    tokens: tuple[tuple[str, str], ...] = ()
    logged: str | None = None
    step_in_key: bool = True
    layout: Layout = PLAIN
    derived: tuple[Derived, ...] = ()
    rules: Rules = NO_RULES
    dedup: bool = False
    mask: str | None = None
    others: tuple[str, ...] = ()
    row: str | None = None
    named: bool = False
    by: str | None = None
    outcomes: tuple[str, ...] = ()
    rollout: tuple[str, ...] = ()
    turn: str | None = None
    turn_list: str | None = None
    roles: tuple[tuple[str, str], ...] = ()
    sure: bool = False
    tests: tuple[Condition, ...] = ()
    unread: tuple[str, ...] = ()
    likely: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()

    def role(self, name: str) -> str | None:
        """The column of a role with a number or a label per row, or None."""
        return dict(self.roles).get(name)

    @property
    def kl_column(self) -> str | None:
        """The KL column, with a number or a list per row, or None."""
        return self.role("kl") or dict(self.tokens).get("token_kl")

    def columns(self) -> tuple[str, ...]:
        """All needed columns, without duplicates."""
        single = (
            self.step,
            self.length,
            self.logged,
            self.mask,
            self.row,
            self.by,
            self.turn,
            self.turn_list,
            *self.rollout,
            *(name for name in self.extra if not any(name == test.expression for test in self.tests)),
            *(name for test in self.tests for name in test.columns),
            *self.outcomes,
            *(name for _, name in self.tokens),
            *(name for _, name in self.roles),
        )
        wanted = [*self.prompt, *(name for name, _ in self.rewards), *(name for name in single if name)]
        wanted += self.rules.columns()
        return tuple(dict.fromkeys(wanted))


@dataclass(frozen=True)
class ColumnOptions:
    """The columns and rows that the user asked for; None and () leave the choice to the format.

    Attributes:
        format: name of a row of the format catalog.
        prompt: the column that identifies the prompt (`--prompt-col`).
        group_by: the columns that identify the group, step not added (`--group-by`).
        step: the training step (`--step-col`).
        rewards: (column, weight) of each reward part (`--reward`).
        weights: weights of the format's own reward parts, in file order (a trainer's `reward_weights`).
        length: tokens per row (`--length-col`).
        extra: columns of numbers that a filter or a shaping step uses.
        tokens: role → column with a list per row (`--values-col`, `--mask-col`, ...).
        n: rows per group (`--n`).
        layout: how rows are stored in a record (`--layout`).
        explode: the list of objects, or the lists, with one entry per row (`--explode`).
        dedup: drop exact duplicates (`--dedup`).
        logged: the advantage that the trainer logged (`--logged-col`).
        row: the column that identifies rows (`--join`).
        rollout: the column that names the rollout within its group (`--rollout-col`).
        turn: the number of the row in its rollout (`--turn-col`).
        turn_rewards: a list with the reward of each turn, if a row is a rollout (`--turn-rewards-col`).
        roles: (role, column) of columns with a number or a label per row (`--baseline-col`, `--anchor-col`, `--role`, ...).
        named: identify prompts by name, so that two data sets can be compared.
        parts: when to use the columns that look like reward parts: "without total", if there is no total, or
            "always"; with None several parts without a total are an error.
        by: the column that splits the figures (`--by`).
        outcomes: further reward columns to describe (`--outcome`).
        find_outcomes: also describe columns that look like another reward.
        where: expressions that a row must meet to count (`--where`).
        tests: expressions of filters, among `extra`.
        measures: expressions whose values a shaping step needs, among `extra`.
        strict: a doubtful choice of columns is an error.
        ungrouped: accept rows without groups: a dump without a prompt, or with one row per prompt.
        max_line: maximum bytes per line (`--max-line`).
        log_probs: detect the two log-probabilities if the user names none: "figures" to show them only, "filters"
            for filters that need them; "" for no detection.
        characters: if no column has lengths, count the characters of the response.
    """

    format: str | None = None
    prompt: str | None = None
    group_by: tuple[str, ...] = ()
    step: str | None = None
    rewards: tuple[tuple[str, float], ...] = ()
    weights: tuple[float, ...] = ()
    length: str | None = None
    extra: tuple[str, ...] = ()
    tokens: Mapping[str, str] = field(default_factory=dict)
    n: int | None = None
    layout: str | None = None
    explode: tuple[str, ...] = ()
    dedup: bool = False
    logged: str | None = None
    row: str | None = None
    named: bool = False
    parts: str | None = None
    by: str | None = None
    outcomes: tuple[str, ...] = ()
    find_outcomes: bool = False
    rollout: str | None = None
    turn: str | None = None
    turn_rewards: str | None = None
    roles: tuple[tuple[str, str], ...] = ()
    where: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    strict: bool = False
    ungrouped: bool = False
    max_line: int = MAX_LINE
    log_probs: str = ""
    characters: bool = False

    def as_logged(self) -> "ColumnOptions":
        """The columns that `match` reads; a missing prompt id is no error, because groups may be formed by position."""
        return replace(self, n=self.n or 1, parts="without total")


@dataclass(frozen=True)
class Part:
    """A range of complete lines of a file that is still being written.

    Attributes:
        begin: offset of the first byte.
        end: offset after the last byte.
        line: number of the first line.
    """

    begin: int
    end: int
    line: int


@dataclass(frozen=True)
class Source:
    """One input.

    Attributes:
        name: the path as typed or found; "<stdin>" for standard input.
        path: the file with the data: `name`, or a temporary file.
        container: "jsonl", "json" (one value for the whole file) or "parquet".
        codec: "gzip", "zstd" or None: the compression of `path`.
        stamp: size and modification time when it was found, to detect a writer that is not done.
        remarks: notes from when it was found (files that were skipped).
        format: name of the format if its container determines it, or "" if the columns do.
        origin: the original file if `path` is a converted copy, or None.
        join: completes each record from other files next to it, or None.
        max_line: maximum bytes per line.
        part: the lines to read; None for all of them.
    """

    name: str
    path: Path
    container: str
    codec: str | None = None
    stamp: tuple[int, int] = (0, 0)
    remarks: tuple[str, ...] = ()
    format: str = ""
    origin: Path | None = None
    join: "Callable[[dict[str, Any]], dict[str, Any]] | None" = field(default=None, compare=False)
    max_line: int = MAX_LINE
    part: Part | None = None


@dataclass(frozen=True)
class Prompt:
    """A prompt, identified by the columns of the key.

    Attributes:
        name: its text or id, truncated if long.
        identity: a key that is equal for the same prompt in any data set, and different for different prompts.
        place: its first row, as file:line.
    """

    name: str
    identity: Hashable
    place: str


@dataclass(frozen=True)
class RewardTable:
    """The narrow columns of a data set: everything but the texts.

    Attributes:
        rewards: [N] float64, NaN where missing.
        cause: [N] int8, 0 for a usable reward, else 1 + position in `CAUSES`.
        key: [N] int64 code of the prompt (0 without a key), -1 for a bad row that was skipped.
        step: [N] int64 code of the step, or None.
        step_names: the step of each code.
        parts: [N, K] float64 reward parts before their weights, NaN where missing; None with one part.
        length: [N] float64 tokens per row, or None.
        extra: column → [N] float64, for filters.
        tokens: role → [T] float64, a number per token, row after row, NaN where missing.
        token_counts: [N] int64 tokens of each row; None without a column of lists.
        logged: [N] float64 logged advantage, or None.
        rows: rows of each source.
        choice: which columns were read.
        dropped: numbers of the skipped lines of each source, which are not rows.
        lines: [N] int64 line (JSON Lines), element (JSON) or row (parquet) of each row in its source; None if
            the rows of each source are its lines, counted from 1.
        names: the name of each source.
        warnings: what was skipped, in words.
        row: [N] int64 digest of the column that identifies rows, -1 where missing; None without such a column.
        prompts: the prompt of each code; empty unless requested.
        uneven: [N] bool, whether the logged advantage differs between the tokens of a row; None if it never does.
        causes: reward part or further reward → [N] int8, as `cause`.
        outcomes: further reward → [N] float64, NaN where missing.
        by: [N] int64 code of the value that splits the figures, or None.
        by_names: the value of each code.
        rollout: [N] int64 digest of the rollout's name, -1 where missing; None without such a column.
        turn: [N] float64 number of the row in its rollout, NaN where missing, or None.
        turn_counts: [N] int64 turns per row, if a row is a rollout; None without a list of turns.
        turn_rewards: [T] float64 the reward of each turn, row after row, NaN where missing; None likewise.
        roles: role → [N] float64, NaN where missing, or int64 digests for those of `roles.LABELS`, -1 where missing; the
            anchor is [T] if there is a list of turns.
    """

    rewards: "NDArray[np.float64]"
    cause: "NDArray[np.int8]"
    key: "NDArray[np.int64]"
    step: "NDArray[np.int64] | None"
    step_names: tuple[str, ...]
    length: "NDArray[np.float64] | None"
    logged: "NDArray[np.float64] | None"
    rows: tuple[int, ...]
    choice: Choice
    dropped: tuple[frozenset[int], ...]
    lines: "NDArray[np.int64] | None"
    names: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    parts: "NDArray[np.float64] | None" = None
    extra: "Mapping[str, NDArray[np.float64]]" = field(default_factory=dict)
    tokens: "Mapping[str, NDArray[np.float64]]" = field(default_factory=dict)
    token_counts: "NDArray[np.int64] | None" = None
    uneven: "NDArray[np.bool_] | None" = None
    row: "NDArray[np.int64] | None" = None
    prompts: "tuple[Prompt, ...]" = ()
    causes: "Mapping[str, NDArray[np.int8]]" = field(default_factory=dict)
    outcomes: "Mapping[str, NDArray[np.float64]]" = field(default_factory=dict)
    by: "NDArray[np.int64] | None" = None
    by_names: tuple[str, ...] = ()
    rollout: "NDArray[np.int64] | None" = None
    turn: "NDArray[np.float64] | None" = None
    turn_counts: "NDArray[np.int64] | None" = None
    turn_rewards: "NDArray[np.float64] | None" = None
    roles: "Mapping[str, NDArray[Any]]" = field(default_factory=dict)

    def place(self, row: int) -> str:
        """The location of a row, as shown to the user: file:line."""
        start = 0
        for name, rows in zip(self.names, self.rows, strict=True):
            if row < start + rows:
                return f"{name}:{row - start + 1 if self.lines is None else self.lines[row]}"
            start += rows
        raise IndexError(row)


@dataclass(frozen=True)
class Grouping:
    """The group and rollout of each row.

    Attributes:
        group: [N] int64 in [0, G), numbered in order of first appearance; -1 for skipped rows.
        count: G.
        columns: the columns that identify a group; empty if groups are formed by position alone.
        rule: how the groups were formed, in words.
        warnings: what looks wrong with them.
        rollout: [N] int64 in [0, R), numbered in order of first appearance; a row without a group or a rollout is
            its own rollout. None if no rollout has several rows.
    """

    group: "NDArray[np.int64]"
    count: int
    columns: tuple[str, ...]
    rule: str
    warnings: tuple[str, ...] = ()
    rollout: "NDArray[np.int64] | None" = None


@dataclass(frozen=True)
class Rows:
    """The rows of a data set as tensors, for statistics.

    Attributes:
        rewards: [N] float64, NaN where missing.
        group: [N] int64 in [0, G), -1 for skipped rows.
        count: G.
        step: [N] int64 in [0, S); all 0 without steps.
        lengths: [N] float64 tokens per row, or None.
    """

    rewards: "Tensor"
    group: "Tensor"
    count: int
    step: "Tensor"
    lengths: "Tensor | None" = None

    @property
    def used(self) -> int:
        """The number of rows in groups; the others were skipped."""
        return int((self.group >= 0).numpy().sum())
