"""What `compare --between` shows: two data sets, A and B, and what they have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advcli.records.report import Figures, Report


@dataclass(frozen=True)
class Side:
    """One of the two data sets.

    Attributes:
        name: the input as it was typed.
        report: its groups, settings and advantage columns: "original", and
            "processed" where rows were filtered.
        rewards: statistics of its rewards, over the rows that have one.
        steps: how many steps it has; None without steps.
        live_groups: groups with a kept row whose processed advantage is not 0.
    """

    name: str
    report: Report
    rewards: Figures
    steps: int | None
    live_groups: int


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
class Paired:
    """The difference B − A of the mean reward of each prompt that has a reward in both.

    Attributes:
        prompts: how many there are.
        mean_a: mean over the prompts of their mean reward in A.
        mean_b: the same in B.
        difference: mean over the prompts of B − A.
        low: lower end of the 95 % bootstrap interval of `difference`; NaN with fewer than two prompts.
        high: its upper end.
        up: prompts whose mean reward is higher in B.
        down: prompts whose mean reward is lower in B.
        same: the others.
        rank_agreement: Spearman's ρ of the prompts' means; NaN where undefined.
        resamples: how often prompts were drawn again.
        seed: of the draws.
    """

    prompts: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    up: int
    down: int
    same: int
    rank_agreement: float
    resamples: int
    seed: int


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
        live_a: share of the groups of A with a kept row whose processed advantage is not 0.
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
    steps: tuple[StepPair, ...]
    stretches: tuple[StepPair, ...]
    rows: RowPairs | None
    prompts: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
