"""Put together what `advcli inspect` shows of a data set."""

from collections.abc import Sequence

from torch import Tensor

from advcli.dataset import remarks
from advcli.dataset.load import DataSet
from advcli.engine.run import Plan, run
from advcli.inspection.causes import dead_causes
from advcli.inspection.details import Wanted, details
from advcli.inspection.facts import Frame, facts, split
from advcli.io.lookup import duplicates
from advcli.records.inspection import Files, Inspection
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
        weights: the reward weights that a configuration gave.
    """
    columns = data.columns()
    original = run(plan, columns).original
    shown = details(wanted, data, original, sources)
    frame = Frame.of(data, columns, original, plan.entry.name)
    return Inspection(
        files=_files(data, sources, original, plan, weights),
        facts=facts(frame, near_dead=near_dead),
        by=data.table.choice.by,
        split=split(frame, data, near_dead=near_dead),
        details=shown,
        causes=dead_causes(data, sources),
    )


def _files(
    data: DataSet, sources: Sequence[Source], original: Tensor, plan: Plan, weights: Sequence[float]
) -> Files:
    lint = (*remarks.warnings(data, original, plan.rule, weights=weights), *remarks.inspected(data))
    return Files(
        names=data.table.names,
        format=data.table.choice.format,
        columns=remarks.columns(data),
        group_rule=data.grouping.rule,
        duplicates=duplicates(sources, data.table),
        lint=lint,
    )
