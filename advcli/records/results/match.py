"""The result of `match`: the rules that the logged advantages are consistent with, or where the best rule fails."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from advcli.common.wording import counted, pairs
from advcli.records.results.result import Result, fields_of

_IN_COLUMNS = ("eps", "ddof")


@dataclass(frozen=True)
class Evidence:
    """How much evidence a log has for a rule.

    Attributes:
        rows: rows that tell rules apart: their group's rewards differ, or the rule gives a dead group a nonzero number.
        compared: rows that were compared.
        groups: groups with such rows.
        live: groups whose rewards differ.
        patterns: different groups, by the |A| of their rows; at most the number of different |A|.
        chance: the probability that one more pattern agrees by chance.
    """

    rows: int
    compared: int
    groups: int
    live: int
    patterns: int
    chance: float

    @property
    def words(self) -> str:
        """The evidence in words.

        Example:
            >>> Evidence(12, 20, 3, 4, 2, 1e-5).words
            '12 of 20 rows (60.0%) and 3 of 4 live groups tell rules apart; the rest fit many rules'
        """
        share = 100 * self.rows / max(self.compared, 1)
        rest = "; the rest fit many rules" if self.rows < self.compared else ""
        # If the rule gives dead groups a nonzero number, those count as evidence too.
        of = f"{self.groups:,} of {counted(self.live, 'live group')}"
        groups = of if self.groups <= self.live else counted(self.groups, "group")
        return f"{self.rows:,} of {counted(self.compared, 'row')} ({share:.1f}%) and {groups} tell rules apart{rest}"


@dataclass(frozen=True)
class Fit:
    """One rule, and how well it reproduces the logged advantages.

    Attributes:
        framework: the framework of the rule; None for an estimator of advcli's own catalog.
        version: the range of versions that the rule covers; None for all.
        estimator: its name in the framework or the catalog.
        scale: "group", "batch", "none", or None if there is no choice.
        ddof: degrees of freedom subtracted from the divisor of the variance; None if the rule does not divide.
        eps: added to the standard deviation; None if the rule does not divide.
        grouping: how the rows were grouped, in words.
        max_abs_diff: largest |logged − computed|; NaN if nothing could be compared.
        share_matched: share of the compared rows within 1e-5, in [0, 1].
        reason: why it cannot be distinguished from the best one; "" for the best one.
        options: knobs that differ from the defaults, as `--estimator` takes them.
    """

    framework: str | None
    version: str | None
    estimator: str
    scale: str | None
    ddof: int | None
    eps: float | None
    grouping: str
    max_abs_diff: float
    share_matched: float
    reason: str = ""
    options: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the rule on screen; eps and ddof of an estimator of the catalog have their own columns.

        Example:
            >>> Fit("trl", ">=1.6", "grpo", "group", 1, 1e-4, "'prompt'", 0.0, 1.0).name
            'trl >=1.6 grpo, scale group'
            >>> Fit(None, None, "pkpo", None, None, None, "'prompt'", 0.0, 1.0, "", {"k": 4}).name
            'pkpo:k=4'
        """
        excluded = () if self.framework else _IN_COLUMNS
        options = {name: value for name, value in self.options.items() if name not in excluded}
        estimator = f"{self.estimator}{pairs(options)}"
        words = " ".join(filter(None, (self.framework, self.version, estimator)))
        return f"{words}, scale {self.scale}" if self.scale else words


@dataclass(frozen=True)
class Break:
    """A row that the best rule does not reproduce.

    Attributes:
        place: file:line.
        group: number of its group.
        step: its step; "" without steps.
        reward: its reward, NaN where missing.
        logged: the advantage in the dump.
        computed: the advantage of the rule, NaN where undefined.
    """

    place: str
    group: int
    step: str
    reward: float
    logged: float
    computed: float


