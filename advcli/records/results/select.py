"""The options and the result of `select`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from advcli.records.results.result import Result

KINDS = ("sft", "dpo", "prompts")
STYLES = ("text", "chat", "messages")


@dataclass(frozen=True)
class Wanted:
    """The options of `select`: which rows, pairs or prompts, and how they are written.

    Attributes:
        kind: "sft" for the best row of each prompt, "dpo" for pairs, "prompts" for prompts.
        least: lowest reward of a chosen row; None for the higher of two rewards, or any if there are more.
        margin: smallest difference of a pair; 0 for any difference above 0.
        every: all pairs of a prompt, not only its best and worst row.
        band: lowest and highest share of solved rows of a prompt.
        top: number of prompts, those whose next group is most likely live; None for all, in order of appearance.
        style: "text", "chat" (lists of messages) or "messages" (the whole chat in one column); None for the dump's.
        prompt: column with the text of the prompt; None for the first with a usual name.
        response: column with the response, likewise.
    """

    kind: str
    least: float | None = None
    margin: float = 0.0
    every: bool = False
    band: tuple[float, float] = (0.0, 1.0)
    top: int | None = None
    style: str | None = None
    prompt: str | None = None
    response: str | None = None


@dataclass(frozen=True)
class Selection:
    """The selected records.

    Attributes:
        records: a record for each row, pair or prompt.
        prompts: prompts with a reward.
        used: prompts with a selected record.
        empty: rows that were skipped because they have no response (or prompt).
        notes: what was chosen, one line each.
        warnings: what looks wrong, one line each.
    """

    records: tuple[Mapping[str, Any], ...]
    prompts: int
    used: int
    empty: int
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class SelectResult(Result):
    """What `advcli select` returns.

    Attributes:
        kind: "sft", "dpo" or "prompts".
        written: the file that was written.
        records: number of records in it: rows, pairs or prompts.
        prompts: prompts with a reward.
        used: prompts with a selected record.
        empty: rows that were skipped because they have no response (or prompt).
        warnings: what looks wrong, one sentence each.
    """

    schema: ClassVar[str] = "advcli/select/1"
    kind: str
    written: str
    records: int
    prompts: int
    used: int
    empty: int
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, selection: Selection, kind: str, written: str) -> Self:
        """The JSON record of a selection.

        Args:
            selection: the selection.
            kind: "sft", "dpo" or "prompts".
            written: the file that was written.
        """
        counts = {name: getattr(selection, name) for name in ("prompts", "used", "empty", "warnings")}
        return cls(kind=kind, written=written, records=len(selection.records), **counts)
