"""Trinity-RFT: the classes of `algorithm.advantage_fn`; some take a list of experiences, others verl's batch."""

import random
from types import SimpleNamespace

from parity import batches, cases

FOLDER = "trinity.algorithm.advantage_fn"
# Name → module, class, the arguments that it is tried with.
OF_EXPERIENCES = {
    "grpo": (
        "grpo_advantage",
        "GRPOGroupedAdvantage",
        [{}, {"std_cal_level": "batch"}, {"std_threshold": 0.5}],
    ),
    "opmd": (
        "opmd_advantage",
        "OPMDGroupAdvantage",
        [{}, {"opmd_baseline": "logavgexp"}, {"opmd_baseline": "logavgexp", "tau": 0.25}],
    ),
    "asymre": ("asymre_advantage", "ASYMREGroupAdvantage", [{}, {"baseline_shift": 0.2}]),
    "rec": ("rec_advantage", "RECGroupedAdvantage", [{}, {"std_normalize": True}]),
    "reinforce": ("reinforce_advantage", "REINFORCEGroupAdvantage", [{}]),
}
OF_BATCHES = {
    "grpo_verl": ("grpo_advantage", "GRPOAdvantageFn", [{}]),
    "opmd_verl": ("opmd_advantage", "OPMDAdvantageFn", [{}, {"opmd_baseline": "logavgexp"}]),
    "asymre_verl": ("asymre_advantage", "ASYMREAdvantageFn", [{}]),
    "rloo": ("rloo_advantage", "RLOOAdvantageFn", [{}]),
    "remax": ("remax_advantage", "REMAXAdvantageFn", [{}]),
    "reinforceplusplus": ("reinforce_plus_plus_advantage", "REINFORCEPLUSPLUSAdvantageFn", [{}]),
}


def run(version: str) -> list[dict]:
    """Every class whose advantage is one number per row; `rec` has none for a group of one."""
    del version
    _stubs()
    done = []
    for batch in batches.single():
        alone = len(set(map(batch.groups.count, batch.groups)) & {1})
        for name, (module, kind, settings) in OF_EXPERIENCES.items():
            if not (alone and name == "rec"):
                done += [_of_experiences(_class(module, kind), name, batch, knobs) for knobs in settings]
        for name, (module, kind, settings) in OF_BATCHES.items():
            done += [_of_batch(_class(module, kind), name, batch, knobs) for knobs in settings]
    return [*done, *_of_tokens()]


def _of_tokens() -> list[dict]:
    """What needs a number per token: the ranks of mean log-probabilities, a critic, a discount."""
    done = []
    for place in (3, 4, 11):
        batch = batches.single()[place]
        batch = batches.replace(batch, lengths=[1 + length % 8 for length in batch.lengths])
        draw = random.Random(place)
        values = [[round(draw.random(), 4) for _ in range(n)] for n in batch.lengths]
        log_probs = [[-value for value in row] for row in values]
        kind = _class(*OF_EXPERIENCES["grpo"][:2])
        penalties = ({"rank_penalty": 0.25}, {"rank_penalty": 0.5, "std_cal_level": "batch"})
        done += [_of_experiences(kind, "grpo", batch, knobs, log_probs=log_probs) for knobs in penalties]
        ppo = _class("ppo_advantage", "PPOAdvantageFn")
        discounts = ({"gamma": 1.0, "lam": 1.0}, {"gamma": 0.99, "lam": 0.9})
        done += [_of_batch(ppo, "ppo", batch, knobs, values=values) for knobs in discounts]
        whole = _class(*OF_BATCHES["reinforceplusplus"][:2])
        done.append(_of_batch(whole, "reinforceplusplus", batch, {"gamma": 0.9}, per_token=True))
    return done


def _stubs() -> None:
    """The modules of the formulas. What their packages import around them computes nothing."""
    for name in ("trinity", "trinity.algorithm", FOLDER, "trinity.common", "trinity.buffer", "trinity.utils"):
        cases.namespace(name)
    cases.mocked("verl", "trinity.utils.metrics", "trinity.utils.registry")
    cases.stub("trinity.common.experience", Experience=object, group_by=_by_task)
    cases.stub("trinity.utils.annotations", Deprecated=lambda kind: kind)
    cases.stub("trinity.buffer.operators", ExperienceOperator=object)
    import sys
    from importlib import import_module

    base = import_module(f"{FOLDER}.advantage_fn")
    for name in ("AdvantageFn", "GroupAdvantage"):
        setattr(sys.modules[FOLDER], name, getattr(base, name))


def _class(module: str, kind: str):
    from importlib import import_module

    return getattr(import_module(f"{FOLDER}.{module}"), kind)


def _by_task(experiences: list, id_type: str) -> dict:
    assert id_type == "task"
    found: dict = {}
    for experience in experiences:
        found.setdefault(experience.task, []).append(experience)
    return found


def _of_experiences(kind, name: str, batch: batches.Batch, knobs: dict, **extra) -> dict:
    import torch

    rows = [
        SimpleNamespace(reward=reward, task=group, action_mask=torch.ones(1), advantages=None)
        for reward, group in zip(batch.column, batch.groups, strict=True)
    ]
    for row, numbers in zip(rows, extra.get("log_probs", ()), strict=False):
        row.logprobs = torch.tensor(numbers)
    kind(**knobs)(rows)
    found = [float("nan") if row.advantages is None else row.advantages.item() for row in rows]
    return cases.case(name, knobs, batch, found, **extra)


def _of_batch(kind, name: str, batch: batches.Batch, knobs: dict, *, per_token=False, **extra) -> dict:
    import numpy as np
    import torch

    mask, scores = cases.response(batch.column, batch.lengths)
    greedy = [round(0.3 * (row % 4), 1) for row in range(len(batch.lengths))]
    given = SimpleNamespace(
        batch={
            "token_level_rewards": scores,
            "response_mask": mask,
            "reward_baselines": torch.tensor(greedy, dtype=torch.float32),
            "values": cases.padded(extra.get("values", []), scores),
        },
        non_tensor_batch={"uid": np.array(batch.groups, dtype=object)},
    )
    advantages = kind(**knobs)(given)[0].batch["advantages"]
    extra |= {"baselines": greedy} if name == "remax" else {}
    several = per_token or "values" in extra
    found = (cases.per_token if several else cases.per_row)(advantages, batch.lengths)
    return cases.case(name, knobs, batch, found, **extra)
