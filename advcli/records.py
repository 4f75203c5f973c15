"""What travels between the layers: frozen records, no logic that imports anything heavy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

DEFAULT_ESTIMATOR = "grpo"

STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of standard output in `--out`; a new file must never replace it."""

CAUSES = ("null", "NaN", "inf")
"""Why a reward is missing; the position + 1 is the code in `RewardTable.cause`."""


@dataclass(frozen=True)
class Settings:
    """How advantages are computed.

    Attributes:
        estimator: name of a row of the estimator catalog, or as the framework of `like` names it; None
            for "grpo", or for the framework's first.
        like: FRAMEWORK[@VERSION] whose numbers to reproduce, or None.
        scale: "group", "batch", "none", or None for the estimator's own default.
        knobs: further knobs of the estimator (`ddof`, `eps`).
        keep_pos: share of the positive rows of each group to keep, in [0, 1].
        keep_neg: share of the negative rows of each group to keep, in [0, 1].
        compute_new_adv: compute the advantage again on the kept rows.
        missing: what a row without a usable reward gets: "null", "zero", "error".
        singleton: what the only valid row of a group gets: "null", "zero", "raw", "error".
        device: "auto", "cpu", "cuda", "mps".
    """

    estimator: str | None = None
    scale: str | None = None
    knobs: Mapping[str, float | str] = field(default_factory=dict)
    keep_pos: float = 1.0
    keep_neg: float = 1.0
    compute_new_adv: bool = False
    missing: str = "null"
    singleton: str = "null"
    device: str = "auto"
    like: str | None = None


@dataclass(frozen=True)
class AdvantageTable:
    """What was computed, one entry per row.

    Attributes:
        original: [N] float, the estimator's advantage; NaN where undefined.
        processed: [N] float, what would be trained on: 0 on filtered rows, NaN where undefined.
        kept: [N] bool, False for filtered rows and where the advantage is undefined.
        warnings: sentences that the user should see.
    """

    original: "Tensor"
    processed: "Tensor"
    kept: "Tensor"
    warnings: tuple[str, ...] = ()


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
        baseline: the greedy reward of the row's prompt, or None.
        logged: the advantage that the trainer logged, or None.
        step_in_key: whether a prompt met at another step is another group.
    """

    format: str
    prompt: tuple[str, ...]
    step: str | None
    rewards: tuple[tuple[str, float], ...]
    skip_missing_parts: bool = False
    length: str | None = None
    baseline: str | None = None
    logged: str | None = None
    step_in_key: bool = True

    def columns(self) -> tuple[str, ...]:
        """Every column that has to be read, once each."""
        single = (self.step, self.length, self.baseline, self.logged)
        wanted = [*self.prompt, *(name for name, _ in self.rewards), *(name for name in single if name)]
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
        baseline: greedy reward of the row's prompt (`--baseline-col`).
        n: rows per group (`--n`).
    """

    format: str | None = None
    prompt: str | None = None
    group_by: tuple[str, ...] = ()
    step: str | None = None
    rewards: tuple[tuple[str, float], ...] = ()
    weights: tuple[float, ...] = ()
    length: str | None = None
    baseline: str | None = None
    n: int | None = None


@dataclass(frozen=True)
class Source:
    """One input.

    Attributes:
        name: what the user typed or what was found; "<stdin>" for standard input.
        path: where the bytes lie: `name`, or a temporary file.
        layout: "jsonl" or "parquet".
        codec: "gzip", "zstd" or None: how the bytes at `path` are compressed.
        stamp: size and time of the last change when it was found, to notice a writer that is not done.
    """

    name: str
    path: Path
    layout: str
    codec: str | None = None
    stamp: tuple[int, int] = (0, 0)


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
        baseline: [N] float64 greedy reward of the row's prompt, or None.
        logged: [N] float64 logged advantage, or None.
        rows: rows of each source.
        choice: which columns were read.
        dropped: numbers of the lines of each source that are no rows and were skipped.
        lines: [N] int64 line (JSON Lines) or row (parquet) of each row in its source.
        names: the name of each source.
        warnings: what was skipped, in words.
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
    lines: "NDArray[np.int64]"
    names: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    parts: "NDArray[np.float64] | None" = None
    baseline: "NDArray[np.float64] | None" = None

    def place(self, row: int) -> str:
        """Where a row stands, as it is shown to the user: file:line."""
        before = 0
        for name, rows in zip(self.names, self.rows, strict=True):
            if row < before + rows:
                return f"{name}:{self.lines[row]}"
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
    """

    group: "NDArray[np.int64]"
    count: int
    columns: tuple[str, ...]
    rule: str
    warnings: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class Figures:
    """Statistics of one advantage column; NaN where undefined.

    Attributes:
        count: rows with a defined advantage.
        std: with ddof 1.
        share_positive: share of the rows in [0, 1]; neutral rows count as zero.
        token_mean: mean weighted by tokens, None without a length column.
        token_std: the matching standard deviation (population of tokens, ddof 0).
    """

    count: int
    mean: float
    std: float
    min: float
    p5: float
    p25: float
    median: float
    p75: float
    p95: float
    max: float
    mean_abs: float
    share_positive: float
    share_zero: float
    share_negative: float
    token_mean: float | None = None
    token_std: float | None = None


@dataclass(frozen=True)
class Health:
    """What the groups of a data set look like, before any estimator.

    Attributes:
        rows: all rows, bad and missing ones included.
        groups: groups.
        sizes: group size → how many groups have it, in rows.
        dead_groups: groups with two or more valid rows, all of the same reward.
        dead_max: dead groups at the largest reward of the data set.
        dead_min: dead groups at the smallest reward of the data set.
        singletons: groups with one valid row.
        missing: rows without a usable reward.
        missing_by_cause: the same, apart.
    """

    rows: int
    groups: int
    sizes: Mapping[int, int]
    dead_groups: int
    dead_max: int
    dead_min: int
    singletons: int
    missing: int
    missing_by_cause: Mapping[str, int]


@dataclass(frozen=True)
class Column:
    """One column of the comparison.

    Attributes:
        label: its heading.
        figures: statistics over the kept rows.
        kept_rows: rows that take part.
        kept_groups: groups with at least one kept row.
        below_two: groups of which fewer than two rows are kept (missing rows are not counted).
        dead_groups: groups whose kept rewards, two or more, are all equal.
        sign_changes: share of kept rows whose sign (−, 0, +) is not that of the original.
        mean_abs_ratio: mean |A| over the kept rows, relative to that of the original on the same rows.
        rank_agreement: Spearman's ρ with the original within groups, mean over groups.
        phantoms: kept rows of dead groups with an advantage other than 0.
    """

    label: str
    figures: Figures
    kept_rows: int
    kept_groups: int
    below_two: int
    dead_groups: int
    sign_changes: float
    mean_abs_ratio: float
    rank_agreement: float
    phantoms: int


@dataclass(frozen=True)
class Report:
    """Everything that a command shows.

    Attributes:
        health: the groups.
        settings: name → value, as they were used; what the output files carry.
        columns: the advantage columns, the original first.
        notes: what was chosen, one line each.
        warnings: what looks wrong, one line each.
    """

    health: Health
    settings: Mapping[str, Any]
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
