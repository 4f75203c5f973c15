"""`inspect`: what is in a dump."""

import shlex
from collections.abc import Iterator
from dataclasses import replace

from advcli.common.errors import DataError
from advcli.common.wording import either
from advcli.dataset.grouping import Sizes, refuse_singletons, sizes_of
from advcli.dataset.load import DataSet
from advcli.inspection.details import Wanted
from advcli.inspection.inspect import inspection
from advcli.pipeline.describe import settings_of
from advcli.pipeline.request import Request
from advcli.records.results.inspection import NEAR_DEAD, Inspection


def inspect(request: Request, wanted: Wanted, *, near_dead: float = NEAR_DEAD) -> Inspection:
    """Describe a dump.

    Args:
        request: the request; keep ratios and filters are ignored, the advantage is the original one.
        wanted: single groups and rows to show.
        near_dead: a live group is near-dead if its rewards span at most this share of the overall range.
    """
    request = replace(request, settings=request.settings.unprocessed())
    plan = request.plan()
    with request.opened() as sources:
        data = request.load(sources, repeats=False)
        plan = plan.at(data.columns())
        result = inspection(data, sources, plan, wanted, near_dead=near_dead, weights=request.columns.weights)
    lint = (*request.warnings, *result.files.lint, *_no_groups(request, data))
    return replace(result, files=replace(result.files, lint=lint), settings=settings_of(plan, request, data))


def _no_groups(request: Request, data: DataSet) -> Iterator[str]:
    """The reason if no rows can be compared with each other; other commands raise an error instead."""
    grouping = data.grouping
    if not data.table.choice.prompt and not request.columns.n:
        likely = [f"--prompt-col {shlex.quote(name)}" for name in data.table.choice.likely] or [
            "--prompt-col COL"
        ]
        ways = either([*likely, "--n ROWS_PER_PROMPT"])
        yield f"no prompt id, so each row is a group of its own; try {ways}"
        return
    seen = Sizes(len(data.table.key), grouping.count, sizes_of(grouping.group, grouping.count))
    try:
        refuse_singletons(data.table, seen, request.columns.n, expected=False)
    except DataError as error:
        yield str(error)
