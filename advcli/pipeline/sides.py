"""Two inputs, A and B, side by side: which of them an error, a note or a warning is about."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import redacted
from advcli.dataset.load import DataSet
from advcli.io.sources.remote import is_remote
from advcli.pipeline.request import Request
from advcli.records.table import Source


def named(request: Request) -> str:
    """The input as it was typed, without secrets."""
    return " ".join(redacted(text, whole=True) if is_remote(text) else text for text in request.inputs)


@contextmanager
def lettered(letter: str, name: str) -> Iterator[None]:
    """Let an error say which of the two it is about.

    Raises:
        DataError: what was raised inside, with the letter.
        UsageError: the same, with a hint at what sets an option of B alone.
    """
    try:
        yield
    except (DataError, UsageError) as error:
        where = letter if name in error.message else f"{letter} ({name})"
        cure = "--b OPTION=VALUE for what B alone has" if letter == "B" else None
        hint = " or ".join(filter(None, [error.hint, cure])) if isinstance(error, UsageError) else error.hint
        raise type(error)(f"{where}: {error.message}", hint=hint, about=error.about) from error


def loaded(letter: str, request: Request, check: Callable[[Sequence[Source]], None] | None) -> DataSet:
    """Read one of the two; an error says which, unless it is about what is to be written.

    Args:
        letter: "A" or "B".
        request: what to read.
        check: called with the inputs before they are read, to refuse what must not be written.
    """
    name = named(request)
    with ExitStack() as open_files:
        with lettered(letter, name):
            sources = open_files.enter_context(request.opened())
        if check:
            check(sources)
        with lettered(letter, name):
            return request.load(sources)


def said(a: Sequence[str], b: Sequence[str]) -> Iterator[str]:
    """What is said of each, and once what is said of both."""
    yield from (f"A and B: {text}" for text in a if text in b)
    yield from (f"A: {text}" for text in a if text not in b)
    yield from (f"B: {text}" for text in b if text not in a)
