"""`report`: collects the data of the page."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
import torch

from advcli.common.errors import AdvcliError
from advcli.dataset.load import DataSet, counted_once
from advcli.engine.run import run
from advcli.frameworks.rule import Unit
from advcli.inspection import page as report_page
from advcli.inspection.details import Wanted
from advcli.inspection.inspect import inspection
from advcli.io.sources.fingerprint import fingerprints
from advcli.matching.search import Tell
from advcli.pipeline.between import between
from advcli.pipeline.describe import report_of
from advcli.pipeline.match import match
from advcli.pipeline.prompts import over_run
from advcli.pipeline.request import Request
from advcli.pipeline.verify import Second, verdicts
from advcli.records.results.inspection import NEAR_DEAD
from advcli.records.results.page import Page
from advcli.records.results.prompts import Asked as AskedPrompts
from advcli.records.results.prompts import Prompts
from advcli.records.results.verify import Asked as AskedVerifiers
from advcli.records.results.verify import Verify
from advcli.records.settings import Settings
from advcli.records.table import Source
from advcli.records.version import __version__
from advcli.stats.prompts import two_values

_PROMPTS = 10


def report(
    request: Request,
    *,
    texts: int = 20,
    search: bool = True,
    other: Request | None = None,
    check: Callable[[Sequence[Source]], None] | None = None,
    tell: Tell = lambda text: None,
) -> Page:
    """The data of the page of `advcli report`.

    Args:
        request: the request.
        texts: number of extreme groups, and of dead ones, whose responses are included.
        search: search for the rule behind the logged advantage, if there is one.
        other: another run, B, to compare with, or None.
        check: called with the inputs before they are read, to refuse an output that would overwrite them.
        tell: called with a progress message each time rules have been ruled out.
    """
    plan = request.plan()
    wanted = replace(request.columns, find_outcomes=True, named=True)
    with request.opened() as sources:
        if check:
            check(sources)
        data = replace(request, columns=wanted).load(sources, repeats=False)
        columns = data.columns()
        plan = plan.at(columns)
        result = run(plan, columns)
        figures = report_of(request, data, plan, {"original": result.unprocessed(), "processed": result})
        bare = plan.settings.unprocessed()
        inspected = inspection(
            data,
            sources,
            replace(plan, settings=bare),
            Wanted(),
            near_dead=NEAR_DEAD,
            weights=request.columns.weights,
        )
        page = report_page.page(
            data, sources, plan, result, figures, inspected, texts=texts, version=__version__
        )
        page = replace(
            page,
            inputs=fingerprints(sources, data.table),
            made=_now(),
            prompts=_prompts(data, plan.unit),
            verify=_verify(counted_once(data, plan.unit), sources),
        )
        # Standard input and downloads cannot be read twice, but their temporary copies can.
        copies = tuple(str(source.path) for source in sources)
        if other is not None:
            named = replace(request.columns, named=True, ungrouped=True)
            own = replace(request, inputs=copies, columns=named, prefetch=None)
            page = replace(page, between=between(own, other, top=_PROMPTS))
        if search and data.table.logged is not None:
            page = _with_match(page, replace(request, inputs=copies, settings=Settings()), tell)
    return page


def _prompts(data: DataSet, unit: Unit) -> Prompts | None:
    """The prompts over the run; None if no prompt occurs at two steps."""
    if not data.table.prompts or not data.rows.rewards.isfinite().any():
        return None
    result = over_run(data, AskedPrompts(top=_PROMPTS), unit)
    return result if (np.asarray(result.table["steps"]) > 1).any() else None


def _verify(data: DataSet, sources: Sequence[Source]) -> Verify | None:
    """The verdicts, compared with the first further reward that has two values; None if rows are not right or wrong."""
    rewarded = data.rows.rewards.isfinite() & (data.rows.group >= 0)
    if not two_values(data.rows.rewards[rewarded]):
        return None
    others = ((name, torch.from_numpy(values).double()) for name, values in data.table.outcomes.items())
    second = next(
        (Second(values, name) for name, values in others if two_values(values[rewarded & values.isfinite()])),
        None,
    )
    return verdicts(data, sources, AskedVerifiers(), second)


def _now() -> str:
    return f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"


def _with_match(page: Page, request: Request, tell: Tell) -> Page:
    """Add the result of `match`; if the search fails, a remark instead."""
    try:
        return replace(page, match=match(request, tell))
    except AdvcliError as error:
        return replace(page, remarks=(*page.remarks, f"match: {error.message}"))
