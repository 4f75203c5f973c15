"""Chooses the prompt columns: an id before a text, a text before a chat, and columns that form groups of several rows."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from advcli.common.errors import DataError
from advcli.io.collect.keys import key_text
from advcli.io.columns import names
from advcli.io.columns.dump import Dump, Kinds, flags, listed
from advcli.io.columns.evidence import makes_groups
from advcli.io.formats.catalog import CHATS, PROMPT_IDS, PROMPT_TEXTS
from advcli.io.formats.derived import PLACES, before_answer, before_last_answer, is_answer
from advcli.records.layout import Derived

Prompt = tuple[str, ...]
"""The columns that together identify the prompt; empty if there is none."""

RECORD = ("@file", "@line")
"""The columns that identify a record."""

_BEFORE: tuple[Callable[[object], object], ...] = (before_last_answer, before_answer)


def prompt(dump: Dump, step: str | None) -> tuple[Prompt, Derived | None]:
    """The columns of the prompt, and the one among them that is derived from a chat, if any.

    Raises:
        DataError: there is none, or several that differ.
    """
    options = dump.options
    if options.group_by:
        return tuple(dict.fromkeys(options.group_by)), None
    if options.prompt:
        column = chats(dump.kinds).get(options.prompt)
        return (options.prompt,), (_of_chat(dump, column) or _made(column, _BEFORE[0])) if column else None
    result = _known(dump, step)
    if result or options.n:
        return result, None
    named = likely(dump, step)
    for name, column in chats(dump.kinds).items() if not (dump.form.prompt or named) else ():
        if chat := _of_chat(dump, column):
            dump.doubt(f"the prompt is what stands before the answer in '{column}'", f"--prompt-col {name}")
            return (name,), chat
    if dump.layout.exploded:
        for name in named:
            if dump.evidence.differs_within_records(name):
                dump.doubt(
                    f"the prompt is '{name}', of which a record has several",
                    f"--prompt-col {shlex.quote(name)}",
                )
                return (name,), None
        # Without a prompt column, a record is a prompt.
        return RECORD, None
    if options.ungrouped:
        return (), None
    raise _no_prompt(dump, step)


def _known(dump: Dump, step: str | None) -> Prompt:
    """The prompt columns named by the format or by usual names."""
    form = dump.form
    filled = {name: kind for name, kind in dump.kinds.items() if not dump.evidence.of(name).is_empty}
    if form.prompt and not form.ids:
        return next(filter(None, (key_columns(key, filled) for key in form.prompt)), ())
    ranks = [list(PROMPT_IDS), list(form.prompt or PROMPT_TEXTS)]
    if dump.layout.name == "lists":
        # Lists with one value per row usually have plural names.
        ranks += [[f"{name}s" for name in rank] for rank in ranks]
    same = {names.in_words(name): name for name in reversed(filled)}
    wanted = ([name if name in filled else same.get(name) for name in rank] for rank in ranks)
    return _ranked(dump, [[name for name in rank if name] for rank in wanted], step)


def _ranked(dump: Dump, ranks: Sequence[Sequence[str]], step: str | None) -> Prompt:
    """The column of the first non-empty rank; an id that differs in every row yields to one that doesn't."""
    evidence = dump.evidence
    candidates = [name for rank in ranks for name in rank]
    unique = [name for name in candidates if not evidence.share_rows((name, *step_key(step)))]
    shared = [name for name in candidates if name not in unique]
    sampled = bool(evidence.of(candidates[0]).cells) if candidates else False
    if sampled and shared and unique:
        ranks = [[name for name in rank if name in shared] for rank in ranks]
    result = next((list(rank) for rank in ranks if rank), [])
    different = [name for name in result[1:] if not evidence.same(result[0], name)]
    if different:
        several = [result[0], *different]
        raise DataError(
            f"{len(several)} columns can be the prompt id: {', '.join(several)}",
            hint=flags("--prompt-col", several),
        )
    first = next((name for name in candidates if name in unique), None) if sampled and shared else None
    if result and first and candidates.index(first) < candidates.index(result[0]):
        dump.doubt(
            f"'{first}' differs in every row, so '{result[0]}' is the prompt",
            f"--prompt-col {shlex.quote(result[0])}",
        )
    return tuple(result[:1])


def chats(kinds: Kinds) -> Mapping[str, str]:
    """The derived prompt column of each chat column: its name → the chat column.

    Example:
        >>> chats({"messages": "nested", "reward": "number"})
        {'messages.prompt': 'messages'}
    """
    return {f"{name}.prompt": name for name in CHATS if kinds.get(name) == "nested"}


