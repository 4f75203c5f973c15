"""A test that is repeated for many values: one test, because thousands of short ones cost more to hand out than to run."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def over(**values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test once for each value of an argument; a failure says with which.

    Args:
        **values: the argument, and its values.
    """
    ((name, several),) = values.items()
    several = tuple(several)

    def repeat(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def repeated(**given: object) -> None:
            for value in several:
                try:
                    test(**given, **{name: value})
                except BaseException as error:
                    error.add_note(f"with {name}={getattr(value, 'name', value)!r}")
                    raise

        declared = inspect.signature(test)
        others = [one for one in declared.parameters.values() if one.name != name]
        repeated.__signature__ = declared.replace(parameters=others)  # type: ignore[attr-defined]
        return repeated

    return repeat
