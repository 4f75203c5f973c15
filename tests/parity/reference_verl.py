"""verl: the functions behind `algorithm.adv_estimator`, as `compute_advantage` of its trainer calls them."""

import inspect
import random
from types import SimpleNamespace

from parity import batches, cases

OUTCOME = ["rloo", "rloo_vectorized", "opo", "reinforce_plus_plus_baseline", "gpg", "grpo_vectorized"]
SHORT = 12  # tokens, where every token has a number


def run(version: str) -> list[dict]:
    """Every estimator of this release of verl; the older ones only where the code differs."""
    if version == "0.4.1":
        # What its packages import around the formulas (pkg_resources, trainers) computes nothing.
        for name in ("verl", "verl.trainer", "verl.trainer.ppo", "verl.utils"):
            cases.namespace(name)
        return _holes(config=False)
    if version != "0.9.1":
        names = ["grpo_vectorized", "rloo_vectorized"] if version == "0.7.1" else ["grpo_vectorized"]
        done = [_outcome(name, batch) for batch in batches.single() for name in names]
        return [*done, *_holes()]
    done = []
    for batch in batches.single():
        done += [_outcome("grpo", batch, norm_adv_by_std_in_grpo=flag) for flag in (True, False)]
        done += [_outcome(name, batch) for name in OUTCOME]
        done += [_outcome("reinforce_plus_plus", batch, gamma=1.0)]
        if batch.n:  # groups of one row are an error there
            done += [_outcome("grpo_passk", batch, norm_adv_by_std_in_grpo=flag) for flag in (True, False)]
        done += [_remax(batch)]
    nulls = batches.missing()[0]
    done += [_outcome(name, nulls, config=False) for name in ("grpo", *OUTCOME)]
    for batch in batches.several():
        done += [_gdpo(batch)] + ([_gdpo(batch, weights=batch.weights)] if batch.weights else [])
    return [*done, *_gae(), *_discounted(), *_holes(), *_token_baseline()]


def _config(**knobs):
    from verl.trainer.config import AlgoConfig

    return AlgoConfig(**knobs)


def _call(name: str, scores, mask, **arguments):
    """Call the registered function with the arguments that it takes; return the advantages."""
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn

    function = get_adv_estimator_fn(name)
    known = inspect.signature(function).parameters
    arguments = {key: value for key, value in arguments.items() if key in known}
    return function(token_level_rewards=scores, response_mask=mask, **arguments)[0]


def _index(groups: list[str]):
    import numpy as np

    return np.array(groups, dtype=object)


def _outcome(name: str, batch: batches.Batch, config: bool = True, **knobs) -> dict:
    mask, scores = cases.response(batch.column, batch.lengths)
    flags = {
        key: value for key, value in knobs.items() if key == "norm_adv_by_std_in_grpo" and name == "grpo"
    }
    settings = {"config": _config(**knobs)} if config else {}
    advantages = _call(name, scores, mask, index=_index(batch.groups), **flags, **settings)
    return cases.case(name, knobs, batch, cases.per_row(advantages, batch.lengths))


def _remax(batch: batches.Batch) -> dict:
    import torch

    rng = random.Random(f"baselines {batch.name}")
    greedy = {group: round(rng.random(), 6) for group in dict.fromkeys(batch.groups)}
    baselines = [greedy[group] for group in batch.groups]
    mask, scores = cases.response(batch.column, batch.lengths)
    advantages = _call("remax", scores, mask, reward_baselines=torch.tensor(baselines), config=_config())
    return cases.case("remax", {}, batch, cases.per_row(advantages, batch.lengths), baselines=baselines)


def _gdpo(batch: batches.Batch, weights: list[float] | None = None) -> dict:
    import torch

    keys = [f"r{k}" for k in range(len(batch.matrix[0]))]
    columns = dict(zip(keys, map(list, zip(*batch.matrix, strict=True)), strict=True))
    mask, scores = cases.response([sum(row) for row in batch.matrix], batch.lengths)
    prompts = torch.ones(len(batch.rewards), 3, dtype=torch.int64)
    advantages = _call(
        "gdpo",
        scores,
        mask,
        index=_index(batch.groups),
        config=_config(gdpo_reward_keys=keys, gdpo_reward_weights=weights),
        non_tensor_batch=columns,
        batch={"prompts": prompts, "attention_mask": torch.cat([prompts, mask], dim=1)},
    )
    knobs = {} if weights is None else {"weights": weights}
    return cases.case("gdpo", knobs, batch, cases.per_row(advantages, batch.lengths))


