"""Plain loops for the estimators beyond grpo and rloo, from the papers. Nothing here imports advcli.

Every function takes lists and gives a list; undefined is NaN. Sums over sets of rows visit every set.
Sources: loo_norm: NeMo RL's advantage_estimator.py; maxrl: arXiv:2602.02710; gpg: arXiv:2504.02546 with
verl's factor; opo: arXiv:2505.23585; ngrpo: arXiv:2509.18851; grpo_passk: arXiv:2503.19595 and verl;
passk: arXiv:2508.10751; pkpo: arXiv:2505.15201; opmd: arXiv:2501.12599; asymre: arXiv:2506.20520;
rec: arXiv:2509.24203; cpgd: arXiv:2505.12504 and siiRL; batch_mean_group_std: arXiv:2508.08221;
krpo: arXiv:2505.07527 and its train.py.
"""

import math
import random
from itertools import combinations

from references import NAN, mean, members, std


def per_group(advantages, rewards, groups, *columns, smallest=2):
    """Call `advantages(own rewards, own rows of the columns...)` for each group; NaN in smaller groups."""
    result = [NAN] * len(rewards)
    for rows in members(groups).values():
        if len(rows) >= smallest:
            own = ([column[row] for row in rows] for column in (rewards, *columns))
            for row, advantage in zip(rows, advantages(*own), strict=True):
                result[row] = advantage
    return result


def loo_norm(rewards, groups, *, eps=0.0):
    def advantages(own):
        for i, reward in enumerate(own):
            others = own[:i] + own[i + 1 :]
            spread = std(others)
            yield (reward - mean(others)) / (spread + eps if spread > 0 else 1)

    return per_group(advantages, rewards, groups)


def maxrl(rewards, groups, *, eps=0.0):
    def advantages(own):
        rate = mean(own)
        return [(reward - rate) / (rate + eps) if rate > 0 else 0.0 for reward in own]

    return per_group(advantages, rewards, groups)


def gpg(rewards, groups, steps):
    alpha = {}
    for step, rows in members(steps).items():
        alpha[step] = len(rows) / max(1, sum(rewards[row] != 0 for row in rows))

    def advantages(own, own_steps):
        return [alpha[step] * (reward - mean(own)) for reward, step in zip(own, own_steps, strict=True)]

    return per_group(advantages, rewards, groups, steps)


def opo(rewards, groups, lengths):
    def advantages(own, tokens):
        total = math.fsum(tokens)
        if total == 0:
            return [NAN] * len(own)
        baseline = math.fsum(t * reward for t, reward in zip(tokens, own, strict=True)) / total
        return [reward - baseline for reward in own]

    return per_group(advantages, rewards, groups, lengths)


def ngrpo(rewards, groups, *, r_max=1.0, eps=0.0):
    def advantages(own):
        everyone = [*own, r_max]
        if min(everyone) == max(everyone):
            return [0.0] * len(own)
        return [(reward - mean(everyone)) / (std(everyone) + eps) for reward in own]

    return per_group(advantages, rewards, groups)


def grpo_passk(rewards, groups, *, ddof=1, eps=0.0):
    def advantages(own):
        best, second = sorted(own, reverse=True)[:2]
        return [
            (best - second) / (std(own, ddof) + eps) if reward == best > second else 0.0 for reward in own
        ]

    return per_group(advantages, rewards, groups)


def passk(rewards, groups, *, k=2, threshold=0.5):
    def advantages(own):
        sets = list(combinations(range(len(own)), k))
        right = [float(any(own[row] >= threshold for row in rows)) for rows in sets]
        spread = std(right, ddof=0)
        for i in range(len(own)):
            with_i = [reward for rows, reward in zip(sets, right, strict=True) if i in rows]
            yield (mean(with_i) - mean(right)) / spread if spread else 0.0

    return per_group(advantages, rewards, groups, smallest=max(2, k))


def pkpo(rewards, groups, *, k=2, form="loo"):
    def advantages(own):
        sets = list(combinations(range(len(own)), k))
        for i in range(len(own)):
            gains = []
            for rows in sets:
                if i in rows:
                    others = max((own[row] for row in rows if row != i), default=0.0)
                    gains.append(max(own[row] for row in rows) - (others if form == "loo" else 0.0))
            yield math.fsum(gains) / len(sets)

    return per_group(advantages, rewards, groups, smallest=max(2, k))


def opmd(rewards, groups, *, tau=1.0):
    def advantages(own):
        soft = tau * math.log(mean([math.exp(reward / tau) for reward in own]))
        return [reward - soft for reward in own] if len(set(own)) > 1 else [0.0] * len(own)

    return per_group(advantages, rewards, groups)


def asymre(rewards, groups, *, shift=-0.1):
    return per_group(lambda own: [reward - (mean(own) + shift) for reward in own], rewards, groups)


def rec(rewards, groups):
    return per_group(lambda own: [reward - mean(own) for reward in own], rewards, groups)


def cpgd(rewards, groups, steps, *, cap=3.0):
    factor = {}
    for step, rows in members(steps).items():
        of = {groups[row]: [rewards[r] for r in rows if groups[r] == groups[row]] for row in rows}
        live = sum(len(set(own)) > 1 for own in of.values())
        factor[step] = min(cap, len(rows) / live) if live else cap

    def advantages(own, own_steps):
        return [factor[step] * (reward - mean(own)) for reward, step in zip(own, own_steps, strict=True)]

    return per_group(advantages, rewards, groups, steps)


def batch_mean_group_std(rewards, groups, steps):
    means = {step: mean([rewards[row] for row in rows]) for step, rows in members(steps).items()}

    def advantages(own, own_steps):
        spread = std(own)
        return [
            (reward - means[step]) / spread if spread else 0.0
            for reward, step in zip(own, own_steps, strict=True)
        ]

    return per_group(advantages, rewards, groups, steps)


def krpo(rewards, groups, *, process_var=1e-5, meas_var=1e-2):
    def advantages(own):
        x, p = 0.0, 1.0
        for reward in own:
            before = p + process_var
            gain = before / (before + meas_var)
            x, p = x + gain * (reward - x), (1 - gain) * before
            yield (reward - x) / math.sqrt(p)

    return per_group(advantages, rewards, groups)


def random_dump(seed):
    """Rewards, groups, steps and lengths: ragged groups, shuffled, with ties, constants and right/wrong."""
    draw = random.Random(seed)
    rows = []
    for group in range(draw.randint(3, 12)):
        kind = draw.choice(["real", "ties", "binary", "constant"])
        constant = draw.choice([0.0, 0.1, 1.0, -0.3])
        value = {
            "real": lambda: draw.gauss(0.3, 2),
            "ties": lambda: draw.choice([-1.0, 0.1, 0.35, 2.5]),
            "binary": lambda: float(draw.random() < 0.4),
            "constant": lambda constant=constant: constant,
        }[kind]
        size = draw.randint(1, 9)
        rows += [(value(), group, group % 2, float(draw.randint(1, 2000))) for _ in range(size)]
    draw.shuffle(rows)
    return [list(column) for column in zip(*rows, strict=True)]
