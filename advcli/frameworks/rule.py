"""The type of a row in the framework catalog, and helpers for the most common rows."""

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
    """What a framework's statistics count if a rollout has several rows.

    Attributes:
        counts: "rollouts", "rows", or "refused".
        reward: how a rollout gets its reward: "last", "first" or "sum" of its turns.
        by_turn: whether the turn number decides which row is last; else the file order does.
        differ: rollouts whose rows' rewards differ by more than this are refused; None accepts any.
        at_last: whether the advantage is read at the first token of the last row: if that has none, the other rows get 0;
            rows without tokens get none.
    """

    counts: str = "rollouts"
    reward: str = "last"
    by_turn: bool = True
    differ: float | None = None
    at_last: bool = False

    @property
    def counted(self) -> str:
        """What is counted, as text."""
        if self.counts != "rollouts":
            return {"rows": "rows", "refused": "rollouts of several rows are refused"}[self.counts]
        return f"rollouts, by the reward of {_REWARD_TEXT[self.reward, self.by_turn]}"

    @property
    def given(self) -> str:
        """What the rows of a rollout get, as text."""
        if self.counts != "rollouts":
            return {"rows": "their own", "refused": "–"}[self.counts]
        refused = "; rows that differ in their reward are refused" if self.differ is not None else ""
        return f"that of the rollout{'; 0 where the last has no token' if self.at_last else ''}{refused}"


_REWARD_TEXT = {
    ("last", True): "its last turn",
    ("last", False): "its last row in the file",
    ("first", True): "its first turn",
    ("first", False): "its first row in the file",
    ("sum", True): "the sum of its turns",
}
COUNT_ROWS = Unit("rows")
"""Every row is a separate sample."""


