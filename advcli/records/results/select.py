"""What `select` is asked for, and what it gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from advcli.records.results.result import Result

KINDS = ("sft", "dpo", "prompts")
STYLES = ("text", "chat", "messages")


@dataclass(frozen=True)
class Wanted:
    """Which rows, pairs or prompts, and how they are written.

    Attributes:
        kind: "sft" for the best row of each prompt, "dpo" for pairs, "prompts" for prompts.
        least: lowest reward of a row that is chosen; None for the higher one where there are two, else any.
        margin: smallest difference of a pair; any above 0 if it is 0.
        every: all pairs of a prompt, not only its best and its worst row.
        band: lowest and highest share of solved rows of a prompt.
        top: so many prompts, those whose next group is most likely live; None for all, in order of appearance.
        style: "text", "chat" (lists of messages) or "messages" (the whole chat in one column); None as the dump has it.
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
    """What was selected.

    Attributes:
        records: a record for each row, pair or prompt.
        prompts: prompts with a reward.
        used: prompts of which something was selected.
        empty: rows that were passed over because they have no response (or prompt).
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
        records: how many records are in it: rows, pairs or prompts.
        prompts: prompts with a reward.
        used: prompts of which something was selected.
        empty: rows that were passed over because they have no response (or prompt).
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
    def of(cls, found: Selection, kind: str, written: str) -> Self:
        """What was selected.

        Args:
            found: the selection.
            kind: "sft", "dpo" or "prompts".
            written: the file that was written.
        """
        counts = {name: getattr(found, name) for name in ("prompts", "used", "empty", "warnings")}
        return cls(kind=kind, written=written, records=len(found.records), **counts)
