"""Labels errors, notes and warnings of two inputs with A or B."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import redacted
from advcli.io.sources.remote import is_remote
from advcli.pipeline.request import Request


def named(request: Request) -> str:
    """The input as typed, without secrets."""
    return " ".join(redacted(text, whole=True) if is_remote(text) else text for text in request.inputs)


@contextmanager
def lettered(letter: str, name: str) -> Iterator[None]:
    """Prefix errors with the letter and name of an input.

    Raises:
        DataError: the error raised inside, with the letter.
        UsageError: likewise, for B with a hint at `--b`.
    """
    try:
        yield
    except (DataError, UsageError) as error:
        where = letter if name in error.message else f"{letter} ({name})"
        for_b = "--b OPTION=VALUE for B only" if letter == "B" else None
        hint = " or ".join(filter(None, [error.hint, for_b])) if isinstance(error, UsageError) else error.hint
        raise type(error)(f"{where}: {error.message}", hint=hint, about=error.about) from error


def labelled(a: Sequence[str], b: Sequence[str]) -> Iterator[str]:
    """Merge the messages of both inputs, labelled; common ones appear once."""
    yield from (f"A and B: {text}" for text in a if text in b)
    yield from (f"A: {text}" for text in a if text not in b)
    yield from (f"B: {text}" for text in b if text not in a)
