"""Every error a user can see.

AdvcliError            exit 1
├── UsageError         exit 2   the command line or the arguments (also a ValueError)
├── DataError          exit 3   a file that cannot be read, used or written (also a ValueError)
└── MissingPackage     exit 4   an optional package is not installed
Interrupted            exit 130 Ctrl-C

A bug, which is any other exception, is exit 70.

A message says what, where and what was expected; the hint says what to try.
The library raises, `advcli.cli.main` prints.
"""

from typing import ClassVar

from advcli.common.wording import redacted, shown


class AdvcliError(Exception):
    """An error that the user can act on.

    Args:
        message: one line: what, where (`file:line`, column, value), what was expected.
        hint: what to try, without the word "try".
        about: the wrong setting, so that the message can name its origin.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None, about: str | None = None) -> None:
        # File names and other packages' errors may contain secrets, line breaks or terminal escapes.
        self.message = shown(redacted(message))
        self.hint = hint and shown(redacted(hint))
        self.about = about
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}; try {self.hint}" if self.hint else self.message


class UsageError(AdvcliError, ValueError):
    """The command line, a configuration file or an argument does not make sense."""

    exit_code = 2


class DataError(AdvcliError, ValueError):
    """A file cannot be read, its content cannot be used, or the output cannot be written."""

    exit_code = 3


class MissingPackage(AdvcliError, ImportError):  # noqa: N818  the name set in the design
    """A required package is not installed."""

    exit_code = 4


class Interrupted(BaseException):
    """Ctrl-C. A BaseException like KeyboardInterrupt, so that no `except Exception` in a package swallows it."""

    exit_code: ClassVar[int] = 130
