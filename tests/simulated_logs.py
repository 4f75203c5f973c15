"""Logs with a known maker, and how `match` does on them.

The rules are plain loops in numpy float32, written from the formulas of the trainers and of the papers;
nothing of advcli computes an advantage here. `python tests/simulated_logs.py 0 300` prints a table for the
seeds 0 to 299 and every log that came out wrong.
"""

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

f = np.float32


def _std(x, ddof, mean=None):
    x = x.astype(np.float64)
    n = len(x)
    if n - ddof < 1:
        return 0.0
    return float(np.sqrt(((x - x.mean()) ** 2).sum() / (n - ddof)))


def _over_std(eps, ddof=1):
    return lambda r: (r - r.mean(dtype=f)) / f(f(_std(r, ddof)) + f(eps))


def _mean_only(r):
    return r - r.mean(dtype=f)


def _leave_one_out(r):
    n = len(r)
    return r - (r.sum(dtype=f) - r) / f(max(n - 1, 1))


def _maxrl(r):
    m = r.mean(dtype=f)
    return (r - m) / f(m + f(1e-6))


# (framework, estimator, scale) → what it does with the float32 rewards of a group of several rows.
RULES = {
    ("verl", "grpo", "group"): _over_std(1e-6),
    ("verl", "grpo", "none"): _mean_only,
    ("verl", "rloo", "none"): _leave_one_out,
    ("trl", "grpo", "group"): _over_std(1e-4),
    ("trl", "grpo", "none"): _mean_only,
    ("trl", "rloo", "none"): _leave_one_out,
    ("openrlhf", "group_norm", "group"): _over_std(1e-9),
    ("twinkle", "grpo", "group"): _over_std(1e-8),
    ("areal", "grpo", "group"): _over_std(1e-5),
    ("rllm", "grpo", "group"): _over_std(1e-6, 0),
    ("open-instruct", "standard", "group"): _over_std(1e-8, 0),
    ("oat", "drgrpo", "none"): _mean_only,
    ("skyrl", "maxrl", "none"): _maxrl,
}


def _ranks(r):
    return np.array([(r < x).sum() + ((r == x).sum() - 1) / 2 for x in r]) / len(r)


def _softmax(r):
    e = np.exp(r.astype(np.float64))
    return e / e.sum() - 1 / len(r)


def _mad(r):
    middle = np.median(r)
    spread = 1.4826 * np.median(np.abs(r - middle))
    return (r - middle) / (spread + 1e-6) if spread > 0 else np.zeros(len(r))


def _unit_range(r):
    return (r - r.min()) / (r.max() - r.min() + 1e-6)


def _squared(r):
    # Of ±1 in pairs the square alone is the centred reward.
    return 0.7 * np.sign(_mean_only(r)) * _mean_only(r) ** 2


# What no trainer does.
NO_RULES = {
    "tanh": lambda r: np.tanh(_over_std(1e-6)(r)),
    "tanh of centred": lambda r: np.tanh(_mean_only(r)),
    "ranks": lambda r: _ranks(r) - _ranks(r).mean(),
    "softmax": _softmax,
    "median, MAD": _mad,
    "minmax": _unit_range,
    "squared": _squared,
    "power": lambda r: (r - r.mean()) / (_std(r, 1) ** 0.7 + 1e-6),
    "eps 0.3 in the root": lambda r: (r - r.mean()) / np.sqrt(_std(r, 1) ** 2 + 0.3),
}


@dataclass(frozen=True)
class Log:
    """A log; `truth` is (framework, estimator, scale), or None where no rule made it."""

    kind: str
    words: str
    truth: tuple | None
    parts: np.ndarray
    group: np.ndarray
    step: np.ndarray
    logged: np.ndarray
    format: str = "generic"
    weights: tuple = ()


def bfloat16(x):
    """Round to the nearest bfloat16, ties to even."""
    bits = np.asarray(x, dtype=f).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(f).astype(np.float64)


def _digits(x, digits):
    return np.array([float(f"{v:.{digits}g}") for v in x])


STORED = {
    "float32": lambda x: x.astype(f).astype(np.float64),
    "bf16": bfloat16,
    "fp16": lambda x: x.astype(np.float16).astype(np.float64),
    **{f"{k} decimals": (lambda x, k=k: np.round(x.astype(np.float64), k)) for k in (2, 3, 4, 5, 6)},
    "6 digits": lambda x: _digits(x, 6),
}


