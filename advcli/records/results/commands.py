"""What each command returns: one record per command, the same for `--json` and for Python.

The attributes are the keys of the JSON. A figure that the data do not define is NaN here and null in JSON. A key is
never removed and never changes its meaning within a version of its schema; new keys may be added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from advcli.records.off_policy import OffPolicy
from advcli.records.results.between import Coverage, Paired, PromptPair, RowPairs, RunFigures, StepPair
from advcli.records.results.inspection import (
    Checked,
    DeadCauses,
    Detail,
    Lengths,
    Parts,
    Phantoms,
    RewardSignal,
    StepFigures,
    Turns,
)
from advcli.records.results.match import Breaks, Evidence, Fit
from advcli.records.results.prompts import PromptsResult
from advcli.records.results.report import Figures
from advcli.records.results.result import Result
from advcli.records.results.select import SelectResult
from advcli.records.results.verify import VerifyResult


class UsedSettings(TypedDict):
    """The settings as they were used, defaults filled in.

    Attributes:
        version: of advcli.
        estimator: its name.
        like: framework and versions whose numbers were reproduced, or null.
        formula: of the advantage.
        scale: "group", "batch", "none", or null where there is no choice.
        knobs: further knobs of the estimator.
        keep_pos: share of the positive rows of each group that was kept.
        keep_neg: share of the negative rows of each group that was kept.
        compute_new_adv: whether the advantage was computed again on the kept rows.
        filters: each filter: `when` ("before" or "after" the statistics) and `filter`.
        shaping: what was done to the rewards first, in this order.
        missing: what rows without a usable reward got.
        singleton: what the only row of a group got.
        format: name of the dump's format.
        layout: how rows lie in a record.
        dedup: whether exact repeats were left out.
        group_by: columns whose equal values make a group.
        n: rows per group, or null.
        reward: column → weight.
        step: column or null.
        length: column or null.
        baseline: column or null.
        kl: column or null.
        tokens: what it is → column with a number per token.
        device: where it was computed.
        dtype: in which type.
    """

    version: str
    estimator: str
    like: str | None
    formula: str
    scale: str | None
    knobs: Mapping[str, Any]
    keep_pos: float
    keep_neg: float
    compute_new_adv: bool
    filters: Sequence[Mapping[str, str]]
    shaping: Mapping[str, Any]
    missing: str
    singleton: str
    format: str
    layout: str
    dedup: bool
    group_by: Sequence[str]
    n: int | None
    reward: Mapping[str, float]
    step: str | None
    length: str | None
    baseline: str | None
    kl: str | None
    tokens: Mapping[str, str]
    device: str
    dtype: str


class UsedColumns(TypedDict):
    """Which column plays which part.

    Attributes:
        group: columns whose equal values make a group.
        reward: column → weight.
        outcomes: further reward columns, described but not summed.
        step: column or null.
        length: column or null.
        baseline: column or null.
        kl: column or null.
        logged: the advantage that the trainer logged; column or null.
    """

    group: Sequence[str]
    reward: Mapping[str, float]
    outcomes: Sequence[str]
    step: str | None
    length: str | None
    baseline: str | None
    kl: str | None
    logged: str | None


@dataclass(frozen=True, kw_only=True)
class Filtered:
    """What a filter left out.

    Attributes:
        when: "before" or "after" the statistics.
        filter: the filter as it was given.
        rows: rows.
        groups: groups that lost all their rows.
        tokens: tokens of the rows; null without lengths.
    """

    when: str
    filter: str
    rows: int
    groups: int
    tokens: int | None


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Counts and settings of a dump.

    Attributes:
        rows: rows, missing ones included.
        rollouts: how many rollouts there are where they are counted: then all counts but `rows` are of rollouts; else null.
        groups: groups.
        kept_rows: rows that take part in training.
        dead_groups: groups with two or more usable rewards, all equal.
        singletons: groups with one usable reward.
        missing: rows without a usable reward.
        missing_by_cause: the same by cause: null, NaN, inf.
        group_sizes: rows per group → how many groups.
        left_out: what each filter left out.
        warnings: what looks wrong, one sentence each.
        settings: the settings as they were used.
    """

    rows: int
    rollouts: int | None
    groups: int
    kept_rows: int
    dead_groups: int
    singletons: int
    missing: int
    missing_by_cause: Mapping[str, int]
    group_sizes: Mapping[int, int]
    left_out: tuple[Filtered, ...]
    warnings: tuple[str, ...]
    settings: UsedSettings


