"""Detects rewards that were rounded in the dump but not when the advantages were computed."""

import torch
from torch import Tensor

from advcli.matching.sample import Slice
from advcli.tensors.masks import chosen
from advcli.tensors.segments import Segments, Spread

# Limits beyond which rounded rewards are ruled out: share of rows that fit unrounded, norm of the residuals relative
# to A, and their correlation with A.
_AS_THEY_ARE, _LEFT_OVER, _LIKE = 0.5, 0.1, 0.3
# Share of sets of equal rewards that must have differing advantages, and how many sets are needed to decide.
_DIFFERENT, _FEWEST = 0.5, 3


def hidden_digits(part: Slice, predicted: Tensor) -> bool:
    """Whether the log shows digits of the rewards that the dump lacks.

    Equal rewards of a group then have different advantages, and the residuals of a rule look like noise.

    Args:
        part: the rows.
        predicted: [n] the advantages of a rule, from the rewards of the dump.
    """
    compared = part.compared()
    values, rewards, index = (
        part.given.values,
        *(chosen(part.columns[n], compared) for n in ("rewards", "group")),
    )
    residuals = values - chosen(predicted, compared)
    use = (chosen(part.groups.std, compared) > 0) & residuals.isfinite()
    if not bool(use.any()):
        return False
    residuals, values, rewards, index = residuals[use], values[use], rewards[use], index[use]
    if float((residuals.abs() <= part.logged.tolerance).double().mean()) >= _AS_THEY_ARE:
        return False
    if float(residuals.norm()) > _LEFT_OVER * float(values.norm()):
        return False
    if any(abs(_correlation(residuals, values**power)) > _LIKE for power in (1, 3)):
        return False
    return _differ(torch.stack([index.double(), rewards], dim=1), values, part.logged.tolerance)


def _correlation(one: Tensor, two: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([one, two]))[0, 1].nan_to_num(nan=0.0))


def _differ(cells: Tensor, values: Tensor, tolerance: float) -> bool:
    """Whether rows with the same group and reward mostly have different advantages."""
    segments = Segments.dense(cells.unique(dim=0, return_inverse=True)[1])
    several = segments.size() > 1
    if int(several.sum()) < _FEWEST:
        return True
    spread = Spread.of(values, segments).std(0)[several]
    return float((spread > tolerance).double().mean()) >= _DIFFERENT
