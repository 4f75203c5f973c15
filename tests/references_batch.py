"""Plain loops over plain lists, written from the papers. Nothing here imports advcli.

Every function reads rewards row by row; undefined is NaN. Groups and steps are any keys. Sources:
quantile 2509.22611, median 2601.22582, bnpo 2506.02864, shrinkage 2511.03710, batch_norm 2508.08221,
reinforce_plus_plus 2501.03262, remax 2310.10505, positive_only and negative_only 2506.01347,
gdpo 2601.05242, papo 2603.26535, spo 2509.13232 (arXiv numbers); constants and corner cases that a paper
leaves open are those of its code.
"""

import math
import random

NAN = math.nan


def members(keys):
    """Key → positions of its rows, in row order."""
    found = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return found


def random_columns(seed):
    """Ragged and shuffled groups, several steps, ties, constants, groups of one, rows without tokens.

    Rewards lie in [0, 1]; a part may be missing. Labels are dense, and a group lies in one step.
    """
    draw = random.Random(seed)
    kinds, rows = [[0.0, 1.0], [k / 20 for k in range(21)], [0.1, 0.1, 0.1, 0.9]], []
    for group in range(draw.randint(6, 14)):
        kind, constant = draw.choice(kinds), draw.choice([0.1, 0.9, 1.0])
        parts_constant = draw.random() < 0.2
        for _ in range(draw.choice([1, 2, 3, 5, 8, 8, 8])):
            reward = constant if group % 5 == 3 else draw.choice(kind)
            parts = [0.7 if parts_constant else draw.choice([0.0, 0.3, 1.0]), draw.choice([0.1, 0.2])]
            parts[1] = 0.1 if parts_constant else draw.choice([parts[1], NAN, math.inf])
            length = draw.choice([0, *range(1, 10), 2000])
            rows.append((reward, group, group % 3, length, draw.choice([0.0, 0.4]), parts))
    draw.shuffle(rows)
    names = ("rewards", "group", "step", "lengths", "baselines", "parts")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) | {"weights": [1.0, 0.5]}


def mean(values):
    return math.fsum(values) / len(values)


def variance(values, ddof=1):
    if len(values) <= ddof:
        return NAN
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - ddof)


def dead(values):
    return min(values) == max(values)


# --- within the group ---------------------------------------------------------------------------------


def quantile(rewards, groups, *, level=0.4, interpolate=False, ddof=1, eps=0.0):
    result = [NAN] * len(rewards)
    for rows in members(groups).values():
        own = sorted(rewards[row] for row in rows)
        n = len(own)
        if interpolate:
            place = level * (n - 1)
            below, above = own[math.floor(place)], own[math.ceil(place)]
            baseline = below + (place - math.floor(place)) * (above - below)
        else:
            baseline = next(x for x in own if sum(r <= x for r in own) / n >= level)
        for row in rows:
            if n > max(ddof, 1):
                result[row] = (
                    0.0 if dead(own) else (rewards[row] - baseline) / (math.sqrt(variance(own, ddof)) + eps)
                )
    return result


