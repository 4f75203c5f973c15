"""Plain loops over plain lists, written from the papers and the contract. Nothing here imports advcli.

Every function reads rewards row by row; undefined is NaN. Sources:
grpo: arXiv:2402.03300 section 4.1.2; rloo: arXiv:2402.14740 section 3.3; batch scale: arXiv:2508.08221;
keep ratios and recomputation: docs/guide.md, "The numbers".
"""

import math

NAN = math.nan


def members(keys):
    """Key → positions of its rows, in row order."""
    found = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return found


def mean(values):
    return math.fsum(values) / len(values)


def std(values, ddof=1):
    """Centred two-pass standard deviation."""
    if len(values) <= ddof:
        return NAN
    if min(values) == max(values):
        return 0.0
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - ddof))


def grpo(rewards, groups, steps=None, *, scale="group", ddof=1, eps=0.0):
    """(r - mean of the group) / (std + eps)."""
    return _advantages(rewards, groups, steps, _everyone, scale, ddof, eps)


def rloo(rewards, groups, steps=None, *, scale="none", ddof=1, eps=0.0):
    """r - mean of the other rows of the group, optionally divided as in grpo."""
    return _advantages(rewards, groups, steps, _others, scale, ddof, eps)


def _everyone(own, position):
    del position
    return mean(own)


def _others(own, position):
    return mean(own[:position] + own[position + 1 :])


def _advantages(rewards, groups, steps, baseline, scale, ddof, eps):
    steps = steps or [0] * len(rewards)
    valid = [math.isfinite(reward) for reward in rewards]
    batches = {step: [rewards[row] for row in rows if valid[row]] for step, rows in members(steps).items()}
    result = [NAN] * len(rewards)
    for everyone in members(groups).values():
        rows = [row for row in everyone if valid[row]]
        own = [rewards[row] for row in rows]
        if len(own) < 2:
            continue
        for position, row in enumerate(rows):
            if min(own) == max(own):
                result[row] = 0.0
                continue
            result[row] = own[position] - baseline(own, position)
            if scale == "group":
                result[row] /= std(own, ddof) + eps
            elif scale == "batch":
                result[row] /= std(batches[steps[row]], ddof) + eps
    return result


def sign(advantage, largest):
    """-1, 0 or 1; at most 1e-6 of the group's largest |A| is neutral."""
    if abs(advantage) <= 1e-6 * largest:
        return 0
    return 1 if advantage > 0 else -1


def keep_ratio(advantages, groups, keep_pos, keep_neg):
    """True where a row stays: the first k of the sorted positives and negatives, and all neutral rows."""
    kept = [not math.isnan(advantage) for advantage in advantages]
    for everyone in members(groups).values():
        rows = [row for row in everyone if kept[row]]
        largest = max((abs(advantages[row]) for row in rows), default=0.0)
        for side, ratio in ((1, keep_pos), (-1, keep_neg)):
            ranked = [row for row in rows if sign(advantages[row], largest) == side]
            ranked.sort(key=lambda row: -abs(advantages[row]))  # stable, as the contract asks
            for row in ranked[quota(len(ranked), ratio) :]:
                kept[row] = False
    return kept


def quota(count, ratio):
    if ratio == 0:
        return 0
    if ratio == 1:
        return count
    return max(1, int(count * ratio))


def process(rewards, groups, steps=None, *, keep_pos, keep_neg, compute_new_adv, scale="group"):
    """original, processed, kept of grpo, and how many groups had fewer than two kept rows."""
    original = grpo(rewards, groups, steps, scale=scale)
    kept = keep_ratio(original, groups, keep_pos, keep_neg)
    defined = [not math.isnan(advantage) for advantage in original]
    processed = [
        advantage if keep or not there else 0.0
        for advantage, keep, there in zip(original, kept, defined, strict=True)
    ]
    few = sum(
        any(defined[row] for row in rows) and sum(kept[row] for row in rows) < 2
        for rows in members(groups).values()
    )
    if compute_new_adv and (keep_pos, keep_neg) != (1, 1):
        survivors = [reward if keep else NAN for reward, keep in zip(rewards, kept, strict=True)]
        again = grpo(survivors, groups, steps, scale=scale)
        processed = [old if math.isnan(new) else new for old, new in zip(processed, again, strict=True)]
    return original, processed, kept, few


def percentile(values, percent):
    """Linear between order statistics (Hyndman and Fan, definition 7)."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def ranks(values):
    """Rank of each value, counted from 1; ties share their mean rank."""
    return [
        sum(other < value for other in values) + (1 + sum(other == value for other in values)) / 2
        for value in values
    ]


def spearman(first, second):
    """Pearson's correlation of the ranks; NaN where one of the columns is constant."""
    x, y = ranks(first), ranks(second)
    centre = (len(x) + 1) / 2
    across = math.fsum((a - centre) * (b - centre) for a, b in zip(x, y, strict=True))
    along = math.fsum((a - centre) ** 2 for a in x) * math.fsum((b - centre) ** 2 for b in y)
    return across / math.sqrt(along) if along else NAN


def rank_agreement(first, second, groups):
    """Mean of spearman over the groups where it is defined."""
    found = [
        spearman([first[row] for row in rows], [second[row] for row in rows])
        for rows in members(groups).values()
    ]
    found = [rho for rho in found if not math.isnan(rho)]
    return mean(found) if found else NAN
