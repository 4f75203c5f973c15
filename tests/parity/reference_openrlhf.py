"""OpenRLHF: `RemoteExperienceMaker.compute_advantages_and_returns` on rollouts without models.

Groups are consecutive rows in the order of the prompts.
"""

import logging
import random
from dataclasses import replace
from types import SimpleNamespace

from parity import batches, cases

GROUP = ("rloo", "reinforce_baseline", "group_norm", "dr_grpo", "flash_reinforce")
CLIP = (-10.0, 10.0)  # the default of --reward.clip_range
SHORT = 12


def run(version: str) -> list[dict]:
    """Every estimator on every batch of equal groups; then what needs tokens, KL, lengths or truncation."""
    del version
    maker = _load()
    equal = [batch for batch in batches.single() if batch.n]
    done = []
    for batch in equal:
        done += [_rows(maker, name, batch) for name in (*GROUP, "reinforce")]
        done += [_rows(maker, "reinforce_baseline", batch, no_std_norm=True)]
    one, binary = equal[2], equal[0]
    for name in (*GROUP, "reinforce"):
        done.append(_rows(maker, name, equal[4], clip_range=None))
        done.append(_rows(maker, name, one, clip_range=(-0.5, 0.5)))
        done.append(_rows(maker, name, one, micro_batch=5))
        overlong = {"overlong_buffer_len": 16, "overlong_penalty_factor": 0.7, "max_new_tokens": 60}
        done.append(_rows(maker, name, binary, **overlong))
        done.append(_rows(maker, name, binary, stop_properly_penalty_coef=0.25))
    done.append(_rows(maker, "dr_grpo", binary, stop_properly_penalty_coef=-0.5))
    alone = replace(one, n=1, groups=[f"g{row}" for row in range(len(one.rewards))])
    done += [_rows(maker, name, alone) for name in (*GROUP, "reinforce")]
    short = replace(one, lengths=[1 + length % SHORT for length in one.lengths])
    done += [_tokens(maker, name, short, kl_coef=0.05) for name in (*GROUP, "reinforce")]
    done += [_tokens(maker, "reinforce", short, gamma=0.9)]
    done += [
        _tokens(maker, "gae", short, gamma=gamma, lambd=lam) for gamma, lam in ((1.0, 0.95), (0.99, 1.0))
    ]
    for batch in (one, batches.far()[0]):
        longer = replace(batch, lengths=[5 + length % 8 for length in batch.lengths])
        done += [_tokens(maker, "gae", longer, holes=True, gamma=0.99, lambd=0.9)]
        done += [_tokens(maker, "reinforce", longer, holes=True, gamma=0.9, kl_coef=0.05)]
        done += [_tokens(maker, "group_norm", longer, holes=True, kl_coef=0.05)]
    return done


def _load():
    """The class and the module of experiences. Their packages import deepspeed and vLLM, which it does not use."""
    import ray  # noqa: F401  (before the packages that are no packages)

    for name in ("utils", "models", "trainer", "trainer.ray", "trainer.ppo_utils"):
        cases.namespace(f"openrlhf.{name}")
    cases.stub("deepspeed")
    cases.stub("openrlhf.trainer.ray.launcher", RayActorGroup=None)
    from openrlhf.trainer.ppo_utils import experience_maker

    logging.disable(logging.WARNING)
    return experience_maker


def _arguments(estimator: str, n: int, knobs: dict) -> SimpleNamespace:
    advantage = {
        "estimator": estimator,
        "gamma": knobs.get("gamma", 1.0),
        "lambd": knobs.get("lambd", 1.0),
        "no_std_norm": knobs.get("no_std_norm", False),
    }
    reward = {"clip_range": knobs.get("clip_range", CLIP)}
    names = ("overlong_buffer_len", "overlong_penalty_factor", "stop_properly_penalty_coef")
    reward |= {name: knobs[name] for name in names if name in knobs}
    return SimpleNamespace(
        algo=SimpleNamespace(advantage=SimpleNamespace(**advantage)),
        reward=SimpleNamespace(**reward),
        rollout=SimpleNamespace(n_samples_per_prompt=n, max_new_tokens=knobs.get("max_new_tokens")),
    )