def lower_median(values):
    return sorted(values)[(len(values) - 1) // 2]


def median(rewards, groups, *, eps=1e-3):
    result = [NAN] * len(rewards)
    for rows in members(groups).values():
        if len(rows) < 2:
            continue
        middle = lower_median([rewards[row] for row in rows])
        mad = lower_median([abs(rewards[row] - middle) for row in rows])
        moved = [row for row in rows if rewards[row] != middle]
        for row in rows:
            result[row] = 0.0
            if row in moved:
                result[row] = (
                    (rewards[row] - middle) / (mad + eps) * len(rows) / len(moved) if mad + eps else NAN
                )
    return result


# --- the groups of a step -----------------------------------------------------------------------------


def bnpo(rewards, groups, steps, *, low=0.0, high=1.0, cap=1e6):
    result = [NAN] * len(rewards)
    mapped = [(reward - low) / (high - low) for reward in rewards]
    for batch in members(steps).values():
        own = {}
        for row in batch:
            own.setdefault(groups[row], []).append(row)
        p = {group: mean([mapped[row] for row in rows]) for group, rows in own.items()}
        centre, v = mean(list(p.values())), variance(list(p.values()))
        for group, rows in own.items():
            for row in rows:
                if len(rows) > 1:
                    deviation = 0.0 if dead([mapped[r] for r in rows]) else mapped[row] - p[group]
                    weight = 1.0 if len(p) == 1 else inverse_density(p[group], centre, v)
                    result[row] = 0.0 if deviation == 0 else deviation * min(weight, cap)
    return result


def inverse_density(p, centre, v):
    if v < 1e-14:
        return NAN
    concentration = centre * (1 - centre) / v - 1
    alpha, beta = max(1.0, 1 + concentration * centre / 3), max(1.0, 1 + concentration * (1 - centre) / 3)
    if (p == 0 and alpha > 1) or (p == 1 and beta > 1):
        return math.inf
    log_density = math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta)
    log_density += (alpha - 1) * math.log(p) if alpha > 1 else 0.0
    log_density += (beta - 1) * math.log1p(-p) if beta > 1 else 0.0
    return math.exp(-log_density)


def shrinkage(rewards, groups, steps, *, eps=0.0):
    result = [NAN] * len(rewards)
    for batch in members(steps).values():
        own = {}
        for row in batch:
            own.setdefault(groups[row], []).append(row)
        own = {group: rows for group, rows in own.items() if len(rows) > 1}
        for group, rows in own.items():
            others = [[rewards[row] for row in own[other]] for other in own if other != group]
            if len(others) < 2:
                continue
            means = [mean(values) for values in others]
            by_chance = mean([0.0 if dead(values) else variance(values) / len(values) for values in others])
            apart = mean([(m - mean(means)) ** 2 for m in means])
            total = by_chance + apart + eps
            weight = by_chance / total if total else 0.0
            for row in rows:
                rest = mean([rewards[other] for other in rows if other != row])
                result[row] = rewards[row] - (1 - weight) * rest - weight * mean(means)
    return result


# --- the rows or tokens of a step ---------------------------------------------------------------------


def reinforce(rewards):
    return list(rewards)


def batch_norm(rewards, steps, *, ddof=1, eps=0.0):
    result = [NAN] * len(rewards)
    for rows in members(steps).values():
        own = [rewards[row] for row in rows]
        for row in rows:
            if len(own) > ddof:
                result[row] = (
                    0.0 if dead(own) else (rewards[row] - mean(own)) / (math.sqrt(variance(own, ddof)) + eps)
                )
    return result


def whiten(values, rows, weights, ddof, eps, result):
    """Weighted whitening of some rows, written into `result`."""
    total = math.fsum(weights[row] for row in rows)
    if total <= ddof:
        return
    centre = math.fsum(weights[row] * values[row] for row in rows) / total
    spread = math.fsum(weights[row] * (values[row] - centre) ** 2 for row in rows) / (total - ddof)
    for row in rows:
        flat = dead([values[row] for row in rows])
        result[row] = 0.0 if flat else (values[row] - centre) / math.sqrt(spread + eps)


def centred(rewards, groups):
    result = [NAN] * len(rewards)
    for rows in members(groups).values():
        own = [rewards[row] for row in rows]
        for row in rows:
            if len(rows) > 1:
                result[row] = 0.0 if dead(own) else rewards[row] - mean(own)
    return result


def reinforce_plus_plus(rewards, steps, lengths, *, ddof=1, eps=1e-8):
    result = [NAN] * len(rewards)
    for batch in members(steps).values():
        rows = [row for row in batch if lengths[row] > 0 and not math.isnan(rewards[row])]
        if rows:
            whiten(rewards, rows, lengths, ddof, eps, result)
    return result


