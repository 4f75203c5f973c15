"""tunix: the estimators of `rl/algo_core.py`; groups are consecutive rows. Its jax.numpy is numpy here."""

from parity import batches, cases

FUNCTIONS = {
    "grpo": "compute_advantages",
    "rloo": "compute_rloo_advantages",
    "drgrpo": "compute_drgrpo_advantages",
}


def run(version: str) -> list[dict]:
    """Every estimator, on groups of one size."""
    del version
    module = _module()
    alone = batches.replace(batches.single()[2], name="alone", n=1)
    alone = batches.replace(alone, groups=[f"g{row}" for row in range(len(alone.rewards))])
    equal = [batch for batch in batches.single() if batch.n]
    return [_case(module, name, batch) for name in FUNCTIONS for batch in [*equal, alone]]


def _module():
    import numpy as np

    for name in ("tunix", "tunix.rl"):
        cases.namespace(name)
    cases.mocked("flax", "jax", "tunix.rl.common", "absl")
    import sys

    sys.modules["jax"].numpy = np
    sys.modules["jax.numpy"] = np
    from tunix.rl import algo_core

    return algo_core


def _case(module, name: str, batch: batches.Batch) -> dict:
    import numpy as np

    rewards = np.array(batch.column, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = getattr(module, FUNCTIONS[name])(rewards, batch.n)
    return cases.case(name, {"num_generations": batch.n}, batch, found.tolist())
