"""The tables and the key figures of the page, every cell as text."""

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
        label: what it is.
        value: the figure.
        detail: what else is to be said of it.
    """

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class Table:
    """A table of text; the first column is on the left.

    Attributes:
        title: heading.
        header: headings of the columns.
        rows: a cell per column.
        note: below it, what the reader has to know to read it.
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
    """The file's name; of several files how many, and the folder or file that the first lies in."""
    folder, _, name = page.inputs[0].name.rpartition("/")
    if len(page.inputs) == 1:
        return name
    return f"{counted(len(page.inputs), 'file')} of {folder.rpartition('/')[2] or name}"


def cards(page: Page) -> tuple[Card, ...]:
    """The figures that answer: is there any signal, and what is left of it."""
    facts = page.inspection.facts
    signal = facts.signal
    original, processed = page.report.columns
    able = signal.live_groups + signal.dead_groups
    alone = f"; {counted(signal.singletons, 'group')} of one row" if signal.singletons else ""
    missing = ", ".join(f"{many:,} {cause}" for cause, many in signal.missing_by_cause.items() if many)
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
    """Every table that has something to say: the advantages, then what `inspect` says."""
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
            one.label,
            *(form(getattr(one.figures, name)) for _, name, form in _FIGURES),
            *("–" if position == 0 else value(one) for _, value in _DISTANCES),
        )
        for position, one in enumerate(columns)
    )
    note = (
        "Over the rows that are trained on. Sign changes and rank agreement compare with the original, the latter as "
        "Spearman's ρ inside groups."
    )
    return Table("Original and processed", header, tuple(rows), note)


def _sign_changes(one: Column) -> str:
    return share(one.sign_changes)


def _rank(one: Column) -> str:
    return number(one.rank_agreement)


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
                one.name,
                count(one.valid),
                count(one.missing),
                number(one.min),
                number(one.mean),
                number(one.mean_over_groups),
                number(one.max),
                count(one.distinct),
                count(one.live_groups),
                count(one.dead_groups),
                number(one.variance.within),
                number(one.variance.between),
                number(one.variance.between_unbiased),
            )
            for one in page.inspection.facts.rewards
        ),
        "Mean is over rows, and over groups where each counts once; live and dead count groups; within and between are the "
        "variance inside groups and of their means; the unbiased one leaves out what chance adds to the means.",
    )


def _causes(page: Page) -> Table | None:
    lines = tuple((line,) for line in causes_lines(page.inspection.causes))
    note = "A group may count in several ways. All its rewards are equal, so that no advantage can tell its rows apart."
    return Table("Why groups are dead", ("what dead groups have in common",), lines, note) if lines else None


def _between(page: Page) -> Table | None:
    result = page.between
    if result is None:
        return None
    lines = (*between.paired_lines(result.paired), *between.coverage_lines(result.coverage))
    return Table(f"Beside {result.b.name} (B)", ("is the difference real?",), tuple((one,) for one in lines))


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
    header = ("A" if page.verify.b is None else "A beside B",)
    return Table("Verifier", header, lines, "rates with their 95% intervals")


def _chances(page: Page) -> Table | None:
    rewards = page.inspection.facts.rewards
    sizes = [chance for chance in rewards[0].p_dead if chance.how]
    if not sizes:
        return None
    able = rewards[0].live_groups + rewards[0].dead_groups
    rows = tuple(
        (count(one.g), _chance(one), count(one.live_groups), signed(one.rows_saved, count)) for one in sizes
    )
    note = (
        "What another number of rows per group would give on the same prompts; rows saved against today, negative where "
        "more are needed."
    )
    if any(one.how == "fitted" for one in sizes):
        note += " * More rows than half of the groups have: fitted (beta-binomial), with its 95% interval."
    return Table(
        "Other group sizes",
        ("rows per group", f"dead groups: {rewards[0].name}", f"live groups, of {able:,}", "rows saved"),
        rows,
        note,
    )


def _chance(one: DeadChance) -> str:
    fitted = f"* ({share(one.low)} … {share(one.high)})" if one.how == "fitted" else ""
    return share(one.p) + fitted


def _phantoms(page: Page) -> Table | None:
    alike: dict[tuple[int, int, str], list[str]] = {}
    for one in sorted(page.inspection.facts.phantoms, key=lambda one: -one.max_abs_adv):
        if one.groups:
            alike.setdefault((one.groups, one.rows, number(one.max_abs_adv)), []).append(one.rule)
    if not alike:
        return None
    rows = tuple(
        (", ".join(rules), count(groups), count(rows), largest)
        for (groups, rows, largest), rules in alike.items()
    )
    note = (
        "Dead groups whose rewards are all equal, and which these rules would train on all the same: their arithmetic "
        "leaves an advantage other than 0."
    )
    return Table("Phantom advantages in dead groups", ("rule", "groups", "rows", "max |A|"), rows, note)


def _parts(page: Page) -> Table | None:
    parts = page.inspection.facts.parts
    if parts is None:
        return None
    rows = tuple(
        (one.name, number(one.weight), share(one.share), share(one.saturated), count(one.constant_in_live))
        for one in parts.parts
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
    one = page.inspection.facts.length
    if one is None:
        return None
    cells = (number(one.with_reward), number(one.with_advantage), share(one.dead_tokens))
    header = ("mean", "max", "correlation with reward", "with advantage", "tokens in dead groups")
    note = "Tokens per row; correlations are taken inside groups."
    return Table("Length", header, ((count(one.mean), count(one.max), *cells),), note)


def _outliers(page: Page) -> Table | None:
    steps = sorted(
        (one for one in page.inspection.facts.per_step if one.outlier), key=lambda one: -one.robust_z
    )
    if not steps:
        return None
    rows = tuple((one.step, standing_out(one), number(one.robust_z)) for one in steps[:10])
    note = "Further from the median of all steps than 3.5 robust standard deviations."
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
    """Every setting as it was used."""
    return [(name, _said(value)) for name, value in page.report.settings.items()]


def _said(value: Any) -> str:  # noqa: ANN401  any JSON value
    if value is None or value in ({}, [], ()):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_said(part)}" for name, part in value.items())
    return ", ".join(map(_said, value)) if isinstance(value, list | tuple) else str(value)
