"""The figures of `advcli inspect`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from advcli.records.off_policy import OffPolicy

NEAR_DEAD = 0.01
"""Default of `--near-dead`: a live group is near-dead if its rewards span at most this share of the overall range."""


@dataclass(frozen=True)
class Spreads:
    """The variance components of a reward column; the first three with ddof 0, so that total = within + between.

    Attributes:
        within: mean squared distance of a row from the mean of its group.
        between: mean squared distance of a row's group mean from the mean of all rows.
        total: mean squared distance of a row from the mean of all rows.
        within_unbiased: the variance of the rows of one prompt; NaN if every group has one row.
        between_unbiased: the variance of the prompts' true means; `between` also includes the chance differences of
            group means. Negative if groups differ by less than chance; NaN as above, or with one group.
    """

    within: float
    between: float
    total: float
    within_unbiased: float = math.nan
    between_unbiased: float = math.nan


@dataclass(frozen=True)
class DeadChance:
    """The probability of a dead group at another group size, and the cost of that size.

    Attributes:
        g: the group size.
        p: mean over the groups of the probability that g rewards are all equal; NaN if the data do not determine it.
        low: lower end of the 95% interval of a fitted `p`; NaN if it was counted.
        high: its upper end.
        how: "counted" from the groups with g or more rows, "fitted" (beta-binomial), or "".
        groups: groups with g or more valid rows.
        live_groups: expected number of live groups, among those with two or more valid rows, with g rows each; NaN if `p` is.
        rows_saved: valid rows of these groups minus g per group; negative if that is more than there are.
    """

    g: int
    p: float
    low: float
    high: float
    how: str
    groups: int
    live_groups: float
    rows_saved: int


@dataclass(frozen=True)
class RewardSignal:
    """One reward column: its values and the signal of its groups.

    Attributes:
        name: the column; the sum of several parts is called "reward".
        valid: rows with a usable value.
        missing: rows without one.
        missing_by_cause: the same by cause: null, NaN, inf.
        min: smallest value; like the means and `max`, NaN without valid rows.
        mean: mean of the valid rows.
        mean_over_groups: mean of the group means: each group counts once.
        max: largest value.
        distinct: number of different values.
        at_max: share of the valid rows at the largest value (saturation).
        live_groups: groups with two or more valid rows that are not all equal.
        dead_groups: groups with two or more valid rows, all equal.
        dead_groups_all_max: dead groups at the largest value of the column.
        dead_groups_all_min: dead groups at the smallest value of the column, if that is not the largest.
        near_dead_groups: live groups whose values span at most `near_dead` × the range of the column.
        singletons: groups with one valid row.
        live_rows: valid rows of live groups.
        variance: variance within and between groups, and in total.
        p_dead: the chance of dead groups at other group sizes.
    """

    name: str
    valid: int
    missing: int
    missing_by_cause: Mapping[str, int]
    min: float
    mean: float
    mean_over_groups: float
    max: float
    distinct: int
    at_max: float
    live_groups: int
    dead_groups: int
    dead_groups_all_max: int
    dead_groups_all_min: int
    near_dead_groups: int
    singletons: int
    live_rows: int
    variance: Spreads
    p_dead: tuple[DeadChance, ...]


@dataclass(frozen=True)
class Phantoms:
    """Dead groups that get a nonzero advantage under a rule.

    Attributes:
        rule: framework and estimator; or the settings of the command.
        groups: dead groups with a row whose advantage is not 0.
        rows: such rows.
        max_abs_adv: the largest |A| among them; 0 if there are none.
        skipped: why the rule was not computed; "" if it was.
    """

    rule: str
    groups: int
    rows: int
    max_abs_adv: float
    skipped: str = ""


@dataclass(frozen=True)
class Part:
    """One of several rewards that are summed.

    Attributes:
        name: the column.
        weight: its weight in the sum.
        share: covariance with the sum within groups divided by the variance of the sum there; the shares add up to 1.
        variance: mean squared distance from the group mean, weight included, ddof 0.
        saturated: share of the rows at the largest value of the column.
        constant_in_live: live groups in which this part is constant: live through the other parts.
    """

    name: str
    weight: float
    share: float
    variance: float
    saturated: float
    constant_in_live: int


@dataclass(frozen=True)
class Parts:
    """How several rewards interact.

    Attributes:
        parts: each of them.
        conflicts: share of the rows of live groups that are above the group mean in one part and below it in another.
        collapsed_rows: rows with the same advantage as a row of their group that has different part rewards.
        collapsed_groups: groups with such rows.
    """

    parts: tuple[Part, ...]
    conflicts: float
    collapsed_rows: int
    collapsed_groups: int


@dataclass(frozen=True)
class Lengths:
    """How the length of a response correlates with its reward.

    Attributes:
        mean: tokens per row.
        max: tokens of the longest row.
        with_reward: correlation of length and reward within groups (both minus their group means, pooled).
        with_advantage: the same for length and advantage.
        dead_tokens: share of the tokens that are in dead groups.
    """

    mean: float
    max: float
    with_reward: float
    with_advantage: float
    dead_tokens: float


@dataclass(frozen=True)
class StepFigures:
    """One training step.

    Attributes:
        step: its name in the dump.
        rows: its rows.
        groups: its groups.
        reward_mean: mean reward over valid rows.
        live: share of the groups with two or more valid rows that are not dead.
        mean_abs_adv: mean |A| over rows with an advantage.
        max_abs_adv: the largest |A|.
        max_abs_centred: the largest distance of a reward from the mean of its group: |A| before any scale.
        max_abs_reward: the largest |reward|.
        length_mean: mean length over rows with one; NaN without a length column.
        robust_z: the largest robust z, compared with all steps, of the mean reward (in either direction) and of the three
            largest values; NaN with fewer than five steps.
        stands_out: the names of the figures whose robust z is above the bound.
        outlier: whether any figure of the step stands out.
    """

    step: str
    rows: int
    groups: int
    reward_mean: float
    live: float
    mean_abs_adv: float
    max_abs_adv: float
    max_abs_centred: float
    max_abs_reward: float
    length_mean: float
    robust_z: float
    stands_out: tuple[str, ...] = ()
    outlier: bool = field(init=False)

    def __post_init__(self) -> None:
        # The class is frozen; this field is derived from another.
        object.__setattr__(self, "outlier", bool(self.stands_out))


@dataclass(frozen=True)
class Facts:
    """The figures of all rows, or of those with one value of the `--by` column.

    Attributes:
        rows: rows, missing ones included.
        groups: groups.
        steps: steps; 0 without a step column.
        sizes: group size → number of groups.
        rewards: the reward that the estimator uses, then its parts, then other reward columns.
        mean_abs_adv: mean |A|.
        max_abs_adv: largest |A|.
        effective_rows: (Σ|A|)² / ΣA²: how many rows of equal |A| would weigh as much; NaN if every A is 0.
        phantoms: phantom advantages of the chosen settings, then of each framework.
        constant_outcome: further reward column → live groups in which it is constant: live only through shaping, if that
            column is the raw outcome.
        parts: how several rewards interact; None with one reward column.
        length: length statistics; None without a length column.
        per_step: figures per step, in ascending order; empty without a step column.
    """

    rows: int
    groups: int
    steps: int
    sizes: Mapping[int, int]
    rewards: tuple[RewardSignal, ...]
    mean_abs_adv: float
    max_abs_adv: float
    effective_rows: float
    phantoms: tuple[Phantoms, ...]
    constant_outcome: Mapping[str, int]
    parts: Parts | None
    length: Lengths | None
    per_step: tuple[StepFigures, ...]

    @property
    def signal(self) -> RewardSignal:
        """The reward that the estimator uses."""
        return self.rewards[0]


@dataclass(frozen=True)
class ByTurns:
    """The rollouts with a given number of turns.

    Attributes:
        turns: rows per rollout.
        rollouts: number of such rollouts.
        reward_mean: their mean reward; NaN without one.
    """

    turns: int
    rollouts: int
    reward_mean: float


@dataclass(frozen=True)
class Anchors:
    """The states in which turns begin, compared within groups.

    Attributes:
        turns: turns with a state.
        states: number of different states.
        shared_share: share of those turns whose state occurs in another turn of their group, in [0, 1]; NaN without one.
        dead_share: share of the groups with several rollouts in which all rewards are equal; NaN without such groups.
        only_share: share of them with signal through states alone: equal rewards, but different returns from some state
            (γ 0.95).
    """

    turns: int
    states: int
    shared_share: float
    dead_share: float
    only_share: float


@dataclass(frozen=True)
class Turns:
    """Rollouts of several rows.

    Attributes:
        rollouts: rollouts that belong to a group.
        rows: all rows, including those without a group.
        turns_mean: mean number of rows per rollout.
        turns_max: rows of the longest rollout.
        several_steps: rollouts with rows of several steps.
        differ: rollouts whose rows have different rewards.
        largest_share_of_rows: the largest share of a group's rows that belongs to one rollout: its weight in a mean over
            rows; NaN if no group has two rollouts.
        its_share_of_rollouts: its weight in a mean over rollouts.
        reward_by_rollouts: mean reward over rollouts.
        reward_by_rows: mean reward over rows, as logged by trainers that count rows.
        by_turns: rollouts and rewards by the number of turns, fewest first.
        anchors: the states before turns; null without a state column.
    """

    rollouts: int
    rows: int
    turns_mean: float
    turns_max: int
    several_steps: int
    differ: int
    largest_share_of_rows: float
    its_share_of_rollouts: float
    reward_by_rollouts: float
    reward_by_rows: float
    by_turns: tuple[ByTurns, ...]
    anchors: Anchors | None = None


@dataclass(frozen=True)
class Files:
    """What was read.

    Attributes:
        names: the inputs.
        format: name of the format.
        columns: role → its column or columns.
        group_rule: how the rows were grouped, in words.
        duplicates: rows identical to an earlier one in every column, texts included.
        lint: what looks wrong, one line each.
    """

    names: tuple[str, ...]
    format: str
    columns: Mapping[str, Any]
    group_rule: str
    duplicates: int
    lint: tuple[str, ...]


@dataclass(frozen=True)
class DeadCauses:
    """Why groups are dead; a group may have several causes.

    Attributes:
        groups: dead groups.
        all_max: those at the largest reward of the data set: always solved; 0 if all rewards are equal.
        all_min: those at the smallest: never solved.
        read: dead groups whose rows were read back, an even sample; the counts from here on are over these.
        same_text: groups in which more than half of the rows have the same text; None without a response column.
        truncated: groups in which every row was truncated; None if nothing tells.
        truncated_by: how that is known: a column, or the length.
        failed: groups in which every row failed; None if no column tells.
        failed_by: the column that tells.
        unexplained: groups with none of these three causes.
        constant_parts: part of the reward → dead groups (of all) in which it is constant; {} with one reward.
    """

    groups: int
    all_max: int
    all_min: int
    read: int
    same_text: int | None
    truncated: int | None
    truncated_by: str
    failed: int | None
    failed_by: str
    unexplained: int
    constant_parts: Mapping[str, int]


@dataclass(frozen=True)
class Detail:
    """Some groups or rows, one by one.

    Attributes:
        title: the heading of the list.
        kind: "groups" or "rows".
        lines: the figures of each.
        left: how many more there are.
    """

    title: str
    kind: str
    lines: tuple[Mapping[str, Any], ...]
    left: int = 0


@dataclass(frozen=True)
class Inspection:
    """Everything that `advcli inspect` shows.

    Attributes:
        files: what was read.
        facts: the figures of all rows.
        settings: the settings of the advantage.
        by: the column that splits the figures, or None.
        split: value of that column → the figures of its rows.
        details: the requested groups and rows.
        notes: remarks on how figures were computed.
        causes: why groups are dead; None without dead groups, or on Ray.
        turns: the rollouts; None if each is one row.
        off_policy: the off-policy figures; None without two log-probabilities per token, or on Ray.
    """

    files: Files
    facts: Facts
    settings: Mapping[str, Any] = field(default_factory=dict)
    by: str | None = None
    split: Mapping[str, Facts] = field(default_factory=dict)
    details: tuple[Detail, ...] = ()
    notes: tuple[str, ...] = ()
    causes: DeadCauses | None = None
    turns: Turns | None = None
    off_policy: OffPolicy | None = None


@dataclass(frozen=True)
class Checked:
    """A condition of `--fail-if`, and whether it is true.

    Attributes:
        condition: the condition as typed.
        value: the figure; NaN if undefined.
        held: whether the condition is true.
    """

    condition: str
    value: float
    held: bool
