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

# More steps than this are merged into bins of consecutive steps.
_STEPS = 10
_OUTLIERS = 3
# Values of the `--by` column for which every section is shown.
_SPLIT = 6
# Figures by which a step may stand out → their names on screen.
_WATCHED: Mapping[str, str] = {
    "reward_mean": "mean reward",
    "max_abs_reward": "max |r|",
    "max_abs_centred": "max |r − group mean|",
    "max_abs_adv": "max |A|",
}


def show(inspection: Inspection, console: "Console") -> None:
    """Print an inspection: the requested details, else every section with content."""
    _header(inspection, console)
    if inspection.details:
        for detail in inspection.details:
            details.show(detail, console)
        return
    if inspection.turns is not None:
        print_table(table_of(*turns.figures(inspection.turns)), console)
        for text in turns.weight(inspection.turns):
            print_text(text, console)
        for text in turns.anchors(inspection.turns):
            print_text(text, console)
        print_table(table_of(*turns.by_turns(inspection.turns), left={3}), console)
    _sections(inspection.facts, console, tuple(causes_lines(inspection.causes)))
    if inspection.off_policy is not None:
        _off_policy(inspection.off_policy, console)
    if inspection.by is None:
        return
    print_table(_split(inspection.by, inspection.split), console)
    for value, facts in list(inspection.split.items())[:_SPLIT]:
        console.print()
        print_text(f"── '{inspection.by}' is {value} ──", console, "bold")
        print_text(_counts(facts), console)
        _sections(facts, console)
    if len(inspection.split) > _SPLIT:
        rest = len(inspection.split) - _SPLIT
        print_text(
            f"{counted(rest, 'more value')} of '{inspection.by}' in the table above and in --json", console
        )


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
    layout_note = f" · layout {layout}" if layout not in ("rows", files.format) else ""
    print_text(f"{read} · format {files.format}{layout_note}", console)
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


def _counts(facts: Facts, rollouts: Turns | None = None) -> str:
    """The numbers of rows, groups and steps; and of rollouts if those are counted."""
    if rollouts is None:
        parts = [counted(facts.rows, "row"), describe_sizes(facts.sizes)]
    else:
        parts = [counted(rollouts.rows, "row"), counted(rollouts.rollouts, "rollout")]
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
        (_steps(facts), _outliers(facts.per_step)),
    ):
        if table is not None:
            print_table(table, console)
        lines = list(remarks)
        if table is None and lines:
            console.print()
        for text in lines:
            print_text(text, console)


def _rewards(rewards: Sequence[RewardSignal]) -> "Table":
    # The two means differ if rewards depend on the group size.
    means = [signal.mean for signal in rewards], [signal.mean_over_groups for signal in rewards]
    # Compared with a tolerance: rounding errors of equal means may straddle a display digit.
    two = any(
        number(rows) != number(groups) and not math.isclose(rows, groups, rel_tol=1e-9)
        for rows, groups in zip(*means, strict=True)
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
                signal.name,
                count(signal.valid),
                _missing(signal),
                number(signal.min),
                number(signal.mean),
                *([number(signal.mean_over_groups)] if two else []),
                number(signal.max),
                count(signal.distinct),
                share(signal.at_max),
            )
            for signal in rewards
        ],
    )


def _constant(rewards: Sequence[RewardSignal]) -> Iterator[str]:
    for signal in rewards:
        if signal.valid > 1 and signal.min == signal.max:
            rows = counted(signal.valid, "row")
            yield f"'{signal.name}' is {number(signal.min)} in all {rows}: no group can be live"


def _missing(signal: RewardSignal) -> str:
    causes = [f"{total:,} {cause}" for cause, total in signal.missing_by_cause.items() if total]
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
                signal.name,
                count(signal.live_groups),
                count(signal.near_dead_groups),
                count(signal.dead_groups),
                *map(count, _dead_by_reward(signal)),
                count(signal.singletons),
                count(signal.live_rows),
            )
            for signal in rewards
        ],
    )


def _about_dead(facts: Facts) -> Iterator[str]:
    if any(signal.dead_groups for signal in facts.rewards):
        yield "live: rewards differ; near-dead: hardly; dead: all equal; single: one valid row"


def _dead_by_reward(signal: RewardSignal) -> tuple[float, float, float]:
    """Dead groups at the largest reward, at the smallest, and in between; NaN if all rewards are equal."""
    if signal.min == signal.max:
        return math.nan, math.nan, math.nan
    high, low = signal.dead_groups_all_max, signal.dead_groups_all_min
    return high, low, signal.dead_groups - high - low


def causes_lines(causes: DeadCauses | None) -> Iterator[str]:
    """Lines on why groups are dead."""
    if causes is None:
        return
    result = []
    if causes.all_max or causes.all_min:
        result += [
            f"{causes.all_min:,} never solved (all at the min)",
            f"{causes.all_max:,} always (all at the max)",
        ]
    of = "" if causes.read == causes.groups else f" of {causes.read:,} that were read"
    for total, name, by in (
        (causes.same_text, "with one text in most rows", ""),
        (causes.truncated, "truncated in all rows", causes.truncated_by),
        (causes.failed, "failed in all rows", causes.failed_by),
    ):
        if total is not None:
            result.append(f"{total:,}{of} {name}" + (f" ({by})" if by else ""))
    if result:
        yield f"of {counted(causes.groups, 'dead group')}: {', '.join(result)}"
    constant = [f"{name} in {total:,}" for name, total in causes.constant_parts.items()]
    if constant:
        yield f"parts that are constant in dead groups: {', '.join(constant)} of {causes.groups:,}"