def _compute(module, estimator: str, batch: batches.Batch, knobs: dict, **tokens) -> list[list[float]]:
    """The advantages of the response tokens; rows may be spread over micro batches in another order."""
    arguments = _arguments(estimator, batch.n, knobs)
    maker = module.RemoteExperienceMaker(
        actor_model_group=None,
        critic_model_group=None,
        reward_model_group=None,
        initial_model_group=None,
        kl_controller=SimpleNamespace(value=knobs.get("kl_coef", 0.0)),
        strategy=SimpleNamespace(args=arguments),
        tokenizer=None,
    )
    order = list(range(len(batch.rewards)))
    size = knobs.get("micro_batch", len(order))
    if size < len(order):
        random.Random(f"micro batches {batch.name}").shuffle(order)
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    experiences = [_experience(module, batch, rows, tokens) for rows in parts]
    maker.compute_advantages_and_returns(experiences)
    done: list[list[float]] = [[]] * len(order)
    for rows, experience in zip(parts, experiences, strict=True):
        numbers = cases.per_token(experience.advantages, [batch.lengths[row] for row in rows])
        for row, values in zip(rows, numbers, strict=True):
            done[row] = values
    return done


def _experience(module, batch: batches.Batch, rows: list[int], tokens: dict):
    import torch

    lengths = [batch.lengths[row] for row in rows]
    mask, _ = cases.response([0.0] * len(rows), lengths)
    columns = {name: cases.padded([values[row] for row in rows], mask) for name, values in tokens.items()}
    mask = columns.pop("masks", mask)
    columns.setdefault("kl", torch.zeros(mask.shape))
    return module.Experience(
        action_mask=mask.bool(),
        rewards=torch.tensor([batch.column[row] for row in rows], dtype=torch.float32),
        response_length=torch.tensor(lengths),
        truncated=torch.tensor([_truncated(batch)[row] for row in rows]),
        index=rows,
        **columns,
    )


def _truncated(batch: batches.Batch) -> list[bool]:
    rng = random.Random(f"truncated {batch.name}")
    return [rng.random() < 0.3 for _ in batch.rewards]


def _rows(module, estimator: str, batch: batches.Batch, **knobs) -> dict:
    """An estimator whose advantage is one number per row."""
    advantages = _compute(module, estimator, batch, knobs)
    settings = {"n_samples_per_prompt": batch.n, "clip_range": CLIP, **knobs}
    extra = {"truncated": _truncated(batch)} if "stop_properly_penalty_coef" in knobs else {}
    return cases.case(estimator, settings, batch, cases.one_each(advantages), **extra)


def _tokens(module, estimator: str, batch: batches.Batch, *, holes: bool = False, **knobs) -> dict:
    """An estimator whose advantage differs from token to token: KL in the reward, gamma, a critic; or mask 0 inside."""
    rng = random.Random(f"tokens {batch.name}")
    extra = {}
    if holes:
        extra["masks"] = [
            [int(row % 2 or place not in (2, 3)) for place in range(length)]
            for row, length in enumerate(batch.lengths)
        ]
    if "kl_coef" in knobs:
        extra["kl"] = [[round(rng.gauss(0, 1), 4) for _ in range(length)] for length in batch.lengths]
    if estimator == "gae":
        extra["values"] = [[round(rng.uniform(-1, 1), 4) for _ in range(length)] for length in batch.lengths]
    advantages = _compute(module, estimator, batch, knobs, **extra)
    settings = {"n_samples_per_prompt": batch.n, "clip_range": CLIP, **knobs}
    return cases.case(estimator, settings, batch, advantages, **extra)