@dataclass(frozen=True)
class Breaks:
    """Where the best rule does not fit.

    Attributes:
        rows: rows that do not fit.
        compared: rows that were compared.
        groups: groups with such a row.
        all_groups: number of groups.
        steps: names of the steps with such a row, in file order; () without steps.
        all_steps: number of steps.
        worst: the rows that are furthest off.
        alone: whether each of them is the only row of its group.
    """

    rows: int
    compared: int
    groups: int
    all_groups: int
    steps: tuple[str, ...]
    all_steps: int
    worst: tuple[Break, ...]
    alone: bool = False


@dataclass(frozen=True)
class Match:
    """What `match` shows.

    Attributes:
        found: whether the log is consistent with a rule: the rule reproduces every row that has a logged advantage, and the
            log determines everything that was fitted.
        sentence: what the log is consistent with, or why nothing was found.
        best: the rule that fits best; None if none could be tried.
        indistinguishable: rules that fit equally, each with the reason why this log cannot distinguish it from the best.
        evidence: how much evidence the log has for the best rule; None if no rule fits every row.
        apart: what would tell the rules that fit equally apart.
        others: the next best rules.
        weights: reward column → inferred weight, None if it is not determined; None if no weight was inferred.
        after: changes to the rule's advantages after it, name → value ("keep_pos", "clip", …).
        shape: how the rewards were shaped before the rule, as `--shape` takes it; None if not at all.
        command: the options of `advcli compute` that reproduce the logged advantages; None if no options do.
        rows: rows.
        compared: rows with a logged advantage.
        tolerance: largest difference that counts as equal.
        tried: rules × groupings that were tried.
        breaks: where the best rule does not fit; None if it does.
        causes: what was tried to explain the remaining rows, most likely first.
        notes: how columns were read, and what could not be tried.
        warnings: what looks wrong.
    """

    found: bool
    sentence: str
    best: Fit | None
    indistinguishable: tuple[Fit, ...] = ()
    evidence: Evidence | None = None
    apart: tuple[str, ...] = ()
    others: tuple[Fit, ...] = ()
    weights: Mapping[str, float | None] | None = None
    after: Mapping[str, object] = field(default_factory=dict)
    shape: str | None = None
    command: str | None = None
    rows: int = 0
    compared: int = 0
    tolerance: float = 0.0
    tried: int = 0
    breaks: Breaks | None = None
    causes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class MatchResult(Result):
    """What `advcli match` returns.

    Attributes:
        found: whether a rule reproduces every row that has a logged advantage, and the log determines everything that was
            fitted.
        sentence: the answer in words.
        best: the rule that fits best; null if none could be tried.
        indistinguishable: rules that these rows cannot distinguish from the best one, each with its reason.
        evidence: how much evidence the log has for the best rule; null if no rule fits every row.
        apart: what would tell the rules that fit equally apart.
        others: the next best rules.
        weights: reward column → inferred weight, null if it is not determined; null if none was inferred.
        after: changes to the rule's advantages after it, name → value.
        shape: how the rewards were shaped before the rule, as `--shape` takes it; null if not at all.
        command: the command that computes the logged advantages, in Python only its options; null if no command does.
        rows: rows.
        compared: rows with a logged advantage.
        tolerance: largest difference that counts as equal.
        tried: rules × groupings that were tried.
        breaks: where the best rule does not fit; null if it does.
        causes: what was tried to explain the remaining rows, most likely first.
        notes: how columns were read, and what could not be tried.
        warnings: what looks wrong, one sentence each.
    """

    schema: ClassVar[str] = "advcli/match/1"
    found: bool
    sentence: str
    best: Fit | None
    indistinguishable: tuple[Fit, ...]
    evidence: Evidence | None
    apart: tuple[str, ...]
    others: tuple[Fit, ...]
    weights: Mapping[str, float | None] | None
    after: Mapping[str, Any]
    shape: str | None
    command: str | None
    rows: int
    compared: int
    tolerance: float
    tried: int
    breaks: Breaks | None
    causes: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, match: Match) -> Self:
        """The JSON record of a search."""
        return cls(**fields_of(match))
