"""The catalog of estimators, one row each. Imports nothing heavy."""

from advcli.common.loss_side import refusal
from advcli.common.registry import Registry
from advcli.estimators.entry import Estimator
from advcli.estimators.rows import baselines, batch, group, in_order, passk, robust, several, tokens, turns

__all__ = ["ESTIMATORS", "SCALES", "Estimator"]


SCALES = ("group", "batch", "none")

# The order of `advcli estimators`.
_MODULES = (group, baselines, passk, robust, in_order, batch, several, tokens, turns)

ESTIMATORS: Registry[Estimator] = Registry(
    "estimator", [row for module in _MODULES for row in module.ROWS], refusal
)
