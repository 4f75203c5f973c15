"""Decimal sums of reward parts: 0.1 + 0.2 is 0.3, so that equal sums compare equal."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Decimal digits that float64 and float32 always preserve.
_DIGITS, _DIGITS32 = 14, 6
# Decimal places for which the vectorized path applies, and the largest sum that keeps those of a part times a weight.
_PLACES, _LARGEST = 4, 1e7


def total(parts: Floats, weights: Floats) -> Floats:
    """The weighted sum of decimals, rounded once; a float32 number counts as its shortest decimal.

    Parts that aren't short decimals are added last, so that the sum of the others depends neither on their order nor on how
    they are split.

    Args:
        parts: [K, n], 0 where a part does not count.
        weights: [K].

    Returns:
        [n]; NaN or ±inf where any part is.

    Example:
        >>> total(np.array([[0.1, 0.3], [0.2, 0.0]]), np.ones(2)).tolist()
        [0.3, 0.3]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        read = [_read(part) for part in parts]
        weighted = np.stack([part * weight for (part, _), weight in zip(read, weights, strict=True)])
        result: Floats = weighted.sum(axis=0)
        size = np.abs(weighted).sum(axis=0)
        if all(long is None for _, long in read) and _places(weights) and size.max(initial=0.0) < _LARGEST:
            scale = 10.0 ** (2 * _PLACES)
            return np.asarray(np.rint(result * scale) / scale)
        long = np.zeros(weighted.shape, dtype=bool)
        for position, (_, is_long) in enumerate(read):
            long[position] = ~_is_decimal(weights[position]) | (False if is_long is None else is_long)
        result = _snapped(np.where(long, 0.0, weighted).sum(axis=0), size, len(parts))
        return np.asarray(result + np.sort(np.where(long, weighted, 0.0), axis=0).sum(axis=0))


def _read(part: Floats) -> tuple[Floats, NDArray[np.bool_] | None]:
    """A part with float32 numbers as decimals, and a mask of values that aren't short decimals; None if all are."""
    if _places(part):
        return part, None
    part = _written(part)
    return part, None if _places(part) else ~_is_decimal(part)


def _places(values: Floats) -> bool:
    """Whether all values have at most `_PLACES` decimal places."""
    scale = 10.0**_PLACES
    return bool((np.rint(values * scale) / scale == values).all())


def _written(values: Floats) -> Floats:
    """The short decimals that float32 numbers represent; other numbers unchanged."""
    narrow = values.astype(np.float32)
    short = _rounded(values, np.abs(values), _DIGITS32)
    exact = (narrow == values) & (short.astype(np.float32) == narrow)
    return np.where(exact, short, values)


def _is_decimal(values: Floats) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = _rounded(values, np.abs(values), _DIGITS) == values
    return result


def _snapped(values: Floats, size: Floats, count: int) -> Floats:
    """The nearest decimal to each sum of `count` products, if rounding errors can explain the difference."""
    decimal = _rounded(values, size, _DIGITS)
    # Half an ulp for each part, its weight and their product, and for each addition.
    tolerance = (count / 2 + 1.5) * np.finfo(np.float64).eps * size
    return np.where(np.abs(values - decimal) <= tolerance, decimal, values)


def _rounded(values: Floats, size: Floats, digits: int) -> Floats:
    """The values rounded at the decimal place of the last significant digit of a number of that size."""
    # Outside this range the powers of ten overflow; no real reward is there.
    fits = (size > 1e-200) & (size < 1e200)
    power = np.where(fits, digits - 1 - np.floor(np.log10(np.where(fits, size, 1.0))), 0.0)
    up, down = 10.0 ** power.clip(min=0), 10.0 ** (-power).clip(min=0)
    return np.where(fits, np.rint(values * up / down) / up * down, values)
