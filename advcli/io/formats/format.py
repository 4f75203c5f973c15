"""What a row of the catalog of formats says."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from advcli.records.layout import Derived


@dataclass(frozen=True)
class Contents:
    """What is in a file that is neither parquet nor JSON Lines.

    Attributes:
        rows: an arrow RecordBatchReader, rows as mappings, or a stream of bytes that is a file of its own.
        name: the name of that file.
        format: what the rows are called whatever their columns; "" to tell it from the columns.
        remarks: what was not read.
    """

    rows: Iterable[Any]
    name: str = ""
    format: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Opener:
    """How a file that is neither parquet nor JSON Lines is turned into rows.

    Attributes:
        magic: the pattern that its first bytes match.
        target: "package.module:function", called with the path and the name of the file; gives `Contents`, or None
            if the file is of another kind.
        suffixes: how its name must end; empty if it does not matter.
    """

    magic: str
    target: str
    suffixes: tuple[str, ...] = ()

    def fits(self, name: str, head: bytes) -> bool:
        """Whether a file may be of this kind.

        Args:
            name: its name, without the suffix of a compression.
            head: its first bytes, decompressed.
        """
        there = not self.suffixes or name.lower().endswith(self.suffixes)
        return there and re.compile(self.magic.encode("latin-1"), re.DOTALL).match(head) is not None


@dataclass(frozen=True)
class Format:
    """One shape of dump.

    A column may be a dotted path, a derived column, or one of `@line`, `@file`, `@folder` (where a row comes
    from) and `@step` (the number after "step" in the name of its file or folder).

    Attributes:
        name: the word that the user types.
        framework: the framework whose trainer writes it, as `advcli frameworks` names it; "" where it is the name.
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
        summed: False if parts have no total: the first one is the reward.
        no_rewards: columns that are called like a reward and are none.
        length: whether a column of lengths may be looked for.
        lengths: tokens per row, best first.
        logged: the advantage that the trainer logged, best first; empty to look in the ranked list.
        derived: columns that are computed from others.
        filler: a column that is true where a row is no rollout.
        evaluation: a column that is true where a row belongs to an evaluation; such rows are left out where others are.
        rollout: what names the rollout within its group where rows share one, as `prompt`; empty where a row is one.
        turn: the number of a row in its rollout, best first.
        counts: what a row must meet to count, as `--where` takes it: rows that failed have no reward, whatever stands
            there.
        reads: formats of earlier versions of the same framework whose files it reads beside its own.
        unique: a column that differs in every row: where rows share a value of it, the file is of another writer.
        same: columns that must be equal in all rows of a group.
        checks: names of checks in `advcli.io.formats.traps`.
        files: names to look for in a folder.
        otherwise: names to look for in a folder that has no file of those of any format.
        alone: whether every row is a group of its own, because the dump has no groups.
        only: whether there may be no column but the required ones.
        appended: whether a killed run leaves a line that breaks off, and goes on after it: such lines are skipped.
        opener: how a file that is neither parquet nor JSON Lines becomes rows; None if the format has no such file.
        join: "package.module:function", called with the path of a file; gives what completes each of its records from
            the files beside it, or None. "" if everything is in one file.
        summary: where the file comes from.
        source: the writer, in the framework's own code.
        switch: the setting that makes the framework write it.
        traps: what a reader should know, one sentence each.
        refusal: why nothing can be read from it, and what is needed instead; "" if it is read.
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
        """Whether it is only a kind of file, so that everything else is detected from the columns."""
        return self.opener is not None and not self.requires