def _rewards(draw, kind, count):
    return {
        "binary": lambda: (draw.random(count) < draw.choice([0.3, 0.5, 0.7])).astype(float),
        "plus minus": lambda: np.where(draw.random(count) < 0.5, 1.0, -1.0),
        "three": lambda: draw.choice([0.0, 0.5, 1.0], count),
        "tenths": lambda: np.round(draw.random(count), 1),
        "fine": lambda: np.round(draw.random(count), 4),
    }[kind]()


def _by_group(rule, r, group):
    out = np.zeros(len(r))
    for g in np.unique(group):
        own = r[group == g].astype(f)
        with np.errstate(all="ignore"):
            out[group == g] = rule(own)
    return out


def _base(
    draw, kinds=("binary", "binary", "plus minus", "three", "tenths", "fine"), sizes=(2, 3, 4, 5, 6, 8)
):
    n, groups = int(draw.choice(sizes)), int(draw.integers(16, 65))
    group = np.repeat(np.arange(groups), n)
    kind = str(draw.choice(kinds))
    return kind, n, _rewards(draw, kind, n * groups), group, group * 4 // groups


def _rule(draw, rules=tuple(RULES)):
    return rules[int(draw.integers(len(rules)))]


def plain(draw, stores=tuple(STORED)):
    kind, n, r, group, step = _base(draw)
    truth, store = _rule(draw), str(draw.choice(stores))
    a = STORED[store](_by_group(RULES[truth], r, group))
    return Log(
        "plain" if store == "float32" else "rounded",
        f"{kind}, n {n}, {store}",
        truth,
        r[:, None],
        group,
        step,
        a,
    )


def rounded(draw):
    return plain(draw, tuple(STORED)[1:])


def exact(draw):
    return plain(draw, ("float32",))


def small_binary(draw):
    """Binary rewards, few rows per group, few digits."""
    _, n, r, group, step = _base(draw, ("binary",), (2, 3, 4, 5))
    truth, store = _rule(draw), str(draw.choice(["bf16", "fp16", "2 decimals", "3 decimals", "4 decimals"]))
    a = STORED[store](_by_group(RULES[truth], r, group))
    return Log("small binary", f"n {n}, {store}", truth, r[:, None], group, step, a)


def computed_in_bf16(draw):
    """The arithmetic itself in 16 bits."""
    kind, n, r, group, step = _base(draw, ("binary", "three"))
    truth = _rule(draw, [("verl", "grpo", "group"), ("trl", "grpo", "group"), ("verl", "grpo", "none")])
    eps = {"verl": 1e-6, "trl": 1e-4}[truth[0]]

    def rule(x):
        centred = bfloat16(x - bfloat16([x.mean(dtype=f)]))
        return centred if truth[2] == "none" else bfloat16(centred / bfloat16(bfloat16([_std(x, 1)]) + eps))

    return Log("bf16 arithmetic", f"{kind}, n {n}", truth, r[:, None], group, step, _by_group(rule, r, group))


def dead_wrong(draw):
    """A rule, but groups without signal carry a number."""
    kind, n, r, group, step = _base(draw, ("binary", "plus minus"), (2, 3, 4))
    truth, store = _rule(draw), str(draw.choice(["float32", "float32", "bf16", "4 decimals"]))
    a = _by_group(RULES[truth], r, group)
    value = float(draw.choice([0.25, -0.5, 1.0, 0.01, -0.05]))
    filled = [g for g in np.unique(group) if (r[group == g] == 1).all()]
    a[np.isin(group, filled)] = value
    words = f"{kind}, n {n}, {store}, {value}, {truth}"
    return Log("dead groups", words, None if filled else truth, r[:, None], group, step, STORED[store](a))


