"""Which column plays which part."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from advcli.errors import DataError, UsageError
from advcli.io.catalog import (
    FORMATS,
    LENGTHS,
    LOGGED,
    OUTCOMES,
    PART_PREFIXES,
    PART_SUFFIXES,
    PROMPT_IDS,
    PROMPT_TEXTS,
    REWARD_TOTALS,
    STEPS,
    Format,
)
from advcli.records import Choice, ColumnOptions

Kinds = Mapping[str, str]
"""Column → "number", "text", "nested" or "other"."""


def choose(kinds: Kinds, options: ColumnOptions) -> Choice:
    """Decide which columns to read.

    Args:
        kinds: the columns of the dump, in file order.
        options: what the user asked for; it wins over everything.

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
        *options.group_by,
        *(c for c, _ in options.rewards),
    ):
        if name is not None and name not in kinds:
            raise _no_column(name, kinds)
    form = FORMATS[options.format] if options.format else _recognised(kinds)
    for name in form.requires if options.format else ():
        if name not in kinds:
            raise DataError(f"format {form.name} needs the column '{name}'; there is {_listed(kinds)}")
    for name in options.tokens.values():
        if kinds[name] not in ("nested", "number"):
            raise UsageError(f"column '{name}' holds {kinds[name]}, expected a list of numbers per row")
    step = options.step or _first(STEPS, kinds)
    rewards = _rewards(form, kinds, options)
    taken = {name for name, _ in rewards}
    length = options.length or (_first(LENGTHS, kinds, but=taken, kind="number") if form.length else None)
    return Choice(
        format=form.name,
        prompt=_prompt(form, kinds, options),
        step=step,
        rewards=rewards,
        skip_missing_parts=form.parts is not None,
        length=length,
        baseline=options.baseline,
        kl=options.kl if options.kl and kinds[options.kl] != "nested" else None,
        extra=options.extra,
        tokens=_tokens(kinds, options),
        logged=_first(LOGGED, kinds, but=taken, kind="number"),
        step_in_key=not options.group_by,
        by=options.by,
        outcomes=_outcomes(kinds, options, taken | {name for name in (length, step) if name}),
    )


def _recognised(kinds: Kinds) -> Format:
    """The first format whose columns are all there; the last row of the catalog needs none."""
    return next(
        form
        for form in FORMATS
        if all(name in kinds for name in form.requires) and not any(name in kinds for name in form.forbids)
    )


def _prompt(form: Format, kinds: Kinds, options: ColumnOptions) -> tuple[str, ...]:
    if options.group_by:
        return tuple(dict.fromkeys(options.group_by))
    if options.prompt:
        return (options.prompt,)
    found = _ranked((PROMPT_IDS, form.prompt or PROMPT_TEXTS), kinds, what="prompt id", flag="--prompt-col")
    if found:
        return (found,)
    if options.n:
        return ()
    expected = ", ".join(PROMPT_IDS + PROMPT_TEXTS)
    raise DataError(
        f"no prompt id among the columns {_listed(kinds)}; expected one of {expected}",
        hint="--prompt-col COL, --group-by A,B or --n ROWS_PER_PROMPT",
    )


def _rewards(form: Format, kinds: Kinds, options: ColumnOptions) -> tuple[tuple[str, float], ...]:
    if options.rewards:
        return options.rewards
    if form.reward:
        return ((form.reward, 1.0),)
    if form.parts is not None:
        # Here every number is a reward function, even one that is called "reward", unless it has another part.
        others = {*form.parts, *PROMPT_IDS, *STEPS, *options.group_by}
        single = (options.prompt, options.step, options.length, options.baseline, options.kl)
        others |= {name for name in single if name}
        parts = [name for name, kind in kinds.items() if kind == "number" and name not in others]
        return _weighted(parts, options.weights, kinds)
    total = _ranked((REWARD_TOTALS,), kinds, what="reward", flag="--reward")
    if total:
        return ((total, 1.0),)
    parts = [name for name, kind in kinds.items() if kind == "number" and _looks_like_part(name)]
    if len(parts) == 1:
        return ((parts[0], 1.0),)
    if parts:
        flags = " ".join(f"--reward {name}" for name in parts)
        raise DataError(
            f"no total reward, and several parts: {', '.join(parts)}", hint=f"{flags} (each COL=WEIGHT)"
        )
    raise DataError(
        f"no reward among the columns {_listed(kinds)}; expected one of {', '.join(REWARD_TOTALS)}",
        hint="--reward COL",
    )


def _outcomes(kinds: Kinds, options: ColumnOptions, taken: set[str]) -> tuple[str, ...]:
    """The further reward columns that were asked for, and those that look like one if they are wanted."""
    usual = {name for rank in (REWARD_TOTALS, OUTCOMES) for name in rank}
    found = [
        name
        for name, kind in kinds.items()
        if options.find_outcomes and kind == "number" and (name in usual or _looks_like_part(name))
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


def _first(names: Sequence[str], kinds: Kinds, *, but: set[str] | None = None, kind: str = "") -> str | None:
    """The first of the names that is there, with the right kind, and not used for something else."""
    fits = (n for n in names if n in kinds and n not in (but or ()) and kind in ("", kinds[n]))
    return next(fits, None)


def _looks_like_part(name: str) -> bool:
    return name.startswith(PART_PREFIXES) or name.endswith(PART_SUFFIXES)


def _no_column(name: str, kinds: Kinds) -> UsageError:
    near = get_close_matches(name, kinds, n=3)
    return UsageError(f"no column '{name}'; there is {_listed(kinds)}", hint=" or ".join(near) or None)


def _listed(kinds: Kinds, limit: int = 12) -> str:
    names = list(kinds)
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
