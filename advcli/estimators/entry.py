"""What a row of the catalog of estimators is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Numbers = Sequence[float] | Sequence[Sequence[float]]


@dataclass(frozen=True)
class Worked:
    """An example with its result, made by hand.

    Attributes:
        inputs: column → a number per row, or a list per row; one group unless "group" tells another.
        advantages: a number per row, or a list per row where there is one per token; to four digits.
    """

    inputs: Mapping[str, Numbers]
    advantages: Numbers


@dataclass(frozen=True)
class Estimator:
    """One estimator.

    Attributes:
        name: the word that the user types.
        target: "module:function"; data positional in the order of `needs`, knobs keyword-only.
        needs: columns that the function takes, named in `records.roles.ROLES`.
        formula: one line, in the notation of the documentation.
        default_scale: the scale of the source, used when the user names none; None if there is no choice.
        recompute: whether the advantage may be computed again on the rows that were kept.
        alone: whether a group of one has an advantage, because rows are not compared within groups.
        level: "row", one advantage per row, "turn", where a row is a turn of a rollout, or "token", one per token of a row.
        per_token: the same estimator with one advantage per token, used when a discount or the KL of each
            token makes them differ; None where it has no such form.
        token_columns: columns of tokens with which `per_token` is used.
        shaped: the shapings that may come first, in their order; None for all, in that of their catalog.
        scope: which other rows the advantage of a row depends on: those of its "group" or of its "step", or all
            before it in "order"; of a framework's rule also "all". See `scope_at`.
        whole_steps: whether it needs the order of what is in a step, so that no step can lie in two places.
        masked: whether the tokens that the policy did not write have an advantage too.
        biased: whether turns of one number are compared, which only rollouts have that went on for so long.
        worked: an example; None for a `per_token` form.
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
        """The scope at a scale: what is divided by a standard deviation of the batch depends on the batch."""
        return "step" if scale == "batch" else self.scope