def _outcomes(facts: Facts) -> Iterator[str]:
    result = [f"'{name}' in {total:,}" for name, total in facts.constant_outcome.items() if total]
    if result:
        yield f"constant in live groups: {', '.join(result)} of {facts.signal.live_groups:,}"


def _spread(rewards: Sequence[RewardSignal]) -> "Table":
    """The variance components."""
    header = ("variance", "within", "between", "total", "between, unbiased")
    rows = []
    for signal in rewards:
        variance = signal.variance
        figures = (variance.within, variance.between, variance.total, variance.between_unbiased)
        rows.append((signal.name, *map(number, figures)))
    return table_of(header, rows)


def _group_sizes(signal: RewardSignal) -> "Table | None":
    """How many groups would be dead with more or fewer rows each, and what that would cost."""
    chances = [chance for chance in signal.p_dead if chance.how]
    if not chances:
        return None
    header = ("rows per group", *(str(chance.g) for chance in chances))
    able = signal.live_groups + signal.dead_groups
    rows = (
        ("dead groups", *(share(chance.p) + ("*" if chance.how == "fitted" else " ") for chance in chances)),
        (f"live groups, of {able:,}", *(f"{chance.live_groups:,.1f} " for chance in chances)),
        ("rows saved", *(f"{chance.rows_saved:,} " for chance in chances)),
    )
    return table_of(header, rows)


def _fitted(signal: RewardSignal) -> Iterator[str]:
    fitted = [chance for chance in signal.p_dead if chance.how == "fitted"]
    if fitted:
        ends = ", ".join(f"{chance.g} rows {share(chance.low)} … {share(chance.high)}" for chance in fitted)
        yield f"* fitted (beta-binomial), 95% interval: {ends}"


def _phantoms(facts: Facts) -> Iterator[str]:
    """Lines on the rules that give dead groups an advantage; rules with the same figures share an entry."""
    if not facts.signal.dead_groups:
        return
    by_figures: dict[tuple[str, int, int], list[str]] = {}
    for phantom in sorted(facts.phantoms, key=lambda phantom: -phantom.max_abs_adv):
        figures = (number(phantom.max_abs_adv), phantom.groups, phantom.rows)
        key = ("not computed", 0, 0) if phantom.skipped else figures
        own = phantom is facts.phantoms[0]
        name = f"{phantom.rule} (these settings)" if own else phantom.rule.partition(":")[0]
        by_figures.setdefault(key, []).append(name)
    by_counts: dict[tuple[int, int], list[str]] = {}
    for (largest, groups, rows), rules in by_figures.items():
        if (groups, rows) == (0, 0) and largest == "0":
            text = "all others" if len(by_figures) > 1 else "every framework, and these settings"
        else:
            text = f"{', '.join(rules)}{NO_BREAK}{largest}"
        by_counts.setdefault((groups, rows), []).append(text)
    yield "phantoms: dead groups that get an advantage other than 0, by rule and max |A|"
    for (groups, rows), texts in by_counts.items():
        counts = f"{counted(groups, 'group')}, {counted(rows, 'row')}" if groups else "none"
        yield f"{counts}: {'; '.join(texts)}"


def _parts(parts: Parts | None) -> "Table | None":
    if parts is None:
        return None
    header = ("part", "weight", "share of within", "variance within", "constant in live groups")
    rows = [
        (
            part.name,
            number(part.weight),
            share(part.share),
            number(part.variance),
            count(part.constant_in_live),
        )
        for part in parts.parts
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
    length = facts.length
    header = ("length: mean", "max", "correlation with reward", "with advantage", "in dead groups")
    cells = (count(length.mean), count(length.max), number(length.with_reward), number(length.with_advantage))
    return table_of(header, [(*cells, share(length.dead_tokens))])


def _steps(facts: Facts) -> "Table | None":
    if not facts.per_step:
        return None
    shown = binned(facts.per_step, _STEPS)
    columns = {
        "reward": [step.reward_mean for step in shown],
        "live": [step.live for step in shown],
        "mean |A|": [step.mean_abs_adv for step in shown],
        "max |A|": [step.max_abs_adv for step in shown],
    }
    if facts.length:
        columns["length"] = [step.length_mean for step in shown]
    forms = {"live": share, "length": count}
    rows = []
    for position, step in enumerate(shown):
        cells = [step.step, count(step.rows)]
        for name, values in columns.items():
            value = values[position]
            cells.append(forms.get(name, short)(value))
            cells.append(bar(value, values))
        rows.append((*cells, "!" if step.outlier else ""))
    header = ["step", "rows"]
    for name in columns:
        header += [name, ""]
    return table_of((*header, ""), rows, left=set(range(3, len(header), 2)))


def _outliers(steps: Sequence[StepFigures]) -> Iterator[str]:
    if len(steps) > _STEPS:
        yield f"{len(steps):,} steps in {_STEPS} bins; --json has each"
    outliers = sorted((step for step in steps if step.outlier), key=lambda step: -step.robust_z)
    for step in outliers[:_OUTLIERS]:
        yield f"! step {step.step}: {standing_out(step)}, robust z {short(step.robust_z)}"
    if len(outliers) > _OUTLIERS:
        yield f"! {counted(len(outliers) - _OUTLIERS, 'more step')} with a robust z above 3.5"


def standing_out(step: StepFigures) -> str:
    """The figures by which a step stands out, as text."""
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
