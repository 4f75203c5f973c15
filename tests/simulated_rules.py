"""Logs of every rule of the catalogs that `match` can try, for rows and for turns, and whether it names them.

The advantages are advcli's own, stored as a trainer would: what is measured is the search, not the numbers,
which the tests of the rules compare with the frameworks. `python tests/simulated_logs.py 0 100 --kind rules`
(or `turns`) prints the table.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

# What a run's configuration may set, beside the defaults.
OTHER = {
    "tau": (0.5, 2.0, 0.1),
    "baseline_shift": (-0.2, -0.05),
    "eps": (1e-5, 1e-4),
    "k": (2, 8),
    "max_length": (4096.0, 8192.0),
    "gamma": (0.9, 0.95, 0.99, 1.0),
    "method": ("mean", "mean_std"),
    "grouping": ("group", "batch"),
    "weight": (0.5, 2.0),
    "episode_weight": (0.5,),
    "rho": (0.9, 0.96),
}
_KNOWN = {"rewards", "group", "step", "lengths", "parts", "weights"}
_TURNS = {"rewards", "group", "step", "rollout", "turn", "anchor", "episode", "lengths", "valid", "env_step"}
_TURNS |= {"agent", "input_tokens"}


@dataclass(frozen=True)
class Made:
    """A log; `truth` is (framework, estimator), and `others` whether knobs differ from the defaults."""

    kind: str
    words: str
    truth: tuple
    others: bool
    rows: list


def rules(level):
    """(framework or None, estimator, --like, scale, options) of each rule that a plain dump has the columns of."""
    from advcli.estimators.catalog import ESTIMATORS
    from advcli.frameworks.catalog import RULES
    from advcli.matching.candidates import like

    there = _KNOWN if level == "row" else _TURNS
    able = (rule for rule in RULES if rule.level == level and {*rule.needs} <= there)
    found = [
        (rule.framework, rule.estimator, like(rule), scale, tuple(rule.options), rule.needs)
        for rule in able
        for scale in rule.scales or (None,)
    ]
    for entry in (one for one in ESTIMATORS if one.level == level and {*one.needs} <= there):
        scales = ("group", "none") if entry.default_scale else (None,)
        knobs = ("gamma",) if level == "turn" else ()
        found += [(None, entry.name, None, scale, knobs, entry.needs) for scale in scales]
    return found


def _of_rows(draw, parts):
    groups, size = int(draw.integers(12, 49)), int(draw.choice([4, 5, 6, 8]))
    kind = str(draw.choice(["binary", "tenths", "fine"]))
    found = []
    for group in range(groups):
        easy = draw.random()
        for _ in range(size):
            value = draw.random()
            reward = {"binary": float(value < easy), "tenths": round(value, 1), "fine": round(value, 4)}[kind]
            row = {
                "prompt_id": group,
                "step": group * 3 // groups,
                "response_length": int(draw.integers(20, 900)),
            }
            several = {"accuracy_reward": reward, "format_reward": float(draw.random() < 0.6)}
            found.append(row | (several if parts else {"reward": reward}))
    return found, f"{kind}, {groups} × {size}"


def _of_turns(draw):
    groups, size, found = int(draw.integers(8, 21)), int(draw.choice([3, 4, 6])), []
    fine = bool(draw.random() < 0.5)
    for group in range(groups):
        for rollout in range(size):
            turns, right = int(draw.integers(1, 6)), draw.random() < 0.5
            for turn in range(turns):
                reward = float(right and turn == turns - 1) + (
                    round(draw.random(), 2) if fine else float(draw.choice([0, 0, 0, 0.25]))
                )
                found.append(
                    {
                        "prompt_id": group,
                        "step": group * 2 // groups,
                        "traj_id": f"{group}-{rollout}",
                        "turn": turn,
                        "reward": reward,
                        "state_hash": f"s{draw.integers(3) if turn else 0}",
                        "response_length": int(draw.integers(20, 900)),
                    }
                )
    return found, f"{'fine' if fine else 'sparse'}, {groups} × {size}"


def _computed(rows, rule, knobs):
    from advcli import compute_advantages

    _, estimator, like, scale, _, needs = rule

    def column(name):
        return [row[name] for row in rows]

    given = {"lengths": column("response_length"), "steps": column("step")}
    rewards = (
        np.stack([column("accuracy_reward"), column("format_reward")], axis=1)
        if "parts" in needs
        else column("reward")
    )
    if "turn" in rows[0]:
        given |= {"rollouts": column("traj_id"), "turns": column("turn"), "anchors": column("state_hash")}
    if "parts" in needs:
        given["weights"] = [1.0, 1.0]
    found = compute_advantages(
        rewards, column("prompt_id"), estimator=estimator, like=like, scale=scale, **given, **knobs
    )
    return found.original.tolist()


def log(seed, level, only=()):
    """The log of a seed; the rules take turns."""
    draw = np.random.default_rng(seed)
    able = [rule for rule in rules(level) if not only or {rule[0], rule[1]} & {*only}]
    rule = able[seed % len(able)]
    settable = [name for name in rule[4] if name in OTHER]
    knobs = {}
    if settable and draw.random() < 0.5:
        name = str(draw.choice(settable))
        knobs = {name: OTHER[name][int(draw.integers(len(OTHER[name])))]}
    rows, words = _of_turns(draw) if level == "turn" else _of_rows(draw, "parts" in rule[5])
    stored = str(draw.choice(["float64", "float32", "6 decimals"]))
    store = {"float64": float, "float32": lambda a: float(np.float32(a)), "6 decimals": lambda a: round(a, 6)}
    logged = _computed(rows, rule, knobs)
    for row, one in zip(rows, logged, strict=True):
        row["advantage"] = None if one != one else store[stored](one)
    kind = f"{rule[0] or 'own'}{', other knobs' if knobs else ''}"
    return Made(
        kind, f"{rule[1]} {rule[3]} {rule[2]} {knobs}; {stored}, {words}", rule[:2], bool(knobs), rows
    )


def verdict(made, found):
    """How `match` did: right, tie, same numbers (with knobs of another rule's defaults), not determined, silent, or wrong."""
    fits = [
        (one["framework"], one["estimator"])
        for one in (found["best"], *found["indistinguishable"])
        if one is not None
    ]
    if not found["found"]:
        no = "not determined" in found["sentence"] or "tells no rule" in found["sentence"]
        return "not determined" if no else "silent"
    if made.truth in fits:
        return "right" if fits[0] == made.truth else "tie"
    return "same numbers" if made.others else "wrong"


def judged(seed, level, only=()):
    """A log, what `match` says of it, and how good that is."""
    from typer.testing import CliRunner

    from advcli.cli import app

    made = log(seed, level, only)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in made.rows), encoding="utf-8")
        done = CliRunner().invoke(app, ["match", str(path), "--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    return made, found, verdict(made, found)
