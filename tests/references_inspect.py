"""What `advcli inspect` counts, as plain loops over groups, written from the definitions."""

import math
import random
from itertools import combinations

NAN = math.nan


def messy(seed):
    """Rows of ragged, shuffled groups: some dead, some rewards missing, some groups of one, some rows of none.

    Returns:
        One dict per row: group, step, rewards of two parts, their sum, length.
    """
    random.seed(seed)
    rows = []
    for group in range(40):
        level = [random.choice([(0, 0.0), (1, 0.2), (0, 0.2), (1, 0.0), (0.5, 0.1)])] * 2
        kinds = level if group % 3 == 0 else [(0, 0.0), (1, 0.2), (0, 0.2), (1, 0.0)]
        for _ in range(random.choice([1, 2, 3, 4, 4, 8])):
            first, second = random.choice(kinds)
            gone = random.random() < 0.1
            total = NAN if gone else first + second
            rows.append(
                {
                    "group": group,
                    "step": group // 8,
                    "parts": (NAN if gone else first, second),
                    "reward": total,
                    "length": random.choice([NAN, 5, 10, 20, 40]),
                }
            )
    rows += [{**rows[0], "group": -1, "reward": NAN}] * 2
    random.shuffle(rows)
    return rows


def by_group(rows, name="reward"):
    """Group → its valid values."""
    found = {}
    for row in rows:
        if row["group"] >= 0:
            found.setdefault(row["group"], [])
            if math.isfinite(row[name]):
                found[row["group"]].append(row[name])
    return found


def mean(values):
    return math.fsum(values) / len(values) if values else NAN


def is_dead(values):
    return len(values) > 1 and min(values) == max(values)


def is_live(values):
    return len(values) > 1 and min(values) != max(values)


def variances(groups):
    """Within, between, total, over the valid rows of all groups (ddof 0)."""
    everything = [value for values in groups.values() for value in values]
    middle = mean(everything)
    within = [(value - mean(values)) ** 2 for values in groups.values() for value in values]
    between = [(mean(values) - middle) ** 2 for values in groups.values() for _ in values]
    return mean(within), mean(between), mean([(value - middle) ** 2 for value in everything])


def dead_chance(groups, g):
    """By drawing every subset of g rows where there are as many, else by the powers of the observed shares."""
    chances = []
    for values in groups.values():
        if len(values) < 2:
            continue
        if len(values) >= g:
            chances.append(mean([float(len(set(drawn)) == 1) for drawn in combinations(values, g)]))
        else:
            chances.append(sum((values.count(value) / len(values)) ** g for value in set(values)))
    return mean(chances)


def correlation(rows, first, second):
    """Pearson's r of deviations from the group means, over rows that have both."""
    both = [r for r in rows if r["group"] >= 0 and math.isfinite(r[first]) and math.isfinite(r[second])]
    pairs = []
    for row in both:
        mates = [r for r in both if r["group"] == row["group"]]
        pairs.append(tuple(row[name] - mean([r[name] for r in mates]) for name in (first, second)))
    power = sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs)
    return sum(x * y for x, y in pairs) / math.sqrt(power) if power else NAN
