"""What a row of the catalog of formats says."""

from dataclasses import dataclass

from advcli.records.layout import Derived


@dataclass(frozen=True)
class Format:
    """One shape of dump.

    A column may be a dotted path, a derived column, or one of `@line`, `@file`, `@folder` (where a row comes
    from) and `@step` (the number after "step" in the name of its file or folder).

    Attributes:
        name: the word that the user types.
        requires: columns that must all be there for the format to be recognised; `NAME:list`, `:object`,
            `:number` or `:text` also say what they hold.
        forbids: columns of which none may be there.
        layout: how rows lie in a record: "rows", "ones", "lists", "nested", or "guess".
        path: the list with one value or object per row; "" to look for it.
        prompt: what identifies the prompt, best first: `A+B` for several columns together, `B?` for one that may
            be missing; empty to look in the ranked lists.
        ids: whether a column that usually is a prompt id wins over `prompt`.
        step: the training step, best first; empty to look in the ranked list.
        step_in_key: whether a prompt met at another step is another group.
        reward: the total reward, best first; empty to look in the ranked lists.
        parts: columns that are no reward parts; every other numeric column is one, they are summed, and
            a missing part is skipped. None if the format has no parts.
        length: whether a column of lengths may be looked for.
        lengths: tokens per row, best first.
        logged: the advantage that the trainer logged, best first; empty to look in the ranked list.
        derived: columns that are computed from others.
        filler: a column that is true where a row is no rollout.
        counts: what a row must meet to count, as `--where` takes it: rows that failed have no reward, whatever stands
            there.
        reads: formats of earlier versions of the same framework whose files it reads beside its own.
        last_of: a column that names a unit, and one that numbers its rows, of which only the last counts.
        same: columns that must be equal in all rows of a group.
        checks: names of checks in `advcli.io.formats.traps`.
        files: names to look for in a folder.
        summary: where the file comes from.
        source: the writer, in the framework's own code.
        switch: the setting that makes the framework write it.
        traps: what a reader should know, one sentence each.
        refusal: why nothing can be read from it, and what is needed instead; "" if it is read.
    """

    name: str
    requires: tuple[str, ...]
    forbids: tuple[str, ...] = ()
    layout: str = "rows"
    path: str = ""
    prompt: tuple[str, ...] = ()
    ids: bool = False
    step: tuple[str, ...] = ()
    step_in_key: bool = True
    reward: tuple[str, ...] = ()
    parts: tuple[str, ...] | None = None
    length: bool = True
    lengths: tuple[str, ...] = ()
    logged: tuple[str, ...] = ()
    derived: tuple[Derived, ...] = ()
    filler: str | None = None
    counts: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    last_of: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    summary: str = ""
    source: str = ""
    switch: str = ""
    traps: tuple[str, ...] = ()
    refusal: str = ""
