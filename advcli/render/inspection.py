"""An inspection as one screen of text."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from advcli.records import Detail, Facts, Inspection, Parts, Phantoms, RewardSignal, StepFigures
from advcli.render.bars import bar, binned
from advcli.render.numbers import UNDEFINED, count, number, share
from advcli.render.tables import describe_sizes
from advcli.words import counted, verb

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# More steps than this are shown in stretches of consecutive steps.
_STEPS = 10
# Values of the `--by` column of which every section is shown.
_SPLIT = 6
# Columns of text are cut to this width where no terminal says how wide it is.
_TEXT = 100

_Row = Sequence[str]


def show(found: Inspection, console: "Console") -> None:
    """Print an inspection: the details that were asked for, else every section that has something to say."""
    _header(found, console)
    if found.details:
        for detail in found.details:
            _detail(detail, console)
        return
    _sections(found.facts, console)
    if found.by is None:
        return
    _print(_split(found.by, found.split), console)
    for value, facts in list(found.split.items())[:_SPLIT]:
        console.print(f"── '{found.by}' is {value} ──", style="bold", highlight=False, markup=False)
        _line(_counts(facts), console)
        _sections(facts, console)
    if len(found.split) > _SPLIT:
        rest = len(found.split) - _SPLIT
        _line(f"{counted(rest, 'more value')} of '{found.by}' in the table above and in --json", console)


def _header(found: Inspection, console: "Console") -> None:
    files = found.files
    read = files.names[0] if len(files.names) == 1 else f"{len(files.names):,} files"
    console.print(
        f"{read} · format {files.format} · {_counts(found.facts)}",
        style="bold",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    used = files.columns
    rewards = " + ".join(
        f"'{name}'" if weight == 1 else f"{weight:g} × '{name}'" for name, weight in used["reward"].items()
    )
    parts = [f"groups: {files.group_rule}", f"reward: {rewards}"]
    parts += [f"{part}: '{used[part]}'" for part in ("step", "length", "baseline", "logged") if used[part]]
    _line(" · ".join(parts), console)
    if files.duplicates:
        same = verb(files.duplicates, "is", "are")
        _line(
            f"duplicates: {counted(files.duplicates, 'row')} {same} identical to an earlier one, text included",
            console,
        )
    for text in files.lint:
        console.print(f"lint: {text}", style="yellow", highlight=False, soft_wrap=True, markup=False)


def _counts(facts: Facts) -> str:
    parts = [counted(facts.rows, "row"), describe_sizes(facts.sizes)]
    return " · ".join([*parts, *([counted(facts.steps, "step")] if facts.steps else [])])


def _sections(facts: Facts, console: "Console") -> None:
    _print(_rewards(facts.rewards), console)
    _print(_signal(facts.rewards), console)
    _print(_chances(facts.rewards), console)
    for line in _remarks(facts):
        _line(line, console)
    for section in (_parts(facts.parts), _steps(facts)):
        if section is not None:
            _print(section, console)
    if facts.per_step:
        _line(_said_of_steps(facts.per_step), console)


def _rewards(rewards: Sequence[RewardSignal]) -> "Table":
    header = ("reward", "valid", "missing", "min", "mean", "max", "distinct", "at max")
    return _table(
        header,
        [
            (
                one.name,
                count(one.valid),
                _missing(one),
                number(one.min),
                number(one.mean),
                number(one.max),
                count(one.distinct),
                share(one.at_max),
            )
            for one in rewards
        ],
    )


def _missing(one: RewardSignal) -> str:
    causes = [f"{many:,} {cause}" for cause, many in one.missing_by_cause.items() if many]
    return ", ".join(causes) or "0"


def _signal(rewards: Sequence[RewardSignal]) -> "Table":
    header = ("groups", "live", "near dead", "dead", "all-max", "all-min", "between", "single", "live rows")
    return _table(
        header,
        [
            (
                one.name,
                count(one.live_groups),
                count(one.near_dead_groups),
                count(one.dead_groups),
                count(one.dead_groups_all_max),
                count(one.dead_groups_all_min),
                count(one.dead_groups - one.dead_groups_all_max - one.dead_groups_all_min),
                count(one.singletons),
                count(one.effective_rows),
            )
            for one in rewards
        ],
    )


def _chances(rewards: Sequence[RewardSignal]) -> "Table":
    """Variance and the expected share of dead groups at other sizes, side by side."""
    sizes = [chance.g for chance in rewards[0].p_dead]
    header = ("variance", "within", "between", "total", *(f"dead at {g}" for g in sizes))
    return _table(
        header,
        [
            (
                one.name,
                *(number(value) for value in (one.variance.within, one.variance.between, one.variance.total)),
                *(share(chance.p) + ("*" if chance.plug_in > 0 else "") for chance in one.p_dead),
            )
            for one in rewards
        ],
    )


def _remarks(facts: Facts) -> Iterator[str]:
    """The figures that take one line."""
    if any(chance.plug_in > 0 for one in facts.rewards for chance in one.p_dead):
        yield "* some groups are smaller: their observed shares stand for the true ones"
    yield f"advantage: mean |A| {number(facts.mean_abs_adv)}, max |A| {number(facts.max_abs_adv)}"
    if facts.signal.dead_groups:
        yield from _phantoms(facts.phantoms)
    for name, many in facts.constant_outcome.items():
        if many:
            yield f"live groups in which '{name}' is constant: {many:,} of {facts.signal.live_groups:,}"
    if facts.length:
        length = facts.length
        yield (
            f"length: mean {number(length.mean)}, max {count(length.max)} · correlation inside groups with reward "
            f"{number(length.with_reward)}, with advantage {number(length.with_advantage)} · "
            f"{share(length.dead_tokens)} of the tokens in dead groups"
        )


def _phantoms(phantoms: Sequence[Phantoms]) -> Iterator[str]:
    """The rules that give dead groups an advantage; those with the same figures together."""
    alike: dict[tuple[int, int, float], list[str]] = {}
    for one in phantoms:
        if one.rows:
            alike.setdefault((one.groups, one.rows, one.max_abs_adv), []).append(one.rule)
    skipped = [f"{one.rule} ({one.skipped})" for one in phantoms if one.skipped]
    if not alike:
        yield "phantom advantages in dead groups: none, under the first rule of every framework"
    for (groups, rows, largest), rules in sorted(alike.items(), key=lambda item: -item[0][2]):
        figures = f"{counted(groups, 'group')}, {counted(rows, 'row')}, max |A| {number(largest)}"
        yield f"phantom advantages: {figures}: {', '.join(rules)}"
    if skipped:
        yield f"phantoms not computed: {', '.join(skipped)}"


def _parts(parts: Parts | None) -> "Table | None":
    if parts is None:
        return None
    header = ("part", "weight", "share of within", "variance within", "at max", "constant in live groups")
    table = _table(
        header,
        [
            (
                one.name,
                number(one.weight),
                share(one.share),
                number(one.variance),
                share(one.saturated),
                count(one.constant_in_live),
            )
            for one in parts.parts
        ],
    )
    table.caption = (
        f"conflicting signs: {share(parts.conflicts)} of the live rows · different rewards, same advantage: "
        f"{counted(parts.collapsed_rows, 'row')} in {counted(parts.collapsed_groups, 'group')}"
    )
    table.caption_justify = "left"
    return table


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
    forms = {"live": share, "length": count}
    rows = []
    for place, one in enumerate(shown):
        cells = [one.step, count(one.rows)]
        for name, values in columns.items():
            value = values[place]
            cells.append(UNDEFINED if math.isnan(value) else forms.get(name, number)(value))
            cells.append(bar(value, values))
        rows.append((*cells, "!" if one.outlier else ""))
    header = ["step", "rows"]
    for name in columns:
        header += [name, ""]
    return _table((*header, ""), rows, left={place for place in range(3, len(header), 2)})


def _said_of_steps(steps: Sequence[StepFigures]) -> str:
    parts = []
    if len(steps) > _STEPS:
        parts.append(f"{len(steps):,} steps, in {_STEPS} stretches; each in --json")
    outliers = sorted((one for one in steps if one.outlier), key=lambda one: -one.robust_z)
    if outliers:
        named = ", ".join(
            f"{one.step} (max |A| {number(one.max_abs_adv)}, z {_short(one.robust_z)})" for one in outliers[:4]
        )
        more = f" and {len(outliers) - 4:,} more" if len(outliers) > 4 else ""
        parts.append(f"! max |A| stands out at step {named}{more}")
    elif math.isnan(steps[0].robust_z):
        parts.append("too few steps to tell outliers")
    else:
        parts.append("no step stands out by max |A| (robust z above 3.5)")
    return " · ".join(parts)


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 1e4 else f"{value:.0e}"


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
    console.print(detail.title, style="bold", highlight=False, soft_wrap=True, markup=False)
    if detail.lines:
        keys = list(detail.lines[0])
        names = [key.replace("_abs_adv", " |A|").replace("_", " ") for key in keys]
        rows = [[_cell(key, line[key]) for key in keys] for line in detail.lines]
        _print(_table(names, rows, left={0, len(keys) - 1}, text=True), console)
    if detail.left:
        _line(f"{counted(detail.left, 'more line')} not shown", console)


def _cell(key: str, value: Any) -> str:  # noqa: ANN401  any JSON value
    if isinstance(value, bool):
        return "dead" if value else ""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={number(part)}" for name, part in value.items())
    if isinstance(value, float):
        return count(value) if key == "length" and not math.isnan(value) else number(value)
    if key == "group":
        return f"#{value}"
    return count(value) if isinstance(value, int) else " ".join(str(value).split())


def _table(
    header: _Row, rows: Sequence[_Row], *, left: set[int] | None = None, text: bool = False
) -> "Table":
    """Columns that are never wrapped or cut, but for a last one with text."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(header):
        last = text and place == len(header) - 1
        table.add_column(
            Text(name),
            justify="left" if place in (left or {0}) | {0} else "right",
            no_wrap=True,
            overflow="ellipsis" if last else "fold",
            ratio=1 if last else None,
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _print(table: "Table", console: "Console") -> None:
    width = console.width
    if any(column.ratio for column in table.columns):
        console.width = min(width, _TEXT) if not console.is_terminal else width
    else:
        needed = console.measure(table, options=console.options.update(width=10_000)).maximum
        console.width = max(width, needed)
    console.print(table, crop=False)
    console.width = width


def _line(text: str, console: "Console") -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
