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
            "processed" where rows were filtered.
        rewards: statistics of its rewards, over the rows that have one.
        steps: how many steps it has; None without steps.
        runs: the name of each run; one "" if there is only one.
    """

    name: str
    report: Report
    rewards: Figures
    steps: int | None
    runs: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class Coverage:
    """How much of the two data sets could be put side by side.

    Attributes:
        prompts_both: prompts that both have.
        prompts_a: prompts that only A has.
        prompts_b: prompts that only B has.
        rows_a: rows of A whose prompt is in both.
        rows_b: rows of B whose prompt is in both.
        other_steps: prompts in both that were not met at the same steps; None where one has no steps.
        steps_both: steps that both have, or None.
        steps_a: steps that only A has, or None.
        steps_b: steps that only B has, or None.
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
    """Prompts with one row and one of two rewards on each side.

    Attributes:
        gained: prompts with the higher reward in B only.
        lost: prompts with the higher reward in A only.
        p: exact two-sided p-value that both are as probable.
    """

    gained: int
    lost: int
    p: float


@dataclass(frozen=True)
class Paired:
    """The difference B − A of the mean reward of each prompt that has a reward in every run of both.

    Attributes:
        prompts: how many there are.
        runs_a: runs (seeds) of A.
        runs_b: runs of B.
        mean_a: mean over the prompts of their mean reward in A; a run weighs as much as another.
        mean_b: the same in B.
        difference: mean over the prompts of B − A.
        low: lower end of the 95% interval of `difference`; NaN where `unclear` says why.
        high: its upper end.
        p: two-sided p-value of no difference; NaN as `low`.
        unclear: why there is no interval; "" if there is one.
        detectable: the smallest true difference that so many prompts and runs would show (p < 0.05) four times in
            five; NaN as `low`.
        prompts_needed: prompts that it takes for `difference` to be detectable, with as many runs; None where no
            number is enough, or as `low`.
        runs_needed: runs a side that it takes, with as many prompts; None also with one run a side.
        up: prompts whose mean reward is higher in B.
        down: prompts whose mean reward is lower in B.
        same: the others.
        rank_agreement: Spearman's ρ of the prompts' means; NaN where undefined.
        mcnemar: None where a prompt has several rows or runs on a side, or the rewards more than two values.
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
    """One of several runs of a side; a run of B beside all of A.

    Attributes:
        side: "A" or "B".
        run: its name.
        rows: its rows with a reward.
        prompts: its prompts with a reward.
        mean: mean over these prompts of their mean reward.
        difference: mean over the prompts that A has too of this run − A; NaN for a run of A.
        low: lower end of its 95% interval over prompts; NaN where too few prompts change.
        high: its upper end.
        p: two-sided p-value of no difference.
        p_holm: the same, corrected for the number of runs (Holm).
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
    """A prompt that both have.

    Attributes:
        prompt: its text or id, cut where it is long.
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
    """A step that both have, or several of them in a row.

    Attributes:
        step: its name, or "FIRST–LAST".
        rows_a: rows of A with a reward.
        rows_b: rows of B with a reward.
        mean_a: mean reward of A, NaN without rows.
        mean_b: mean reward of B.
        difference: B − A.
        groups_a: groups of A.
        groups_b: groups of B.
        able_a: groups of A with two or more kept rows that have a reward.
        able_b: the same of B.
        live_a: share of `able_a` that is live: whose kept rewards are not all equal; NaN without any.
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
        by: what tells that they are the same, in words.
        rows: rows that were joined.
        only_a: rows of A without a partner.
        only_b: rows of B without a partner.
        rewarded: joined rows with a reward in both; the four next figures are over these.
        changed: rows with another reward.
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
        a: the first.
        b: the second.
        coverage: what they have in common.
        paired: the difference over prompts; None where no prompt has a reward in both.
        changed: the prompts in both that changed most.
        runs: each run, where a side has several.
        steps: the steps that both have, in ascending order.
        stretches: the same, consecutive steps put together where there are many.
        rows: the same rows one by one; None where rows could not be joined.
        prompts: a column per figure of every prompt of either, for a file.
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

    @classmethod
    def of(cls, side: Side) -> Self:
        """The counts and figures of one of two data sets."""
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

    @classmethod
    def of(cls, found: Between) -> Self:
        """Both data sets and what they have in common; the prompts are those that changed most."""
        given = fields_of(found)
        same = {
            name: given[name]
            for name in ("coverage", "paired", "runs", "changed", "steps", "rows", "warnings")
        }
        return cls(a=BetweenSide.of(found.a), b=BetweenSide.of(found.b), **same)
