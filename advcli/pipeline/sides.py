"""Labels errors, notes and warnings of two inputs with A or B."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import redacted
from advcli.dataset.load import DataSet
from advcli.io.sources.remote import is_remote
from advcli.pipeline.request import Request
from advcli.records.table import Source


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


def loaded(letter: str, request: Request, check: Callable[[Sequence[Source]], None] | None) -> DataSet:
    """Read one of the two inputs; errors name it, except those about the output.

    Args:
        letter: "A" or "B".
        request: what to read.
        check: called with the inputs before they are read, to refuse outputs that would overwrite them.
    """
    name = named(request)
    with ExitStack() as open_files:
        with lettered(letter, name):
            sources = open_files.enter_context(request.opened())
        if check:
            check(sources)
        with lettered(letter, name):
            return request.load(sources)


def labelled(a: Sequence[str], b: Sequence[str]) -> Iterator[str]:
    """Merge the messages of both inputs, labelled; common ones appear once."""
    yield from (f"A and B: {text}" for text in a if text in b)
    yield from (f"A: {text}" for text in a if text not in b)
    yield from (f"B: {text}" for text in b if text not in a)
