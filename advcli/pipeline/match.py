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
        request: the request; its settings narrow the rules that are tried (`like`, `estimator`, `scale`).
        tell: called with a progress message each time rules have been ruled out.
    """
    columns = request.columns
    wanted = columns.as_logged()
    with request.opened() as sources:
        # A missing reward is not an error here, but the prefetch may refuse it.
        prefetched = None if request.settings.missing == "error" else request.prefetched(sources, wanted)
        table = logged(prefetched or read(sources, wanted, skip_bad_rows=request.skip_bad_rows))
        # Duplicates don't depend on the columns that are read.
        duplicates = repeats(table, sources)
        table = _with_warnings(table, duplicates)
        outcome, first = matching.searched(table, n=columns.n, only=request.settings, tell=tell)
        if not outcome.found and len(table.choice.rewards) == 1 and not columns.rewards:
            as_parts = replace(wanted, parts="always")
            if (
                look(sources, as_parts, skip_bad_rows=request.skip_bad_rows)[1].rewards
                != table.choice.rewards
            ):
                parts = read(sources, as_parts, skip_bad_rows=request.skip_bad_rows)
                parts = _with_warnings(parts, duplicates)
                retry = matching.match(parts, n=columns.n, only=request.settings, tell=tell)
                outcome = retry if retry.found else outcome
        if not outcome.found and first is not None and not first.explained:
            kinds = look(sources, wanted, skip_bad_rows=request.skip_bad_rows)[0].kinds
            more = tuple(text for text in usual(kinds) if text not in wanted.measures)
            wider = replace(wanted, extra=(*wanted.extra, *more), measures=(*wanted.measures, *more))
            table = _with_warnings(read(sources, wider, skip_bad_rows=True), duplicates) if more else table
            shaped = matching.shaped(table, first, n=columns.n, only=request.settings, tell=tell)
            # A shaping that fits every row but is not determined is more informative than no fit at all.
            outcome = shaped if shaped and (shaped.found or not outcome.evidence) else outcome
    return replace(outcome, warnings=(*request.warnings, *outcome.warnings))


def _with_warnings(table: RewardTable, warnings: Sequence[Remark]) -> RewardTable:
    return replace(table, warnings=(*table.warnings, *warnings))


def logged(table: RewardTable) -> RewardTable:
    """Return the table, or raise if it has no logged advantage."""
    if table.logged is None:
        raise DataError(
            f"no logged advantage: no column {either(LOGGED)}; there are numbers or lists in "
            f"{', '.join(table.choice.others) or 'no other column'}",
            hint="--logged-col COL",
        )
    return table
