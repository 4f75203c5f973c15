"""The result of `match` as Rich tables."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from advcli.common.wording import counted, verb
from advcli.records.results.match import Breaks, Fit, Match
from advcli.render.numbers import UNDEFINED, number, share
from advcli.render.whole import print_line, print_whole, ruled

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_NAMED = 12


def show(match: Match, console: "Console") -> None:
    """Print the answer, its evidence, the best rules, those that fit equally, and where the best one fails."""
    print_line(match.sentence, console, "bold")
    if match.evidence:
        print_line(match.evidence.words, console)
    fits = [*([match.best] if match.best else []), *match.others]
    if fits:
        print_whole(_fits(fits), console)
    for line in alike(match.indistinguishable):
        print_line(line, console)
    if match.apart:
        print_line(f"to tell them apart: {'; '.join(match.apart)}", console)
    if match.command:
        print_line(f"to compute it: {match.command}", console)
    if match.breaks and match.breaks.rows:
        print_line(where(match.breaks), console)
        print_whole(_worst(match.breaks), console)
    for cause in match.causes:
        print_line(f"· {cause}", console)


def alike(fits: Sequence[Fit]) -> Iterator[str]:
    """One line per reason, with all rules that fit equally for it.

    Example:
        >>> fit = Fit("verl", None, "grpo", "group", 1, 1e-6, "'uid'", 0.0, 1.0, "eps 1e-06: too small")
        >>> list(alike([fit]))
        ['fits equally (eps 1e-06: too small): verl grpo, scale group']
    """
    for reason in dict.fromkeys(fit.reason for fit in fits):
        names = list(dict.fromkeys(fit.name for fit in fits if fit.reason == reason))
        yield f"{verb(len(names), 'fits', 'fit')} equally ({reason}): {'; '.join(names)}"


def where(breaks: Breaks) -> str:
    """Rows, groups and steps that do not fit, in one line."""
    text = (
        f"it fails in {breaks.rows:,} of {counted(breaks.compared, 'row')}, {breaks.groups:,} of "
        f"{counted(breaks.all_groups, 'group')}"
    )
    if breaks.all_steps:
        text += f", {len(breaks.steps):,} of {counted(breaks.all_steps, 'step')}"
        if len(breaks.steps) <= _NAMED:
            text += f" ({', '.join(breaks.steps)})"
    return f"{text}; furthest off:"


def _fits(fits: Sequence[Fit]) -> "Table":
    table = ruled(["rule"], ["eps", "ddof", "max |Δ|", "rows"])
    for fit in fits:
        eps = UNDEFINED if fit.eps is None else f"{fit.eps:g}"
        ddof = UNDEFINED if fit.ddof is None else str(fit.ddof)
        label = fit.name if fit.grouping == fits[0].grouping else f"{fit.name}, {fit.grouping}"
        table.add_row(label, eps, ddof, _distance(fit.max_abs_diff), share(fit.share_matched))
    return table


def _distance(value: float) -> str:
    return UNDEFINED if value == float("inf") else "0" if value == 0 else f"{value:.2g}"


def _worst(breaks: Breaks) -> "Table":
    table = ruled(["row"], ["step", "group", "reward", "logged", "computed"])
    for item in breaks.worst:
        numbers = (number(item.reward), number(item.logged), number(item.computed))
        table.add_row(item.place, item.step or UNDEFINED, str(item.group), *numbers)
    return table
