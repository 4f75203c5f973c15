"""Collects the figures of `advcli inspect`."""

from collections.abc import Sequence

from advcli.dataset import remarks
from advcli.dataset.load import DataSet, by_unit
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.inspection.causes import dead_causes
from advcli.inspection.details import Wanted, details
from advcli.inspection.facts import Frame, facts, split
from advcli.inspection.off_policy import left_out, off_policy
from advcli.inspection.turns import turns
from advcli.io.lookup import duplicates
from advcli.records.results.inspection import Files, Inspection
from advcli.records.settings import AdvantageTable
from advcli.records.table import Source


def inspection(
    data: DataSet,
    sources: Sequence[Source],
    plan: Plan,
    wanted: Wanted,
    *,
    near_dead: float,
    weights: Sequence[float] = (),
) -> Inspection:
    """Describe a data set, its files and its advantages.

    Args:
        data: the data set.
        sources: its files.
        plan: how the advantage is computed.
        wanted: single groups and rows to show.
        near_dead: see `stats.signal.signal`.
        weights: the reward weights of the configuration.
    """
    result = run(plan, data.columns())
    shown = details(wanted, data, result.original, sources)
    unit, inner = by_unit(data, {"original": result}, plan.unit.reward)
    frame = Frame.of(unit, unit.columns(), inner["original"].original, plan.entry.name)
    return Inspection(
        files=_files(data, sources, result, plan, weights),
        facts=facts(frame, near_dead=near_dead),
        by=data.table.choice.by,
        split=split(frame, unit, near_dead=near_dead),
        details=shown,
        causes=dead_causes(data, sources),
        turns=turns(data, plan.unit.reward),
        off_policy=off_policy(data, plan.settings.like, result.original),
    )


def _files(
    data: DataSet, sources: Sequence[Source], result: AdvantageTable, plan: Plan, weights: Sequence[float]
) -> Files:
    lint = (
        *remarks.warnings(data, result.original, plan.rule, weights=weights),
        *remarks.unit(data, plan.unit, {"original": result}),
        *remarks.inspected(data),
        *left_out(data),
    )
    return Files(
        names=data.table.names,
        format=data.table.choice.format,
        columns=remarks.columns(data),
        group_rule=data.grouping.rule,
        duplicates=duplicates(sources, data.table),
        lint=lint,
    )
