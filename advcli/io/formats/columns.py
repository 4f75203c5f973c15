"""Which column plays which part."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from advcli.errors import DataError, UsageError
from advcli.io.formats import detect
from advcli.io.formats.catalog import (
    FILLERS,
    FORMATS,
    IMAGES,
    LENGTHS,
    LOGGED,
    MASKS,
    OUTCOMES,
    OWN,
    PART_PREFIXES,
    PART_SUFFIXES,
    PROMPT_IDS,
    PROMPT_TEXTS,
    REWARD_LISTS,
    REWARD_TOTALS,
    ROLLOUTS,
    STEPS,
    TURN_LISTS,
    TURNS,
)
from advcli.io.formats.format import Format
from advcli.records.layout import PLAIN, Layout, Rules
from advcli.records.table import Choice, ColumnOptions
from advcli.wording import shortened

Kinds = Mapping[str, str]
"""Column → "number", "text", "nested" or "other"."""


def choose(
    kinds: Kinds, options: ColumnOptions, form: Format | None = None, layout: Layout = PLAIN
) -> Choice:
    """Decide which columns to read.

    Args:
        kinds: the columns of the dump, in file order, and the paths that the format names, as far as they are there.
        options: what the user asked for; it wins over everything.
        form: the format; None to tell it from the columns.
        layout: how rows lie in a record.

    Returns:
        The choice.

    Raises:
        DataError: nothing fits, or two columns of the same rank do.
        UsageError: a column that the user named is not there.
    """
    for name in (
        options.prompt,
        options.step,
        options.length,
        options.baseline,
        options.kl,
        options.by,
        *options.extra,
        *options.outcomes,
        *options.tokens.values(),
        options.logged,
        options.row,
        options.rollout,
        options.turn,
        *options.group_by,
        *(c for c, _ in options.rewards),
    ):
        if name is not None and name not in kinds:
            raise _no_column(name, kinds)
    if form is None:
        form = _form(kinds, options)
        there = [column for column in form.derived if all(name in kinds for name in column.needed())]
        kinds = {**kinds, **{column.name: column.kind for column in there}}
    for need in form.requires if options.format else ():
        name = need.partition(":")[0]
        if name not in kinds and "." not in name and layout.name != "nested":
            raise DataError(f"format {form.name} needs the column '{name}'; there is {_listed(kinds)}")
    for name in options.tokens.values():
        if kinds[name] not in ("nested", "number"):
            raise UsageError(f"column '{name}' holds {kinds[name]}, expected a list of numbers per row")
    rewards = _rewards(form, kinds, options)
    taken = {name for name, _ in rewards}
    length = options.length or _length(form, kinds, taken)
    prompt = _prompt(form, kinds, options, layout)
    step = options.step or _first(form.step or STEPS, kinds)
    rollout, turn = _rollout(form, kinds, options, {*taken, *prompt, step})
    logged = options.logged or _first(form.logged, kinds, but=taken, kind="number") or _logged(kinds, taken)
    return Choice(
        format=form.name,
        prompt=prompt,
        step=step,
        rewards=rewards,
        skip_missing_parts=form.parts is not None,
        length=length,
        baseline=options.baseline,
        kl=options.kl if options.kl and kinds[options.kl] != "nested" else None,
        extra=options.extra,
        tokens=_tokens(kinds, options),
        logged=logged,
        mask=_first(MASKS, kinds, kind="nested") if kinds.get(logged or "") == "nested" else None,
        step_in_key=form.step_in_key and not options.group_by,
        layout=layout,
        derived=form.derived,
        rules=_rules(form, kinds, prompt),
        dedup=options.dedup,
        row=options.row,
        named=options.named,
        others=_unused(kinds, {*taken, step, length, logged, *prompt, *rollout, turn}),
        rollout=rollout,
        turn=turn,
        sure=bool(options.rollout or form.rollout),
        turn_list=None if rollout and turn else _first(TURN_LISTS, kinds, but=taken, kind="nested"),
        by=options.by,
        outcomes=_outcomes(form, kinds, options, taken | {name for name in (length, step) if name}),
    )


def _unused(kinds: Kinds, used: set[str | None]) -> tuple[str, ...]:
    """Columns of numbers or lists that play no part."""
    return tuple(name for name, kind in kinds.items() if kind in ("number", "nested") and name not in used)


def _form(kinds: Kinds, options: ColumnOptions) -> Format:
    if options.format:
        return FORMATS[options.format]
    return detect.recognised(kinds) or FORMATS["generic"]


def _rules(form: Format, kinds: Kinds, prompt: Sequence[str]) -> Rules:
    """What the format says about rows, as far as the columns for it are there."""
    by_text = bool(prompt) and set(prompt) <= {*PROMPT_TEXTS, "messages", "input_prompt"}
    pictures = tuple(name for name in IMAGES if name in kinds and by_text)
    return Rules(
        filler=form.filler if form.filler in kinds else _first(FILLERS, kinds),
        evaluation=form.evaluation if form.evaluation in kinds else None,
        same=(*(name for name in form.same if name in kinds), *pictures),
        checks=form.checks,
        appended=form.appended,
        alone=form.alone,
    )


def _rollout(
    form: Format, kinds: Kinds, options: ColumnOptions, taken: set[str | None]
) -> tuple[tuple[str, ...], str | None]:
    """The columns that name the rollout, and the one that numbers its rows."""
    if options.rollout:
        rollout: tuple[str, ...] = (options.rollout,)
    elif form.rollout:
        rollout = next(filter(None, (_together(way, kinds) for way in form.rollout)), ())
    else:
        usual = (name for name in ROLLOUTS if kinds.get(name) in ("number", "text") and name not in taken)
        rollout = tuple(usual)[:1] if form.name == "generic" else ()
    turn = _first(form.turn or TURNS, kinds, kind="number") if rollout else None
    return rollout, options.turn or (None if turn in taken else turn)


def _length(form: Format, kinds: Kinds, taken: set[str]) -> str | None:
    known = _first(form.lengths, kinds, kind="number")
    return known or (_first(LENGTHS, kinds, but=taken, kind="number") if form.length else None)


def _prompt(form: Format, kinds: Kinds, options: ColumnOptions, layout: Layout) -> tuple[str, ...]:
    if options.group_by:
        return tuple(dict.fromkeys(options.group_by))
    if options.prompt:
        return (options.prompt,)
    if form.prompt and not form.ids:
        found = next(filter(None, (_together(way, kinds) for way in form.prompt)), ())
    else:
        ranks = (PROMPT_IDS, form.prompt or PROMPT_TEXTS)
        one = _ranked(ranks, kinds, what="prompt id", flag="--prompt-col")
        found = (one,) if one else ()
    if found:
        return found
    if options.n or (options.promptless and not layout.exploded):
        return ()
    if layout.exploded:
        # Without a prompt, the rows of a record are those of a prompt.
        return ("@file", "@line")
    expected = ", ".join(PROMPT_IDS + PROMPT_TEXTS)
    raise DataError(
        f"no prompt id among the columns {_listed(kinds)}; expected one of {expected}",
        hint="--prompt-col COL, --group-by A,B or --n ROWS_PER_PROMPT",
    )


def _rewards(form: Format, kinds: Kinds, options: ColumnOptions) -> tuple[tuple[str, float], ...]:
    if options.rewards:
        return options.rewards
    known = next((name for name in form.reward if name in kinds), None)
    if known:
        return ((known, 1.0),)
    if form.parts is not None:
        # Here every number is a reward function, even one that is called "reward", unless it has another part.
        others = {*form.parts, *PROMPT_IDS, *STEPS, *OWN, *options.group_by}
        single = (options.prompt, options.step, options.length, options.baseline, options.kl, options.logged)
        others |= {name for name in single if name}
        parts = [name for name, kind in kinds.items() if kind == "number" and name not in others]
        return _weighted(parts, options.weights, kinds) if form.summed else _weighted(parts[:1], (), kinds)
    parts = [name for name, kind in kinds.items() if kind == "number" and _looks_like_part(name)]
    if options.parts == "always" and parts:
        return _weighted(parts, (), kinds)
    lists = [name for name in REWARD_LISTS if kinds.get(name) == "number"]
    total = _ranked((REWARD_TOTALS, lists), kinds, what="reward", flag="--reward")
    if total:
        return ((total, 1.0),)
    if len(parts) == 1 or (parts and options.parts):
        return _weighted(parts, (), kinds)
    if parts:
        flags = " ".join(f"--reward {name}" for name in parts)
        raise DataError(
            f"no total reward, and several parts: {', '.join(parts)}", hint=f"{flags} (each COL=WEIGHT)"
        )
    raise DataError(
        f"no reward among the columns {_listed(kinds)}; expected one of {', '.join(REWARD_TOTALS)}",
        hint="--reward COL",
    )


def _outcomes(form: Format, kinds: Kinds, options: ColumnOptions, taken: set[str]) -> tuple[str, ...]:
    """The further reward columns that were asked for, and those that look like one if they are wanted."""
    usual = {name for rank in (REWARD_TOTALS, OUTCOMES) for name in rank}
    found = [
        name
        for name, kind in kinds.items()
        if options.find_outcomes
        and kind == "number"
        and name not in form.no_rewards
        and (name in usual or _looks_like_part(name))
    ]
    return tuple(name for name in dict.fromkeys((*options.outcomes, *found)) if name not in taken)


def _tokens(kinds: Kinds, options: ColumnOptions) -> tuple[tuple[str, str], ...]:
    """The columns with a list per row; that of the KL is one of them where it has lists."""
    lists = dict(options.tokens)
    if options.kl and kinds[options.kl] == "nested":
        lists["token_kl"] = options.kl
    return tuple(lists.items())


def _weighted(parts: Sequence[str], weights: Sequence[float], kinds: Kinds) -> tuple[tuple[str, float], ...]:
    if not parts:
        raise DataError(f"no reward among the columns {_listed(kinds)}", hint="--reward COL")
    if weights and len(weights) != len(parts):
        raise UsageError(
            f"{len(weights)} reward weights for {len(parts)} reward columns: {', '.join(parts)}",
            hint="--reward COL=WEIGHT",
        )
    return tuple(zip(parts, weights or [1.0] * len(parts), strict=True))


def _ranked(ranks: Sequence[Sequence[str]], kinds: Kinds, *, what: str, flag: str) -> str | None:
    """The only column of the first rank that has any."""
    for rank in ranks:
        found = [name for name in rank if name in kinds]
        if len(found) > 1:
            raise DataError(
                f"{len(found)} columns can be the {what}: {', '.join(found)}",
                hint=" or ".join(f"{flag} {name}" for name in found),
            )
        if found:
            return found[0]
    return None


def _together(way: str, kinds: Kinds) -> tuple[str, ...]:
    """The columns of a key `A+B?+C:text?`; none if one is missing that may not be."""
    columns = []
    for part in way.split("+"):
        name, _, kind = part.removesuffix("?").partition(":")
        if name in kinds and kind in ("", kinds[name]):
            columns.append(name)
        elif not part.endswith("?"):
            return ()
    return tuple(columns)


def _first(names: Sequence[str], kinds: Kinds, *, but: set[str] | None = None, kind: str = "") -> str | None:
    """The first of the names that is there, with the right kind, and not used for something else."""
    fits = (n for n in names if n in kinds and n not in (but or ()) and kind in ("", kinds[n]))
    return next(fits, None)


def _logged(kinds: Kinds, taken: set[str]) -> str | None:
    """The logged advantage: a number per row, or else a list with one per token."""
    return _first(LOGGED, kinds, but=taken, kind="number") or _first(LOGGED, kinds, kind="nested")


def _looks_like_part(name: str) -> bool:
    return name.startswith(PART_PREFIXES) or name.endswith(PART_SUFFIXES)


def _no_column(name: str, kinds: Kinds) -> UsageError:
    near = get_close_matches(name, kinds, n=3)
    return UsageError(f"no column '{name}'; there is {_listed(kinds)}", hint=" or ".join(near) or None)


def _listed(kinds: Kinds, limit: int = 12) -> str:
    names = [name for name in kinds if not name.startswith("@")]
    return shortened(names, limit)
