"""What `advcli inspect` finds: what is in a dump, and what its groups carry."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from advcli.records.off_policy import OffPolicy

NEAR_DEAD = 0.01
"""A live group whose spread is at most this share of the range of the rewards is near dead, unless the user says so."""


@dataclass(frozen=True)
class Spreads:
    """The variance of a reward column, taken apart; the first three with ddof 0, so that total = within + between.

    Attributes:
        within: mean squared distance of a row from the mean of its group.
        between: mean squared distance of a row's group mean from the mean of all rows.
        total: mean squared distance of a row from the mean of all rows.
        within_unbiased: the variance of the rows of one prompt; NaN where every group has one row.
        between_unbiased: the variance of the true means of prompts, which `between` overstates by what chance adds to
            the mean of a group; negative where the groups differ by less than chance; NaN as above, or with one group.
    """

    within: float
    between: float
    total: float
    within_unbiased: float = math.nan
    between_unbiased: float = math.nan


@dataclass(frozen=True)
class DeadChance:
    """How probable it is that a group is dead at another group size, and what that size would cost.

    Attributes:
        g: the group size.
        p: mean over the groups of the probability that g rewards are all equal; NaN where the data do not tell.
        low: lower end of the 95% interval of a fitted `p`; NaN where it was counted.
        high: its upper end.
        how: "counted" from the groups with g or more rows, "fitted" (beta-binomial), or "".
        groups: groups with g or more valid rows.
        live_groups: how many of the groups with two or more valid rows would be live with g rows each; NaN as `p`.
        rows_saved: valid rows of these groups, less g for each; negative where g rows are more.
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
    """One reward column: its values, and what its groups carry.

    Attributes:
        name: the column; the sum of several parts is called "reward".
        valid: rows with a usable value.
        missing: rows without.
        missing_by_cause: the same, apart.
        min: smallest value; NaN without valid rows, as the means and `max`.
        mean: mean of the valid rows.
        mean_over_groups: mean over the groups of the means of their valid rows: each group counts once.
        max: largest value.
        distinct: how many different values there are.
        at_max: share of the valid rows at the largest value (saturation).
        live_groups: groups with two or more valid rows that are not all equal.
        dead_groups: groups with two or more valid rows, all equal.
        dead_groups_all_max: dead groups at the largest value of the column.
        dead_groups_all_min: dead groups at the smallest value of the column, where it is not the largest.
        near_dead_groups: live groups whose spread is at most `near_dead` × the range of the column.
        singletons: groups with one valid row.
        live_rows: valid rows of live groups.
        variance: within and between the groups, and in total.
        p_dead: how many groups would be dead at other sizes.
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
    """Dead groups to which an arithmetic gives an advantage.

    Attributes:
        rule: framework and estimator; or the settings of the command.
        groups: dead groups with a row whose advantage is not 0.
        rows: such rows.
        max_abs_adv: the largest |A| among them; 0 with none.
        skipped: why it was not computed; "" if it was.
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
        share: covariance with the sum inside the groups over the variance of the sum there; the shares add up to 1.
        variance: mean squared distance from the group mean, weight included, ddof 0.
        saturated: share of the rows at the largest value of the column.
        constant_in_live: groups where this part is constant although the sum is not: alive through the others.
    """

    name: str
    weight: float
    share: float
    variance: float
    saturated: float
    constant_in_live: int


@dataclass(frozen=True)
class Parts:
    """How several rewards play together.

    Attributes:
        parts: each of them.
        conflicts: share of the rows of live groups that one part lifts above its group and another pushes below.
        collapsed_rows: rows whose advantage is shared, in their group, by a row with other rewards.
        collapsed_groups: groups with such rows.
    """

    parts: tuple[Part, ...]
    conflicts: float
    collapsed_rows: int
    collapsed_groups: int


@dataclass(frozen=True)
class Lengths:
    """How the length of a response goes with its reward.

    Attributes:
        mean: tokens per row.
        max: the longest.
        with_reward: correlation of length and reward inside groups (both less their group means, pooled).
        with_advantage: the same of length and advantage.
        dead_tokens: share of the tokens that lie in dead groups.
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
        step: as the dump calls it.
        rows: its rows.
        groups: its groups.
        reward_mean: over valid rows.
        live: share of the groups with two or more valid rows that are not dead.
        mean_abs_adv: over rows with an advantage.
        max_abs_adv: the largest |A|.
        max_abs_centred: the largest distance of a reward from the mean of its group: |A| before any scale.
        max_abs_reward: the largest |reward|.
        length_mean: over rows with a length; NaN without a length column.
        robust_z: the largest of the robust z of the mean reward (either way) and of the three largest values among all
            steps; NaN with fewer than five.
        stands_out: the names of those whose robust z is above the bound.
        outlier: whether anything of the step stands out.
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
        # Frozen, and wholly told by another field.
        object.__setattr__(self, "outlier", bool(self.stands_out))


