"""The result of `prompts`: each prompt over the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from advcli.records.results.report import Health
from advcli.records.results.result import Result, plain_cell
from advcli.records.results.verify import Rate

STATES = ("learned", "forgotten", "flat", "never", "always", "one step")
"""The states of a prompt; "one step" if it occurs at one step only and is neither never nor always right."""


@dataclass(frozen=True)
class Asked:
    """The options of `prompts`.

    Attributes:
        ks: the k of pass@k, for rewards with two values or with `pass_at`.
        pass_at: lowest reward of a right row; None for the higher of two rewards.
        fdr: the false-discovery rate at which a prompt counts as learned or forgotten.
        sort: a figure, largest first; -FIGURE for smallest first; None for the most significant trends first.
        top: number of prompts to show.
    """

    ks: tuple[int, ...] = (1, 4, 8)
    pass_at: float | None = None
    fdr: float = 0.05
    sort: str | None = None
    top: int = 20


@dataclass(frozen=True)
class Mean:
    """A mean with its 95% interval.

    Attributes:
        count: number of values.
        mean: their mean; NaN without any.
        low: lower end; NaN if too few values differ.
        high: upper end.
    """

    count: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Band:
    """The prompts of one difficulty.

    Attributes:
        low: lowest solved share (if rows are not right or wrong: mean reward, 0 at the lowest and 1 at the highest reward).
        high: highest solved share.
        prompts: number of prompts.
        rows: their rows with a reward.
        live: share of their groups that is live; NaN without groups.
        states: state → prompts.
    """

    low: float
    high: float
    prompts: int
    rows: int
    live: float
    states: Mapping[str, int]


@dataclass(frozen=True)
class Prompts:
    """Each prompt over the run.

    Attributes:
        health: the groups of the data set.
        steps: the steps in order.
        threshold: lowest reward of a right row; None if rows are not right or wrong.
        over_rows: mean reward of all rows.
        over_prompts: mean over the prompts of their mean rewards.
        pass_at: k → mean over the prompts with k rows or more.
        fdr: the false-discovery rate of learned and forgotten.
        states: state → prompts.
        bands: prompts by difficulty, hardest first.
        table: name of a figure → its value for each prompt, in order of appearance.
        order: the prompts to show, as indices into `table`.
        curves: prompt to show → (index of the step, mean reward) of each of its steps.
        length_unit: "tokens" or "characters"; None without lengths.
        notes: what was chosen, one line each.
        warnings: what looks wrong, one line each.
    """

    health: Health
    steps: tuple[str, ...]
    threshold: float | None
    over_rows: float
    over_prompts: Mean
    pass_at: Mapping[int, Mean]
    fdr: float
    states: Mapping[str, int]
    bands: tuple[Band, ...]
    table: Mapping[str, Sequence[Any]]
    order: tuple[int, ...]
    curves: Mapping[int, tuple[tuple[int, float], ...]]
    length_unit: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepMean:
    """A prompt at one step.

    Attributes:
        step: the step.
        mean: mean reward of its rows.
    """

    step: str
    mean: float


@dataclass(frozen=True, kw_only=True)
class PromptRun:
    """One prompt over the run.

    Attributes:
        prompt: the id or text that identifies it.
        state: "learned", "forgotten", "flat", "never", "always" or "one step"; "" without a reward.
        rows: its rows.
        rewarded: its rows with a reward.
        steps: steps with a reward.
        mean: mean reward of all its rows.
        first_mean: mean reward at its first step.
        last_mean: mean reward at its last step.
        change: the fitted line at its last step minus that at its first; null with one step.
        change_low: lower end of the 95% interval.
        change_high: upper end.
        p: p-value of no trend.
        q: p-value after Benjamini–Hochberg over all prompts.
        groups: its groups.
        live_share: the share of them whose rewards differ.
        length: mean length of its rows; null without lengths, or if rows are right or wrong.
        length_right: mean length of its right rows; null likewise.
        length_wrong: mean length of its wrong rows; null likewise.
        pass_at: k → pass@k with its interval.
        last_step: the last step at which it has a reward.
        per_step: its mean reward at each step.
    """

    prompt: str
    state: str
    rows: int
    rewarded: int
    steps: int
    mean: float
    first_mean: float
    last_mean: float
    change: float
    change_low: float
    change_high: float
    p: float
    q: float
    groups: int
    live_share: float
    length: float | None
    length_right: float | None
    length_wrong: float | None
    pass_at: Mapping[int, Rate]
    last_step: str
    per_step: tuple[StepMean, ...]

    @classmethod
    def of(cls, prompts: Prompts, at: int) -> Self:
        """The JSON record of the prompt at an index of the table."""
        cells = {name: plain_cell(values[at]) for name, values in prompts.table.items()}
        rates = {
            k: Rate(*(cells.pop(f"pass@{k}{end}") for end in ("", "_low", "_high"))) for k in prompts.pass_at
        }
        curve = tuple(StepMean(prompts.steps[step], mean) for step, mean in prompts.curves[at])
        lengths: dict[str, float | None] = dict.fromkeys(("length", "length_right", "length_wrong"))
        return cls(**{**lengths, **cells}, pass_at=rates, per_step=curve)


@dataclass(frozen=True, kw_only=True, repr=False)
class PromptsResult(Result):
    """What `advcli prompts` returns.

    Attributes:
        rows: rows, missing ones included.
        rollouts: number of rollouts if they are counted: then every count but `rows` is of rollouts; else null.
        prompts: number of prompts.
        steps: number of steps.
        threshold: lowest reward of a right row; null if rows are not right or wrong.
        length_unit: "tokens" or "characters"; null without lengths.
        mean_over_rows: mean reward of all rows.
        mean_over_prompts: mean over the prompts of their mean rewards.
        pass_at: k → mean over the prompts with k rows or more.
        fdr: the false-discovery rate of learned and forgotten.
        states: state → prompts.
        bands: prompts by difficulty, hardest first.
        shown: the prompts selected by `--sort` and `--top`.
        warnings: what looks wrong, one sentence each.
    """

    schema: ClassVar[str] = "advcli/prompts/1"
    rows: int
    rollouts: int | None
    prompts: int
    steps: int
    threshold: float | None
    length_unit: str | None
    mean_over_rows: float
    mean_over_prompts: Mean
    pass_at: Mapping[int, Mean]
    fdr: float
    states: Mapping[str, int]
    bands: tuple[Band, ...]
    shown: tuple[PromptRun, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, prompts: Prompts) -> Self:
        """The JSON record: the figures over all prompts, and the selected prompts."""
        return cls(
            rows=prompts.health.rows,
            rollouts=prompts.health.rollouts,
            prompts=len(prompts.table["prompt"]),
            steps=len(prompts.steps),
            threshold=prompts.threshold,
            length_unit=prompts.length_unit,
            mean_over_rows=prompts.over_rows,
            mean_over_prompts=prompts.over_prompts,
            pass_at=prompts.pass_at,
            fdr=prompts.fdr,
            states=prompts.states,
            bands=prompts.bands,
            shown=tuple(PromptRun.of(prompts, at) for at in prompts.order),
            warnings=prompts.warnings,
        )
