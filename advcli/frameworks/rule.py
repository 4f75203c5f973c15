"""What a row of the catalog of frameworks is, and short ways to write the commonest ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HERE = "advcli.frameworks.arithmetic"
PER_TOKEN = "advcli.frameworks.per_token"
KL = "KL in the reward"
TOKENS = ("rewards", "group", "step", "lengths")


@dataclass(frozen=True)
class Rule:
    """How one framework computes one estimator.

    Attributes:
        framework: the framework, as the user types it.
        estimator: the estimator, as the framework names it.
        formula: one line.
        target: "module:function" of the arithmetic.
        needs: columns that the function takes, in its order.
        knobs: what the function is told, whatever the scale.
        scales: scale → what the function is told in addition; the first is the framework's default. Empty
            if there is no choice.
        versions: the range of versions, as a specifier; "" for all.
        positional: whether the framework groups by position; a dump whose groups are not contiguous blocks
            of one size was then trained on other groups.
        level: "row", one advantage per row, or "token", one per token.
        options: knobs that a run's configuration sets, and their defaults there; the user may set them.
        per_token: the same rule with one advantage per token, or None.
        token_columns: columns of tokens with which `per_token` is the rule.
        lost: what changes the advantage in a run and is not in a dump.
        source: the file in the framework.
        proof: what the numbers are checked against: "package", case by case with a release on the package index;
            "code", with numbers that the framework's own code gave, as literals; "notes", with numbers worked out
            from a reading of its code.
    """

    framework: str
    estimator: str
    formula: str
    target: str
    needs: tuple[str, ...]
    knobs: Mapping[str, Any]
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    versions: str = ""
    positional: bool = False
    level: str = "row"
    options: Mapping[str, float] = field(default_factory=dict)
    per_token: "Rule | None" = None
    token_columns: tuple[str, ...] = ("token_kl",)
    lost: tuple[str, ...] = ()
    source: str = ""
    proof: str = "notes"

    @property
    def name(self) -> str:
        """Framework, estimator and versions: unique in the catalog."""
        return f"{self.framework}:{self.estimator}{self.versions}"


GROUPED = {"target": f"{HERE}:standardised", "needs": ("rewards", "group", "step")}
GROUP = {"group": {"divide": "group"}}
NONE = {"none": {"divide": "none"}}
BATCH = {"batch": {"divide": "batch"}}
GRPO = "A_i = (r_i − mean_g) / (std_g + {eps}), ddof {ddof}"
CENTRED = "A_i = r_i − mean_g"
RLOO = "A_i = r_i − mean_{j≠i} r_j"


def grpo(framework: str, *, eps: float, ddof: int = 1, estimator: str = "grpo", **row: Any) -> Rule:  # noqa: ANN401
    """A row of the commonest rule: group mean, group std, eps added to it."""
    knobs = {"eps": eps, "ddof": ddof, **row.pop("knobs", {})}
    formula = GRPO.format(eps=f"{eps:g}", ddof=ddof)
    return Rule(framework, estimator, formula, **GROUPED, knobs=knobs, **{"scales": GROUP, **row})  # type: ignore[arg-type]


def centred(framework: str, estimator: str, **row: Any) -> Rule:  # noqa: ANN401
    """A row of a rule that only subtracts the mean of the group."""
    knobs = {"divide": "none", **row.pop("knobs", {})}
    return Rule(framework, estimator, row.pop("formula", CENTRED), **GROUPED, knobs=knobs, **row)  # type: ignore[arg-type]