@dataclass(frozen=True)
class Rule:
    """How one framework computes one estimator.

    Attributes:
        framework: the framework, as the user types it.
        estimator: its name in the framework.
        formula: one line.
        target: "module:function" of the arithmetic.
        needs: columns the function takes, in its order.
        knobs: fixed keyword arguments of the function, whatever the scale.
        scales: scale → additional keyword arguments; the first is the framework's default. Empty if there is no
            choice.
        versions: the range of versions, as a specifier; "" for all.
        positional: whether the framework groups by position; then a dump whose groups aren't contiguous blocks of
            equal size was trained on other groups.
        level: "row", one advantage per row; "turn", each row a turn of a rollout; or "token", one per token.
        options: knobs set in a run's configuration, and their defaults; the user may set them. `step_norm` and
            `token_norm` are not knobs of the function: if not 0, the advantage of a rollout is divided by the number of its
            rows, or by its tokens times the rows of the step.
        unit: what the statistics count if rows share a rollout.
        per_token: the variant with one advantage per token, or None.
        token_columns: token columns that trigger `per_token`.
        scope: which other rows the advantage of a row depends on, if the groups of a step have equal size: those of its
            "group" or its "step", or all previous ones ("order").
        step_scales: scales at which the scope is the step instead.
        sums: how the framework sums reward parts, in its dtype: "nansum" ignores missing ones, "sum" doesn't; "" if a
            reward function has summed them before.
        shaped: the framework's own shaping of rewards, in its order, as names in the shaping catalog. With an advantage per
            token, the function subtracts "kl" token by token.
        lost: what changes the advantage in a run but isn't in a dump.
        source: the file in the framework.
        masked: whether tokens not written by the policy have an advantage too.
        returns: whether the function also gives the return of each token.
        biased: whether turns with equal numbers are compared, so that late turns compare only long rollouts.
        proof: what the numbers are checked against: "package", case by case with a published release; "code", with
            literals that the framework's own code produced; "notes", with numbers worked out by reading its code.
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
        """What the only row of a group gets, as text."""
        word, divide = (
            self._knob("single", _ALONE_BY_TARGET.get(self.target, "zero")),
            self._knob("divide", "group"),
        )
        centre = self._knob("centre", "none" if self.target == f"{HERE}:whitened" else "mean")
        if centre in ("none", "raw", "batch") and not (word == "dead" and divide != "none"):
            return _ALONE["none"]
        return _ALONE["raw" if word == "raw-eps" and divide in ("none", False) else str(word)]

    @property
    def takes_any_row(self) -> bool:
        """Whether the only row of a group is treated like any other, because rows are not compared within groups."""
        return self.alone == _ALONE["none"]

    @property
    def without_reward(self) -> str:
        """How a row without a reward is treated, as text."""
        return _MISSING[self._missing]

    @property
    def spoils(self) -> str:
        """Which other rows become NaN through a row without a reward, as text; "" for none."""
        return _SPOILT.get(self._missing, "")

    def scope_at(self, scale: str | None, *, uneven: bool = False) -> str:
        """The scope at a scale, also for steps with uneven groups: "group", "step", "all" or "order".

        Example:
            >>> centred("x", "y", knobs={"ragged": "cut"}).scope_at(None, uneven=True)
            'all'
        """
        scope = "step" if scale in self.step_scales else self.scope
        return _RAGGED_SCOPE.get(self.ragged, scope) if uneven else scope

    @property
    def _missing(self) -> str:
        word = str(self._knob("missing", _MISSING_BY_TARGET.get(self.target, "nan")))
        if word != "nan":
            return word
        alone = self.level != "turn" and self.takes_any_row
        whitens = not alone or self._knob("whiten", default=True)
        if whitens and self.scope_at(next(iter(self.scales), None)) == "step":
            return "batch"
        return "row" if alone else word

    @property
    def arithmetic(self) -> str:
        """The dtype, and that of the statistics if it differs."""
        dtype, stats = self._knob("dtype", "float32"), self._knob("stats", "")
        return f"{dtype}, statistics {stats}" if stats else str(dtype)

    @property
    def grouping(self) -> str:
        """How the framework forms its groups, as text."""
        where = "by position" if self.positional else "by key"
        return f"{where}, {_RAGGED[self.ragged][0]}" if self.ragged in _RAGGED else where

    @property
    def ragged(self) -> str:
        """How steps with uneven groups are treated, see `blocks.as_cut`; "key" for nothing special."""
        return str(self._knob("ragged", "key"))

    @property
    def as_in_the_run(self) -> str | None:
        """A sentence on how the framework, and so --like, treats such steps; None for nothing special."""
        return _RAGGED[self.ragged][1] if self.ragged in _RAGGED else None

    def _knob(self, knob: str, default: object) -> object:
        """The value of a knob at the default scale."""
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
# What the only row of a group gets, for functions without the knob `single`.
_ALONE_BY_TARGET = {
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
# The scope if a trainer merges uneven groups into one, or splits them by the largest group of all.
_RAGGED_SCOPE = {"batch": "step", "cut": "all"}
_SPOILT = {
    "nan": "its group",
    "group": "its group",
    "later": "its group",
    "batch": "its batch",
    "batches": "its batch and later ones",
    "rest": "all rows after it",
}
_MISSING_BY_TARGET = {
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
        "it treats all rows of an uneven step as one group; --like reproduces this",
    ),
    "cut": (
        "uneven ones cut by the largest",
        "it splits uneven steps by the largest group size and divides leftovers by eps; --like reproduces this",
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
    """A row for the most common rule: minus the group mean, over the group std + eps."""
    knobs = {"eps": eps, "ddof": ddof, **row.pop("knobs", {})}
    usual = GRPO.format(eps=f"{eps:.0e}".replace("e-0", "e-"), ddof=ddof)
    formula = row.pop("formula", usual)
    return Rule(framework, estimator, formula, **GROUPED, knobs=knobs, **{"scales": GROUP, **row})  # type: ignore[arg-type]


def centred(framework: str, estimator: str, **row: Any) -> Rule:  # noqa: ANN401
    """A row for a rule that only subtracts the group mean."""
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
    """A row for a turn-level rule; `function` is "module:function" in `frameworks.arithmetic`."""
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
