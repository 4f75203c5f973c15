"""Which columns are the prompt: an id before a text, a text before a chat, and what makes groups of several rows."""

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
"""The columns that together identify the prompt; empty without one."""

RECORD = ("@file", "@line")
"""What identifies a record of an input."""

_BEFORE: tuple[Callable[[object], object], ...] = (before_last_answer, before_answer)


def prompt(dump: Dump, step: str | None) -> tuple[Prompt, Derived | None]:
    """The columns of the prompt, and the one among them that is made of a chat, if any.

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
        # Without a prompt, the rows of a record are those of a prompt.
        return RECORD, None
    if options.ungrouped:
        return (), None
    raise _no_prompt(dump, step)


def _known(dump: Dump, step: str | None) -> Prompt:
    """By what the format says, or by the usual names."""
    form = dump.form
    full = {name: kind for name, kind in dump.kinds.items() if not dump.evidence.of(name).is_empty}
    if form.prompt and not form.ids:
        return next(filter(None, (together(way, full) for way in form.prompt)), ())
    ranks = [list(PROMPT_IDS), list(form.prompt or PROMPT_TEXTS)]
    if dump.layout.name == "lists":
        # Lists with one value per row are mostly called by the plural.
        ranks += [[f"{name}s" for name in rank] for rank in ranks]
    same = {names.in_words(name): name for name in reversed(full)}
    wanted = ([name if name in full else same.get(name) for name in rank] for rank in ranks)
    return _ranked(dump, [[name for name in rank if name] for rank in wanted], step)


def _ranked(dump: Dump, ranks: Sequence[Sequence[str]], step: str | None) -> Prompt:
    """The column of the first rank that has one; an id that differs in every row gives way to one that does not."""
    evidence = dump.evidence
    everyone = [name for rank in ranks for name in rank]
    alone = [name for name in everyone if not evidence.share_rows((name, *beside(step)))]
    shared = [name for name in everyone if name not in alone]
    known = bool(evidence.of(everyone[0]).cells) if everyone else False
    if known and shared and alone:
        ranks = [[name for name in rank if name in shared] for rank in ranks]
    result = next((list(rank) for rank in ranks if rank), [])
    different = [name for name in result[1:] if not evidence.same(result[0], name)]
    if different:
        several = [result[0], *different]
        raise DataError(
            f"{len(several)} columns can be the prompt id: {', '.join(several)}",
            hint=flags("--prompt-col", several),
        )
    first = next((name for name in everyone if name in alone), None) if known and shared else None
    if result and first and everyone.index(first) < everyone.index(result[0]):
        dump.doubt(
            f"'{first}' differs in every row, so '{result[0]}' is the prompt",
            f"--prompt-col {shlex.quote(result[0])}",
        )
    return tuple(result[:1])


def chats(kinds: Kinds) -> Mapping[str, str]:
    """What stands before the answer in each chat, by a name of its own, and the chat that it is made of.

    Example:
        >>> chats({"messages": "nested", "reward": "number"})
        {'messages.prompt': 'messages'}
    """
    return {f"{name}.prompt": name for name in CHATS if kinds.get(name) == "nested"}


def _of_chat(dump: Dump, name: str) -> Derived | None:
    """What stands before the last answer, or else before the first, where that makes groups of several rows."""
    cells = [cell for cell in dump.evidence.of(name).there if isinstance(cell, list)]
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
        told = f"'{empty[0]}' is empty in every row of the sample, expected a prompt id"
    else:
        told = (
            f"no prompt id among the columns {listed(dump.kinds)}; expected one of "
            f"{', '.join(PROMPT_IDS + PROMPT_TEXTS)}"
        )
    ways = [f"--prompt-col {shlex.quote(name)}" for name in proposed(dump, step)]
    return DataError(
        told,
        hint=" or ".join(ways)
        or "--prompt-col COL, --group-by A,B, --n ROWS_PER_PROMPT, or --estimator batch_norm, which needs no prompt",
    )


def likely(dump: Dump, step: str | None) -> list[str]:
    """Columns that are named like a prompt, and whose values make groups of several rows."""
    return [name for name in _grouping(dump, step) if names.could_be_prompt(name)][:2]


def proposed(dump: Dump, step: str | None) -> list[str]:
    """The same; without one, texts of any name whose values make groups of one size."""
    grouping = _grouping(dump, step)
    asked = [name for name in grouping if names.could_be_prompt(name)] or [*_tokens(dump, grouping)]
    even = (
        name
        for name in grouping
        if dump.kinds[name] == "text" and not names.is_source(name) and not names.says_answer(name)
        if len({*Counter(dump.evidence.keys((name, *beside(step)))).values()}) == 1
    )
    return (asked or [*even] or [*_in_objects(dump, step)])[:2]


def _in_objects(dump: Dump, step: str | None) -> Iterator[str]:
    """Paths that are named like a prompt in the objects of a column, and whose values make groups of several rows."""
    for name, kind in dump.kinds.items():
        cells = dump.evidence.of(name).there if kind == "nested" else ()
        if not cells or not all(isinstance(cell, Mapping) for cell in cells):
            continue
        for key in dict.fromkeys(key for cell in cells for key in cell):
            told = key in (*PROMPT_IDS, *PROMPT_TEXTS) or names.could_be_prompt(key)
            if told and dump.evidence.groups_well(f"{name}.{key}", beside(step)):
                yield f"{name}.{key}"


def _tokens(dump: Dump, grouping: Sequence[str]) -> Iterator[str]:
    """Columns with the tokens of a prompt, and not how many they are; of parquet files no such list is sampled."""
    for name, kind in dump.kinds.items():
        told = kind == "nested" and names.of_tokens(name) and names.says_prompt(name)
        if told and (name in grouping or not dump.evidence.of(name).cells):
            yield name


def _grouping(dump: Dump, step: str | None) -> list[str]:
    """Columns whose values make groups of several rows."""
    return [
        name
        for name, kind in dump.kinds.items()
        if kind != "other" and name != step and not name.startswith("@")
        if dump.evidence.groups_well(name, beside(step))
    ]


def beside(step: str | None) -> tuple[str, ...]:
    """What makes a group together with a prompt, where it is a column."""
    return (step,) if step and not step.startswith("@") else ()


def together(way: str, kinds: Kinds) -> Prompt:
    """The columns of a key `A+B?+C:text?`; none if one is missing that may not be."""
    columns = []
    for part in way.split("+"):
        name, _, kind = part.removesuffix("?").partition(":")
        if (name in kinds and kind in ("", kinds[name])) or (name in PLACES and not part.endswith("?")):
            columns.append(name)
        elif not part.endswith("?"):
            return ()
    return tuple(columns)
