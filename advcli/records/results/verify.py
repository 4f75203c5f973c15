"""What `verify` shows: two rewards of the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from advcli.records.results.result import Result


@dataclass(frozen=True)
class Asked:
    r"""What is asked of the verifiers.

    Attributes:
        vs: the reward column of B in the rows of A; None for A alone, and where B is another input.
        pass_at: lowest reward of a right row of A; None for the higher of two rewards.
        vs_pass_at: the same of B.
        answer: the column with the final answer; None for the text after the last `####` or in the last `\boxed{}`.
        top: how many prompts and groups are named.
    """

    vs: str | None = None
    pass_at: float | None = None
    vs_pass_at: float | None = None
    answer: str | None = None
    top: int = 10


@dataclass(frozen=True)
class Rate:
    """A share with its 95% interval.

    Attributes:
        share: NaN where there is nothing to count.
        low: lower end.
        high: upper end.
    """

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Confusion:
    """What two verifiers say of the same rows.

    Attributes:
        name: of which rows: "all", a step, a prompt, a source.
        both: rows that both call right.
        only_a: rows that only A calls right.
        only_b: rows that only B calls right.
        neither: rows that both call wrong.
        kappa: Cohen's κ; NaN where both always say the same one thing.
    """

    name: str
    both: int
    only_a: int
    only_b: int
    neither: int
    kappa: Rate

    @property
    def rows(self) -> int:
        """Rows with both rewards."""
        return self.both + self.only_a + self.only_b + self.neither


@dataclass(frozen=True)
class SameAnswer:
    """A group that A calls all wrong and in which most rows give one answer.

    Attributes:
        prompt: the prompt.
        step: the step; "" without steps.
        answer: the answer that most rows give.
        share: the share of the rows with an answer that give it.
        rows: rows of the group.
        place: its first row, as file:line.
    """

    prompt: str
    step: str
    answer: str
    share: float
    rows: int
    place: str


@dataclass(frozen=True)
class Disagreement:
    """A row that one verifier calls right and the other wrong.

    Attributes:
        place: its place in A, as file:line.
        prompt: the prompt.
        step: the step; "" without steps.
        group: number of its group, as `compute` writes it.
        reward_a: its reward by A.
        reward_b: its reward by B.
        right: "A" or "B": who calls it right.
        changes_sign: whether its reward lies on the other side of the mean of the group.
    """

    place: str
    prompt: str
    step: str
    group: int
    reward_a: float
    reward_b: float
    right: str
    changes_sign: bool


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """Two rewards of the same rows.

    Attributes:
        a: the column of A.
        b: the column of B; null where only one is there.
        inputs: A and B as they were named; empty with one input.
        paired_by: what tells which row of B is the same as one of A; null with one input.
        only_a: rows of A that are not in B; null with one input.
        only_b: rows of B that are not in A; null with one input.
        thresholds: lowest reward of a right row, of A and of B.
        every: all rows; null without B.
        icc: how far the rewards themselves are the same in both: the intraclass correlation; null without B.
        false_negative: rows that A calls wrong, as a share of those that B calls right.
        false_positive: rows that A calls right, as a share of those that B calls wrong.
        by: what rows are split by → a confusion each, most disagreements first.
        sign_changes: rows whose reward lies on the other side of the mean of the group.
        live: group is live with "both", "only A", "only B", "neither" → groups.
        noise: the share of rows that A would have to get wrong to make all of its live groups, were every group truly
            all right or all wrong.
        all_wrong: groups that A calls all wrong.
        same_answers: those in which most rows give one answer.
        same_answer: the first of these, the largest share first.
        answers: rows of `all_wrong` with an answer.
        warnings: what looks wrong, one sentence each.
    """

    a: str
    b: str | None
    inputs: tuple[str, ...]
    paired_by: str | None
    only_a: int | None
    only_b: int | None
    thresholds: tuple[float, float | None]
    every: Confusion | None
    icc: Rate | None
    false_negative: Rate | None
    false_positive: Rate | None
    by: Mapping[str, tuple[Confusion, ...]]
    sign_changes: int | None
    live: Mapping[str, int]
    noise: Rate
    all_wrong: int
    same_answers: int
    same_answer: tuple[SameAnswer, ...]
    answers: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Verify(Verdicts):
    """The same with what is written and said beside it.

    Attributes:
        table: what `--out` writes, a column each: the rows on which A and B disagree, or without B the groups that are
            all wrong with one answer.
        notes: what was chosen, one line each.
    """

    table: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class VerifyResult(Result, Verdicts):
    """What `advcli verify` returns."""

    schema: ClassVar[str] = "advcli/verify/1"

    @classmethod
    def of(cls, found: Verify) -> Self:
        """How far two verifiers agree, or what one of them shows alone."""
        return cls(**{field.name: getattr(found, field.name) for field in fields(Verdicts)})
