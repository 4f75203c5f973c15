"""ms-swift: `swift/rl_core/advantage.py`, one pure function for all of its backends. Groups are consecutive rows."""

import logging
import random
from dataclasses import replace

from parity import batches, cases

SCALES = ("group", "batch", "none", "gdpo")
ESTIMATORS = ("grpo", "rloo", "reinforce_plus_plus")


def run(version: str) -> list[dict]:
    """Every estimator at every scale; then KL in the reward, groups of one row, and groups of any size."""
    del version
    compute, dynamic = _functions()
    done = []
    equal = [batch for batch in [*batches.single(), *batches.several(), *batches.missing()] if batch.n]
    for batch in equal:
        for estimator in ESTIMATORS:
            for scale in SCALES:
                if (estimator, scale) == ("rloo", "gdpo") and batch.name != "two-rewards-n4":
                    continue  # the same as grpo with gdpo: the estimator's centre is thrown away
                done.append(_fixed(compute, batch, batch.n, estimator, scale))
    alone = batches.single()[3]
    alone = replace(alone, groups=[f"g{row}" for row in range(len(alone.rewards))])
    done += [_fixed(compute, alone, 1, estimator, scale) for estimator in ESTIMATORS for scale in SCALES]
    for batch in (batches.single()[3], batches.far()[0]):
        done += [_fixed(compute, batch, 4, e, s, beta=0.04) for e in ESTIMATORS for s in SCALES[:3]]
    ragged = [batch for batch in [*batches.single(), *batches.several()] if not batch.n]
    for batch in ragged:
        done += [_dynamic(dynamic, batch, e, s) for e in ESTIMATORS for s in SCALES]
    repeated = ragged[1]
    done += [_dynamic(dynamic, repeated, e, s, repeat=True) for e in ESTIMATORS for s in SCALES[:3]]
    return done


def _functions():
    """The real functions. Their package imports modelscope for a folder and a log, which they do not use."""
    cases.namespace("swift")
    utils = cases.namespace("swift.utils")
    cases.stub("modelscope.hub.utils.utils", get_cache_dir=None)
    log = logging.getLogger("modelscope")
    log.addHandler(logging.NullHandler())
    cases.stub("modelscope.utils.logger", get_logger=lambda: log)
    from swift.utils.torch_utils import nanstd

    utils.nanstd = nanstd
    from swift.rl_core.advantage import compute_advantages, compute_advantages_dynamic

    return compute_advantages, compute_advantages_dynamic


def _tensors(batch: batches.Batch):
    import torch

    matrix = torch.tensor(batch.matrix, dtype=torch.float32)
    return matrix, torch.tensor(batch.weights or [1.0] * matrix.shape[1], dtype=torch.float32)


def _fixed(compute, batch: batches.Batch, n: int, estimator: str, scale: str, beta: float = 0.0) -> dict:
    import torch

    knobs = {"num_generations": n, "scale_rewards": scale}
    arguments, extra = {}, {}
    if beta:
        rng = random.Random(f"swift kl {batch.name}")
        extra = {"kl": [round(rng.gauss(0, 2), 6) for _ in batch.rewards]}
        knobs |= {"beta": beta, "kl_in_reward": True}
        arguments = {"beta": beta, "kl_in_reward": True, "kl_values": torch.tensor(extra["kl"])}
    if batch.weights:
        knobs["weights"] = batch.weights
    rewards, weights = _tensors(batch)
    advantages, _ = compute(rewards, weights, n, estimator, scale, **arguments)
    return cases.case(estimator, knobs, batch, advantages.tolist(), **extra)


def _dynamic(dynamic, batch: batches.Batch, estimator: str, scale: str, *, repeat: bool = False) -> dict:
    """Groups by prompt; with `repeat` some rows stand for one request (several rows of one conversation)."""
    knobs = {"dynamic": True, "scale_rewards": scale}
    requests = [f"q{row}" for row in range(len(batch.rewards))]
    if repeat:
        again = [0, 3, 3, 7, 11]
        pick = {key: [*getattr(batch, key), *(getattr(batch, key)[i] for i in again)] for key in _ROWS}
        batch, requests = replace(batch, **pick), [*requests, *(requests[i] for i in again)]
    if batch.weights:
        knobs["weights"] = batch.weights
    rewards, weights = _tensors(batch)
    advantages, _ = dynamic(rewards, weights, batch.groups, requests, estimator, scale)
    extra = {"requests": requests} if repeat else {}
    return cases.case(estimator, knobs, batch, advantages.tolist(), **extra)


_ROWS = ("rewards", "groups", "lengths")
