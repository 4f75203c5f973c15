"""Logs of rules that no catalog has, and of rules that are nearly one: what `match` names has to give their other logs too.

The rules are plain loops. `python tests/simulated_logs.py 0 100 --kind foreign` prints the table: "right" is
silence, "same numbers" a rule that gives the advantages of a second dump of the same kind, and "wrong" one
that does not.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np


def _mean(r):
    return sum(r) / len(r)


def _std(r, ddof=1):
    middle = _mean(r)
    return math.sqrt(sum((one - middle) ** 2 for one in r) / (len(r) - ddof)) if len(r) > ddof else 0.0


def _z(r, eps=1e-6, ddof=1):
    middle, spread = _mean(r), _std(r, ddof) + eps
    return [(one - middle) / spread for one in r]


def _centred(r):
    return [one - _mean(r) for one in r]


def _ranks(r):
    found = [sum(other < one for other in r) + (sum(other == one for other in r) - 1) / 2 for one in r]
    return [2 * one / max(len(r) - 1, 1) - 1 for one in found]


def _softmax(r, tau=1.0):
    powers = [math.exp(one / tau) for one in r]
    return [len(r) * one / sum(powers) - 1 for one in powers]


def _over(divisor):
    return lambda r: [one / divisor(r) for one in _centred(r)]


def _median(r):
    return sorted(r)[(len(r) - 1) // 2]


def _log_odds(r):
    share = (sum(one > 0 for one in r) + 0.5) / (len(r) + 1)
    return [math.log(1 / share) if one > 0 else -math.log(1 / (1 - share)) for one in r]


def _best_of(r):
    top = max(r)
    return [one - top + (max([x for x in r if x != top], default=top) - top) / 2 for one in r]


# Each takes the rewards of a group and a number that was drawn for the log.
FOREIGN = {
    "tanh": lambda r, x: [math.tanh(x * one) for one in _z(r)],
    "tanh of centred": lambda r, x: [math.tanh(2 * x * one) for one in _centred(r)],
    "ranks": lambda r, x: [x * one for one in _ranks(r)],
    "softmax": _softmax,
    "range": lambda r, x: _over(lambda s: max(s) - min(s) + x)(r),
    "power of std": lambda r, x: _over(lambda s: _std(s) ** (0.3 + x / 2) + 1e-6)(r),
    "eps in the root": lambda r, x: _over(lambda s: math.sqrt(_std(s) ** 2 + x / 5))(r),
    "std and range": lambda r, x: _over(lambda s: _std(s) + x * (max(s) - min(s)) + 1e-6)(r),
    "mean absolute deviation": lambda r, x: _over(
        lambda s: _mean([abs(one) for one in _centred(s)]) + x / 10
    )(r),
    "squared": lambda r, x: [math.copysign(one * one, one) * x for one in _centred(r)],
    "log odds": lambda r, x: [x * one for one in _log_odds(r)],
    "median baseline": lambda r, x: [one - _median(r) - x / 10 * _std(r) for one in r],
    "mean of two baselines": lambda r, x: [one - x / 2 * _mean(r) - (1 - x / 2) * max(r) for one in r],
    "best of": lambda r, x: [x * one for one in _best_of(r)],
    "positive doubled": lambda r, x: [one * (1 + x) if one > 0 else one for one in _z(r)],
    "shift of z": lambda r, x: [one + x / 3 for one in _z(r)],
    "shrunk mean": lambda r, x: [one - (sum(r) + x) / (len(r) + 2 * x) for one in r],
    "size": lambda r, x: [one * math.sqrt(len(r)) * x for one in _centred(r)],
    "share": lambda r, x: [
        one * (1 + x * (1 - _mean([float(other > 0) for other in r]))) for one in _centred(r)
    ],
    "noise": None,
    "nearly z": None,
    "one row off": None,
    "a step of another eps": None,
}
STORED = {
    "float64": float,
    "float32": lambda one: float(np.float32(one)),
    "6 decimals": lambda one: round(one, 6),
    "4 decimals": lambda one: round(one, 4),
}


@dataclass(frozen=True)
class Made:
    """A log, and another one of the same rule."""

    kind: str
    words: str
    truth: None
    rows: list
    other: list


def _dump(draw, kind, groups, size):
    found = []
    for group in range(groups):
        easy, dead, value = draw.random(), draw.random() < 0.15, draw.random()
        for _ in range(size):
            value = value if dead else draw.random()
            reward = {
                "binary": float(value < easy),
                "plus minus": 1.0 if value < easy else -1.0,
                "three": float(round(2 * value) / 2),
                "tenths": round(value, 1),
                "fine": round(value, 4),
            }[kind]
            length = int(draw.integers(20, 900))
            found.append(
                {"prompt_id": group, "step": group * 3 // groups, "response_length": length, "reward": reward}
            )
    return found


def _advantages(draw, name, number, rows, size):
    found = []
    for start in range(0, len(rows), size):
        own = [row["reward"] for row in rows[start : start + size]]
        if name == "noise":
            found += draw.normal(size=len(own)).tolist()
        elif name == "a step of another eps":
            found += _z(own, 1e-6 if rows[start]["step"] else 0.1 * number)
        elif FOREIGN[name] is None:
            found += _z(own)
        else:
            found += FOREIGN[name](own, number)
    if name == "nearly z":
        found = [one * (1 + 1e-3 * draw.normal()) for one in found]
    if name == "one row off":
        found[int(draw.integers(len(found)))] += 0.3
    return found


def log(seed, only=()):
    """The log of a seed; the rules take turns."""
    draw, names = np.random.default_rng(seed), [one for one in FOREIGN if not only or one in only]
    name, number = names[seed % len(names)], round(float(draw.uniform(0.2, 1.8)), 2)
    kind, store = (
        str(draw.choice(["binary", "binary", "plus minus", "three", "tenths", "fine"])),
        str(draw.choice(list(STORED))),
    )
    groups, size = int(draw.choice([3, 6, 12, 40])), int(draw.choice([2, 3, 4, 5, 8, 16]))
    dumps = []
    for many in (groups, 60):
        rows = _dump(draw, kind, many, size)
        for row, one in zip(rows, _advantages(draw, name, number, rows, size), strict=True):
            row["advantage"] = STORED[store](one)
        dumps.append(rows)
    return Made(name, f"{number}, {store}, {kind}, {groups} × {size}", None, *dumps)


def judged(seed, only=()):
    """A log, what `match` says of it, and how good that is."""
    from simulated_rules import _again
    from typer.testing import CliRunner

    from advcli.cli import app

    made = log(seed, only)
    with TemporaryDirectory() as folder:
        path, how = Path(folder) / "log.jsonl", "right"
        path.write_text("".join(json.dumps(row) + "\n" for row in made.rows), encoding="utf-8")
        done = CliRunner().invoke(app, ["match", str(path), "--json"], catch_exceptions=False)
        found = json.loads(done.stdout)
        if found["found"]:
            path.write_text("".join(json.dumps(row) + "\n" for row in made.other), encoding="utf-8")
            holds = found["command"] and _again(path, found["command"], made.other, 1e-4)
            how = "same numbers" if holds else "no command" if not found["command"] else "wrong"
    return made, found, how
