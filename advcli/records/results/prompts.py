"""What `prompts` shows: each prompt over the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from advcli.records.results.report import Health
from advcli.records.results.result import Result, plain_cell
from advcli.records.results.verify import Rate

STATES = ("learned", "forgotten", "flat", "never", "always", "one step")
"""What became of a prompt; "one step" where it was met at one step and is neither never nor always right."""


@dataclass(frozen=True)
class Asked:
    """What is asked of the prompts.

    Attributes:
        ks: the k of pass@k, for rewards of two values or with `pass_at`.
        pass_at: lowest reward of a right row; None for the higher of two rewards.
        fdr: the false-discovery rate at which a prompt counts as learned or forgotten.
        sort: a figure, largest first; -FIGURE for smallest first; None for the surest trends first.
        top: how many prompts are shown.
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
        count: how many values it is over.
        mean: NaN without any.
        low: lower end; NaN where too few values differ.
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
        low: lowest solved share (without right rows: mean reward, 0 at the lowest and 1 at the highest reward).
        high: highest.
        prompts: how many.
        rows: their rows with a reward.
        live: live groups among their groups, as a share; NaN without groups.
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
        threshold: lowest reward of a right row; None where no row is right or wrong.
        over_rows: mean reward of all rows.
        over_prompts: mean over the prompts of their mean rewards.
        pass_at: k → mean over the prompts with k rows or more.
        fdr: the false-discovery rate of learned and forgotten.
        states: state → prompts.
        bands: the difficulties, hardest first.
        table: name of a figure → its value for each prompt, in the order of appearance.
        order: the prompts to show, as places in `table`.
        curves: prompt to show → (place of the step, mean reward) of each of its steps.
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
        state: what became of it: "learned", "forgotten", "flat", "never", "always" or "one step"; "" without a reward.
        rows: its rows.
        rewarded: those with a reward.
        steps: steps with a reward.
        mean: mean reward of all its rows.
        first_mean: mean reward at its first step.
        last_mean: mean reward at its last step.
        change: the fitted line at its last step minus that at its first; null with one step.
        change_low: lower end of the 95% interval.
        change_high: upper end.
        p: p-value of no trend.
        q: the same after Benjamini–Hochberg over all prompts.
        groups: its groups.
        live_share: the share of them whose rewards differ.
        length: mean length of its rows; null without lengths, and where rows are right or wrong.
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
    def of(cls, found: Prompts, at: int) -> Self:
        """The figures of one of the prompts."""
        cells = {name: plain_cell(values[at]) for name, values in found.table.items()}
        rates = {
            k: Rate(*(cells.pop(f"pass@{k}{end}") for end in ("", "_low", "_high"))) for k in found.pass_at
        }
        curve = tuple(StepMean(found.steps[step], mean) for step, mean in found.curves[at])
        lengths: dict[str, float | None] = dict.fromkeys(("length", "length_right", "length_wrong"))
        return cls(**{**lengths, **cells}, pass_at=rates, per_step=curve)


@dataclass(frozen=True, kw_only=True, repr=False)
class PromptsResult(Result):
    """What `advcli prompts` returns.

    Attributes:
        rows: rows, missing ones included.
        rollouts: how many rollouts there are where they are counted: then all counts but `rows` are of rollouts; else null.
        prompts: prompts.
        steps: steps.
        threshold: lowest reward of a right row; null where no row is right or wrong.
        length_unit: "tokens" or "characters"; null without lengths.
        mean_over_rows: mean reward of all rows.
        mean_over_prompts: mean over the prompts of their mean rewards.
        pass_at: k → mean over the prompts with k rows or more.
        fdr: the false-discovery rate of learned and forgotten.
        states: state → prompts.
        bands: the difficulties, hardest first.
        shown: the prompts that `--sort` and `--top` name.
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
    def of(cls, found: Prompts) -> Self:
        """The figures over all prompts, and those that are shown one by one."""
        return cls(
            rows=found.health.rows,
            rollouts=found.health.rollouts,
            prompts=len(found.table["prompt"]),
            steps=len(found.steps),
            threshold=found.threshold,
            length_unit=found.length_unit,
            mean_over_rows=found.over_rows,
            mean_over_prompts=found.over_prompts,
            pass_at=found.pass_at,
            fdr=found.fdr,
            states=found.states,
            bands=found.bands,
            shown=tuple(PromptRun.of(found, at) for at in found.order),
            warnings=found.warnings,
        )
