"""The result of `inspect`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

from advcli.records.off_policy import OffPolicy
from advcli.records.results.compute import UsedColumns, UsedSettings
from advcli.records.results.inspection import (
    Checked,
    DeadCauses,
    Detail,
    Facts,
    Inspection,
    Lengths,
    Parts,
    Phantoms,
    RewardSignal,
    StepFigures,
    Turns,
)
from advcli.records.results.result import Result


@dataclass(frozen=True, kw_only=True)
class InspectedRows:
    """The figures of all rows, or of those with one value of the `--by` column.

    Attributes:
        rows: rows, missing ones included.
        groups: groups.
        steps: steps; 0 without a step column.
        group_sizes: rows per group → number of groups.
        singletons: groups with one usable reward.
        dead_groups: groups with two or more usable rewards, all equal.
        dead_groups_all_max: dead groups at the largest reward.
        dead_groups_all_min: dead groups at the smallest reward, if that is not also the largest.
        near_dead_groups: live groups whose rewards span at most `--near-dead` of the range of all rewards.
        live_groups: groups with two or more usable rewards that are not all equal.
        live_rows: rows with a usable reward in live groups.
        missing: rows without a usable reward.
        missing_by_cause: the same by cause: null, NaN, inf.
        mean_abs_adv: mean |A|.
        max_abs_adv: largest |A|.
        effective_rows: (Σ|A|)² / ΣA²: how many rows of equal |A| would weigh as much.
        rewards: the reward that the estimator uses, then its parts, then further reward columns.
        phantoms: dead groups with an advantage: with these settings, then in each framework.
        constant_outcome: further reward column → live groups in which it is constant.
        parts: how several rewards interact; null with one.
        length: response lengths; null without a length column.
        per_step: one record per step, ascending; empty without a step column.
    """

    rows: int
    groups: int
    steps: int
    group_sizes: Mapping[int, int]
    singletons: int
    dead_groups: int
    dead_groups_all_max: int
    dead_groups_all_min: int
    near_dead_groups: int
    live_groups: int
    live_rows: int
    missing: int
    missing_by_cause: Mapping[str, int]
    mean_abs_adv: float
    max_abs_adv: float
    effective_rows: float
    rewards: tuple[RewardSignal, ...]
    phantoms: tuple[Phantoms, ...]
    constant_outcome: Mapping[str, int]
    parts: Parts | None
    length: Lengths | None
    per_step: tuple[StepFigures, ...]


def facts_of(facts: Facts) -> dict[str, Any]:
    """The fields of `InspectedRows`."""
    signal = facts.signal
    return {
        "rows": facts.rows,
        "groups": facts.groups,
        "steps": facts.steps,
        "group_sizes": facts.sizes,
        "singletons": signal.singletons,
        "dead_groups": signal.dead_groups,
        "dead_groups_all_max": signal.dead_groups_all_max,
        "dead_groups_all_min": signal.dead_groups_all_min,
        "near_dead_groups": signal.near_dead_groups,
        "live_groups": signal.live_groups,
        "live_rows": signal.live_rows,
        "missing": signal.missing,
        "missing_by_cause": signal.missing_by_cause,
        "mean_abs_adv": facts.mean_abs_adv,
        "max_abs_adv": facts.max_abs_adv,
        "effective_rows": facts.effective_rows,
        "rewards": facts.rewards,
        "phantoms": facts.phantoms,
        "constant_outcome": facts.constant_outcome,
        "parts": facts.parts,
        "length": facts.length,
        "per_step": facts.per_step,
    }


@dataclass(frozen=True)
class SplitBy:
    """The figures by the values of a column.

    Attributes:
        column: the column.
        values: value → the figures of its rows.
    """

    column: str
    values: Mapping[str, InspectedRows]


@dataclass(frozen=True, kw_only=True, repr=False)
class InspectResult(Result, InspectedRows):
    """What `advcli inspect` returns.

    Attributes:
        format: name of the detected format.
        files: the inputs.
        columns: the column of each role.
        group_rule: how the rows were grouped, in words.
        lint: what looks wrong, one sentence each.
        duplicates: rows identical to an earlier one in every column, texts included.
        settings: the settings of the advantage.
        rollouts: rollouts of several rows; null if each is one row.
        by: the figures by the values of a column; null without `--by`.
        dead_causes: why groups are dead; null without dead groups, and on Ray.
        off_policy: how far the trainer's policy is from the sampling policy; null without two log-probabilities per
            token, and on Ray.
        details: the requested groups and rows.
        fail_if: each condition of `--fail-if`.
    """

    schema: ClassVar[str] = "advcli/inspect/1"
    format: str
    files: tuple[str, ...]
    columns: UsedColumns
    group_rule: str
    lint: tuple[str, ...]
    duplicates: int
    settings: UsedSettings
    rollouts: Turns | None
    by: SplitBy | None
    dead_causes: DeadCauses | None
    off_policy: OffPolicy | None
    details: tuple[Detail, ...]
    fail_if: tuple[Checked, ...]

    @classmethod
    def of(cls, inspection: Inspection, checked: Sequence[Checked] = ()) -> Self:
        """The JSON record of an inspection.

        Args:
            inspection: the inspection.
            checked: the conditions of `--fail-if`.
        """
        files = inspection.files
        split = {value: InspectedRows(**facts_of(part)) for value, part in inspection.split.items()}
        counted = facts_of(inspection.facts)
        return cls(
            **{**counted, **({"rows": inspection.turns.rows} if inspection.turns else {})},
            format=files.format,
            files=files.names,
            columns=cast("UsedColumns", files.columns),
            group_rule=files.group_rule,
            lint=files.lint,
            duplicates=files.duplicates,
            settings=cast("UsedSettings", inspection.settings),
            rollouts=inspection.turns,
            dead_causes=inspection.causes,
            off_policy=inspection.off_policy,
            by=None if inspection.by is None else SplitBy(inspection.by, split),
            details=inspection.details,
            fail_if=tuple(checked),
        )
