"""`match`: which rules the logged advantages are consistent with."""

from collections.abc import Sequence
from dataclasses import replace

from advcli.common.errors import DataError
from advcli.common.wording import Remark, either
from advcli.dataset.load import repeats
from advcli.io.formats.catalog import LOGGED
from advcli.io.read import look, read
from advcli.matching import match as matching
from advcli.matching.inference.shapers import usual
from advcli.matching.search import Tell
from advcli.pipeline.request import Request
from advcli.records.results.match import Match
from advcli.records.table import RewardTable


def match(request: Request, tell: Tell = lambda text: None) -> Match:
    """Find the rules that the logged advantages are consistent with.

    Args:
        request: what to do; its settings narrow the rules that are tried (`like`, `estimator`, `scale`).
        tell: takes a line each time rules have been ruled out.
    """
    columns = request.columns
    wanted = columns.as_logged()
    with request.opened() as sources:
        # A missing reward is no error here, and may be one to whoever read ahead.
        ahead = None if request.settings.missing == "error" else request.ahead(sources, wanted)
        table = logged(ahead or read(sources, wanted, skip_bad_rows=request.skip_bad_rows))
        # The rows are the same ones, whichever columns are read.
        doubled = repeats(table, sources)
        table = _saying(table, doubled)
        outcome, first = matching.searched(table, n=columns.n, only=request.settings, tell=tell)
        if not outcome.found and len(table.choice.rewards) == 1 and not columns.rewards:
            apart = replace(wanted, parts="always")
            if look(sources, apart, skip_bad_rows=request.skip_bad_rows)[1].rewards != table.choice.rewards:
                parts = _saying(read(sources, apart, skip_bad_rows=request.skip_bad_rows), doubled)
                again = matching.match(parts, n=columns.n, only=request.settings, tell=tell)
                outcome = again if again.found else outcome
        if not outcome.found and first is not None and not first.explained:
            kinds = look(sources, wanted, skip_bad_rows=request.skip_bad_rows)[0].kinds
            more = tuple(text for text in usual(kinds) if text not in wanted.measures)
            wider = replace(wanted, extra=(*wanted.extra, *more), measures=(*wanted.measures, *more))
            table = _saying(read(sources, wider, skip_bad_rows=True), doubled) if more else table
            shaped = matching.shaped(table, first, n=columns.n, only=request.settings, tell=tell)
            # What fits every row and cannot be told says more than that nothing fits.
            outcome = shaped if shaped and (shaped.found or not outcome.evidence) else outcome
    return replace(outcome, warnings=(*request.warnings, *outcome.warnings))


def _saying(table: RewardTable, said: Sequence[Remark]) -> RewardTable:
    return replace(table, warnings=(*table.warnings, *said))


def logged(table: RewardTable) -> RewardTable:
    """The same table; an error if it has no logged advantage."""
    if table.logged is None:
        raise DataError(
            f"no logged advantage: no column {either(LOGGED)}; there are numbers or lists in "
            f"{', '.join(table.choice.others) or 'no other column'}",
            hint="--logged-col COL",
        )
    return table
