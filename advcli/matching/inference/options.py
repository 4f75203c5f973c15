"""The values to try for each option of a rule, by its type or, where the type isn't enough, by a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, get_args

from advcli.common.registry import load, parameters
from advcli.engine.dispatch import NON_NEGATIVE, SHARES
from advcli.matching.candidates import Candidate

_WHOLE = (*range(9), 10, 12, 16, 32)
_FLAG = (0.0, 1.0)
_SHOWS = 1e-3


@dataclass(frozen=True)
class Fitted:
    """An option that may be any number.

    Attributes:
        name: the option.
        starts: starting values of a fit, the default first.
        unit: the size of a noticeable change.
        low: the smallest allowed value.
        high: the largest.
    """

    name: str
    starts: tuple[float, ...]
    unit: float
    low: float = -float("inf")
    high: float = float("inf")


@dataclass(frozen=True)
class Values:
    """An option with a few values to try.

    Attributes:
        values: the values; () for the default only.
        free: whether it could be any other number too, so that it counts as fitted.
    """

    values: tuple[float | str, ...] = ()
    free: bool = False


# Options whose type isn't enough. An eps is noticeable only if it isn't small compared with the std.
_BY_NAME: Mapping[str, Values | float] = {
    "eps": 0.1,
    "batch_eps": 0.1,
    "ddof": Values((1, 0)),
    "step_norm": Values(_FLAG),
    "token_norm": Values(_FLAG),
    "normalise": Values(_FLAG),
    "form": Values(("loo", "plain")),
    "history": Values((0, 1, 2, 3, 4)),
    "level": Values(tuple(one / 10 for one in range(1, 10)), free=True),
    "low": Values((0.0, -1.0), free=True),
    "reward_clip": Values((0.2, 0.5, 1.0, 2.0, 5.0), free=True),
    # Clipping is inferred separately for every rule; the others don't change the advantages, or only by a factor.
    "clip": Values(),
    "cap": Values(),
    "threshold": Values(),
    "std_threshold": Values(),
    "similarity": Values(),
}
_FREE = frozenset(name for name, one in _BY_NAME.items() if isinstance(one, Values) and one.free)
# Options without effect if the rule doesn't divide.
_OF_DIVISOR = frozenset({"eps", "ddof"})


@dataclass(frozen=True)
class Form:
    """A rule with its enumerable options (choices, flags, integers) set.

    Attributes:
        candidate: the rule.
        fitted: its other options.
        chosen: how many options differ from the default.
        free: how many of these could be any number.
    """

    candidate: Candidate
    fitted: tuple[Fitted, ...]
    chosen: int
    free: int = 0


@cache
def forms(candidate: Candidate) -> Sequence[Form]:
    """A rule with every combination of its enumerable options, the default first.

    Args:
        candidate: the rule with default options.
    """
    kinds = dict(_options(candidate))
    fitted = tuple(one for one in kinds.values() if isinstance(one, Fitted))
    few = {name: one for name, one in kinds.items() if isinstance(one, tuple)}
    result = []
    for values in product(*few.values()):
        given = {
            name: value for (name, all_), value in zip(few.items(), values, strict=True) if value != all_[0]
        }
        if fitted or given:
            free = sum(name in _FREE for name in given)
            result.append(
                Form(candidate.with_options(given) if given else candidate, fitted, len(given), free)
            )
    return tuple(result)


def _options(candidate: Candidate) -> Iterator[tuple[str, Fitted | tuple[float | str, ...]]]:
    """The options of a rule, each with the values to try (the default first) or how to fit it."""
    rule, entry = candidate.plan.rule, candidate.plan.entry
    known = {name: p for name, p in parameters(load(entry.target)).items() if p.kind is p.KEYWORD_ONLY}
    names = rule.options if rule else [name for name in known if name != "scale"]
    for name in names:
        kind: Any = known[name].annotation if name in known else float
        default = rule.options[name] if rule else known[name].default
        if candidate.eps is None and name in _OF_DIVISOR:
            continue
        tried = _tried(name, kind, default)
        if isinstance(tried, Fitted):
            yield name, tried
        else:
            yield name, tuple(dict.fromkeys((default, *tried)))


def _tried(name: str, kind: Any, default: Any) -> Fitted | tuple[float | str, ...]:  # noqa: ANN401  as declared
    known = _BY_NAME.get(name)
    if isinstance(known, Values):
        return known.values
    if words := get_args(kind):
        return tuple(words)
    if kind in (bool, int):
        return _FLAG if kind is bool else _WHOLE
    if not isinstance(default, int | float):
        return ()
    unit = known if known is not None else abs(default) or 1.0
    starts: tuple[float, ...] = (float(default),)
    if known is not None:
        # Start the fit at 0, but add other starts in case that divides by 0 or nothing else divides.
        starts = (0.0, unit, *(starts if default > _SHOWS * unit else ()))
    if name in SHARES:
        return Fitted(name, (*starts, 0.5), 1.0, 0.0, 1.0)
    if name in NON_NEGATIVE:
        return Fitted(name, (*starts, *(starts[0] * far for far in (0.1, 10.0) if starts[0])), unit, 0.0)
    return Fitted(name, starts, unit)
