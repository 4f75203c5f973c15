"""What was asked for, what was read, and which rows belong together."""

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
"""Names of standard output in `--out`; a new file must never replace it."""


CAUSES = ("null", "NaN", "inf")
"""Why a reward is missing; the position + 1 is the code in `RewardTable.cause`."""


MAX_LINE = 64_000_000
"""Bytes that a line may have, unless the user says otherwise: what is decompressed has no bound of its own."""


@dataclass(frozen=True)
class Choice:
    """Which columns play which part.

    Attributes:
        format: name of a row of the format catalog.
        prompt: columns that together identify the prompt; empty when rows are cut by position.
        step: the training step, or None.
        rewards: (column, weight) of each reward part.
        skip_missing_parts: a missing part counts 0 as long as one part of the row is there (TRL's rule);
            otherwise one missing part makes the row missing.
        length: tokens per row, or None.
        extra: columns of numbers that a filter or a shaping looks at.
        tokens: (what it is, column) of each column with a list per row, a number for each token.
        logged: the advantage that the trainer logged, or None.
        rollout: columns that together name the rollout within its group; empty where each row is one.
        turn: the number of the row in its rollout, or None for the order of the file.
        roles: (role, column) of each column with a number or a name per row, by the roles of `records.roles`.
        turn_list: a list with the reward of each turn, in a file with a row per rollout; None without.
        sure: whether the user or the format named the rollout; else its name alone makes it one.
        mask: which tokens of the logged advantage count, if it is a list, or None.
        others: columns of numbers or lists that play no part.
        row: the column that tells rows apart, or None.
        named: whether the prompts are told by name.
        step_in_key: whether a prompt met at another step is another group.
        layout: how rows lie in the records.
        derived: columns that are computed from others.
        rules: which rows are no rollouts, and what must hold in a group.
        dedup: whether exact repeats are taken out.
        by: the column that splits the figures, or None.
        outcomes: further reward columns, which are described but not summed.
        tests: expressions that are among `extra`: 1 where they hold and 0 where they do not, or the number they give.
        unread: columns of numbers that play no part, and could be rewards or parts of one.
        likely: columns that could be the prompt, where the one that was chosen differs in every row.
        doubts: what was chosen although something else is nearly as likely, one sentence each.
        found: what the columns of `tokens` are that the user did not name: a row without such a list is no error.
        aside: those of `tokens` that no advantage is computed from.
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
        """The column with a role that a row has a number or a name for, or None."""
        return dict(self.roles).get(name)

    @property
    def kl_column(self) -> str | None:
        """Where the KL is read from, a number or a list per row."""
        return self.role("kl") or dict(self.tokens).get("token_kl")

    def columns(self) -> tuple[str, ...]:
        """Every column that is needed, once each."""
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
            *(name for name in self.extra if not any(name == one.expression for one in self.tests)),
            *(name for one in self.tests for name in one.columns),
            *self.outcomes,
            *(name for _, name in self.tokens),
            *(name for _, name in self.roles),
        )
        wanted = [*self.prompt, *(name for name, _ in self.rewards), *(name for name in single if name)]
        wanted += self.rules.columns()
        return tuple(dict.fromkeys(wanted))


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns and rows the user asked for; None and () leave it to the format.

    Attributes:
        format: name of a row of the format catalog.
        prompt: the column that identifies the prompt (`--prompt-col`).
        group_by: the columns that identify the group, step not added (`--group-by`).
        step: the training step (`--step-col`).
        rewards: (column, weight) of each reward part (`--reward`).
        weights: weights of the format's own reward parts, in file order (a trainer's `reward_weights`).
        length: tokens per row (`--length-col`).
        extra: columns of numbers that a filter or a shaping looks at.
        tokens: what it is → column with a list per row (`--values-col`, `--mask-col`, ...).
        n: rows per group (`--n`).
        layout: how rows lie in a record (`--layout`).
        explode: the list of objects, or the lists, with one entry per row (`--explode`).
        dedup: take out exact repeats (`--dedup`).
        logged: the advantage that the trainer logged (`--logged-col`).
        row: the column that tells rows apart (`--join`).
        rollout: the column that names the rollout within its group (`--rollout-col`).
        turn: the number of the row in its rollout (`--turn-col`).
        turn_rewards: a list with the reward of each turn, where a row is a rollout (`--turn-rewards-col`).
        roles: (role, column) of columns with a number or a name per row (`--baseline-col`, `--anchor-col`, `--role`, ...).
        named: tell the prompts by name, so that those of two data sets can be put side by side.
        parts: use the columns that look like reward parts: "without total", where there is no total, or
            "always"; None for an error where there is no total and several parts.
        by: the column that splits the figures (`--by`).
        outcomes: further reward columns to describe (`--outcome`).
        find_outcomes: describe also what looks like another reward.
        where: expressions that a row must meet to count (`--where`).
        tests: expressions that filters ask for, among `extra`.
        measures: expressions whose numbers a shaping asks for, among `extra`.
        strict: a doubtful choice of columns is an error.
        ungrouped: rows need not belong together: a dump without a prompt, or with one row of each, will do.
        max_line: bytes that a line may have (`--max-line`).
        log_probs: look for the two log-probabilities where the user names none: "figures" for what is shown only, "filters"
            for filters that need them; "" not to.
        characters: where no column has lengths, take the characters of the response.
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
        """What `match` reads: a dump without a prompt id may have been grouped by position, so that is no error yet."""
        return replace(self, n=self.n or 1, parts="without total")


@dataclass(frozen=True)
class Part:
    """Some whole lines of a file that its writer goes on with.

    Attributes:
        begin: the first byte.
        end: the byte behind the last one.
        line: number of the first line.
    """

    begin: int
    end: int
    line: int


@dataclass(frozen=True)
class Source:
    """One input.

    Attributes:
        name: what the user typed or what was found; "<stdin>" for standard input.
        path: where the bytes lie: `name`, or a temporary file.
        container: "jsonl", "json" (one value for the whole file) or "parquet".
        codec: "gzip", "zstd" or None: how the bytes at `path` are compressed.
        stamp: size and time of the last change when it was found, to notice a writer that is not done.
        remarks: what was said when it was found (other files that were passed over).
        format: name of the format that its container stands for, or "" where the columns tell.
        origin: the file itself where `path` is a copy in another form, or None.
        join: completes each record from the files beside it, or None.
        max_line: bytes that a line may have.
        part: the lines that are read; None for all of them.
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
        name: its text or id, cut where it is long.
        identity: the same for the same prompt of any data set, and different for another one.
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
        cause: [N] int8, 0 where the reward is there, else 1 + position in `CAUSES`.
        key: [N] int64 code of the prompt (0 without a key), -1 for a bad row that was skipped.
        step: [N] int64 code of the step, or None.
        step_names: the step of each code.
        parts: [N, K] float64 reward parts before their weights, NaN where missing; None with one part.
        length: [N] float64 tokens per row, or None.
        extra: column → [N] float64, for filters.
        tokens: what it is → [T] float64, a number for each token of each row in turn, NaN where missing.
        token_counts: [N] int64 tokens of each row; None without a column of lists.
        logged: [N] float64 logged advantage, or None.
        rows: rows of each source.
        choice: which columns were read.
        dropped: numbers of the lines of each source that are no rows and were skipped.
        lines: [N] int64 line (JSON Lines), element (JSON) or row (parquet) of each row in its source; None where
            the rows of each source are its lines, counted from 1.
        names: the name of each source.
        warnings: what was skipped, in words.
        row: [N] int64 digest of what tells rows apart, -1 where there is nothing; None without such a column.
        prompts: the prompt of each code; empty unless they were asked for.
        uneven: [N] bool, whether the logged advantage differs between the tokens of a row; None where no row's
            does.
        causes: reward part or further reward → [N] int8, as `cause`.
        outcomes: further reward → [N] float64, NaN where missing.
        by: [N] int64 code of the value that splits the figures, or None.
        by_names: the value of each code.
        rollout: [N] int64 digest of what names the rollout, -1 where nothing does; None without such a column.
        turn: [N] float64 number of the row in its rollout, NaN where missing, or None.
        turn_counts: [N] int64 turns of the rollout that a row is; None without a list of them.
        turn_rewards: [T] float64 the reward of each turn of each row in turn, NaN where missing; None likewise.
        roles: role → [N] float64, NaN where missing, or int64 digests for those of `roles.LABELS`, -1 where there is none; the
            anchor [T] where there is a list of turns.
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
        """Where a row stands, as it is shown to the user: file:line."""
        before = 0
        for name, rows in zip(self.names, self.rows, strict=True):
            if row < before + rows:
                return f"{name}:{row - before + 1 if self.lines is None else self.lines[row]}"
            before += rows
        raise IndexError(row)


@dataclass(frozen=True)
class Grouping:
    """Which rows belong together.

    Attributes:
        group: [N] int64 in [0, G), numbered in order of first appearance; -1 for skipped rows.
        count: G.
        columns: the columns that make a group; empty when rows are cut by position alone.
        rule: how the groups were made, in words.
        warnings: what looks wrong with them.
        rollout: [N] int64 in [0, R), numbered in order of first appearance; a row of no group, or without a rollout, is
            one of its own. None where no rollout has several rows.
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
        """How many rows are in a group; the others were left out."""
        return int((self.group >= 0).numpy().sum())
