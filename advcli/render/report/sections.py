"""The tables and key figures of the report, with cells as text."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from advcli.common.wording import counted, one_line
from advcli.records.results.inspection import DeadChance
from advcli.records.results.page import Page
from advcli.records.results.report import Column
from advcli.records.results.result import plain_cell
from advcli.render import between, prompts, verify
from advcli.render.inspection import causes_lines, standing_out
from advcli.render.numbers import count, number, share, signed

# Characters of a prompt in a table.
_PROMPT = 60


@dataclass(frozen=True)
class Card:
    """A key figure.

    Attributes:
        label: its name.
        value: the figure.
        detail: further details.
    """

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class Table:
    """A table of text; the first column is left-aligned.

    Attributes:
        title: heading.
        header: headings of the columns.
        rows: a cell per column.
        note: explanation below the table.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @property
    def name(self) -> str:
        """Its id on the page.

        Example:
            >>> Table("Why groups are dead", (), ()).name
            'table-why-groups-are-dead'
        """
        return "table-" + re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def title(page: Page) -> str:
    """The name of the file; of several files, their number and the folder or file of the first."""
    folder, _, name = page.inputs[0].name.rpartition("/")
    if len(page.inputs) == 1:
        return name
    return f"{counted(len(page.inputs), 'file')} of {folder.rpartition('/')[2] or name}"


def cards(page: Page) -> tuple[Card, ...]:
    """The key figures: is there any signal, and how much of it is trained on?"""
    facts = page.inspection.facts
    signal = facts.signal
    original, processed = page.report.columns
    able = signal.live_groups + signal.dead_groups
    alone = f"; {counted(signal.singletons, 'group')} of one row" if signal.singletons else ""
    missing = ", ".join(f"{rows:,} {cause}" for cause, rows in signal.missing_by_cause.items() if rows)
    return (
        Card(
            "live groups",
            share(signal.live_groups / able if able else None),
            f"{signal.live_groups:,} of {able:,}{alone}",
        ),
        Card(
            "dead groups",
            share(signal.dead_groups / able if able else None),
            f"{signal.dead_groups:,} of {able:,}: {signal.dead_groups_all_max:,} all-max, {signal.dead_groups_all_min:,} all-min",
        ),
        Card("live rows", count(signal.live_rows), f"in live groups, of {facts.rows:,}"),
        Card("missing rewards", count(signal.missing), missing or "every row has one"),
        Card("rows trained on", count(processed.kept_rows), f"of {original.kept_rows:,} with an advantage"),
        Card(
            "mean |A|",
            number(processed.figures.mean_abs),
            f"processed; original {number(original.figures.mean_abs)}",
        ),
    )


def tables(page: Page) -> tuple[Table, ...]:
    """Every table with content: the advantages, then those of `inspect`."""
    return tuple(table for make in _TABLES if (table := make(page)) is not None)


_FIGURES = (
    ("rows", "count", count),
    ("mean", "mean", number),
    ("std", "std", number),
    ("min", "min", number),
    ("median", "median", number),
    ("max", "max", number),
    ("mean |A|", "mean_abs", number),
    ("positive", "share_positive", share),
    ("zero", "share_zero", share),
    ("negative", "share_negative", share),
)


def _advantages(page: Page) -> Table:
    columns = page.report.columns
    header = ("", *(label for label, _, _ in _FIGURES), *(label for label, _ in _DISTANCES))
    rows = (
        (
            column.label,
            *(form(getattr(column.figures, name)) for _, name, form in _FIGURES),
            *("–" if position == 0 else value(column) for _, value in _DISTANCES),
        )
        for position, column in enumerate(columns)
    )
    note = (
        "Over the rows that are trained on. Sign changes and rank agreement (Spearman's ρ within groups) compare with the "
        "original."
    )
    return Table("Original and processed", header, tuple(rows), note)


def _sign_changes(column: Column) -> str:
    return share(column.sign_changes)


def _rank(column: Column) -> str:
    return number(column.rank_agreement)


_DISTANCES = (("sign changes", _sign_changes), ("rank agreement (ρ)", _rank))


def _rewards(page: Page) -> Table:
    header = (
        "reward",
        "valid",
        "missing",
        "min",
        "mean",
        "over groups",
        "max",
        "distinct",
        "live",
        "dead",
        "within",
        "between",
        "between, unbiased",
    )
    return Table(
        "Reward columns",
        header,
        tuple(
            (
                signal.name,
                count(signal.valid),
                count(signal.missing),
                number(signal.min),
                number(signal.mean),
                number(signal.mean_over_groups),
                number(signal.max),
                count(signal.distinct),
                count(signal.live_groups),
                count(signal.dead_groups),
                number(signal.variance.within),
                number(signal.variance.between),
                number(signal.variance.between_unbiased),
            )
            for signal in page.inspection.facts.rewards
        ),
        "Mean: over rows; over groups: each group counts once. Live and dead count groups. Within and between: variance "
        "within groups and of their means; unbiased: without the chance differences of the means.",
    )


def _causes(page: Page) -> Table | None:
    lines = tuple((line,) for line in causes_lines(page.inspection.causes))
    note = "A group may have several causes. All rewards of a dead group are equal, so its rows get no advantage."
    return Table("Why groups are dead", ("what dead groups have in common",), lines, note) if lines else None


