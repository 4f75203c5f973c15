"""An inspection as one screen of text."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from advcli.common.wording import counted, verb
from advcli.records.off_policy import OffPolicy
from advcli.records.results.inspection import (
    DeadCauses,
    Facts,
    Inspection,
    Parts,
    RewardSignal,
    StepFigures,
    Turns,
)
from advcli.render import details, off_policy, turns
from advcli.render.bars import bar, binned
from advcli.render.fit import NO_BREAK, print_table, print_text, table_of
from advcli.render.numbers import count, number, share, short
from advcli.render.tables import describe_sizes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# More steps than this are shown in stretches of consecutive steps.
_STEPS = 10
_OUTLIERS = 3
# Values of the `--by` column of which every section is shown.
_SPLIT = 6
# Figures by which a step may stand out → how they are called.
_WATCHED: Mapping[str, str] = {
    "reward_mean": "mean reward",
    "max_abs_reward": "max |r|",
    "max_abs_centred": "max |r − group mean|",
    "max_abs_adv": "max |A|",
}


def show(found: Inspection, console: "Console") -> None:
    """Print an inspection: the details that were asked for, else every section that has something to say."""
    _header(found, console)
    if found.details:
        for detail in found.details:
            details.show(detail, console)
        return
    if found.turns is not None:
        print_table(table_of(*turns.figures(found.turns)), console)
        for text in turns.weight(found.turns):
            print_text(text, console)
        for text in turns.anchors(found.turns):
            print_text(text, console)
        print_table(table_of(*turns.by_turns(found.turns), left={3}), console)
    _sections(found.facts, console, tuple(causes_lines(found.causes)))
    if found.off_policy is not None:
        _off_policy(found.off_policy, console)
    if found.by is None:
        return
    print_table(_split(found.by, found.split), console)
    for value, facts in list(found.split.items())[:_SPLIT]:
        console.print()
        print_text(f"── '{found.by}' is {value} ──", console, "bold")
        print_text(_counts(facts), console)
        _sections(facts, console)
    if len(found.split) > _SPLIT:
        rest = len(found.split) - _SPLIT
        print_text(f"{counted(rest, 'more value')} of '{found.by}' in the table above and in --json", console)


def _off_policy(result: OffPolicy, console: "Console") -> None:
    print_table(table_of(*off_policy.table(result)), console)
    for text in off_policy.remarks(result):
        print_text(text, console)
    if result.metrics:
        print_table(table_of(*off_policy.framework(result)), console)


def _header(result: Inspection, console: "Console") -> None:
    files = result.files
    read = files.names[0] if len(files.names) == 1 else f"{len(files.names):,} files"
    layout = result.settings.get("layout", "rows")
    laid_out = f" · layout {layout}" if layout not in ("rows", files.format) else ""
    print_text(f"{read} · format {files.format}{laid_out}", console)
    counts_rollouts = result.settings.get("count") == "rollouts"
    print_text(_counts(result.facts, result.turns if counts_rollouts else None), console, "bold")
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
    print_text(" · ".join(parts), console)
    if files.duplicates:
        same = verb(files.duplicates, "is", "are")
        print_text(
            f"duplicates: {counted(files.duplicates, 'row')} {same} identical to an earlier one, text included",
            console,
        )
    for text in files.lint:
        print_text(f"lint: {text}", console, "yellow")


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
            print_table(table, console)
        lines = list(remarks)
        if table is None and lines:
            console.print()
        for text in lines:
            print_text(text, console)


def _rewards(rewards: Sequence[RewardSignal]) -> "Table":
    # Groups of several sizes make two means, which differ where sizes go with rewards.
    means = [one.mean for one in rewards], [one.mean_over_groups for one in rewards]
    # Not by the last digit of a sum: that of equal groups may fall on either side of a rounding.
    two = any(
        number(one) != number(other) and not math.isclose(one, other, rel_tol=1e-9)
        for one, other in zip(*means, strict=True)
    )
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
    return table_of(
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
        if one.valid > 1 and one.min == one.max:
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
    return table_of(
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
    result = []
    if causes.all_max or causes.all_min:
        result += [
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
            result.append(f"{many:,}{of} {name}" + (f" ({by})" if by else ""))
    if result:
        yield f"of {counted(causes.groups, 'dead group')}: {', '.join(result)}"
    constant = [f"{name} in {many:,}" for name, many in causes.constant_parts.items()]
    if constant:
        yield f"parts that are constant in dead groups: {', '.join(constant)} of {causes.groups:,}"


def _outcomes(facts: Facts) -> Iterator[str]:
    result = [f"'{name}' in {many:,}" for name, many in facts.constant_outcome.items() if many]
    if result:
        yield f"constant in live groups: {', '.join(result)} of {facts.signal.live_groups:,}"


def _spread(rewards: Sequence[RewardSignal]) -> "Table":
    """The variance taken apart."""
    header = ("variance", "within", "between", "total", "between, unbiased")
    rows = []
    for one in rewards:
        of = one.variance
        figures = (of.within, of.between, of.total, of.between_unbiased)
        rows.append((one.name, *map(number, figures)))
    return table_of(header, rows)


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
    return table_of(header, rows)


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
            text = f"{', '.join(rules)}{NO_BREAK}{largest}"
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
    return table_of(header, rows)


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
    return table_of(header, [(*cells, share(one.dead_tokens))])


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
    for position, one in enumerate(shown):
        cells = [one.step, count(one.rows)]
        for name, values in columns.items():
            value = values[position]
            cells.append(forms.get(name, short)(value))
            cells.append(bar(value, values))
        rows.append((*cells, "!" if one.outlier else ""))
    header = ["step", "rows"]
    for name in columns:
        header += [name, ""]
    return table_of((*header, ""), rows, left=set(range(3, len(header), 2)))


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
    return table_of(
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
