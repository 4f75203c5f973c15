"""The settings of the advantage, and the computed advantages."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

from advcli.records.mergeable import Merge, Mergeable, first

if TYPE_CHECKING:
    from torch import Tensor

DEFAULT_ESTIMATOR = "grpo"


@dataclass(frozen=True)
class FilterSpec:
    """One filter as the user asked for it.

    Attributes:
        when: "before" the statistics, so that dropped rows are in no mean, or "after" them.
        name: name of a row of the filter catalog.
        knobs: its knobs, as numbers or as text.
        column: the column that it uses instead of the reward, or None.
        typed: the filter as the user typed it, if name and knobs do not determine it; else "".
    """

    when: str
    name: str
    knobs: Mapping[str, float | str] = field(default_factory=dict)
    column: str | None = None
    typed: str = ""

    def __str__(self) -> str:
        """The filter as the user types it."""
        if self.typed:
            return self.typed
        given = {**({"column": self.column} if self.column else {}), **self.knobs}
        pairs = ",".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in given.items()
        )
        return f"{self.name}:{pairs}" if pairs else self.name


@dataclass(frozen=True)
class ShapeSpec:
    """One step of shaping as the user asked for it.

    Attributes:
        name: name of a row of the shaping catalog, or "expr" for an expression.
        knobs: its knobs, defaults filled in.
        columns: input → an expression over the columns of a row, as `--where` takes it.
        expression: the expression, if `name` is "expr".
    """

    name: str
    knobs: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    expression: str = ""


@dataclass(frozen=True)
class LeftOut(Mergeable):
    """What a filter dropped of the rows that earlier filters left.

    Attributes:
        spec: the filter.
        rows: dropped rows.
        groups: groups that lost all their rows.
        tokens: tokens of the dropped rows; None without lengths.
    """

    spec: Annotated[FilterSpec, Merge(first)]
    rows: int
    groups: int
    tokens: int | None = None


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
        compute_new_adv: recompute the advantage on the kept rows.
        missing: what a row without a usable reward gets: "null", "zero", "error".
        singleton: what the only valid row of a group gets: "null", "zero", "raw", "error".
        device: "auto", "cpu", "cuda", "mps".
        shaping: steps that shape the reward before, and the advantage after the estimator, in this order.
        filters: filters in this order; those "before" the statistics come first.
        count: what statistics count if a rollout has several rows: "rollouts", "rows", or None for the unit of the
            framework of `like`; without one, rollouts.
        rollout_reward: which reward is that of a rollout: "last", "first", "sum", or None for the framework's rule;
            without one, that of the last turn that has one.
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
    shaping: tuple[ShapeSpec, ...] = ()
    filters: tuple[FilterSpec, ...] = ()
    count: str | None = None
    rollout_reward: str | None = None

    def unprocessed(self) -> "Settings":
        """These settings without keep ratios and filters: only the original advantage."""
        return replace(self, keep_pos=1.0, keep_neg=1.0, compute_new_adv=False, filters=())


@dataclass(frozen=True)
class AdvantageTable:
    """The computed advantages, one entry per row.

    Attributes:
        original: [N] float, the estimator's advantage; NaN where undefined.
        processed: [N] float, what would be trained on: 0 on filtered rows, NaN where undefined.
        kept: [N] bool, False for filtered rows and where the advantage is undefined.
        warnings: sentences that the user should see.
        left_out: what each filter dropped.
        tokens: [T] float, the original advantage of each token, row after row, NaN where undefined; None
            if the estimator gives one advantage per row. `original` is then its mean over the tokens of the row.
        token_counts: [N] int64, tokens of each row, or None.
        returns: [T] float, the return of each token if the framework's rule gives it, or None.
        turns: [T] float, the original advantage of each turn, row after row, if a row is a rollout with a list of
            turn rewards; else None. `original` is then its mean over the turns of the row.
        turn_counts: [N] int64, turns of each row, or None.
        per_rollout: the table with one entry per rollout, numbered in order of first appearance; None if rows were
            counted.
        weights: [T] float64, the weight that filters give to each token, row after row: 0 if masked, NaN if it is not
            trained on; None if no filter weights.
        weight: [N] float64, their mean over the row's trained tokens; NaN for a row without any. None likewise.
        weighted: [N] float, the processed advantage times `weight`. None likewise.
    """

    original: "Tensor"
    processed: "Tensor"
    kept: "Tensor"
    warnings: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    tokens: "Tensor | None" = None
    token_counts: "Tensor | None" = None
    per_rollout: "AdvantageTable | None" = None
    returns: "Tensor | None" = None
    turns: "Tensor | None" = None
    turn_counts: "Tensor | None" = None
    weights: "Tensor | None" = None
    weight: "Tensor | None" = None
    weighted: "Tensor | None" = None

    def unprocessed(self) -> "AdvantageTable":
        """These advantages before any keep ratio or filter."""
        kept = ~self.original.isnan()
        inner = self.per_rollout and self.per_rollout.unprocessed()
        return replace(
            self,
            processed=self.original,
            kept=kept,
            warnings=(),
            left_out=(),
            per_rollout=inner,
            weights=None,
            weight=None,
            weighted=None,
        )
