"""What a reader should know first: a sentence each, with links to the plot, the table or the groups that show it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from advcli.common.wording import counted, shortened, verb
from advcli.records.results.inspection import StepFigures
from advcli.records.results.page import Page
from advcli.render.inspection import standing_out
from advcli.render.numbers import number, share
from advcli.render.prompts import states_line
from advcli.render.report import query

# Weaker correlations of length and advantage, and smaller shares of the live groups, are no finding.
_CORRELATED = 0.2
_NOTABLE = 0.1
_STEPS = 3
_RULES = 3


@dataclass(frozen=True)
class Link:
    """Where a finding can be seen.

    Attributes:
        label: what is there.
        target: id of an element of the page.
        find: what the list of groups is filtered by; "" where the target is not the list.
    """

    label: str
    target: str
    find: str = ""


@dataclass(frozen=True)
class Finding:
    """A sentence.

    Attributes:
        text: the sentence.
        links: where to look.
        doubt: whether it says that something may be wrong.
        name: its id on the page; "" for none.
    """

    text: str
    links: tuple[Link, ...] = ()
    doubt: bool = False
    name: str = ""


def findings(page: Page) -> tuple[Finding, ...]:
    """Everything worth a sentence, the most important first."""
    return tuple(finding for find in _FINDINGS for finding in find(page))


def _groups(label: str, find: str) -> Link:
    return Link(label, "browse", find)


def _dead(page: Page) -> Iterator[Finding]:
    signal = page.inspection.facts.signal
    able = signal.live_groups + signal.dead_groups
    if not able:
        yield Finding("No group has two valid rewards: nothing can be compared.", doubt=True)
        return
    if not signal.dead_groups:
        said = verb(able, "The only group carries a signal.", f"All {able:,} groups carry a signal.")
        yield Finding(said, (Link("plot", "groups"),))
        return
    between = signal.dead_groups - signal.dead_groups_all_max - signal.dead_groups_all_min
    kinds = (
        (signal.dead_groups_all_max, "solved by every row"),
        (signal.dead_groups_all_min, "by none"),
        (between, "constant in between"),
    )
    # Of one reward only, nothing can be said to be solved or not.
    said = ", ".join(f"{count:,} {what}" for count, what in kinds if count and signal.min != signal.max)
    of_kinds = f": {said}" if said else ""
    carries = verb(signal.dead_groups, "carries", "carry")
    yield Finding(
        f"{signal.dead_groups:,} of {counted(able, 'group')} ({share(signal.dead_groups / able)}) {carries} no signal{of_kinds}.",
        (_groups("groups", "state:dead"), Link("plot", "groups")),
    )


def _match(page: Page) -> Iterator[Finding]:
    if page.match:
        yield Finding(f"Logged advantage: {page.match.sentence}", doubt=not page.match.found, name="match")


def _kept(page: Page) -> Iterator[Finding]:
    original, processed = page.report.columns
    if processed.kept_rows == original.kept_rows:
        return
    part = share(processed.kept_rows / original.kept_rows)
    yield Finding(
        f"{processed.kept_rows:,} of {counted(original.kept_rows, 'row')} with an advantage ({part}) are trained on; mean |A| "
        f"goes from {number(original.figures.mean_abs)} to {number(processed.figures.mean_abs)}.",
        (Link("plot", "advantage"), Link("other ratios", "keep-ratios")),
    )


def _missing(page: Page) -> Iterator[Finding]:
    signal = page.inspection.facts.signal
    if signal.missing:
        causes = ", ".join(f"{count:,} {cause}" for cause, count in signal.missing_by_cause.items() if count)
        rows = counted(page.inspection.facts.rows, "row")
        has = verb(signal.missing, "has", "have")
        yield Finding(
            f"{signal.missing:,} of {rows} {has} no usable reward: {causes}.",
            (_groups("rows", "reward:missing"),),
            doubt=True,
        )


def _steps(page: Page) -> Iterator[Finding]:
    steps = page.inspection.facts.per_step
    far = sorted((one for one in steps if one.outlier), key=lambda one: -one.robust_z)
    for one in far[:_STEPS]:
        yield Finding(
            f"Step {one.step} stands out by {standing_out(one)}.",
            (_groups("groups", query.term("step", one.step)), Link("all", "table-steps-that-stand-out")),
            doubt=True,
        )
    if len(steps) > 1:
        yield from _course(page, steps[0], steps[-1])


def _course(page: Page, first: StepFigures, last: StepFigures) -> Iterator[Finding]:
    """How the mean reward went from the first step to the last; nothing where one of them has none."""
    if not math.isfinite(first.reward_mean + last.reward_mean):
        return
    (low, high), (later_low, later_high) = page.intervals["reward_mean"][0], page.intervals["reward_mean"][-1]
    ends = f"{number(first.reward_mean)} at step {first.step}, {number(last.reward_mean)} at step {last.step}"
    if math.isnan(low + later_low):
        sure = "too few groups differ for an interval"
    elif later_low > high or later_high < low:
        sure = "their 95% intervals are apart"
    else:
        sure = "their 95% intervals overlap"
    yield Finding(f"Mean reward: {ends}; {sure}.", (Link("plot", "reward-by-step"),))


def _prompts(page: Page) -> Iterator[Finding]:
    if page.prompts is not None:
        states = states_line(page.prompts.states)
        prompts = counted(len(page.prompts.table["prompt"]), "prompt")
        yield Finding(f"Of {prompts} over the run: {states}.", (Link("table", "table-prompts-over-the-run"),))


def _phantoms(page: Page) -> Iterator[Finding]:
    ours, *others = page.inspection.facts.phantoms or (None,)
    table = (Link("table", "table-phantom-advantages-in-dead-groups"),)
    if ours is not None and ours.groups:
        yield Finding(
            f"{counted(ours.groups, 'dead group')} {verb(ours.groups, 'has', 'have')} "
            f"an advantage other than 0 under {ours.rule}: "
            f"|A| up to {number(ours.max_abs_adv)}.",
            table,
            doubt=True,
        )
    result = sorted((one for one in others if one.groups), key=lambda one: -one.max_abs_adv)
    if result:
        said = [f"{one.rule} (|A| up to {number(one.max_abs_adv)})" for one in result]
        groups = max(one.groups for one in result)
        yield Finding(
            f"Up to {counted(groups, 'dead group')} would be trained on under {shortened(said, _RULES)}.",
            table,
            doubt=True,
        )


def _outcomes(page: Page) -> Iterator[Finding]:
    live = page.inspection.facts.signal.live_groups
    for name, count in page.inspection.facts.constant_outcome.items():
        if count >= _NOTABLE * live:
            yield Finding(
                f"'{name}' is constant in {count:,} of {counted(live, 'live group')}: their signal comes from elsewhere.",
                (Link("table", "table-reward-columns"),),
            )


def _length(page: Page) -> Iterator[Finding]:
    length = page.inspection.facts.length
    if length is not None and abs(length.with_advantage) >= _CORRELATED:
        more = "higher" if length.with_advantage > 0 else "lower"
        yield Finding(
            f"Longer responses get {more} advantages: correlation {number(length.with_advantage)} inside groups.",
            (Link("plot", "length"),),
        )


def _extreme(page: Page) -> Iterator[Finding]:
    if page.browser and 0 < page.browser[0].max_centred < math.inf:
        one = page.browser[0]
        step = f" of step {one.step}" if one.step else ""
        yield Finding(
            f"The reward furthest from the mean of its group ({number(one.max_centred)}) is in group {one.group}{step}.",
            (_groups("rows", f"group:{one.group}"),),
        )


def _doubts(page: Page) -> Iterator[Finding]:
    for text in dict.fromkeys((*page.report.warnings, *page.inspection.files.lint)):
        yield Finding(f"Worth checking: {text}", doubt=True)


_FINDINGS: tuple[Callable[[Page], Iterator[Finding]], ...] = (
    _dead,
    _match,
    _missing,
    _kept,
    _steps,
    _prompts,
    _outcomes,
    _phantoms,
    _length,
    _extreme,
    _doubts,
)