def _between(page: Page) -> Table | None:
    result = page.between
    if result is None:
        return None
    lines = (*between.paired_lines(result.paired), *between.coverage_lines(result.coverage))
    title = f"Compared with {result.b.name} (B)"
    return Table(title, ("is the difference real?",), tuple((line,) for line in lines))


def _prompts(page: Page) -> Table | None:
    result = page.prompts
    if result is None:
        return None
    header = ("prompt", "state", "steps", "first", "last", "change", "95%", "live")
    rows = []
    for position in result.order:
        row = {name: plain_cell(values[position]) for name, values in result.table.items()}
        ends = (
            "–"
            if math.isnan(row["change_low"])
            else f"{number(row['change_low'])} … {number(row['change_high'])}"
        )
        cells = (count(row["steps"]), number(row["first_mean"]), number(row["last_mean"]))
        change = signed(row["change"], number)
        rows.append(
            (
                one_line(row["prompt"], _PROMPT, text=str),
                row["state"],
                *cells,
                change,
                ends,
                share(row["live_share"]),
            )
        )
    return Table("Prompts over the run", header, tuple(rows), "; ".join(prompts.summary(result)))


def _verify(page: Page) -> Table | None:
    if page.verify is None:
        return None
    lines = tuple((line,) for line in verify.summary(page.verify))
    header = ("A" if page.verify.b is None else "A and B",)
    return Table("Verifier", header, lines, "rates with their 95% intervals")


def _chances(page: Page) -> Table | None:
    rewards = page.inspection.facts.rewards
    sizes = [chance for chance in rewards[0].p_dead if chance.how]
    if not sizes:
        return None
    able = rewards[0].live_groups + rewards[0].dead_groups
    rows = tuple(
        (count(size.g), _chance(size), count(size.live_groups), signed(size.rows_saved, count))
        for size in sizes
    )
    note = (
        "The effect of another number of rows per group on the same prompts. Rows saved compares with today; negative if "
        "more are needed."
    )
    if any(size.how == "fitted" for size in sizes):
        note += " * Fitted (beta-binomial) with a 95% interval, because most groups have fewer rows."
    return Table(
        "Other group sizes",
        ("rows per group", f"dead groups: {rewards[0].name}", f"live groups, of {able:,}", "rows saved"),
        rows,
        note,
    )


def _chance(size: DeadChance) -> str:
    fitted = f"* ({share(size.low)} … {share(size.high)})" if size.how == "fitted" else ""
    return share(size.p) + fitted


def _phantoms(page: Page) -> Table | None:
    by_figures: dict[tuple[int, int, str], list[str]] = {}
    for phantom in sorted(page.inspection.facts.phantoms, key=lambda phantom: -phantom.max_abs_adv):
        if phantom.groups:
            figures = (phantom.groups, phantom.rows, number(phantom.max_abs_adv))
            by_figures.setdefault(figures, []).append(phantom.rule)
    if not by_figures:
        return None
    rows = tuple(
        (", ".join(rules), count(groups), count(rows), largest)
        for (groups, rows, largest), rules in by_figures.items()
    )
    note = "All rewards of these groups are equal, but the rounding errors of these rules give them a nonzero advantage."
    return Table("Phantom advantages in dead groups", ("rule", "groups", "rows", "max |A|"), rows, note)


def _parts(page: Page) -> Table | None:
    parts = page.inspection.facts.parts
    if parts is None:
        return None
    rows = tuple(
        (
            part.name,
            number(part.weight),
            share(part.share),
            share(part.saturated),
            count(part.constant_in_live),
        )
        for part in parts.parts
    )
    note = (
        f"Rewards of conflicting sign: {share(parts.conflicts)} of the rows of live groups; other rewards, same "
        f"advantage: {counted(parts.collapsed_rows, 'row')} in {counted(parts.collapsed_groups, 'group')}."
    )
    return Table(
        "Reward parts",
        ("part", "weight", "share of variance", "at max", "constant in live groups"),
        rows,
        note,
    )


def _length(page: Page) -> Table | None:
    length = page.inspection.facts.length
    if length is None:
        return None
    cells = (number(length.with_reward), number(length.with_advantage), share(length.dead_tokens))
    header = ("mean", "max", "correlation with reward", "with advantage", "tokens in dead groups")
    note = "Tokens per row; correlations are within groups."
    return Table("Length", header, ((count(length.mean), count(length.max), *cells),), note)


def _outliers(page: Page) -> Table | None:
    steps = sorted(
        (step for step in page.inspection.facts.per_step if step.outlier), key=lambda step: -step.robust_z
    )
    if not steps:
        return None
    rows = tuple((step.step, standing_out(step), number(step.robust_z)) for step in steps[:10])
    note = "More than 3.5 robust standard deviations from the median of all steps."
    if len(steps) > len(rows):
        note += f" The first {len(rows)} of {counted(len(steps), 'step')}."
    return Table("Steps that stand out", ("step", "by", "robust z"), rows, note)


_TABLES: tuple[Callable[[Page], Table | None], ...] = (
    _advantages,
    _between,
    _rewards,
    _causes,
    _chances,
    _prompts,
    _verify,
    _phantoms,
    _parts,
    _length,
    _outliers,
)


def settings(page: Page) -> Sequence[tuple[str, str]]:
    """The settings in effect."""
    return [(name, _text(value)) for name, value in page.report.settings.items()]


def _text(value: Any) -> str:  # noqa: ANN401  any JSON value
    if value is None or value in ({}, [], ()):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_text(part)}" for name, part in value.items())
    return ", ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)