def _short(batch: batches.Batch) -> batches.Batch:
    return batches.replace(batch, lengths=[1 + length % SHORT for length in batch.lengths])


def _tokens(rng: random.Random, lengths: list[int], low: float, high: float) -> list[list[float]]:
    return [[round(rng.uniform(low, high), 4) for _ in range(length)] for length in lengths]


def _gae() -> list[dict]:
    done = []
    for batch in map(_short, (batches.single()[0], batches.single()[3], batches.far()[2])):
        values = _tokens(random.Random(f"values {batch.name}"), batch.lengths, -1, 1)
        for gamma, lam in ((1.0, 1.0), (0.99, 0.95), (1.0, 0.0)):
            mask, scores = cases.response(batch.column, batch.lengths)
            advantages = _call("gae", scores, mask, values=cases.padded(values, mask), gamma=gamma, lam=lam)
            tokens = cases.per_token(advantages, batch.lengths)
            done.append(cases.case("gae", {"gamma": gamma, "lam": lam}, batch, tokens, values=values))
    return done


def _discounted() -> list[dict]:
    done = []
    for batch in map(_short, (batches.single()[0], batches.single()[10])):
        mask, scores = cases.response(batch.column, batch.lengths)
        advantages = _call("reinforce_plus_plus", scores, mask, config=_config(gamma=0.9))
        tokens = cases.per_token(advantages, batch.lengths)
        done.append(cases.case("reinforce_plus_plus", {"gamma": 0.9}, batch, tokens))
    return done


def _holes(*, config: bool = True) -> list[dict]:
    """Tool output inside a response: mask 0 between the turns. The releases differ here."""
    return [case for place in (3, 12) for case in _with_holes(batches.single()[place], config=config)]


def _with_holes(batch: batches.Batch, *, config: bool) -> list[dict]:
    batch = _short(batch)
    lengths = [max(length, 5) for length in batch.lengths]
    batch = batches.replace(batch, lengths=lengths)
    mask, scores = cases.response(batch.column, lengths)
    mask[::2, 2:4] = 0
    masks = [row[:length] for row, length in zip(mask.tolist(), lengths, strict=True)]
    values = _tokens(random.Random("values holes"), lengths, -1, 1)
    arguments = {
        "reinforce_plus_plus": [
            {"gamma": gamma, "config": (_config if config else SimpleNamespace)(gamma=gamma)}
            for gamma in (1.0, 0.9)
        ],
        "gae": [
            {"gamma": gamma, "lam": lam, "values": cases.padded(values, mask)}
            for gamma, lam in ((0.99, 0.95), (1.0, 0.5))
        ],
        "opo": [{"index": _index(batch.groups)}],
        "reinforce_plus_plus_baseline": [{"index": _index(batch.groups)}],
    }
    done = []
    for name, choices in arguments.items():
        for choice in choices:
            tokens = cases.per_token(_call(name, scores, mask, **choice), lengths)
            knobs = {key: choice[key] for key in ("gamma", "lam") if key in choice}
            extra = {"values": values} if name == "gae" else {}
            done.append(cases.case(name, knobs, batch, tokens, masks=masks, **extra))
    return done


def _token_baseline() -> list[dict]:
    """The optimal token baselines, which need log-probabilities and the sum of squared probabilities."""
    done = []
    for place, holes in ((3, False), (10, False), (3, True), (10, True)):
        short = _short(batches.single()[place])
        batch = batches.replace(short, lengths=[max(n, 5) if holes else n for n in short.lengths])
        rng = random.Random(f"log-probs {batch.name}")
        log_probs = _tokens(rng, batch.lengths, -3, -0.01)
        squared = _tokens(rng, batch.lengths, 0.05, 0.9)
        mask, scores = cases.response(batch.column, batch.lengths)
        if holes:
            mask[::2, 2:4] = 0
        for name in ("optimal_token_baseline", "tir_optimal_token_baseline"):
            advantages = _call(
                name,
                scores,
                mask,
                index=_index(batch.groups),
                old_log_probs=cases.padded(log_probs, mask),
                sum_pi_squared=cases.padded(squared, mask),
            )
            tokens = cases.per_token(advantages, batch.lengths)
            extra = {"log_probs": log_probs, "sum_pi_squared": squared}
            if holes:
                pairs = zip(mask.tolist(), batch.lengths, strict=True)
                extra["masks"] = [row[:length] for row, length in pairs]
            done.append(cases.case(name, {}, batch, tokens, **extra))
    return done