def reinforce_plus_plus_rows(rewards, steps, *, ddof=1, eps=1e-8):
    return reinforce_plus_plus(rewards, steps, [1] * len(rewards), ddof=ddof, eps=eps)


def reinforce_plus_plus_baseline(rewards, groups, steps, lengths, *, ddof=1, eps=1e-8):
    return reinforce_plus_plus(centred(rewards, groups), steps, lengths, ddof=ddof, eps=eps)


def reinforce_plus_plus_baseline_rows(rewards, groups, steps, *, ddof=1, eps=1e-8):
    return reinforce_plus_plus_rows(centred(rewards, groups), steps, ddof=ddof, eps=eps)


def remax(rewards, baselines):
    return [reward - baseline for reward, baseline in zip(rewards, baselines, strict=True)]


def positive_only(rewards, *, threshold=0.5, weight=1.0):
    return [weight if reward >= threshold else 0.0 for reward in rewards]


def w_reinforce(rewards, threshold=0.5, weight=0.1):
    return [weight if reward >= threshold else -1.0 for reward in rewards]


def negative_only(rewards, *, threshold=0.5, weight=1.0):
    return [0.0 if reward >= threshold else -weight for reward in rewards]


# --- several rewards ----------------------------------------------------------------------------------


def gdpo_sum(parts, weights, groups, *, ddof=1, eps=0.0):
    total = [NAN] * len(parts)
    for rows in members(groups).values():
        for kind, weight in enumerate(weights):
            there = [row for row in rows if math.isfinite(parts[row][kind])]
            own = [parts[row][kind] for row in there]
            if len(own) <= max(ddof, 1):
                continue
            for row in there:
                z = (
                    0.0
                    if dead(own)
                    else (parts[row][kind] - mean(own)) / (math.sqrt(variance(own, ddof)) + eps)
                )
                total[row] = weight * z + (0.0 if math.isnan(total[row]) else total[row])
    return total


def gdpo(parts, weights, groups, steps, *, ddof=1, eps=0.0, batch_eps=0.0):
    total = gdpo_sum(parts, weights, groups, ddof=ddof, eps=eps)
    result = [NAN] * len(parts)
    for batch in members(steps).values():
        rows = [row for row in batch if not math.isnan(total[row])]
        own = [total[row] for row in rows]
        for row in rows:
            if len(own) > ddof:
                scale = math.sqrt(variance(own, ddof)) + batch_eps
                result[row] = 0.0 if dead(own) else (total[row] - mean(own)) / scale
    return result


def papo(parts, weights, groups, *, threshold=0.5):
    result = [NAN] * len(parts)
    for rows in members(groups).values():
        own = {row: parts[row][0] for row in rows if math.isfinite(parts[row][0])}
        right = {row: parts[row][1] for row in own if own[row] >= threshold and math.isfinite(parts[row][1])}
        if len(own) < 2:
            continue
        for row in own:
            result[row] = weights[0] * z_of(row, own) + (
                weights[1] * z_of(row, right) if row in right else 0.0
            )
    return result


def z_of(row, own):
    """The z-score of one of the rows; 0 where there is nothing to compare with."""
    values = list(own.values())
    if len(values) < 2 or dead(values):
        return 0.0
    return (own[row] - mean(values)) / math.sqrt(variance(values))


# --- over the steps -----------------------------------------------------------------------------------


def spo(rewards, groups, steps, *, rho=0.875):
    """One row per prompt and step; the steps in their order."""
    state, result = {}, [NAN] * len(rewards)
    for _, rows in sorted(members(steps).items()):
        above = []
        for row in rows:
            alpha, beta = state.get(groups[row], (0.5, 0.5))
            above.append(rewards[row] - alpha / (alpha + beta))
            state[groups[row]] = (rho * alpha + rewards[row], rho * beta + 1 - rewards[row])
        spread = math.sqrt(variance(above)) if len(above) > 1 and not dead(above) else 0.0
        for row, over in zip(rows, above, strict=True):
            result[row] = (over - mean(above)) / spread if spread else 0.0
    return result
