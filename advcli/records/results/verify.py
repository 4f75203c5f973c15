"""The options and the result of `verify`: two rewards of the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from advcli.records.results.result import Result


@dataclass(frozen=True)
class Asked:
    r"""The options of `verify`.

    Attributes:
        vs: the reward column of B in the rows of A; None for A alone, or if B is another input.
        pass_at: lowest reward of a right row of A; None for the higher of two rewards.
        vs_pass_at: the same for B.
        answer: the column with the final answer; None for the text after the last `####` or in the last `\boxed{}`.
        top: number of prompts and groups to list.
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
        share: the share; NaN if there is nothing to count.
        low: lower end.
        high: upper end.
    """

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of two verifiers on the same rows.

    Attributes:
        name: which rows: "all", a step, a prompt, a source.
        both: rows that both call right.
        only_a: rows that only A calls right.
        only_b: rows that only B calls right.
        neither: rows that both call wrong.
        kappa: Cohen's κ; NaN if both always give the same single verdict.
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
    """A group that A calls all wrong, but in which most rows give the same answer.

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
        place: its location in A, as file:line.
        prompt: the prompt.
        step: the step; "" without steps.
        group: number of its group, as `compute` writes it.
        reward_a: its reward by A.
        reward_b: its reward by B.
        right: "A" or "B": the verifier that calls it right.
        changes_sign: whether its reward is above the group mean in one and below it in the other.
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
        b: the column of B; null without B.
        inputs: A and B as typed; empty with one input.
        paired_by: how rows of A and B were paired; null with one input.
        only_a: rows of A that are not in B; null with one input.
        only_b: rows of B that are not in A; null with one input.
        thresholds: lowest reward of a right row, for A and for B.
        every: the confusion of all rows; null without B.
        icc: intraclass correlation of the two rewards; null without B.
        false_negative: rows that A calls wrong, as a share of those that B calls right.
        false_positive: rows that A calls right, as a share of those that B calls wrong.
        by: what rows are split by → the confusion of each part, most disagreements first.
        sign_changes: rows whose reward is above the group mean in one and below it in the other.
        live: "both", "only A", "only B" or "neither" → number of groups that are live with these.
        noise: the share of rows that A would have to get wrong to produce all of its live groups if every group were truly
            all right or all wrong.
        all_wrong: groups that A calls all wrong.
        same_answers: those in which most rows give the same answer.
        same_answer: the first of these, largest share first.
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
    """The verdicts, with the table for `--out` and notes.

    Attributes:
        table: column → values of `--out`: the rows on which A and B disagree, or without B the groups that are
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
    def of(cls, verify: Verify) -> Self:
        """The JSON record of a comparison of verifiers."""
        return cls(**{field.name: getattr(verify, field.name) for field in fields(Verdicts)})
