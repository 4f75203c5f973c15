"""Student's t distribution: tail probabilities and quantiles, for any positive number of degrees of freedom."""

import math
from functools import lru_cache

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
# Beyond this many standard errors the tail is 0 to all displayed digits.
_FAR = 1e6


def two_sided(t: float, df: float) -> float:
    """The probability that |T| is at least |t|.

    Args:
        t: the statistic.
        df: degrees of freedom, 1 or more.

    Returns:
        A probability, with an absolute error below 1e-8; NaN if either is NaN.

    Source:
        With t = √df · tan θ the density is proportional to cos(θ)^(df − 1), integrated by Gauss–Legendre quadrature.

    Example:
        >>> round(two_sided(2.0, 10), 4), two_sided(0.0, 3)
        (0.0734, 1.0)
    """
    if math.isnan(t) or math.isnan(df):
        return math.nan
    angle = math.atan(min(abs(t), _FAR) / math.sqrt(df))
    # The density vanishes within 40 standard errors; nodes spread further would miss it.
    end = min(angle, math.atan(40 / math.sqrt(df))) if df > 30 else angle
    height = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)
    inside = height * end * float(_WEIGHTS @ np.cos((_NODES + 1) / 2 * end) ** (df - 1))
    return min(1.0, max(0.0, 1 - inside))


@lru_cache(maxsize=256)
def quantile(p: float, df: float) -> float:
    """The t below which T lies with probability p.

    Args:
        p: in [0.5, 1).
        df: degrees of freedom, 1 or more.

    Example:
        >>> round(quantile(0.975, 9), 4), round(quantile(0.975, 1e6), 4)
        (2.2622, 1.96)
    """
    low, high = 0.0, 2.0
    while two_sided(high, df) > 2 * (1 - p):
        high *= 2
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, df) > 2 * (1 - p) else (low, middle)
    return high