def _of_chat(dump: Dump, name: str) -> Derived | None:
    """The messages before the last answer, or else before the first, if they form groups of several rows."""
    cells = [cell for cell in dump.evidence.of(name).present if isinstance(cell, list)]
    answered = bool(cells) and all(any(map(is_answer, cell)) for cell in cells)
    for before in _BEFORE if answered else ():
        if makes_groups([key_text(before(cell)) for cell in cells]):
            return _made(name, before)
    return None


def _made(name: str, before: Callable[[object], object]) -> Derived:
    return Derived(f"{name}.prompt", (name,), f"{before.__module__}:{before.__name__}", "text")


def _no_prompt(dump: Dump, step: str | None) -> DataError:
    empty = [name for name in (*PROMPT_IDS, *PROMPT_TEXTS) if name in dump.kinds]
    if empty:
        message = f"'{empty[0]}' is empty in every row of the sample, expected a prompt id"
    else:
        message = (
            f"no prompt id among the columns {listed(dump.kinds)}; expected one of "
            f"{', '.join(PROMPT_IDS + PROMPT_TEXTS)}"
        )
    options_hint = [f"--prompt-col {shlex.quote(name)}" for name in proposed(dump, step)]
    return DataError(
        message,
        hint=" or ".join(options_hint)
        or "--prompt-col COL, --group-by A,B, --n ROWS_PER_PROMPT, or --estimator batch_norm, which needs no prompt",
    )


def likely(dump: Dump, step: str | None) -> list[str]:
    """Columns named like a prompt whose values form groups of several rows."""
    return [name for name in _grouping(dump, step) if names.could_be_prompt(name)][:2]


def proposed(dump: Dump, step: str | None) -> list[str]:
    """The `likely` columns; if there are none, text columns of any name whose values form groups of equal size."""
    grouping = _grouping(dump, step)
    asked = [name for name in grouping if names.could_be_prompt(name)] or [*_tokens(dump, grouping)]
    even = (
        name
        for name in grouping
        if dump.kinds[name] == "text" and not names.is_source(name) and not names.says_answer(name)
        if len({*Counter(dump.evidence.keys((name, *step_key(step)))).values()}) == 1
    )
    return (asked or [*even] or [*_in_objects(dump, step)])[:2]


def _in_objects(dump: Dump, step: str | None) -> Iterator[str]:
    """Paths that are named like a prompt in the objects of a column, and whose values make groups of several rows."""
    for name, kind in dump.kinds.items():
        cells = dump.evidence.of(name).present if kind == "nested" else ()
        if not cells or not all(isinstance(cell, Mapping) for cell in cells):
            continue
        for key in dict.fromkeys(key for cell in cells for key in cell):
            named = key in (*PROMPT_IDS, *PROMPT_TEXTS) or names.could_be_prompt(key)
            if named and dump.evidence.groups_well(f"{name}.{key}", step_key(step)):
                yield f"{name}.{key}"


def _tokens(dump: Dump, grouping: Sequence[str]) -> Iterator[str]:
    """Columns with the tokens of a prompt, and not how many they are; of parquet files no such list is sampled."""
    for name, kind in dump.kinds.items():
        named = kind == "nested" and names.of_tokens(name) and names.says_prompt(name)
        if named and (name in grouping or not dump.evidence.of(name).cells):
            yield name


def _grouping(dump: Dump, step: str | None) -> list[str]:
    """Columns whose values form groups of several rows."""
    return [
        name
        for name, kind in dump.kinds.items()
        if kind != "other" and name != step and not name.startswith("@")
        if dump.evidence.groups_well(name, step_key(step))
    ]


def step_key(step: str | None) -> tuple[str, ...]:
    """The step as part of the group key; empty if it is not a column."""
    return (step,) if step and not step.startswith("@") else ()


def key_columns(key: str, kinds: Kinds) -> Prompt:
    """The columns of a key such as `A+B?+C:text?` (`?`: optional); empty if a required one is missing."""
    columns = []
    for part in key.split("+"):
        name, _, kind = part.removesuffix("?").partition(":")
        if (name in kinds and kind in ("", kinds[name])) or (name in PLACES and not part.endswith("?")):
            columns.append(name)
        elif not part.endswith("?"):
            return ()
    return tuple(columns)
