"""`report`: everything that is on the page."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from advcli.engine.run import run
from advcli.errors import AdvcliError
from advcli.inspection import page as report_page
from advcli.inspection.details import Wanted
from advcli.inspection.inspect import inspection
from advcli.io.sources.fingerprint import fingerprints
from advcli.matching.search import Tell
from advcli.pipeline.describe import report_of
from advcli.pipeline.match import match
from advcli.pipeline.request import Request
from advcli.records.inspection import NEAR_DEAD
from advcli.records.page import Page
from advcli.records.settings import Settings
from advcli.records.table import Source
from advcli.records.version import __version__


def report(
    request: Request,
    *,
    texts: int = 20,
    search: bool = True,
    check: Callable[[Sequence[Source]], None] | None = None,
    tell: Tell = lambda text: None,
) -> Page:
    """Everything on the page of `advcli report`.

    Args:
        request: what to do.
        texts: of how many extreme groups, and of how many dead ones, the responses are shown.
        search: look for the rule that made the logged advantage, if there is one.
        check: called with the inputs before they are read, to refuse what must not be written.
        tell: takes a line each time rules have been ruled out.
    """
    plan = request.plan()
    wanted = replace(request.columns, find_outcomes=True)
    with request.opened() as sources:
        if check:
            check(sources)
        data = replace(request, columns=wanted).load(sources, repeats=False)
        columns = data.columns()
        plan = plan.at(columns)
        result = run(plan, columns)
        figures = report_of(request, data, plan, {"original": result.unprocessed(), "processed": result})
        bare = plan.settings.unprocessed()
        found = inspection(
            data,
            sources,
            replace(plan, settings=bare),
            Wanted(),
            near_dead=NEAR_DEAD,
            weights=request.columns.weights,
        )
        page = report_page.page(data, sources, plan, result, figures, found, texts=texts, version=__version__)
        page = replace(page, inputs=fingerprints(sources, data.table), made=_now())
        if search and data.table.logged is not None:
            # Standard input and what lay behind a URL cannot be read twice; their copies can.
            copies = tuple(str(source.path) for source in sources)
            page = _with_match(page, replace(request, inputs=copies, settings=Settings()), tell)
    return page


def _now() -> str:
    return f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"


def _with_match(page: Page, request: Request, tell: Tell) -> Page:
    """The page with what `match` says; a log that cannot be searched is no reason to have no page."""
    try:
        return replace(page, match=match(request, tell))
    except AdvcliError as error:
        return replace(page, remarks=(*page.remarks, f"match: {error.message}"))
