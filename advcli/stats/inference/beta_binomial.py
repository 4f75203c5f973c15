"""The probability of dead groups at sizes that no group has, from a beta-binomial distribution."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

# Fewest groups needed to estimate how prompts differ.
LEAST = 20
_STEPS = 200
_UNSURE = 0.5
# Limit on the logarithms of the parameters; beyond, prompts are all alike, or each always or never solved.
_FURTHEST = 12.0
_Z = 1.959964


@dataclass(frozen=True)
class Fit:
    """A beta distribution of the probability of the higher of two rewards over prompts.

    Attributes:
        a: its first parameter.
        b: its second one.
        covariance: [2, 2] float64 of the logarithms of both.
    """

    a: float
    b: float
    covariance: Tensor

    @classmethod
    def of(cls, size: Tensor, high: Tensor, groups: Tensor) -> "Fit | None":
        """The maximum-likelihood fit.

        Args:
            size: [K] rows of a group.
            high: [K] rows at the higher reward.
            groups: [K] number of such groups.

        Returns:
            None with fewer than 20 groups of two or more rows, or if these don't determine how much prompts differ:
            with a standard error of log(a + b) above 0.5, the interval of `dead` covers the truth too rarely.
        """
        n, c, w = size.double(), high.double(), groups.double()
        if w[n > 1].sum() < LEAST:
            return None
        mean = float((c * w).sum() / (n * w).sum())
        if not 0 < mean < 1:
            return None
        x = torch.tensor([math.log(mean), math.log(1 - mean)], dtype=torch.float64)
        best = _likelihood(x, n, c, w)
        ridge = 1.0
        for _ in range(_STEPS):
            slope, bend = _derivatives(x, n, c, w)
            move = torch.linalg.solve(ridge * torch.eye(2, dtype=torch.float64) - bend, slope)
            tried = (x + move.clamp(-2, 2)).clamp(-_FURTHEST, _FURTHEST)
            likelihood = _likelihood(tried, n, c, w)
            if likelihood < best or not math.isfinite(likelihood):
                ridge = max(ridge * 8, 1e-3)
                if ridge > 1e12:
                    break
                continue
            done = likelihood - best < 1e-10 and float(move.abs().max()) < 1e-6
            x, best, ridge = tried, likelihood, ridge / 8
            if done:
                break
        information = -_derivatives(x, n, c, w)[1]
        if not bool((torch.linalg.eigvalsh(information) > 0).all()):
            return None
        covariance = torch.linalg.inv(information)
        share = x.exp() / x.exp().sum()
        if float(share @ covariance @ share) > _UNSURE**2:
            return None
        return cls(float(x[0].exp()), float(x[1].exp()), covariance)

    def dead(self, g: int) -> tuple[float, float, float]:
        """The probability that g rewards of one prompt are all equal, and its 95 % interval."""
        k = torch.arange(g, dtype=torch.float64)
        p, slope = 0.0, torch.zeros(2, dtype=torch.float64)
        for own, position in ((self.a, 0), (self.b, 1)):
            equal = float(((own + k) / (self.a + self.b + k)).log().sum().exp())
            bend = -(1 / (self.a + self.b + k)).sum().expand(2).clone()
            bend[position] += (1 / (own + k)).sum()
            p, slope = p + equal, slope + equal * bend
        # The interval is symmetric on the logit scale.
        slope = slope * torch.tensor([self.a, self.b], dtype=torch.float64) / (p * (1 - p))
        odds, half = math.log(p / (1 - p)), _Z * math.sqrt(float(slope @ self.covariance @ slope))
        return p, 1 / (1 + math.exp(half - odds)), 1 / (1 + math.exp(-half - odds))


def _likelihood(x: Tensor, n: Tensor, c: Tensor, w: Tensor) -> float:
    """The log-likelihood, up to a constant."""
    a, b = x.exp()
    count = torch.lgamma(c + a) - torch.lgamma(a) + torch.lgamma(n - c + b) - torch.lgamma(b)
    return float((w * (count - torch.lgamma(n + a + b) + torch.lgamma(a + b))).sum())


def _derivatives(x: Tensor, n: Tensor, c: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """[2] first and [2, 2] second derivatives with respect to the logarithms of both parameters."""
    both = x.exp()
    a, b = both
    slopes, bends = [], []
    for k, p in ((c, a), (n - c, b)):
        slopes.append((w * (_psi(0, k + p) - _psi(0, p) + _psi(0, a + b) - _psi(0, n + a + b))).sum())
        bends.append((w * (_psi(1, k + p) - _psi(1, p))).sum())
    cross = (w * (_psi(1, a + b) - _psi(1, n + a + b))).sum()
    slope, bend = torch.stack(slopes), torch.diag(torch.stack(bends)) + cross
    return slope * both, bend * torch.outer(both, both) + torch.diag(slope * both)


def _psi(order: int, values: Tensor) -> Tensor:
    """The polygamma function: digamma for order 0, trigamma for 1."""
    return torch.polygamma(order, values)
