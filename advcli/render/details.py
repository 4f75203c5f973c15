"""Tables of single groups and rows of an inspection."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from advcli.common.wording import counted
from advcli.records.results.inspection import Detail
from advcli.render.fit import print_text, print_with_text
from advcli.render.numbers import count, number

if TYPE_CHECKING:
    from rich.console import Console

# Characters of a location; the end of a long path identifies it.
_PLACE = 22

# Figures of a group → headings that differ from their names.
_HEADINGS: Mapping[str, str] = {
    "reward_min": "min r",
    "reward_mean": "mean r",
    "reward_max": "max r",
    "max_abs_centred": "max |r − mean|",
    "max_abs_adv": "max |A|",
}


def _short_place(position: str) -> str:
    return position if len(position) <= _PLACE else f"…{position[1 - _PLACE :]}"


_FORMS: Mapping[str, Callable[[Any], str]] = {
    "place": _short_place,
    "group": lambda value: f"#{value}",
    "length": count,
}


def show(detail: Detail, console: "Console") -> None:
    """Print the lines of a detail under its title."""
    console.print()
    console.print(detail.title, style="bold", highlight=False, soft_wrap=True, markup=False)
    if detail.lines:
        keys = list(detail.lines[0])
        header = [name for key in keys for name in _names(key, detail.lines[0][key])]
        rows = [[cell for key in keys for cell in _cells(key, line[key])] for line in detail.lines]
        print_with_text(header, rows, console)
    if detail.left:
        print_text(f"{counted(detail.left, 'more line')} not shown", console)


def _names(key: str, value: object) -> Sequence[str]:
    """The headings of a figure; for reward parts, the names of their columns."""
    return list(value) if isinstance(value, Mapping) else [_HEADINGS.get(key, key.replace("_", " "))]


def _cells(key: str, value: Any) -> Sequence[str]:  # noqa: ANN401  any JSON value
    if isinstance(value, Mapping):
        return [number(part) for part in value.values()]
    return [_FORMS.get(key, _plain)(value)]


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "dead" if value else ""
    if isinstance(value, float):
        return number(value)
    return count(value) if isinstance(value, int) else " ".join(str(value).split())
