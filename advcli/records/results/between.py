"""What `compare --between` shows: two data sets, A and B, and what they have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from advcli.records.results.compute import Counts, counts_of
from advcli.records.results.report import Figures, Report
from advcli.records.results.result import Result, fields_of


@dataclass(frozen=True)
class Side:
    """One of the two data sets.

    Attributes:
        name: the input as it was typed.
        report: its groups, settings and advantage columns: "original", and
            "processed" if rows were filtered.
        rewards: statistics of its rewards, over the rows that have one.
        steps: number of steps; None without steps.
        runs: the name of each run; one "" if there is only one.
    """

    name: str
    report: Report
    rewards: Figures
    steps: int | None
    runs: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class Coverage:
    """How much of the two data sets can be compared.

    Attributes:
        prompts_both: prompts in both.
        prompts_a: prompts only in A.
        prompts_b: prompts only in B.
        rows_a: rows of A whose prompt is in both.
        rows_b: rows of B whose prompt is in both.
        other_steps: prompts in both that occur at different steps; None if one has no steps.
        steps_both: steps in both, or None.
        steps_a: steps only in A, or None.
        steps_b: steps only in B, or None.
    """

    prompts_both: int
    prompts_a: int
    prompts_b: int
    rows_a: int
    rows_b: int
    other_steps: int | None = None
    steps_both: int | None = None
    steps_a: int | None = None
    steps_b: int | None = None


@dataclass(frozen=True)
class McNemar:
    """McNemar's test, for prompts with one row per side and two rewards.

    Attributes:
        gained: prompts with the higher reward in B only.
        lost: prompts with the higher reward in A only.
        p: exact two-sided p-value of the hypothesis that both are equally likely.
    """

    gained: int
    lost: int
    p: float


@dataclass(frozen=True)
class Paired:
    """The difference B − A of the mean reward of each prompt that has a reward in every run of both.

    Attributes:
        prompts: number of such prompts.
        runs_a: runs (seeds) of A.
        runs_b: runs of B.
        mean_a: mean over the prompts of their mean reward in A; all runs have the same weight.
        mean_b: the same in B.
        difference: mean over the prompts of B − A.
        low: lower end of the 95% interval of `difference`; NaN if there is none, see `unclear`.
        high: its upper end.
        p: two-sided p-value of no difference; NaN if `low` is.
        unclear: why there is no interval; "" if there is one.
        detectable: the smallest true difference that this many prompts and runs would detect (p < 0.05) with 80% power;
            NaN if `low` is.
        prompts_needed: prompts needed for `difference` to be detectable, with the same number of runs; None if no
            number is enough, or if `low` is NaN.
        runs_needed: runs per side needed, with the same prompts; also None with one run per side.
        up: prompts whose mean reward is higher in B.
        down: prompts whose mean reward is lower in B.
        same: prompts whose mean reward is equal.
        rank_agreement: Spearman's ρ of the prompts' means; NaN if undefined.
        mcnemar: None if a prompt has several rows or runs on a side, or there are more than two rewards.
    """

    prompts: int
    runs_a: int
    runs_b: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p: float
    unclear: str
    detectable: float
    prompts_needed: int | None
    runs_needed: int | None
    up: int
    down: int
    same: int
    rank_agreement: float
    mcnemar: McNemar | None


@dataclass(frozen=True)
class RunFigures:
    """One of several runs of a side; a run of B is compared with all of A.

    Attributes:
        side: "A" or "B".
        run: its name.
        rows: its rows with a reward.
        prompts: its prompts with a reward.
        mean: mean over these prompts of their mean reward.
        difference: mean of this run − A, over the prompts in both; NaN for a run of A.
        low: lower end of its 95% interval over prompts; NaN if too few prompts change.
        high: its upper end.
        p: two-sided p-value of no difference.
        p_holm: p-value corrected for the number of runs (Holm).
    """

    side: str
    run: str
    rows: int
    prompts: int
    mean: float
    difference: float
    low: float
    high: float
    p: float
    p_holm: float


@dataclass(frozen=True)
class PromptPair:
    """A prompt in both.

    Attributes:
        prompt: its text or id, truncated if long.
        first_a: its first row in A, as file:line.
        first_b: its first row in B.
        rows_a: rows of A with a reward.
        rows_b: rows of B with a reward.
        mean_a: mean reward in A.
        mean_b: mean reward in B.
        difference: B − A.
    """

    prompt: str
    first_a: str
    first_b: str
    rows_a: int
    rows_b: int
    mean_a: float
    mean_b: float
    difference: float


@dataclass(frozen=True)
class StepPair:
    """A step in both, or several consecutive ones.

    Attributes:
        step: its name, or "FIRST–LAST".
        rows_a: rows of A with a reward.
        rows_b: rows of B with a reward.
        mean_a: mean reward of A, NaN without rows.
        mean_b: mean reward of B.
        difference: B − A.
        groups_a: groups of A.
        groups_b: groups of B.
        able_a: groups of A with two or more kept rewards.
        able_b: the same of B.
        live_a: share of `able_a` that is live: with kept rewards that are not all equal; NaN without any.
        live_b: the same of B.
    """

    step: str
    rows_a: int
    rows_b: int
    mean_a: float
    mean_b: float
    difference: float
    groups_a: int
    groups_b: int
    able_a: int
    able_b: int
    live_a: float
    live_b: float


@dataclass(frozen=True)
class RowPairs:
    """The same rows in both, one by one.

    Attributes:
        by: how rows were joined, in words.
        rows: joined rows.
        only_a: rows of A without a partner.
        only_b: rows of B without a partner.
        rewarded: joined rows with a reward in both; the next four figures are over these.
        changed: rows with a different reward.
        up: rows with a higher reward in B.
        down: rows with a lower reward in B.
        difference: mean of B − A; NaN without rows.
        advantages: joined rows with an original advantage in both; the next figures are over these.
        sign_changes: share whose sign (−, 0, +) differs; NaN without rows.
        flips: share whose sign is + in one and − in the other.
        rank_agreement: Spearman's ρ of the advantages within the groups of A, mean over groups.
    """

    by: str
    rows: int
    only_a: int
    only_b: int
    rewarded: int
    changed: int
    up: int
    down: int
    difference: float
    advantages: int
    sign_changes: float
    flips: float
    rank_agreement: float


@dataclass(frozen=True)
class Between:
    """Two data sets side by side.

    Attributes:
        a: the first data set.
        b: the second data set.
        coverage: what they have in common.
        paired: the difference over prompts; None if no prompt has a reward in both.
        changed: the prompts in both that changed most.
        runs: each run, if a side has several.
        steps: the steps in both, in ascending order.
        stretches: these steps, with consecutive ones merged if there are many.
        rows: the rows joined one by one; None if rows could not be joined.
        prompts: figure → its value for every prompt of either, for `--out`.
        notes: what was chosen, one line each.
        warnings: what looks wrong, one line each.
    """

    a: Side
    b: Side
    coverage: Coverage
    paired: Paired | None
    changed: tuple[PromptPair, ...]
    runs: tuple[RunFigures, ...]
    steps: tuple[StepPair, ...]
    stretches: tuple[StepPair, ...]
    rows: RowPairs | None
    prompts: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BetweenSide(Counts):
    """One of two dumps.

    Attributes:
        input: the input as typed.
        steps: number of steps; null without steps.
        runs: names of the runs (seeds); empty with one run.
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

    @classmethod
    def of(cls, side: Side) -> Self:
        """The JSON record of one of the data sets."""
        original, processed = side.report.columns[0], side.report.columns[-1]
        return cls(
            **counts_of(side.report, processed),
            input=side.name,
            steps=side.steps,
            runs=side.runs if len(side.runs) > 1 else (),
            live_groups=processed.live_groups,
            reward=side.rewards,
            original=original.figures,
            processed=processed.figures,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class BetweenResult(Result):
    """What `advcli compare --between` returns: two dumps, A and B, side by side.

    Attributes:
        a: the first dump.
        b: the second dump.
        coverage: what they have in common.
        paired: the difference B − A over the prompts in both; null if no prompt has a reward in both.
        runs: each run of B compared with A; empty if B is one run.
        changed: the prompts in both that changed most.
        steps: the steps in both, ascending.
        rows: the rows joined one by one; null if rows could not be joined.
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

    @classmethod
    def of(cls, between: Between) -> Self:
        """The JSON record of a comparison."""
        values = fields_of(between)
        same = {
            name: values[name]
            for name in ("coverage", "paired", "runs", "changed", "steps", "rows", "warnings")
        }
        return cls(a=BetweenSide.of(between.a), b=BetweenSide.of(between.b), **same)
