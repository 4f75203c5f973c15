"""The only code that picks a device or a dtype, and the one call of an estimator."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from advcli.errors import DataError, UsageError
from advcli.estimators.catalog import COLUMNS, ESTIMATORS, SCALES, Estimator
from advcli.registry import load
from advcli.words import either, one_line

NON_NEGATIVE = ("eps", "batch_eps", "ddof", "k")
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
        raise UsageError(f"unknown device '{device}'", hint=either(DEVICES))
    name = "cpu" if device == "auto" else device
    if not _AVAILABLE[name]():
        raise UsageError(f"device '{name}' is not available on this machine", hint="--device cpu")
    return torch.device(name), torch.float32 if name == "mps" else torch.float64


def knobs(entry: Estimator, scale: str | None, given: Mapping[str, float | str]) -> dict[str, Any]:
    """Check the knobs of an estimator and fill in its scale.

    Args:
        entry: the estimator.
        scale: "group", "batch", "none", or None for the estimator's default.
        given: the other knobs, as numbers or as text.

    Returns:
        The keyword arguments of the estimator's function.

    Raises:
        UsageError: an unknown scale or knob, or a value that does not fit.
    """
    parameters = inspect.signature(load(entry.target)).parameters.values()
    known = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "scale"}
    for name in given:
        if name not in known:
            has = [*known, *(["scale"] if entry.default_scale else [])]
            raise UsageError(f"{entry.name} has no knob '{name}'", hint=either(has) or None)
    used = {name: _fitting(entry.name, name, value, known[name]) for name, value in given.items()}
    if entry.default_scale is None:
        if scale is not None:
            able = ", ".join(row.name for row in ESTIMATORS if row.default_scale)
            raise UsageError(f"{entry.name} has no scale to choose", hint=f"no --scale, or one of {able}")
        return used
    scale = entry.default_scale if scale is None else scale
    if scale not in SCALES:
        raise UsageError(f"unknown scale '{scale}'", hint=either(SCALES), about="scale")
    return {"scale": scale, **used}


def require(entry: Estimator, columns: Mapping[str, Tensor]) -> None:
    """Make sure that the data set has what an estimator needs.

    Raises:
        DataError: a column is not there; the message says what it holds, the hint how to name it.
    """
    for name in entry.needs:
        if name not in columns:
            column = COLUMNS[name]
            raise DataError(
                f"{entry.name} needs {column.what}, and there is no such column",
                hint=f"{column.flag} (in Python: {column.argument})",
            )


def usable(entry: Estimator, columns: Mapping[str, Tensor]) -> Tensor:
    """[N] bool, the rows with a group and a finite value in every numeric column that is needed.

    Where the parts of the reward are needed and not their sum, one part is enough.
    """
    valid = columns["group"] >= 0
    if "parts" in entry.needs:
        valid &= torch.isfinite(columns["parts"]).any(dim=1)
    else:
        valid &= torch.isfinite(columns["rewards"])
    for name in ("lengths", "baselines"):
        if name in entry.needs:
            valid &= torch.isfinite(columns[name])
    return valid


def estimate(entry: Estimator, columns: Mapping[str, Tensor], rows: Tensor, **knobs: Any) -> Tensor:  # noqa: ANN401
    """Run an estimator on some of the rows.

    Args:
        entry: the estimator.
        columns: what `entry.needs` names, [N] each ([N, K] parts, [K] weights), on one device.
        rows: [N] bool, the rows that take part, as `usable` gives them.
        **knobs: keyword arguments of the estimator.

    Returns:
        [N], dtype and device of the rewards; NaN on the other rows and where the estimator is undefined.
    """
    everything = bool(rows.all())
    narrowed = (
        columns[name] if everything or name == "weights" else columns[name][rows] for name in entry.needs
    )
    result: Tensor = load(entry.target)(*narrowed, **knobs)
    if everything:
        return result
    # A framework computes in a dtype of its own.
    spread = result.new_full(columns["rewards"].shape, torch.nan)
    spread[rows] = result
    return spread


def _fitting(estimator: str, name: str, value: float | str, kind: type) -> float | int | str | bool:
    """A knob's value in the type that the function declares."""
    if kind is str:
        return str(value)
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{estimator}: {name} is {one_line(value)}, expected a number")
    if number < 0 and name in NON_NEGATIVE:
        raise UsageError(f"{estimator}: {name} is {number:g}, expected 0 or more")
    if kind is not float and not number.is_integer():
        raise UsageError(f"{estimator}: {name} is {number:g}, expected a whole number")
    fitted: float | int | bool = kind(number)
    return fitted
