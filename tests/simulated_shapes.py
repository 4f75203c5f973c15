"""Logs whose rewards or advantages were shaped by a known rule, and how `match` does on them.

The rules are plain loops over the rows of a group, written from the formulas of the sources; nothing of
advcli computes a reward or an advantage here. `python tests/simulated_logs.py 0 200 --kind shaping` prints
the table.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np


@dataclass(frozen=True)
class Made:
    """A log; `truth` is the rule, "" where the rewards are as they were, None where it is no rule of the catalog.

    Attributes:
        kind: the rule that was drawn.
        words: with which knobs, and what came after.
        truth: what `match` has to name.
        divided: whether the estimator divides by the std of the group.
        fitted: how many knobs the log has to tell.
        kinds: different groups that it has to tell them with.
        rows: the dump.
    """

    kind: str
    words: str
    truth: str | None
    divided: bool
    fitted: int
    kinds: int
    rows: list


def _of(group, name):
    return [row[name] for row in group]


def _right(group):
    return [row for row in group if row["reward"] > 0]


def _round(draw, low, high, digits=2):
    return round(float(draw.uniform(low, high)), digits)


def _overlong(draw, rows):
    most = int(np.quantile(_of(rows, "length"), draw.uniform(0.6, 1.0)))
    buffer, factor = max(8, int(most * draw.uniform(0.1, 0.5))), _round(draw, 0.3, 1.5)
    capped = bool(draw.random() < 0.5)

    def shaped(group, row):
        off = min(0.0, (most - buffer - row["length"]) / buffer * factor)
        return row["reward"] + (max(off, -factor) if capped else off)

    return shaped, 3 if capped else 2, f"max {most}, buffer {buffer}, factor {factor}, capped {capped}"


def _linear(draw, rows):
    output, given, turns = (_round(draw, 0.05, 0.5) for _ in range(3))

    def shaped(group, row):
        share = (
            output * row["length"] / max(_of(group, "length"))
            + given * row["input_tokens"] / max(_of(group, "input_tokens"))
            + turns * row["num_turns"] / max(_of(group, "num_turns"))
        )
        return row["reward"] - sum(_of(group, "reward")) / len(group) * share

    return shaped, 3, f"{output}, {given}, {turns}"


def _length_limit(draw, rows):
    most, coef = int(max(_of(rows, "length")) * draw.uniform(1, 3)), _round(draw, 0.1, 0.8)
    gated = bool(draw.random() < 0.5)

    def shaped(group, row):
        off = coef * sum(_of(group, "reward")) / len(group) * row["length"] / most
        return row["reward"] - (off * row["reward"] if gated else off)

    return shaped, 1, f"coef {coef}, max {most}, gated {gated}"


def _efficiency(draw, rows):
    def shaped(group, row):
        best = max(_of(group, "reward"))
        if best <= 0 or row["reward"] < best:
            return row["reward"]
        costs = [one["length"] for one in group if one["reward"] == best]
        return row["reward"] * (1 + min(max(1 - row["length"] / (sum(costs) / len(costs)), 0), 1))

    return shaped, 0, ""


def _gr3(draw, rows):
    alpha = _round(draw, 0.1, 2)
    return (
        (
            lambda group, row: (
                row["reward"] / (1 + alpha * row["length"] * len(group) / sum(_of(group, "length")))
            )
        ),
        1,
        f"alpha {alpha}",
    )


def _alp(draw, rows):
    beta = float(f"{10 ** draw.uniform(-5, -3):.2g}")
    return (
        (lambda group, row: row["reward"] - beta * row["length"] * max(len(_right(group)), 1) / len(group)),
        1,
        f"beta {beta}",
    )


def _grpo_lead(draw, rows):
    alpha = _round(draw, 0.03, 0.6)
    above = 0.0
    if draw.random() < 0.5:
        groups = {}
        for row in rows:
            groups.setdefault(row["prompt"], []).append(row["length"])
        above = round(float(np.quantile([sum(sorted(one)[:3]) / 3 for one in groups.values()], 0.4)))

    def shaped(group, row):
        if row["reward"] <= 0 or sum(sorted(_of(group, "length"))[:3]) / 3 <= above:
            return row["reward"]
        lengths = _of(_right(group), "length")
        mean = sum(lengths) / len(lengths)
        std = (
            math.sqrt(sum((one - mean) ** 2 for one in lengths) / (len(lengths) - 1))
            if len(lengths) > 1
            else 1
        )
        return row["reward"] * math.exp(-alpha * (row["length"] - mean) / (std + 1e-6))

    return shaped, 2 if above else 1, f"alpha {alpha}, above {above}"


def _kimi(draw, rows):
    weight = _round(draw, 0.1, 1)

    def shaped(group, row):
        low, high = min(_of(group, "length")), max(_of(group, "length"))
        term = 0.5 - (row["length"] - low) / (high - low) if high > low else 0.0
        return row["reward"] + weight * (term if row["reward"] > 0 else min(0, term))

    return shaped, 1, f"weight {weight}"


def _slack(draw, rows):
    beta, cap, share = _round(draw, 0.05, 0.5), _round(draw, 0.1, 0.4), float(draw.choice([0.25, 0.5, 0.1]))
    relative, absolute = _round(draw, 0.0, 0.4), float(draw.choice([0, 16, 32, 64]))

    def shaped(group, row):
        lengths = [one["length"] for one in group if one["reward"] >= 1]
        if row["reward"] < 1 or len(lengths) < 2:
            return row["reward"]
        short = float(np.quantile(lengths, share))
        over = max(0.0, row["length"] - short * (1 + relative) - absolute)
        return max(min(0.8, row["reward"]), row["reward"] - min(cap, beta * over / short))

    return shaped, 4, f"beta {beta}, cap {cap}, quantile {share}, relative {relative}, absolute {absolute}"


def _pass_rate_length(draw, rows):
    weight = _round(draw, 0.05, 0.9)

    def shaped(group, row):
        if row["reward"] != 1 or {*_of(group, "reward")} - {0.0, 1.0}:
            return row["reward"]
        right = _right(group)
        return max(0.0, 1 - weight * len(right) / len(group) * row["length"] / max(_of(right, "length")))

    return shaped, 1, f"weight {weight}"


def _group_length(draw, rows):
    coef = _round(draw, 0.05, 0.9)

    def shaped(group, row):
        right = _right(group)
        if row["reward"] != 1 or {*_of(group, "reward")} - {0.0, 1.0} or len(right) < 2:
            return row["reward"]
        low, high = min(_of(right, "length")), max(_of(right, "length"))
        if low == high:
            return row["reward"]
        gain = [1 - (one["length"] - low) / (high - low) for one in right]
        mine = 1 - (row["length"] - low) / (high - low)
        return max(0.0, 1 + coef * (mine - sum(gain) / len(gain)))

    return shaped, 1, f"coef {coef}"


def _shortest(draw, rows):
    bonus = _round(draw, 0.05, 0.9)

    def shaped(group, row):
        first = row["reward"] > 0 and row["length"] == min(_of(_right(group), "length"))
        return row["reward"] + (bonus if first else 0)

    return shaped, 1, f"bonus {bonus}"


def _cosine(draw, rows):
    most = int(np.quantile(_of(rows, "length"), 0.95) * draw.uniform(0.5, 2))
    clamp = bool(draw.random() < 0.5)
    ends = [(1, 0.5, -1, -0.5), (1, 0.5, -0.5, 0)][int(draw.integers(2))]
    if draw.random() < 0.4:
        ends = (1, _round(draw, 0.2, 0.8), _round(draw, -1, -0.6), _round(draw, -0.5, 0))

    def shaped(group, row):
        share = row["length"] / most
        wave = (1 + math.cos(math.pi * (min(share, 1) if clamp else share))) / 2
        short, long = ends[:2] if row["reward"] > 0 else ends[2:]
        return long + (short - long) * wave

    return shaped, 3, f"max {most}, clamp {clamp}, {ends}"


def _stop_properly(draw, rows):
    coef = _round(draw, 0.0, 0.8)
    return (lambda group, row: row["reward"] * (coef if row["truncated"] else 1)), 1, f"coef {coef}"


def _effort(draw, rows):
    weight, penalty = _round(draw, 0.1, 0.9), _round(draw, 0.2, 1)
    bound = int(np.quantile(_of(rows, "length"), draw.uniform(0.3, 0.95)))

    def shaped(group, row):
        gain = min(1.0, weight * (1 - row["length"] / bound)) if row["low_effort"] else 0.0
        return row["reward"] + row["reward"] * max(gain, 0) + penalty * min(gain, 0)

    return shaped, 3, f"weight {weight}, penalty {penalty}, bound {bound}"


def _duplicate(draw, rows):
    alpha = _round(draw, 0.2, 1)
    return (
        (lambda group, row: row["reward"] / _of(group, "response").count(row["response"]) ** alpha),
        1,
        f"alpha {alpha}",
    )


# What no rule of the catalog does.
def _log_length(draw, rows):
    return (lambda group, row: row["reward"] - 0.1 * math.log(row["length"])), 0, ""


def _gone_with_length(draw, rows):
    return (lambda group, row: row["reward"] * math.exp(-row["length"] / 700)), 0, ""


def _rank_of_length(draw, rows):
    return (
        (
            lambda group, row: (
                row["reward"] - 0.2 * sum(one["length"] < row["length"] for one in group) / len(group)
            )
        ),
        0,
        "",
    )


def _noise(draw, rows):
    return (lambda group, row: row["reward"] + 0.1 * draw.normal()), 0, ""


REWARDS = {
    "overlong": _overlong,
    "linear": _linear,
    "length_limit": _length_limit,
    "efficiency": _efficiency,
    "gr3": _gr3,
    "alp": _alp,
    "grpo_lead": _grpo_lead,
    "kimi": _kimi,
    "slack": _slack,
    "pass_rate_length": _pass_rate_length,
    "group_length": _group_length,
    "shortest": _shortest,
    "cosine": _cosine,
    "stop_properly": _stop_properly,
    "effort": _effort,
    "duplicate": _duplicate,
}
NO_RULES = {"log": _log_length, "exp": _gone_with_length, "rank": _rank_of_length, "noise": _noise}


def _difficulty(draw):
    low, high = _round(draw, 0.1, 0.5), _round(draw, 0.8, 2)
    middle, steepness = _round(draw, 0.4, 0.8), _round(draw, 4, 15, 1)
    if draw.random() < 0.4:
        low, high, middle, steepness = 0.4, 1.5, 0.75, 10.0

    def weighed(group, advantages):
        share = len(_right(group)) / len(group)
        told = [share if one > 0 else 1 - share for one in advantages]
        return [
            one * (low + (high - low) / (1 + math.exp(steepness * (x - middle))))
            for one, x in zip(advantages, told, strict=True)
        ]

    return weighed, 4, f"{low}, {high}, {middle}, {steepness}"


def _over_std(eps):
    def rule(r):
        mean = sum(r) / len(r)
        std = math.sqrt(sum((one - mean) ** 2 for one in r) / (len(r) - 1))
        return [(one - mean) / (std + eps) for one in r]

    return rule


def _centred(r):
    return [one - sum(r) / len(r) for one in r]


def _leave_one_out(r):
    return [one - (sum(r) - one) / (len(r) - 1) for one in r]


ESTIMATORS = {"z": _over_std(1e-6), "z 1e-4": _over_std(1e-4), "mean": _centred, "loo": _leave_one_out}
STORED = {
    "float64": float,
    "float32": lambda one: float(np.float32(one)),
    "6 decimals": lambda one: round(one, 6),
}
KINDS = (*REWARDS, "difficulty", *NO_RULES)


def _rows(draw):
    groups, size = int(draw.integers(8, 61)), int(draw.integers(4, 17))
    levels = [0.0, 1.0] if draw.random() < 0.8 else [0.0, 0.5, 1.0]
    typical, found = draw.uniform(4.5, 8), []
    for group in range(groups):
        easy, own = draw.random(), typical + 0.3 * draw.normal()
        low = bool(draw.random() < 0.5)
        for _ in range(size):
            reward = 1.0 if draw.random() < easy else float(draw.choice(levels[:-1]))
            found.append(
                {
                    "prompt": f"p{group}",
                    "reward": reward,
                    "length": int(draw.lognormal(own, 0.5)) + 5,
                    "input_tokens": int(draw.integers(20, 400)),
                    "num_turns": int(draw.integers(1, 8)),
                    "truncated": bool(draw.random() < 0.2),
                    "low_effort": low,
                    "response": f"answer {draw.integers(0, 4)}",
                }
            )
    return found, size


def log(seed, only=()):
    """The log of a seed; the rules take turns."""
    kinds = [kind for kind in KINDS if not only or kind in only]
    draw, kind = np.random.default_rng(seed), kinds[seed % len(kinds)]
    rows, size = _rows(draw)
    name, store = str(draw.choice(list(ESTIMATORS))), str(draw.choice(list(STORED)))
    weighed = None
    if kind == "difficulty":
        weighed, fitted, words = _difficulty(draw)
        shaped = lambda group, row: row["reward"]  # noqa: E731  no shaping
    else:
        shaped, fitted, words = (REWARDS | NO_RULES)[kind](draw, rows)
    changed, kinds = 0.0, set()
    for start in range(0, len(rows), size):
        group = rows[start : start + size]
        rewards = [shaped(group, row) for row in group]
        plain = found = ESTIMATORS[name](rewards)
        if weighed is not None:
            found = weighed(group, plain)
            changed = 1.0
        # An estimator does not see a shift of its group, nor, where it divides, a factor.
        changed = max(
            changed,
            *(abs(a - b) for a, b in zip(plain, ESTIMATORS[name](_of(group, "reward")), strict=True)),
        )
        logged = [STORED[store](one) for one in found]
        if weighed is not None:
            share = len(_right(group)) / size
            kinds |= {share, 1 - share} if 0 < share < 1 else set()
        elif any(abs(a - b) > 1e-5 for a, b in zip(rewards, _of(group, "reward"), strict=True)):
            kinds |= {round(abs(one), 3) for one in logged if one}
        for row, one in zip(group, logged, strict=True):
            row["advantage"] = one
    truth = (kind if changed > 1e-4 else "") if kind not in NO_RULES else None
    words = f"{words}; {name}, {store}, {len(rows) // size} × {size}"
    return Made(kind, words, truth, name[0] == "z", fitted, len(kinds), rows)


def verdict(made, found):
    """How `match` did: right, tie, not determined, silent, or wrong."""
    names = [(found.get("shape") or "").partition(":")[0]]
    if not found["found"]:
        told = "not determined" in found["sentence"] and made.truth == names[0]
        few = made.truth is not None and made.kinds <= made.fitted
        return "right" if made.truth is None else "few" if few else "not determined" if told else "silent"
    if made.truth is None:
        return "wrong"
    best = found["best"]["scale"] == "group" or "norm" in found["best"]["estimator"]
    names += [
        fit["reason"].partition("shaped by ")[2].partition(":")[0] for fit in found["indistinguishable"]
    ]
    if made.truth == names[0]:
        return "right" if best == made.divided else "wrong estimator"
    return "tie" if made.truth in names else "wrong"


def judged(seed, only=()):
    """A log, what `match` says of it, and how good that is."""
    from typer.testing import CliRunner

    from advcli.cli import app

    made = log(seed, only)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in made.rows), encoding="utf-8")
        done = CliRunner().invoke(app, ["match", str(path), "--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    return made, found, verdict(made, found)
