"""The only code that picks a device or a dtype, and the one call of an estimator."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from advcli.errors import UsageError
from advcli.estimators.catalog import SCALES, Estimator
from advcli.registry import load
from advcli.words import one_line

DEVICES = ("auto", "cpu", "cuda", "mps")

_AVAILABLE: Mapping[str, Callable[[], bool]] = {
    "cpu": lambda: True,
    "cuda": torch.cuda.is_available,
    "mps": torch.backends.mps.is_available,
}


def pick(device: str) -> tuple[torch.device, torch.dtype]:
    """The device and the dtype to compute with.

    Args:
        device: "auto", "cpu", "cuda" or "mps". "auto" is the CPU: a dump has to be very large before
            moving it to a GPU pays, and the CPU's sums are the same in every run.

    Returns:
        The device, and float64; float32 on "mps", which has no float64.

    Raises:
        UsageError: no such device, or none on this machine.
    """
    if device not in DEVICES:
        raise UsageError(f"unknown device '{device}'", hint=", ".join(DEVICES))
    name = "cpu" if device == "auto" else device
    if not _AVAILABLE[name]():
        raise UsageError(f"device '{name}' is not available on this machine", hint="--device cpu")
    return torch.device(name), torch.float32 if name == "mps" else torch.float64


def knobs(entry: Estimator, scale: str | None, given: Mapping[str, float]) -> dict[str, Any]:
    """Check the knobs of an estimator and fill in its scale.

    Args:
        entry: the estimator.
        scale: "group", "batch", "none", or None for the estimator's default.
        given: the other knobs.

    Returns:
        The keyword arguments of the estimator's function.

    Raises:
        UsageError: an unknown scale or knob.
    """
    scale = entry.default_scale if scale is None else scale
    if scale not in SCALES:
        raise UsageError(f"unknown scale '{scale}'", hint=", ".join(SCALES), about="scale")
    parameters = inspect.signature(load(entry.target)).parameters.values()
    known = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "scale"}
    for name in given:
        if name not in known:
            raise UsageError(f"{entry.name} has no knob '{name}'", hint=f"{', '.join(known)} or scale")
        given = {**given, name: _fitting(f"{entry.name}: {name}", given[name], known[name])}
    return {"scale": scale, **given}


def estimate(entry: Estimator, columns: Mapping[str, Tensor], rows: Tensor, **knobs: Any) -> Tensor:  # noqa: ANN401
    """Run an estimator on some of the rows.

    Args:
        entry: the estimator.
        columns: what `entry.needs` names, [N] each, on one device.
        rows: [N] bool, the rows that take part; their rewards are finite.
        **knobs: keyword arguments of the estimator.

    Returns:
        [N], dtype and device of the rewards; NaN on the other rows and where the estimator is undefined.
    """
    everything = bool(rows.all())
    narrowed = (columns[name] if everything else columns[name][rows] for name in entry.needs)
    result: Tensor = load(entry.target)(*narrowed, **knobs)
    if everything:
        return result
    spread = torch.full_like(columns["rewards"], torch.nan)
    spread[rows] = result
    return spread


def _fitting(name: str, value: float, kind: type) -> float:
    """A knob's value in the type that the function declares."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{name} is {one_line(value)}, expected a number")
    if value < 0:
        raise UsageError(f"{name} is {value:g}, expected 0 or more")
    if kind is int and value != int(value):
        raise UsageError(f"{name} is {value:g}, expected a whole number")
    fitted: float = kind(value)
    return fitted
