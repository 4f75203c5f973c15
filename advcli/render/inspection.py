"""An inspection as one screen of text."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from advcli.common.wording import counted, shown, verb
from advcli.records.off_policy import OffPolicy
from advcli.records.results.inspection import (
    DeadCauses,
    Detail,
    Facts,
    Inspection,
    Parts,
    RewardSignal,
    StepFigures,
    Turns,
)
from advcli.render import off_policy, turns
from advcli.render.bars import bar, binned
from advcli.render.numbers import UNDEFINED, count, number, share, short
from advcli.render.tables import describe_sizes
from advcli.render.whole import folded, needed, print_whole, spread

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

# More steps than this are shown in stretches of consecutive steps.
_STEPS = 10
_OUTLIERS = 3
# Values of the `--by` column of which every section is shown.
_SPLIT = 6
# A space at which a line is not folded.
_TOGETHER = "\xa0"
# Columns where no terminal says how many there are.
_COLUMNS = 80
_LEAST_TEXT = 8
_ENOUGH_TEXT = 24
_LEAST_NAME = 12
_GAP = "  "
# A place is told by the end of a long path.
_PLACE = 22

# Figures by which a step may stand out → how they are called.
_WATCHED: Mapping[str, str] = {
    "reward_mean": "mean reward",
    "max_abs_reward": "max |r|",
    "max_abs_centred": "max |r − group mean|",
    "max_abs_adv": "max |A|",
}

# Figures of a group whose heading is not their name.
_HEADINGS: Mapping[str, str] = {
    "reward_min": "min r",
    "reward_mean": "mean r",
    "reward_max": "max r",
    "max_abs_centred": "max |r − mean|",
    "max_abs_adv": "max |A|",
}

_Row = Sequence[str]


def _short_place(place: str) -> str:
    return place if len(place) <= _PLACE else f"…{place[1 - _PLACE :]}"


def _tokens(value: float) -> str:
    return UNDEFINED if math.isnan(value) else count(value)


_FORMS: Mapping[str, Callable[[Any], str]] = {
    "place": _short_place,
    "group": lambda value: f"#{value}",
    "length": _tokens,
}


def show(found: Inspection, console: "Console") -> None:
    """Print an inspection: the details that were asked for, else every section that has something to say."""
    _header(found, console)
    if found.details:
        for detail in found.details:
            _detail(detail, console)
        return
    if found.turns is not None:
        _print(_table(*turns.figures(found.turns)), console)
        for text in turns.weight(found.turns):
            _line(text, console)
        for text in turns.anchors(found.turns):
            _line(text, console)
        _print(_table(*turns.by_turns(found.turns), left={3}), console)
    _sections(found.facts, console, tuple(causes_lines(found.causes)))
    if found.off_policy is not None:
        _off_policy(found.off_policy, console)
    if found.by is None:
        return
    _print(_split(found.by, found.split), console)
    for value, facts in list(found.split.items())[:_SPLIT]:
        console.print()
        _line(f"── '{found.by}' is {value} ──", console, "bold")
        _line(_counts(facts), console)
        _sections(facts, console)
    if len(found.split) > _SPLIT:
        rest = len(found.split) - _SPLIT
        _line(f"{counted(rest, 'more value')} of '{found.by}' in the table above and in --json", console)


def _off_policy(found: OffPolicy, console: "Console") -> None:
    _print(_table(*off_policy.table(found)), console)
    for text in off_policy.remarks(found):
        _line(text, console)
    if found.metrics:
        _print(_table(*off_policy.framework(found)), console)


def _header(found: Inspection, console: "Console") -> None:
    files = found.files
    read = files.names[0] if len(files.names) == 1 else f"{len(files.names):,} files"
    layout = found.settings.get("layout", "rows")
    laid_out = f" · layout {layout}" if layout not in ("rows", files.format) else ""
    _line(f"{read} · format {files.format}{laid_out}", console)
    counts_rollouts = found.settings.get("count") == "rollouts"
    _line(_counts(found.facts, found.turns if counts_rollouts else None), console, "bold")
    used = files.columns
    rewards = " + ".join(
        f"'{name}'" if weight == 1 else f"{weight:g} × '{name}'" for name, weight in used["reward"].items()
    )
    parts = [f"groups: {files.group_rule}", f"reward: {rewards}"]
    shown = ("step", "length", "baseline", "logged", "turn_rewards")
    parts += [f"{part.replace('_', ' ')}: '{used[part]}'" for part in shown if used.get(part)]
    if used.get("rollout"):
        parts.append(f"rollout: {' + '.join(map(repr, used['rollout']))}")
        parts += [f"turn: '{used['turn']}'"] if used["turn"] else []
    _line(" · ".join(parts), console)
    if files.duplicates:
        same = verb(files.duplicates, "is", "are")
        _line(
            f"duplicates: {counted(files.duplicates, 'row')} {same} identical to an earlier one, text included",
            console,
        )
    for text in files.lint:
        _line(f"lint: {text}", console, "yellow")


def _counts(facts: Facts, of: Turns | None = None) -> str:
    """How many there are of everything; of rollouts where they are counted."""
    if of is None:
        parts = [counted(facts.rows, "row"), describe_sizes(facts.sizes)]
    else:
        parts = [counted(of.rows, "row"), counted(of.rollouts, "rollout")]
        parts.append(describe_sizes(facts.sizes, "rollout"))
    return " · ".join([*parts, *([counted(facts.steps, "step")] if facts.steps else [])])


def _sections(facts: Facts, console: "Console", causes: Sequence[str] = ()) -> None:
    for table, remarks in (
        (_rewards(facts.rewards), _constant(facts.rewards)),
        (_signal(facts.rewards), (*_about_dead(facts), *causes, *_outcomes(facts))),
        (_spread(facts.rewards), ()),
        (_group_sizes(facts.signal), _fitted(facts.signal)),
        (None, _phantoms(facts)),
        (_parts(facts.parts), _interplay(facts.parts)),
        (_length(facts), ()),
        (_steps(facts), _said_of_steps(facts.per_step)),
    ):
        if table is not None:
            _print(table, console)
        lines = list(remarks)
        if table is None and lines:
            console.print()
        for text in lines:
            _line(text, console)


def _rewards(rewards: Sequence[RewardSignal]) -> "Table":
    # Groups of several sizes make two means, which differ where sizes go with rewards.
    means = [one.mean for one in rewards], [one.mean_over_groups for one in rewards]
    two = any(number(one) != number(other) for one, other in zip(*means, strict=True))
    header = (
        "reward",
        "valid",
        "missing",
        "min",
        "mean",
        *(["over groups"] if two else []),
        "max",
        "distinct",
        "at max",
    )
    return _table(
        header,
        [
            (
                one.name,
                count(one.valid),
                _missing(one),
                number(one.min),
                number(one.mean),
                *([number(one.mean_over_groups)] if two else []),
                number(one.max),
                count(one.distinct),
                share(one.at_max),
            )
            for one in rewards
        ],
    )


def _constant(rewards: Sequence[RewardSignal]) -> Iterator[str]:
    for one in rewards:
        if one.valid and one.min == one.max:
            yield f"'{one.name}' is {number(one.min)} in all {counted(one.valid, 'row')}: no group can be live"


def _missing(one: RewardSignal) -> str:
    causes = [f"{many:,} {cause}" for cause, many in one.missing_by_cause.items() if many]
    return ", ".join(causes) or "0"


def _signal(rewards: Sequence[RewardSignal]) -> "Table":
    header = (
        "groups",
        "live",
        "near-dead",
        "dead",
        "all-max",
        "all-min",
        "in between",
        "single",
        "live rows",
    )
    return _table(
        header,
        [
            (
                one.name,
                count(one.live_groups),
                count(one.near_dead_groups),
                count(one.dead_groups),
                *map(count, _ends(one)),
                count(one.singletons),
                count(one.live_rows),
            )
            for one in rewards
        ],
    )


def _about_dead(facts: Facts) -> Iterator[str]:
    if any(one.dead_groups for one in facts.rewards):
        yield "live: rewards differ; near-dead: hardly; dead: all equal; single: one valid row"


def _ends(one: RewardSignal) -> tuple[float, float, float]:
    """Dead groups at the largest reward, at the smallest, and in between; undefined where there is one reward."""
    if one.min == one.max:
        return math.nan, math.nan, math.nan
    high, low = one.dead_groups_all_max, one.dead_groups_all_min
    return high, low, one.dead_groups - high - low


def causes_lines(causes: DeadCauses | None) -> Iterator[str]:
    """Why groups are dead."""
    if causes is None:
        return
    found = []
    if causes.all_max or causes.all_min:
        found += [
            f"{causes.all_min:,} never solved (all at the min)",
            f"{causes.all_max:,} always (all at the max)",
        ]
    of = "" if causes.read == causes.groups else f" of {causes.read:,} that were read"
    for many, name, by in (
        (causes.same_text, "with one text in most rows", ""),
        (causes.truncated, "truncated in all rows", causes.truncated_by),
        (causes.failed, "failed in all rows", causes.failed_by),
    ):
        if many is not None:
            found.append(f"{many:,}{of} {name}" + (f" ({by})" if by else ""))
    if found:
        yield f"of {counted(causes.groups, 'dead group')}: {', '.join(found)}"
    constant = [f"{name} in {many:,}" for name, many in causes.constant_parts.items()]
    if constant:
        yield f"parts that are constant in dead groups: {', '.join(constant)} of {causes.groups:,}"


def _outcomes(facts: Facts) -> Iterator[str]:
    found = [f"'{name}' in {many:,}" for name, many in facts.constant_outcome.items() if many]
    if found:
        yield f"constant in live groups: {', '.join(found)} of {facts.signal.live_groups:,}"


def _spread(rewards: Sequence[RewardSignal]) -> "Table":
    """The variance taken apart."""
    header = ("variance", "within", "between", "total", "between, unbiased")
    rows = []
    for one in rewards:
        of = one.variance
        figures = (of.within, of.between, of.total, of.between_unbiased)
        rows.append((one.name, *map(number, figures)))
    return _table(header, rows)


def _group_sizes(one: RewardSignal) -> "Table | None":
    """How many groups would be dead with more or fewer rows each, and what that would cost."""
    told = [chance for chance in one.p_dead if chance.how]
    if not told:
        return None
    header = ("rows per group", *(str(chance.g) for chance in told))
    able = one.live_groups + one.dead_groups
    rows = (
        ("dead groups", *(share(chance.p) + ("*" if chance.how == "fitted" else " ") for chance in told)),
        (f"live groups, of {able:,}", *(f"{chance.live_groups:,.1f} " for chance in told)),
        ("rows saved", *(f"{chance.rows_saved:,} " for chance in told)),
    )
    return _table(header, rows)


def _fitted(one: RewardSignal) -> Iterator[str]:
    fitted = [chance for chance in one.p_dead if chance.how == "fitted"]
    if fitted:
        ends = ", ".join(f"{chance.g} rows {share(chance.low)} … {share(chance.high)}" for chance in fitted)
        yield f"* fitted (beta-binomial), 95% interval: {ends}"


def _phantoms(facts: Facts) -> Iterator[str]:
    """The rules that give dead groups an advantage; those with the same figures are named together."""
    if not facts.signal.dead_groups:
        return
    alike: dict[tuple[str, int, int], list[str]] = {}
    for one in sorted(facts.phantoms, key=lambda one: -one.max_abs_adv):
        key = ("not computed", 0, 0) if one.skipped else (number(one.max_abs_adv), one.groups, one.rows)
        name = f"{one.rule} (here)" if one is facts.phantoms[0] else one.rule.partition(":")[0]
        alike.setdefault(key, []).append(name)
    told: dict[tuple[int, int], list[str]] = {}
    for (largest, groups, many), rules in alike.items():
        if (groups, many) == (0, 0) and largest == "0":
            text = "all others" if len(alike) > 1 else "every framework, and here"
        else:
            text = f"{', '.join(rules)}{_TOGETHER}{largest}"
        told.setdefault((groups, many), []).append(text)
    yield "phantoms: dead groups that get an advantage other than 0, by rule and max |A|"
    for (groups, many), texts in told.items():
        where = f"{counted(groups, 'group')}, {counted(many, 'row')}" if groups else "none"
        yield f"{where}: {'; '.join(texts)}"


def _parts(parts: Parts | None) -> "Table | None":
    if parts is None:
        return None
    header = ("part", "weight", "share of within", "variance within", "constant in live groups")
    rows = [
        (one.name, number(one.weight), share(one.share), number(one.variance), count(one.constant_in_live))
        for one in parts.parts
    ]
    return _table(header, rows)


def _interplay(parts: Parts | None) -> Iterator[str]:
    if parts is not None:
        yield f"rewards of conflicting sign: {share(parts.conflicts)} of the rows of live groups"
        groups = counted(parts.collapsed_groups, "group")
        yield f"other rewards, same advantage: {counted(parts.collapsed_rows, 'row')} in {groups}"


def _length(facts: Facts) -> "Table | None":
    if facts.length is None:
        return None
    one = facts.length
    header = ("length: mean", "max", "correlation with reward", "with advantage", "in dead groups")
    cells = (count(one.mean), count(one.max), number(one.with_reward), number(one.with_advantage))
    return _table(header, [(*cells, share(one.dead_tokens))])


def _steps(facts: Facts) -> "Table | None":
    if not facts.per_step:
        return None
    shown = binned(facts.per_step, _STEPS)
    columns = {
        "reward": [one.reward_mean for one in shown],
        "live": [one.live for one in shown],
        "mean |A|": [one.mean_abs_adv for one in shown],
        "max |A|": [one.max_abs_adv for one in shown],
    }
    if facts.length:
        columns["length"] = [one.length_mean for one in shown]
    forms = {"live": share, "length": _tokens}
    rows = []
    for place, one in enumerate(shown):
        cells = [one.step, count(one.rows)]
        for name, values in columns.items():
            value = values[place]
            cells.append(forms.get(name, short)(value))
            cells.append(bar(value, values))
        rows.append((*cells, "!" if one.outlier else ""))
    header = ["step", "rows"]
    for name in columns:
        header += [name, ""]
    return _table((*header, ""), rows, left=set(range(3, len(header), 2)))


def _said_of_steps(steps: Sequence[StepFigures]) -> Iterator[str]:
    if len(steps) > _STEPS:
        yield f"{len(steps):,} steps in {_STEPS} stretches; --json has each"
    outliers = sorted((one for one in steps if one.outlier), key=lambda one: -one.robust_z)
    for one in outliers[:_OUTLIERS]:
        yield f"! step {one.step}: {standing_out(one)}, robust z {short(one.robust_z)}"
    if len(outliers) > _OUTLIERS:
        yield f"! {counted(len(outliers) - _OUTLIERS, 'more step')} with a robust z above 3.5"


def standing_out(step: StepFigures) -> str:
    """The figures by which a step stands out."""
    return ", ".join(f"{_WATCHED[name]} {number(getattr(step, name))}" for name in step.stands_out)


def _split(column: str, split: Mapping[str, Facts]) -> "Table":
    header = (column, "rows", "groups", "live", "dead", "all-max", "all-min", "missing", "mean", "mean |A|")
    return _table(
        header,
        [
            (
                value,
                count(facts.rows),
                count(facts.groups),
                count(facts.signal.live_groups),
                count(facts.signal.dead_groups),
                count(facts.signal.dead_groups_all_max),
                count(facts.signal.dead_groups_all_min),
                count(facts.signal.missing),
                number(facts.signal.mean),
                number(facts.mean_abs_adv),
            )
            for value, facts in split.items()
        ],
    )


def _detail(detail: Detail, console: "Console") -> None:
    console.print()
    console.print(detail.title, style="bold", highlight=False, soft_wrap=True, markup=False)
    if detail.lines:
        keys = list(detail.lines[0])
        header = [name for key in keys for name in _names(key, detail.lines[0][key])]
        rows = [[cell for key in keys for cell in _cells(key, line[key])] for line in detail.lines]
        _print_with_text(header, rows, console)
    if detail.left:
        _line(f"{counted(detail.left, 'more line')} not shown", console)


def _names(key: str, value: object) -> Sequence[str]:
    """Headings of a figure; those of the parts of a reward are their columns."""
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


def _print_with_text(header: _Row, rows: Sequence[_Row], console: "Console") -> None:
    """A table whose last column, a text, is cut to what the others leave of the width."""
    from rich.text import Text

    taken = needed(_table([*header[:-1], ""], [[*row[:-1], ""] for row in rows]), console)
    if _width(console) - taken < _ENOUGH_TEXT:
        # The table will be printed with less space between its columns.
        taken -= len(header) - 1
    width = max(_LEAST_TEXT, _width(console) - taken)
    cut = []
    for *cells, last in rows:
        text = Text(shown(last))
        text.truncate(width, overflow="ellipsis")
        cut.append([*cells, text.plain])
    table = _table(header, cut, left={0, len(header) - 1})
    _print(table, console, space=False)


def _table(header: _Row, rows: Sequence[_Row], *, left: set[int] | None = None) -> "Table":
    """Columns of text, the first on the left, the others on the right unless they are named."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
    for place, name in enumerate(header):
        on_left = place == 0 or place in (left or ())
        table.add_column(Text(shown(name)), justify="left" if on_left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    return table


def _print(table: "Table", console: "Console", *, space: bool = True) -> None:
    """Print a table that is never wrapped or cut; a wide one with less space between its columns."""
    if space:
        console.print()
    if needed(table, console) > _width(console):
        table.padding = (0, 1, 0, 0)
    if space and console.is_terminal:
        _shorten_names(table, needed(table, console) - console.width)
    if not console.is_terminal:
        print_whole(table, console)
        return
    for part in spread(_blocks(table.columns), partial(_part, table), console):
        print_whole(part, console)


def _blocks(columns: "Sequence[Column]") -> list[list["Column"]]:
    """The columns but the first, each with those without a heading that follow it: its bars."""
    found: list[list[Column]] = []
    for column in columns[1:]:
        if str(column.header) or not found:
            found.append([])
        found[-1].append(column)
    return found


def _part(table: "Table", blocks: "Sequence[Sequence[Column]]") -> "Table":
    """The first column of a table, and some of the others."""
    columns = [table.columns[0], *(column for block in blocks for column in block)]
    part = _table([""] * len(columns), [])
    part.padding = table.padding
    for made, column in zip(part.columns, columns, strict=True):
        made.header, made.justify = column.header, column.justify
    for cells in zip(*(column.cells for column in columns), strict=True):
        part.add_row(*cells)
    return part


def _shorten_names(table: "Table", excess: int) -> None:
    """Cut the names in the first column of a table that is too wide to their ends; the head has them whole."""
    names = list(table.columns[0].cells)
    room = max(_LEAST_NAME, max((len(name.plain) for name in names), default=0) - max(0, excess))  # type: ignore[union-attr]
    for name in names:
        if len(name.plain) > room:  # type: ignore[union-attr]
            name.plain = f"…{name.plain[1 - room :]}"  # type: ignore[union-attr]


def _width(console: "Console") -> int:
    """Columns that there are; where no terminal says so, the usual 80."""
    return console.width if console.is_terminal else _COLUMNS


def _line(text: str, console: "Console", style: str = "") -> None:
    """A line of text, folded at spaces."""
    for line in folded(shown(text), _width(console)):
        console.print(
            line.replace(_TOGETHER, " "), style=style, highlight=False, soft_wrap=True, markup=False
        )