@dataclass(frozen=True)
class Facts:
    """Every figure of some rows: of all of them, or of those with one value of the `--by` column.

    Attributes:
        rows: rows, missing ones included.
        groups: groups.
        steps: steps; 0 without a step column.
        sizes: group size → how many groups.
        rewards: the reward that the estimator takes, then its parts, then other reward columns.
        mean_abs_adv: mean |A|.
        max_abs_adv: largest |A|.
        effective_rows: (Σ|A|)² / ΣA²: how many rows of equal |A| would weigh as much; NaN where no A differs from 0.
        phantoms: of the chosen settings, then of each framework.
        constant_outcome: further reward column → live groups in which it is constant: alive through shaping, if that
            column is the raw outcome.
        parts: None with one reward column.
        length: None without a length column.
        per_step: in ascending order; empty without a step column.
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
        """The reward that the estimator takes."""
        return self.rewards[0]


@dataclass(frozen=True)
class ByTurns:
    """The rollouts with one number of turns.

    Attributes:
        turns: rows of each.
        rollouts: how many there are.
        reward_mean: their mean reward; NaN without one.
    """

    turns: int
    rollouts: int
    reward_mean: float


@dataclass(frozen=True)
class Anchors:
    """The states that turns begin in, each group's apart.

    Attributes:
        turns: turns with a state.
        states: how many different ones.
        shared_share: share of those turns whose state another turn of their group has, in [0, 1]; NaN without one.
        dead_share: share of the groups of several rollouts whose rollouts have equal rewards; NaN without such groups.
        only_share: share of them that have signal through states alone: equal rewards, and from some state different returns
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
        rollouts: rollouts of a group.
        rows: all rows, those without a group too.
        turns_mean: rows of a rollout.
        turns_max: rows of the longest.
        several_steps: rollouts with rows of several steps.
        differ: rollouts whose rows have different rewards.
        largest_share_of_rows: the largest share that one rollout has of the rows of its group: its weight in a mean over
            rows; NaN where no group has two rollouts.
        its_share_of_rollouts: what its weight is where rollouts count.
        reward_by_rollouts: mean reward of the rollouts.
        reward_by_rows: mean reward of the rows, which a trainer that counts rows logs.
        by_turns: the same by the number of turns, fewest first.
        anchors: the states before turns; null without a column of them.
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
        columns: part → the column or columns that play it.
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
    """What dead groups have in common; a group may count in several ways.

    Attributes:
        groups: dead groups.
        all_max: those at the largest reward of the data set: always solved; 0 where there is one reward only.
        all_min: those at the smallest: never solved.
        read: dead groups whose rows were read back, evenly from all; the counts from here on are over them.
        same_text: groups in which more than half of the rows have one text; None without a response column.
        truncated: groups of which every row was cut off; None where nothing tells.
        truncated_by: the column that says so, or the length.
        failed: groups of which every row failed; None where nothing tells.
        failed_by: the column that says so.
        unexplained: groups that count in none of these three.
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
        title: what they are.
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
        facts: every figure of all rows.
        settings: the estimator whose advantages are meant.
        by: the column that splits the figures, or None.
        split: value of that column → every figure of its rows.
        details: the groups and rows that were asked for.
        notes: how figures came about, where that is worth knowing.
        causes: why groups are dead; None without dead groups, or on Ray.
        turns: the rollouts; None where each is one row.
        off_policy: what two log-probabilities of each token tell; None without them, or on Ray.
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
    """A condition of `--fail-if`, and whether it held.

    Attributes:
        condition: as the user may type it.
        value: the figure; NaN if the data do not define it.
        held: whether the condition holds.
    """

    condition: str
    value: float
    held: bool
