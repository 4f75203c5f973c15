"""The record types of the catalog of formats."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from advcli.records.layout import Derived


@dataclass(frozen=True)
class Contents:
    """The contents of a file that is neither parquet nor JSON Lines.

    Attributes:
        rows: an arrow RecordBatchReader, rows as mappings, or the byte stream of an embedded file.
        name: the name of the embedded file.
        format: the format of the rows; "" to detect it from the columns.
        remarks: messages about what was not read.
    """

    rows: Iterable[Any]
    name: str = ""
    format: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Opener:
    """How to read rows from a file that is neither parquet nor JSON Lines.

    Attributes:
        magic: a pattern that the first bytes match.
        target: "package.module:function", called with the path and the name of the file; returns `Contents`, or None
            if the file is of another kind.
        suffixes: the possible suffixes of its name; empty for any.
    """

    magic: str
    target: str
    suffixes: tuple[str, ...] = ()

    def fits(self, name: str, head: bytes) -> bool:
        """Whether a file could be of this kind.

        Args:
            name: its name, without a compression suffix.
            head: its first bytes, decompressed.
        """
        matches_suffix = not self.suffixes or name.lower().endswith(self.suffixes)
        return matches_suffix and re.compile(self.magic.encode("latin-1"), re.DOTALL).match(head) is not None


@dataclass(frozen=True)
class Format:
    """A format of dumps: one row of the catalog.

    A column may be a dotted path, a derived column, or one of `@line`, `@file`, `@folder` (where a row comes
    from) and `@step` (the number after "step" in the name of its file or folder).

    Attributes:
        name: the name for `--format`.
        framework: the framework whose trainer writes it, as in `advcli frameworks`; "" if it is the same as `name`.
        requires: columns that must all exist for the format to be detected; `NAME:list`, `:object`,
            `:number` or `:text` also require a kind.
        forbids: columns none of which may exist.
        layout: how rows are nested in a record: "rows", "ones", "lists", "nested", or "guess".
        path: the list with one value or object per row; "" to detect it.
        prompt: the columns that identify the prompt, best first: `A+B` for a combination of columns, `B?` for an optional
            one; empty to use the ranked lists.
        ids: whether a column with a usual name of a prompt id takes precedence over `prompt`.
        step: the training step, best first; empty to use the ranked list.
        step_in_key: whether the same prompt at another step is another group.
        reward: the total reward, best first; empty to use the ranked lists.
        parts: columns that are not reward parts; every other numeric column is one, they are summed, and
            a missing part is skipped. None if the format has no parts.
        summed: False if the parts have no total, so the first one is the reward.
        no_rewards: columns that are named like a reward but are not one.
        length: whether to look for a column of lengths.
        lengths: tokens per row, best first.
        logged: the advantage logged by the trainer, best first; empty to use the ranked list.
        derived: columns that are computed from others.
        filler: a column that is true if a row is not a rollout.
        evaluation: a column that is true if a row belongs to an evaluation; left out unless all rows do.
        rollout: the columns that identify a rollout with several rows within its group, as in `prompt`; empty if each row is
            a rollout.
        turn: the number of a row in its rollout, best first.
        counts: conditions for a row to count, as in `--where`: failed rows have no valid reward, whatever the column
            holds.
        reads: formats of earlier versions of the same framework whose files may be mixed with its own.
        unique: a column that differs in every row of a file: if rows share a value of it, the file is by another writer.
        same: columns that must be equal in all rows of a group.
        checks: names of checks in `advcli.io.formats.traps`.
        files: file name patterns to look for in a folder.
        otherwise: patterns to look for in a folder that has no file matching `files` of any format.
        alone: whether every row is its own group, because the dump has no groups.
        only: whether no columns other than the required ones may exist.
        appended: whether a killed run leaves a truncated line that later lines are appended to; such lines are skipped.
        opener: how to read rows from a file that is neither parquet nor JSON Lines; None for an ordinary file.
        join: "package.module:function", called with the path of a file; returns a function that completes each of its
            records from neighboring files, or None. "" if everything is in one file.
        summary: where the file comes from.
        source: the code in the framework that writes it.
        switch: the setting that makes the framework write it.
        traps: what a reader should know, one sentence each.
        refusal: why it can't be read, and what to use instead; "" if it can.
    """

    name: str
    requires: tuple[str, ...]
    framework: str = ""
    forbids: tuple[str, ...] = ()
    layout: str = "rows"
    path: str = ""
    prompt: tuple[str, ...] = ()
    ids: bool = False
    step: tuple[str, ...] = ()
    step_in_key: bool = True
    reward: tuple[str, ...] = ()
    parts: tuple[str, ...] | None = None
    summed: bool = True
    no_rewards: tuple[str, ...] = ()
    length: bool = True
    lengths: tuple[str, ...] = ()
    logged: tuple[str, ...] = ()
    derived: tuple[Derived, ...] = ()
    filler: str | None = None
    evaluation: str | None = None
    rollout: tuple[str, ...] = ()
    turn: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    unique: str = ""
    same: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    alone: bool = False
    only: bool = False
    appended: bool = False
    opener: Opener | None = None
    join: str = ""
    summary: str = ""
    source: str = ""
    switch: str = ""
    traps: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def tells_nothing(self) -> bool:
        """Whether it is only a file type, so that everything else is detected from the columns."""
        return self.opener is not None and not self.requires
