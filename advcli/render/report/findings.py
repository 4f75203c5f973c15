"""The findings of the report: a sentence each, with links to the plot, the table or the groups."""

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

# Minimum correlation of length and advantage, and minimum share of live groups, for a finding.
_CORRELATED = 0.2
_NOTABLE = 0.1
_STEPS = 3
_RULES = 3


@dataclass(frozen=True)
class Link:
    """A link to where a finding can be seen.

    Attributes:
        label: its text.
        target: id of an element of the page.
        find: search term for the list of groups; "" if the target is not the list.
    """

    label: str
    target: str
    find: str = ""


@dataclass(frozen=True)
class Finding:
    """A sentence.

    Attributes:
        text: the sentence.
        links: links to where it can be seen.
        doubt: whether it means that something may be wrong.
        name: its id on the page; "" for none.
    """

    text: str
    links: tuple[Link, ...] = ()
    doubt: bool = False
    name: str = ""


def findings(page: Page) -> tuple[Finding, ...]:
    """All findings, most important first."""
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
        text = verb(able, "The only group carries a signal.", f"All {able:,} groups carry a signal.")
        yield Finding(text, (Link("plot", "groups"),))
        return
    between = signal.dead_groups - signal.dead_groups_all_max - signal.dead_groups_all_min
    kinds = (
        (signal.dead_groups_all_max, "solved by every row"),
        (signal.dead_groups_all_min, "by none"),
        (between, "constant in between"),
    )
    # If all rewards are equal, nothing is known to be solved or not.
    listed = ", ".join(f"{count:,} {what}" for count, what in kinds if count and signal.min != signal.max)
    of_kinds = f": {listed}" if listed else ""
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
    outliers = sorted((step for step in steps if step.outlier), key=lambda step: -step.robust_z)
    for step in outliers[:_STEPS]:
        yield Finding(
            f"Step {step.step} stands out by {standing_out(step)}.",
            (_groups("groups", query.term("step", step.step)), Link("all", "table-steps-that-stand-out")),
            doubt=True,
        )
    if len(steps) > 1:
        yield from _reward_change(page, steps[0], steps[-1])


def _reward_change(page: Page, first: StepFigures, last: StepFigures) -> Iterator[Finding]:
    """The mean reward at the first and at the last step; nothing if one of them has none."""
    if not math.isfinite(first.reward_mean + last.reward_mean):
        return
    (low, high), (later_low, later_high) = page.intervals["reward_mean"][0], page.intervals["reward_mean"][-1]
    ends = f"{number(first.reward_mean)} at step {first.step}, {number(last.reward_mean)} at step {last.step}"
    if math.isnan(low + later_low):
        certainty = "too few groups differ for an interval"
    elif later_low > high or later_high < low:
        certainty = "their 95% intervals do not overlap"
    else:
        certainty = "their 95% intervals overlap"
    yield Finding(f"Mean reward: {ends}; {certainty}.", (Link("plot", "reward-by-step"),))


def _prompts(page: Page) -> Iterator[Finding]:
    if page.prompts is not None:
        states = states_line(page.prompts.states)
        prompts = counted(len(page.prompts.table["prompt"]), "prompt")
        yield Finding(f"Of {prompts} over the run: {states}.", (Link("table", "table-prompts-over-the-run"),))


def _phantoms(page: Page) -> Iterator[Finding]:
    own, *others = page.inspection.facts.phantoms or (None,)
    table = (Link("table", "table-phantom-advantages-in-dead-groups"),)
    if own is not None and own.groups:
        yield Finding(
            f"{counted(own.groups, 'dead group')} {verb(own.groups, 'has', 'have')} "
            f"a nonzero advantage under {own.rule}: "
            f"|A| up to {number(own.max_abs_adv)}.",
            table,
            doubt=True,
        )
    affected = sorted((rule for rule in others if rule.groups), key=lambda rule: -rule.max_abs_adv)
    if affected:
        rules = [f"{rule.rule} (|A| up to {number(rule.max_abs_adv)})" for rule in affected]
        groups = max(rule.groups for rule in affected)
        yield Finding(
            f"Up to {counted(groups, 'dead group')} would be trained on under {shortened(rules, _RULES)}.",
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
            f"Longer responses get {more} advantages: correlation {number(length.with_advantage)} within groups.",
            (Link("plot", "length"),),
        )


def _extreme(page: Page) -> Iterator[Finding]:
    if page.browser and 0 < page.browser[0].max_centred < math.inf:
        group = page.browser[0]
        step = f" of step {group.step}" if group.step else ""
        yield Finding(
            f"The reward furthest from the mean of its group ({number(group.max_centred)}) is in group {group.group}{step}.",
            (_groups("rows", f"group:{group.group}"),),
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