@dataclass(frozen=True, kw_only=True, repr=False)
class ComputeResult(Result, Counts):
    """What `advcli compute` returns.

    Attributes:
        original: statistics of the estimator's advantage.
        processed: statistics of what would be trained on, over the kept rows.
        weighted: the same of the processed advantage times its mean importance weight; null where no filter weighs.
        written: the files that were written.
    """

    schema: ClassVar[str] = "advcli/compute/1"
    original: Figures
    processed: Figures
    weighted: Figures | None = None
    written: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ComparedColumn(Figures):
    """One advantage column beside the original.

    Attributes:
        kept_rows: rows that take part.
        kept_groups: groups with at least one kept row.
        below_two: groups of which fewer than two rows are kept.
        live_groups: groups with two or more kept rewards that are not all equal.
        dead_groups: groups whose kept rewards, two or more, are all equal.
        sign_changes: share of the kept rows whose sign (−, 0, +) is not that of the original.
        mean_abs_ratio: mean |A| over the kept rows, relative to that of the original on the same rows.
        rank_agreement: Spearman's ρ with the original within groups, mean over groups.
        correlation: Pearson's r with the original over all kept rows.
        phantoms: kept rows of dead groups with an advantage other than 0.
    """

    kept_rows: int
    kept_groups: int
    below_two: int
    live_groups: int
    dead_groups: int
    sign_changes: float
    mean_abs_ratio: float
    rank_agreement: float
    correlation: float
    phantoms: int


@dataclass(frozen=True, kw_only=True, repr=False)
class CompareResult(Result, Counts):
    """What `advcli compare` returns.

    Attributes:
        columns: heading → figures of the column, and its distance from the original.
    """

    schema: ClassVar[str] = "advcli/compare/1"
    columns: Mapping[str, ComparedColumn]


@dataclass(frozen=True, kw_only=True)
class InspectedRows:
    """Every figure of some rows: of all of them, or of those with one value of the `--by` column.

    Attributes:
        rows: rows, missing ones included.
        groups: groups.
        steps: steps; 0 without a step column.
        group_sizes: rows per group → how many groups.
        singletons: groups with one usable reward.
        dead_groups: groups with two or more usable rewards, all equal.
        dead_groups_all_max: dead groups at the largest reward.
        dead_groups_all_min: dead groups at the smallest reward, where it is not also the largest.
        near_dead_groups: live groups whose rewards spread over no more than `--near-dead` of the range of all.
        live_groups: groups with two or more usable rewards that are not all equal.
        live_rows: rows with a usable reward in live groups.
        missing: rows without a usable reward.
        missing_by_cause: the same by cause: null, NaN, inf.
        mean_abs_adv: mean |A|.
        max_abs_adv: largest |A|.
        effective_rows: (Σ|A|)² / ΣA²: how many rows of equal |A| would weigh as much.
        rewards: the reward that the estimator takes, then its parts, then further reward columns.
        phantoms: dead groups that get an advantage: by these settings, then by each framework.
        constant_outcome: further reward column → live groups in which it is constant.
        parts: how several rewards play together; null with one.
        length: response lengths; null without a length column.
        per_step: one record per step, ascending; empty without a step column.
    """

    rows: int
    groups: int
    steps: int
    group_sizes: Mapping[int, int]
    singletons: int
    dead_groups: int
    dead_groups_all_max: int
    dead_groups_all_min: int
    near_dead_groups: int
    live_groups: int
    live_rows: int
    missing: int
    missing_by_cause: Mapping[str, int]
    mean_abs_adv: float
    max_abs_adv: float
    effective_rows: float
    rewards: tuple[RewardSignal, ...]
    phantoms: tuple[Phantoms, ...]
    constant_outcome: Mapping[str, int]
    parts: Parts | None
    length: Lengths | None
    per_step: tuple[StepFigures, ...]


@dataclass(frozen=True)
class SplitBy:
    """Every figure by the values of a column.

    Attributes:
        column: the column.
        values: value → the figures of its rows.
    """

    column: str
    values: Mapping[str, InspectedRows]


