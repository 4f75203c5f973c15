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

    @property
    def alone(self) -> str:
        """What the only row of a group gets, in words."""
        word, divide = (
            self._told("single", _OF_ITS_OWN.get(self.target, "zero")),
            self._told("divide", "group"),
        )
        centre = self._told("centre", "none" if self.target == f"{HERE}:whitened" else "mean")
        if centre in ("none", "raw", "batch") and not (word == "dead" and divide != "none"):
            return _ALONE["none"]
        return _ALONE["raw" if word == "raw-eps" and divide == "none" else str(word)]

    @property
    def takes_any_row(self) -> bool:
        """Whether the only row of a group is as good as any other, because the rows of a group are not compared."""
        return self.alone == _ALONE["none"]

    @property
    def without_reward(self) -> str:
        """What becomes of a row without a reward, in words."""
        word = str(self._told("missing", _MISSING_OF_ITS_OWN.get(self.target, "nan")))
        of_batch = "batch" in f"{self._told('centre', '')} {self._told('divide', '')}"
        return _MISSING["batch" if word == "nan" and of_batch else word]

    @property
    def arithmetic(self) -> str:
        """The dtype, and that of the statistics where it is another one."""
        dtype, stats = self._told("dtype", "float32"), self._told("stats", "")
        return f"{dtype}, statistics {stats}" if stats else str(dtype)

    @property
    def grouping(self) -> str:
        """How the framework finds its groups, in words."""
        where = "by position" if self.positional else "by key"
        return f"{where}, {_RAGGED[self.ragged][0]}" if self.ragged in _RAGGED else where

    @property
    def ragged(self) -> str:
        """The word of `blocks.as_cut` for steps whose groups are not all of one size; "key" for nothing special."""
        return str(self._told("ragged", "key"))

    @property
    def as_in_the_run(self) -> str | None:
        """What --like does to such steps, as the framework did, in a sentence; None for nothing."""
        return _RAGGED[self.ragged][1] if self.ragged in _RAGGED else None

    def _told(self, knob: str, default: object) -> object:
        """A knob at the default scale."""
        return {**self.knobs, **next(iter(self.scales.values()), {})}.get(knob, default)


_ALONE = {
    "zero": "0",
    "dead": "0",
    "raw": "r",
    "raw-eps": "r / (1 + eps)",
    "batch": "as if the batch were its group",
    "nan": "NaN",
    "error": "refused",
    "none": "like any row",
}
# The rule of functions that have no such knob.
_OF_ITS_OWN = {
    f"{HERE}:best_only": "error",
    f"{HERE}:length_baseline": "raw",
    f"{HERE}:nonzero_ratio": "raw",
    f"{HERE}:greedy_baseline": "none",
    f"{HERE}:running_baseline": "none",
    "advcli.frameworks.decoupled:decoupled_by_tokens": "raw-eps",
}
_MISSING = {
    "nan": "its group is NaN",
    "batch": "its batch is NaN",
    "row": "NaN",
    "rest": "NaN from there on",
    "skip": "left out, 0",
    "zero": "counts as 0",
    "part": "a missing part adds 0",
}
_MISSING_OF_ITS_OWN = {
    f"{HERE}:whitened": "batch",
    f"{HERE}:greedy_baseline": "row",
    f"{HERE}:running_baseline": "rest",
    "advcli.frameworks.decoupled:decoupled": "part",
    "advcli.frameworks.decoupled:decoupled_by_tokens": "batch",
    "advcli.frameworks.one_pass:one_pass_parts": "batch",
}
_RAGGED = {
    "batch": (
        "uneven ones as one",
        "it takes all rows of a step with uneven groups for one group, and so does --like",
    ),
    "cut": (
        "uneven ones cut by the largest",
        "it cuts the rows of a step with uneven groups by the size of the largest, the rest is over eps; so does --like",
    ),
}

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
    formula = GRPO.format(eps=f"{eps:.0e}".replace("e-0", "e-"), ddof=ddof)
    return Rule(framework, estimator, formula, **GROUPED, knobs=knobs, **{"scales": GROUP, **row})  # type: ignore[arg-type]


def centred(framework: str, estimator: str, **row: Any) -> Rule:  # noqa: ANN401
    """A row of a rule that only subtracts the mean of the group."""
    knobs = {"divide": "none", **row.pop("knobs", {})}
    return Rule(framework, estimator, row.pop("formula", CENTRED), **GROUPED, knobs=knobs, **row)  # type: ignore[arg-type]
