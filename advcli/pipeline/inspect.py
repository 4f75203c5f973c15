"""`inspect`: what is in a dump."""

from dataclasses import replace

from advcli.inspection.details import Wanted
from advcli.inspection.inspect import inspection
from advcli.pipeline.describe import settings_of
from advcli.pipeline.request import Request
from advcli.records.inspection import NEAR_DEAD, Inspection


def inspect(request: Request, wanted: Wanted, *, near_dead: float = NEAR_DEAD) -> Inspection:
    """Say what is in a dump.

    Args:
        request: what to do; keep ratios and filters are left out, the advantage is the original one.
        wanted: single groups and rows to show.
        near_dead: a live group whose spread is at most this share of the range of the rewards is near dead.
    """
    request = replace(request, settings=request.settings.unprocessed())
    plan = request.plan()
    with request.opened() as sources:
        data = request.load(sources, repeats=False)
        plan = plan.at(data.columns())
        found = inspection(data, sources, plan, wanted, near_dead=near_dead, weights=request.columns.weights)
    lint = (*request.warnings, *found.files.lint)
    return replace(found, files=replace(found.files, lint=lint), settings=settings_of(plan, request, data))
