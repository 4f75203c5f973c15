"""What `prompts` shows: each prompt over the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advcli.records.report import Health

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
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