@dataclass(frozen=True, kw_only=True, repr=False)
class InspectResult(Result, InspectedRows):
    """What `advcli inspect` returns.

    Attributes:
        format: name of the detected format.
        files: the inputs.
        columns: which column plays which part.
        group_rule: how the rows were grouped, in words.
        lint: what looks wrong, one sentence each.
        duplicates: rows identical to an earlier one in every column, texts included.
        settings: the settings of the advantage.
        rollouts: rollouts of several rows; null where each is one row.
        by: the figures by the values of a column; null without `--by`.
        dead_causes: why groups are dead; null without dead groups, and on Ray.
        off_policy: how far the trainer's policy lies from the one that sampled; null without two log-probabilities of each
            token, and on Ray.
        details: the groups and rows that were asked for.
        fail_if: each condition of `--fail-if`.
    """

    schema: ClassVar[str] = "advcli/inspect/1"
    format: str
    files: tuple[str, ...]
    columns: UsedColumns
    group_rule: str
    lint: tuple[str, ...]
    duplicates: int
    settings: UsedSettings
    rollouts: Turns | None
    by: SplitBy | None
    dead_causes: DeadCauses | None
    off_policy: OffPolicy | None
    details: tuple[Detail, ...]
    fail_if: tuple[Checked, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class MatchResult(Result):
    """What `advcli match` returns.

    Attributes:
        found: whether a rule reproduces every row that has a logged advantage.
        sentence: the answer in words.
        best: the rule that fits best; null if none could be tried.
        indistinguishable: rules that these rows cannot tell from the best one, each with its reason.
        evidence: how much of the log speaks for the best rule; null where no rule fits every row.
        apart: what would tell the rules that fit equally apart.
        others: the next best rules.
        weights: reward column → inferred weight, null where it is not determined; null if none was inferred.
        after: what happened to the advantages of the rule, name → value.
        shape: what shaped the rewards before the rule, as `--shape` takes it; null for nothing.
        command: what to type to compute the logged advantages; null where no command does.
        rows: rows.
        compared: rows with a logged advantage.
        tolerance: largest difference that counts as the same.
        tried: rules × groupings that were tried.
        breaks: where the best rule does not fit; null if it does.
        causes: what was tried to explain the rest, the most telling first.
        notes: what was read as what, and what could not be tried.
        warnings: what looks wrong, one sentence each.
    """

    schema: ClassVar[str] = "advcli/match/1"
    found: bool
    sentence: str
    best: Fit | None
    indistinguishable: tuple[Fit, ...]
    evidence: Evidence | None
    apart: tuple[str, ...]
    others: tuple[Fit, ...]
    weights: Mapping[str, float | None] | None
    after: Mapping[str, Any]
    shape: str | None
    command: str | None
    rows: int
    compared: int
    tolerance: float
    tried: int
    breaks: Breaks | None
    causes: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """One point of a grid of settings.

    Attributes:
        estimator: its name.
        like: framework and versions whose numbers were reproduced, or null.
        scale: "group", "batch", "none", or null where there is no choice.
        keep_pos: share of the positive rows of each group that was kept.
        keep_neg: share of the negative rows of each group that was kept.
        compute_new_adv: whether the advantage was computed again on the kept rows.
        shape: what shaped the rewards and the advantages, as `--shape` takes it; null for nothing.
        kept_rows: rows that take part.
        kept_groups: groups with at least one kept row.
        live_groups: groups with two or more kept rewards that are not all equal.
        mean_abs: mean |A| over the kept rows.
        std: standard deviation of A over the kept rows, ddof 1.
        max_abs: largest |A|.
        share_positive: share of the kept rows with A > 0.
        sign_changes: share of the kept rows whose sign (−, 0, +) is not that of the original: the first point, unfiltered.
        rank_agreement: Spearman's ρ with the original within groups, mean over groups.
        correlation: Pearson's r with the original over all kept rows.
        effective_rows: (Σ|A|)² / ΣA² over the kept rows.
        token_share: tokens of the kept rows as a share of all; null without lengths.
    """

    estimator: str
    like: str | None
    scale: str | None
    keep_pos: float
    keep_neg: float
    compute_new_adv: bool
    shape: str | None
    kept_rows: int
    kept_groups: int
    live_groups: int
    mean_abs: float
    std: float
    max_abs: float
    share_positive: float
    sign_changes: float
    rank_agreement: float
    correlation: float
    effective_rows: float
    token_share: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class SweepResult(Result):
    """What `advcli sweep` returns.

    Attributes:
        rows: rows, missing ones included.
        groups: groups.
        dead_groups: groups with two or more usable rewards, all equal.
        warnings: what looks wrong, one sentence each.
        points: one record per point, in the order of the grid or as sorted.
    """

    schema: ClassVar[str] = "advcli/sweep/1"
    rows: int
    groups: int
    dead_groups: int
    warnings: tuple[str, ...]
    points: tuple[SweepPoint, ...]


@dataclass(frozen=True, kw_only=True)
class BetweenSide(Counts):
    """One of two dumps.

    Attributes:
        input: the dump as it was named.
        steps: how many steps it has; null without steps.
        runs: names of the runs (seeds); empty where there is one.
        live_groups: groups with two or more kept rewards that are not all equal.
        reward: statistics of its rewards.
        original: statistics of the estimator's advantage.
        processed: statistics of what would be trained on, over the kept rows.
    """

    input: str
    steps: int | None
    runs: Sequence[str]
    live_groups: int
    reward: Figures
    original: Figures
    processed: Figures


@dataclass(frozen=True, kw_only=True, repr=False)
class BetweenResult(Result):
    """What `advcli compare --between` returns: two dumps, A and B, side by side.

    Attributes:
        a: the first.
        b: the second.
        coverage: what they have in common.
        paired: the difference B − A over the prompts in both; null where no prompt has a reward in both.
        runs: each run of B against A; empty where B is one run.
        changed: the prompts in both that changed most.
        steps: the steps that both have, ascending.
        rows: rows that are the same in both, one by one; null where nothing identifies them.
        warnings: what looks wrong, one sentence each.
    """

    schema: ClassVar[str] = "advcli/between/1"
    a: BetweenSide
    b: BetweenSide
    coverage: Coverage
    paired: Paired | None
    runs: tuple[RunFigures, ...]
    changed: tuple[PromptPair, ...]
    steps: tuple[StepPair, ...]
    rows: RowPairs | None
    warnings: tuple[str, ...]


RESULTS: Mapping[str, type[Result]] = {
    result.schema.split("/")[1]: result
    for result in (
        ComputeResult,
        CompareResult,
        BetweenResult,
        InspectResult,
        MatchResult,
        SweepResult,
        PromptsResult,
        VerifyResult,
        SelectResult,
    )
}
"""Command → what it returns; "between" is `compare --between`."""