def phantom(draw):
    """Float32 means of equal decimals that are off by a unit in the last place: a visible advantage."""
    n, groups = int(draw.choice([3, 5, 6, 7, 8])), 32
    group = np.repeat(np.arange(groups), n)
    r = np.round(draw.random(n * groups), 1)
    for g in range(0, groups, 3):
        r[group == g] = draw.choice([0.1, 0.3, 0.7, 1.1])
    known = {"verl": 1e-6, "trl": 1e-4, "openrlhf": 1e-9, "twinkle": 1e-8}
    truth = _rule(draw, [k for k in RULES if k[2] == "group" and k[0] in known])
    eps, ddof = known[truth[0]], 1

    def rule(x):
        total = f(0)
        for value in x:
            total = f(total + value)
        centred = x - f(total / f(len(x)))
        s = f(np.sqrt((centred.astype(np.float64) ** 2).sum() / (len(x) - ddof)))
        return centred / f(s + f(eps))

    return Log("phantom", f"n {n}", truth, r[:, None], group, group // 8, _by_group(rule, r, group))


def no_rule(draw):
    kind, n, r, group, step = _base(draw)
    name, store = (
        str(draw.choice(list(NO_RULES))),
        str(draw.choice(["float32", "float32", "bf16", "4 decimals", "3 decimals"])),
    )
    a = STORED[store](_by_group(NO_RULES[name], r, group))
    return Log("no rule", f"{name}, {kind}, n {n}, {store}", None, r[:, None], group, step, a)


def no_rule_binary(draw):
    """Few different numbers: a factor, an eps or a clip would fit."""
    kind, n, r, group, step = _base(draw, ("binary", "plus minus"), (2, 3, 4))
    name, store = (
        str(draw.choice(list(NO_RULES))),
        str(draw.choice(["float32", "float32", "float32", "bf16"])),
    )
    a = STORED[store](_by_group(NO_RULES[name], r, group))
    return Log("no rule, binary", f"{name}, {kind}, n {n}, {store}", None, r[:, None], group, step, a)


def clipped(draw):
    kind, n, r, group, step = _base(draw, sizes=(4, 5, 6, 8))
    truth = _rule(draw)
    a = _by_group(RULES[truth], r, group)
    high = float(draw.choice([0.5, 1.0, 1.2, 2.0]))
    a = STORED["float32"](np.clip(a, -high, high))
    return Log("clipped", f"{kind}, n {n}, ±{high}", truth, r[:, None], group, step, a)


def weighted(draw):
    n, groups, many = int(draw.choice([2, 3, 4, 6, 8])), int(draw.integers(24, 65)), int(draw.integers(2, 4))
    group = np.repeat(np.arange(groups), n)
    kinds = [str(draw.choice(["binary", "tenths", "fine"])) for _ in range(many)]
    parts = np.stack([_rewards(draw, kind, n * groups) for kind in kinds], axis=1)
    weights = [float(w) for w in draw.choice([0.1, 0.2, 0.3, 0.5, 0.7, 2.0, 0.0], many - 1)]
    weights = (1.0, *weights) if draw.random() < 0.7 else (*weights, 1.0)
    truth = _rule(
        draw,
        [
            ("verl", "grpo", "group"),
            ("trl", "grpo", "group"),
            ("trl", "grpo", "none"),
            ("trl", "rloo", "none"),
        ],
    )
    total = (parts.astype(f) * np.array(weights, dtype=f)).sum(axis=1, dtype=f)
    a = STORED["float32"](_by_group(RULES[truth], total, group))
    return Log(
        "weights",
        f"{'+'.join(kinds)}, n {n}, {weights}",
        truth,
        parts,
        group,
        group * 4 // groups,
        a,
        weights=weights,
    )


def shuffled(draw):
    kind, n, r, group, step = _base(draw, ("three", "tenths", "fine"))
    truth = _rule(draw)
    a = _by_group(RULES[truth], r, group)
    for s in np.unique(step):
        rows = np.flatnonzero(step == s)
        a[rows] = a[draw.permutation(rows)]
    return Log("shuffled", f"{kind}, n {n}", None, r[:, None], group, step, STORED["float32"](a))


def filtered(draw):
    """Dead groups, or all groups with some mean, set to 0: nothing changes, or whole groups do."""
    kind, n, r, group, step = _base(draw, sizes=(4, 5, 6, 8))
    truth = _rule(draw)
    a = _by_group(RULES[truth], r, group)
    for g in draw.choice(np.unique(group), 4, replace=False):
        a[group == g] = 0
    return Log("filtered", f"{kind}, n {n}", truth, r[:, None], group, step, STORED["float32"](a))


def one_row_off(draw):
    kind, n, r, group, step = _base(draw)
    truth = _rule(draw)
    a = _by_group(RULES[truth], r, group)
    a[int(draw.integers(len(a)))] += float(draw.choice([0.3, -0.2, 0.02]))
    return Log("one row off", f"{kind}, n {n}, {truth}", None, r[:, None], group, step, STORED["float32"](a))


def rewards_rounded(draw):
    _, n, r, group, step = _base(draw, ("fine",), (4, 5, 6, 8))
    truth = _rule(draw, [k for k in RULES if k[2] == "none" and k[1] != "maxrl"])
    a = STORED["float32"](_by_group(RULES[truth], r, group))
    return Log("rewards rounded", f"n {n}, {truth}", truth, np.round(r, 2)[:, None], group, step, a)


def own_framework(draw):
    log = exact(draw)
    return replace(log, kind="own framework", format=log.truth[0])


KINDS = (
    exact,
    rounded,
    small_binary,
    computed_in_bf16,
    dead_wrong,
    phantom,
    no_rule,
    no_rule_binary,
    clipped,
    weighted,
    shuffled,
    filtered,
    one_row_off,
    rewards_rounded,
    own_framework,
)


def log(seed):
    """The log of a seed; the kinds take turns."""
    draw = np.random.default_rng(seed)
    return KINDS[seed % len(KINDS)](draw)


# The framework whose own rule computes in bfloat16: a log that is made so is its log too.
_IN_BF16 = "agent-lightning"


def verdict(made, outcome):
    """How `match` did: right, tie, not determined, silent, or wrong."""
    fits = [
        (fit.framework, fit.estimator, fit.scale or "none")
        for fit in (outcome.best, *outcome.indistinguishable)
        if fit
    ]
    if made.truth is None:
        return "wrong" if outcome.found else "right"
    if outcome.found:
        if made.kind == "bf16 arithmetic" and fits[0] == (_IN_BF16, *made.truth[1:]):
            return "tie"
        return "right" if fits[0] == made.truth else "tie" if made.truth in fits else "wrong"
    if "not determined" in outcome.sentence:
        return (
            "not determined"
            if made.truth in fits or "weights are not determined" in outcome.sentence
            else "lost"
        )
    return "silent"


def judged(seed):
    """A log, what `match` says, and how good that is."""
    from logged_tables import table

    from advcli.matching.match import match

    made = log(seed)
    given = table(made.parts, made.group, made.step, made.logged)
    given = replace(given, choice=replace(given.choice, format=made.format))
    outcome = match(given)
    return made, outcome, verdict(made, outcome)


def _of_kind(kind, only):
    """Seed → kind, words, truth, the sentence, and how good it is."""
    import simulated_foreign
    import simulated_rules
    import simulated_shapes

    level, options = {"rules": ("row", False), "options": ("row", True), "turns": ("turn", None)}.get(
        kind, ("", None)
    )

    def plain(seed):
        made, outcome, how = judged(seed)
        return made, outcome.sentence, how

    def of_dump(seed):
        if kind == "foreign":
            made, found, how = simulated_foreign.judged(seed, only)
            return made, found["sentence"], how
        made, found, how = (
            simulated_rules.judged(seed, level, only, options=options)
            if level
            else simulated_shapes.judged(seed, only)
        )
        return made, found["sentence"], how

    return plain if kind == "plain" else of_dump


def main(first, last, kind="plain", only=()):
    """Print every log that came out wrong, and the table.

    Args:
        first: the first seed.
        last: the seed after the last.
        kind: "plain", "shaping", "rules", "options", "turns" or "foreign".
        only: frameworks and estimators, or the rules of "shaping"; () for all.
    """
    counts, judge = Counter(), _of_kind(kind, only)
    for seed in range(first, last):
        started = time.perf_counter()
        try:
            made, sentence, how = judge(seed)
        except KeyboardInterrupt:
            break
        except Exception as error:
            print(seed, "ERROR", repr(error), flush=True)
            continue
        counts[made.kind, how] += 1
        print(".", end="", file=sys.stderr, flush=True)
        took = f"{time.perf_counter() - started:.1f} s"
        if how not in ("right", "tie", "same numbers"):
            print(seed, how, took, made.kind, made.words, made.truth, sentence[:300], sep=" | ", flush=True)
    words = sorted({word for _, word in counts}, key=_WORDS.index)
    print(f"{'':36}", *(f"{word:>14}" for word in words))
    for name in sorted({name for name, _ in counts}):
        print(f"{name:36}", *(f"{counts[name, word]:14}" for word in words))
    print(
        f"{'all':36}",
        *(f"{sum(v for (_, w), v in counts.items() if w == word):14}" for word in words),
        flush=True,
    )


_WORDS = (
    "right",
    "tie",
    "same numbers",
    "no command",
    "wrong command",
    "few",
    "not determined",
    "lost",
    "silent",
    "wrong estimator",
    "wrong",
)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How match does on simulated logs.")
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("last", type=int, help="the seed after the last")
    parser.add_argument(
        "--kind", choices=("plain", "shaping", "rules", "options", "turns", "foreign"), default="plain"
    )
    parser.add_argument("--only", nargs="*", default=(), help="frameworks, estimators or rules of shaping")
    given = parser.parse_args()
    main(given.first, given.last, given.kind, given.only)
