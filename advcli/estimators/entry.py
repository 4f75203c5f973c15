"""The type of a row in the estimator catalog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Numbers = Sequence[float] | Sequence[Sequence[float]]


@dataclass(frozen=True)
class Worked:
    """A worked example, computed by hand.

    Attributes:
        inputs: column → a number per row, or a list per row; one group unless "group" is given.
        advantages: a number per row, or a list per row for advantages per token; to four digits.
    """

    inputs: Mapping[str, Numbers]
    advantages: Numbers


@dataclass(frozen=True)
class Estimator:
    """One estimator.

    Attributes:
        name: the name the user types.
        target: "module:function"; data positional in the order of `needs`, knobs keyword-only.
        needs: columns the function takes, named in `records.roles.ROLES`.
        formula: one line, in the notation of the documentation.
        default_scale: the scale of the source, used if the user sets none; None if there is no choice.
        recompute: whether the advantage may be recomputed on the kept rows.
        alone: whether a group of one has an advantage, because rows are not compared within groups.
        level: "row", one advantage per row; "turn", each row a turn of a rollout; or "token", one per token of a row.
        per_token: the variant with one advantage per token, used if a discount or a per-token KL makes them differ;
            None if there is none.
        token_columns: token columns that trigger `per_token`.
        shaped: the shapings that may be applied first, in their order; None for all, in the order of their catalog.
        scope: which other rows the advantage of a row depends on: those of its "group" or of its "step", or all
            previous ones ("order"); for a framework's rule also "all". See `scope_at`.
        whole_steps: whether it needs the order of the rows within a step, so that a step can't be split over partitions.
        masked: whether tokens not written by the policy have an advantage too.
        biased: whether turns with equal numbers are compared, so that late turns compare only long rollouts.
        worked: an example; None for a `per_token` variant.
        summary: one sentence.
        source: paper or file.
    """

    name: str
    target: str
    needs: tuple[str, ...]
    formula: str
    summary: str
    source: str
    default_scale: str | None = None
    recompute: bool = False
    alone: bool = False
    level: str = "row"
    per_token: "Estimator | None" = None
    token_columns: tuple[str, ...] = ("token_kl",)
    shaped: tuple[str, ...] | None = None
    scope: str = "group"
    whole_steps: bool = False
    masked: bool = False
    biased: bool = False
    worked: Worked | None = None

    def scope_at(self, scale: str | None) -> str:
        """The scope at a scale: dividing by a batch std makes a row depend on the batch."""
        return "step" if scale == "batch" else self.scope
