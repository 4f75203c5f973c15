"""Turns Python keywords into the settings and columns of a command; keywords are named as on the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict

from advcli.api.inputs import Held, Inputs
from advcli.common.errors import UsageError
from advcli.common.wording import either, one_line
from advcli.filters.catalog import expression, filter_spec, log_probs
from advcli.pipeline.request import Request
from advcli.records.table import ColumnOptions
from advcli.settings.resolve import resolve
from advcli.shaping.spec import Shapes, measures, specs_of

Names = str | Sequence[str]
Rewards = str | Sequence[str] | Mapping[str, float]
Shaping = Shapes


class SharedOptions(TypedDict, total=False):
    """Options that are the same at every point of a sweep.

    Attributes:
        preset: "conservative" or "aggressive".
        before: filters before the statistics: "dynamic_sampling", "truncated:max=4096".
        after: filters after the statistics: "cppo:keep=0.5".
        shaping: steps that shape the rewards first: ["gr3:alpha=0.33", "r - 0.1*turns/max(turns)"], or name → knobs:
            {"overlong": {"max": 4096, "buffer": 512}}.
        missing: what rows without a usable reward get: "null", "zero" or "error".
        singleton: what the only row of a group gets: "null", "zero", "raw" or "error".
        device: "auto", "cpu", "cuda" or "mps".
    """

    preset: str | None
    before: Names | None
    after: Names | None
    shaping: Shaping | None
    missing: str | None
    singleton: str | None
    device: str | None


class AdvantageOptions(SharedOptions, total=False):
    """How advantages are computed, named as on the command line; all are optional.

    Attributes:
        estimator: an estimator, with knobs if wanted: "rloo", "grpo:eps=1e-4".
        like: the framework whose numbers to reproduce: "verl", "trl@1.5".
        scale: divide by the std of the "group", of the "batch" (the step) or by "none".
        keep_pos: share of the positive rows of each group to keep, in [0, 1].
        keep_neg: share of the negative rows of each group to keep, in [0, 1].
        compute_new_adv: recompute the advantage on the kept rows (grpo only).
    """

    estimator: str | None
    like: str | None
    scale: str | None
    keep_pos: float | None
    keep_neg: float | None
    compute_new_adv: bool | None


_OPTIONS = tuple(AdvantageOptions.__annotations__)


@dataclass(frozen=True)
class Base:
    """The options that apply to all calls on a dump.

    Attributes:
        columns: the columns that the user asked for.
        like: the framework whose numbers to reproduce, unless overridden in a call.
        config: a trainer's configuration.
        set: `KEY=VALUE` overrides of the configuration.
    """

    columns: ColumnOptions
    like: str | None = None
    config: Path | None = None
    set: tuple[str, ...] = field(default_factory=tuple)

    def request(
        self,
        inputs: Inputs,
        options: Mapping[str, Any],
        knobs: Mapping[str, float | str] | None = None,
        **columns: Any,  # noqa: ANN401  fields of ColumnOptions
    ) -> Request:
        """Build the request for the pipeline, as the command line does.

        Args:
            inputs: the inputs.
            options: how advantages are computed, as in `AdvantageOptions`.
            knobs: further knobs of the estimator.
            columns: further columns to read, as fields of `ColumnOptions`.

        Raises:
            UsageError: an option is unknown or invalid.
        """
        unknown = next((name for name in options if name not in _OPTIONS), None)
        if unknown is not None:
            raise UsageError(f"there is no option '{unknown}'", hint=either(_OPTIONS))
        flags = {name: value for name, value in options.items() if name not in ("preset", "before", "after")}
        flags["like"] = flags.get("like") or self.like
        shaping = specs_of(flags.pop("shaping", None) or ())
        flags["shaping"] = shaping or None
        filters = [
            filter_spec(when, text) for when in ("before", "after") for text in names(options.get(when) or ())
        ]
        flags["filters"] = tuple(filters) or None
        measured, tests = measures(shaping), tuple(filter(None, map(expression, filters)))
        extra = tuple(dict.fromkeys([*(spec.column for spec in filters if spec.column), *measured]))
        settings, chosen, warnings, origin = resolve(
            flags,
            replace(self.columns, extra=extra, tests=tests, measures=measured, log_probs=log_probs(filters)),
            preset=options.get("preset"),
            config_file=self.config,
            pairs=self.set,
        )
        settings = replace(settings, knobs={**settings.knobs, **(knobs or {})})
        return Request(
            inputs.names,
            settings,
            replace(chosen, **columns),
            inputs.skip_bad_rows,
            warnings,
            origin,
            Held(inputs, refuse_missing=settings.missing == "error"),
        )


def names(given: Names) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (given,) if isinstance(given, str) else tuple(given)


def weighted(given: Rewards) -> tuple[tuple[str, float], ...]:
    """Reward columns with their weights.

    Example:
        >>> weighted("score"), weighted({"accuracy": 1, "format": 0.5})
        ((('score', 1.0),), (('accuracy', 1.0), ('format', 0.5)))
    """
    if isinstance(given, Mapping):
        return tuple((name, float(weight)) for name, weight in given.items())
    return tuple((name, 1.0) for name in names(given))


def paths(given: "str | PathLike[str] | Sequence[str | PathLike[str]]") -> tuple[str, ...]:
    """One path or several, as a tuple of text.

    Raises:
        UsageError: there is no path, or it is something else.
    """
    if isinstance(given, str | PathLike):
        return (fspath(given),)
    if not isinstance(given, Sequence) or not given:
        raise UsageError(
            f"{one_line(given)} is not an input",
            hint="a file, a folder or a list of them; a frame: from_frame",
        )
    return tuple(fspath(path) for path in given)
