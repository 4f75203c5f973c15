"""What a row of the catalog of frameworks is, and short ways to write the commonest ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HERE = "advcli.frameworks.arithmetic.per_row"
PER_TOKEN = "advcli.frameworks.arithmetic.per_token"
IN_ORDER = "advcli.frameworks.arithmetic.in_order"
WEIGHTED = "advcli.frameworks.arithmetic.weighted"
KL = "KL in the reward"
TOKENS = ("rewards", "group", "step", "lengths")


@dataclass(frozen=True)
class Unit:
    """What a framework's statistics count where one rollout has several rows.

    Attributes:
        counts: "rollouts", "rows", or "refused".
        reward: which reward is that of a rollout: "last", "first" or "sum" of its turns.
        by_turn: whether a turn number decides which row is the last one; else the last in the file is.
        differ: rewards of the rows of a rollout that differ by more are refused; None for any.
        at_last: whether the advantage is read at the last row's first token: without one, the other rows get 0; and rows
            without tokens get none.
    """

    counts: str = "rollouts"
    reward: str = "last"
    by_turn: bool = True
    differ: float | None = None
    at_last: bool = False

    @property
    def counted(self) -> str:
        """What is counted, in words."""
        if self.counts != "rollouts":
            return {"rows": "rows", "refused": "rollouts of several rows are refused"}[self.counts]
        return f"rollouts, by the reward of {_STANDS[self.reward, self.by_turn]}"

    @property
    def given(self) -> str:
        """What the rows of a rollout get, in words."""
        if self.counts != "rollouts":
            return {"rows": "their own", "refused": "–"}[self.counts]
        refused = "; rows that differ in their reward are refused" if self.differ is not None else ""
        return f"that of the rollout{'; 0 where the last has no token' if self.at_last else ''}{refused}"


_STANDS = {
    ("last", True): "its last turn",
    ("last", False): "its last row in the file",
    ("first", True): "its first turn",
    ("first", False): "its first row in the file",
    ("sum", True): "the sum of its turns",
}
COUNT_ROWS = Unit("rows")
"""Every row is a sample of its own."""


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
        level: "row", one advantage per row, "turn", where a row is a turn of a rollout, or "token", one per token.
        options: knobs that a run's configuration sets, and their defaults there; the user may set them. `step_norm` and
            `token_norm` are no knobs of the function: where they are not 0, the advantage of a rollout is divided by the number
            of its rows, or by its
            tokens and the rows of the step.
        unit: what the statistics count where rows share a rollout.
        per_token: the same rule with one advantage per token, or None.
        token_columns: columns of tokens with which `per_token` is the rule.
        scope: which other rows the advantage of a row depends on, where the groups of a step are all of one size: those of its
            "group" or its "step", or all before it in "order".
        step_scales: scales at which that is the step instead.
        sums: how the framework itself adds up several rewards, in its dtype: "nansum" leaves out what is missing, "sum" does
            not; "" where a reward function has added them up before.
        shaped: how the framework shapes a reward before its statistics, in its order: names of the shaping catalog. With an
            advantage per token, "kl" is taken off token by token, where the function says.
        lost: what changes the advantage in a run and is not in a dump.
        source: the file in the framework.
        masked: whether the tokens that the policy did not write have an advantage too.
        returns: whether the function also gives the return of each token.
        biased: whether turns of one number are compared, which only rollouts have that went on for so long.
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
    options: Mapping[str, float | str] = field(default_factory=dict)
    per_token: "Rule | None" = None
    token_columns: tuple[str, ...] = ("token_kl",)
    scope: str = "group"
    step_scales: tuple[str, ...] = ("batch",)
    sums: str = ""
    shaped: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    source: str = ""
    proof: str = "notes"
    unit: Unit = field(default_factory=Unit)
    masked: bool = False
    returns: bool = False
    biased: bool = False

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
        return _ALONE["raw" if word == "raw-eps" and divide in ("none", False) else str(word)]

    @property
    def takes_any_row(self) -> bool:
        """Whether the only row of a group is as good as any other, because the rows of a group are not compared."""
        return self.alone == _ALONE["none"]

    @property
    def without_reward(self) -> str:
        """How a row without a reward is treated, as text."""
        return _MISSING[self._missing]

    @property
    def spoils(self) -> str:
        """Which other rows a row without a reward makes NaN, as text; "" for none."""
        return _SPOILT.get(self._missing, "")

    def scope_at(self, scale: str | None, *, uneven: bool = False) -> str:
        """The scope at a scale, and where a step has groups of several sizes: "group", "step", "all" or "order".

        Example:
            >>> centred("x", "y", knobs={"ragged": "cut"}).scope_at(None, uneven=True)
            'all'
        """
        scope = "step" if scale in self.step_scales else self.scope
        return _WIDER.get(self.ragged, scope) if uneven else scope

    @property
    def _missing(self) -> str:
        word = str(self._told("missing", _MISSING_OF_ITS_OWN.get(self.target, "nan")))
        if word != "nan":
            return word
        lonely = self.level != "turn" and self.takes_any_row
        whitens = not lonely or self._told("whiten", default=True)
        if whitens and self.scope_at(next(iter(self.scales), None)) == "step":
            return "batch"
        return "row" if lonely else word

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
    "first": "like the first row of a group",
    "none": "like any row",
}
# The rule of functions that have no such knob.
_OF_ITS_OWN = {
    "advcli.frameworks.arithmetic.turns:gigpo": "raw-eps",
    "advcli.frameworks.arithmetic.turns:trinity_gigpo": "raw-eps",
    "advcli.frameworks.arithmetic.turn_baselines:dynamic": "nan",
    **dict.fromkeys(
        (
            "advcli.frameworks.arithmetic.distillation:distilled",
            "advcli.frameworks.arithmetic.turns:roll_gigpo",
            "advcli.frameworks.arithmetic.turns:roll_step_reinforce",
            "advcli.frameworks.arithmetic.turn_baselines:turn_returns",
            "advcli.frameworks.arithmetic.turn_baselines:turn_level_credit",
            "advcli.frameworks.arithmetic.turn_tokens:gae_carried",
            "advcli.frameworks.arithmetic.turn_tokens:bi_level_gae",
            f"{PER_TOKEN}:gae",
            f"{PER_TOKEN}:gae_through_gaps",
        ),
        "none",
    ),
    f"{PER_TOKEN}:token_baseline": "raw",
    "advcli.frameworks.arithmetic.turn_tokens:mt_grpo": "nan",
    f"{HERE}:best_only": "error",
    f"{HERE}:length_baseline": "raw",
    f"{WEIGHTED}:thresholded": "raw-eps",
    f"{WEIGHTED}:soft_maximum": "raw",
    f"{WEIGHTED}:shifted_mean": "raw",
    f"{WEIGHTED}:by_length": "nan",
    f"{WEIGHTED}:live_weighted": "raw-eps",
    f"{IN_ORDER}:kalman": "first",
    f"{HERE}:nonzero_ratio": "raw",
    f"{HERE}:greedy_baseline": "none",
    **dict.fromkeys(
        (f"{IN_ORDER}:{name}" for name in ("running_baseline", "posterior", "posterior_from_scores")),
        "none",
    ),
    "advcli.frameworks.arithmetic.decoupled:decoupled_by_tokens": "raw-eps",
}
_MISSING = {
    "nan": "its group is NaN",
    "group": "its group is NaN",
    "best": "NaN, the others of its group 0",
    "batch": "its batch is NaN",
    "batches": "its batch is NaN, and later ones of its prompt",
    "later": "its group is NaN from there on",
    "row": "NaN",
    "rest": "NaN from there on",
    "skip": "left out, 0",
    "zero": "counts as 0",
    "part": "a missing part adds 0",
    "unread": "plays no part",
}
# The scope where a trainer makes one group of uneven ones, or cuts them by the largest that there is anywhere.
_WIDER = {"batch": "step", "cut": "all"}
_SPOILT = {
    "nan": "its group",
    "group": "its group",
    "later": "its group",
    "batch": "its batch",
    "batches": "its batch and later ones",
    "rest": "all rows after it",
}
_MISSING_OF_ITS_OWN = {
    "advcli.frameworks.arithmetic.distillation:distilled": "unread",
    f"{HERE}:greedy_baseline": "row",
    f"{IN_ORDER}:running_baseline": "rest",
    f"{WEIGHTED}:sets_of_k": "row",
    f"{IN_ORDER}:kalman": "later",
    f"{IN_ORDER}:posterior": "batches",
    f"{IN_ORDER}:posterior_from_scores": "batches",
    f"{HERE}:nonzero_ratio": "group",
    f"{HERE}:best_only": "best",
    "advcli.frameworks.arithmetic.decoupled:decoupled": "part",
    f"{PER_TOKEN}:greedy_baseline": "row",
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
    usual = GRPO.format(eps=f"{eps:.0e}".replace("e-0", "e-"), ddof=ddof)
    formula = row.pop("formula", usual)
    return Rule(framework, estimator, formula, **GROUPED, knobs=knobs, **{"scales": GROUP, **row})  # type: ignore[arg-type]


def centred(framework: str, estimator: str, **row: Any) -> Rule:  # noqa: ANN401
    """A row of a rule that only subtracts the mean of the group."""
    knobs = {"divide": "none", **row.pop("knobs", {})}
    return Rule(framework, estimator, row.pop("formula", CENTRED), **GROUPED, knobs=knobs, **row)  # type: ignore[arg-type]


TOKENS_OF_TURNS = "advcli.frameworks.arithmetic.turn_tokens"
CENTRE, Z_SCORE = {"none": {"divide": False}}, {"group": {"divide": True}}
GIGPO = "A = E + weight · C, E {z}, C = R − mean over rows of equal {state}, R = Σ γ^k r_{{t+k}}"


def turn_rule(
    framework: str,
    estimator: str,
    formula: str,
    function: str,
    needs: tuple[str, ...],
    **row: Any,  # noqa: ANN401
) -> Rule:
    """A row of a rule that gives each turn an advantage: `function`, "module:function" of `frameworks.arithmetic`."""
    return Rule(
        framework,
        estimator,
        formula,
        f"advcli.frameworks.arithmetic.{function}",
        needs,
        row.pop("knobs", {}),
        level="turn",
        unit=COUNT_ROWS,
        proof="code",
        **row,
    )
