"""twinkle: the classes of `twinkle.advantage`. Groups are consecutive rows."""

import random
from dataclasses import replace

from parity import batches, cases

SCALES = ("group", "batch", "none")
SHORT = 12


def run(version: str) -> list[dict]:
    """GRPO and RLOO at every scale, one generation per prompt, several rewards (their sum), and GAE."""
    del version
    missing, one = batches.missing()[0], batches.single()[3]
    single = [batch for batch in batches.single() if batch.n]
    summed = [batch for batch in batches.several() if batch.n]
    done = []
    for scale in SCALES:
        for batch in [*single, *summed, missing]:
            done += [_advantage(name, batch, batch.n, scale) for name in ("GRPOAdvantage", "RLOOAdvantage")]
        alone = [f"g{row}" for row in range(len(one.rewards))]
        done.append(_advantage("GRPOAdvantage", replace(one, groups=alone), 1, scale))
        row = {"rewards": one.rewards[:1], "groups": alone[:1], "lengths": one.lengths[:1]}
        done.append(_advantage("GRPOAdvantage", replace(one, **row), 1, scale))
    return [*done, *_gae()]


def _advantage(name: str, batch: batches.Batch, n: int, scale: str) -> dict:
    import twinkle.advantage

    rewards = batch.matrix if isinstance(batch.rewards[0], list) else batch.column
    if isinstance(rewards[0], list):  # a list is read row by row; the class sums the columns
        import torch

        rewards = torch.tensor(rewards, dtype=torch.float32)
    advantages = getattr(twinkle.advantage, name)()(rewards, num_generations=n, scale=scale)
    return cases.case(name, {"num_generations": n, "scale": scale}, batch, advantages.tolist())


def _gae() -> list[dict]:
    from twinkle.advantage import GAEAdvantage

    done = []
    for batch, holes in ((batches.single()[0], False), (batches.single()[3], True)):
        short = replace(batch, lengths=[5 + length % (SHORT - 4) for length in batch.lengths])
        rng = random.Random(f"twinkle values {batch.name}")
        values = [[round(rng.uniform(-1, 1), 4) for _ in range(length)] for length in short.lengths]
        mask, scores = cases.response(short.column, short.lengths)
        if holes:
            mask[::2, 2:4] = 0
        masks = [row[:length] for row, length in zip(mask.tolist(), short.lengths, strict=True)]
        extra = {"values": values, **({"masks": masks} if holes else {})}
        for gamma, lam, normalize in ((1.0, 0.95, True), (0.99, 0.9, False), (1.0, 1.0, True)):
            gae = GAEAdvantage(gamma=gamma, gae_lambda=lam, normalize=normalize)
            tokens = gae(scores, cases.padded(values, mask), masks=mask.bool())[0]
            knobs = {"gamma": gamma, "gae_lambda": lam, "normalize": normalize}
            tokens = cases.per_token(tokens, short.lengths)
            done.append(cases.case("GAEAdvantage", knobs, short, tokens, **extra))
    return done
