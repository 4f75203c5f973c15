"""Logs of every rule of the catalogs that `match` can try, for rows and for turns, and whether it names them.

The advantages are advcli's own, stored as a trainer would: what is measured is the search, not the numbers,
which the tests of the rules compare with the frameworks. What is named is typed as the answer says, and has
to give the log again. `python tests/simulated_logs.py 0 100 --kind rules` (or `options`, `turns`) prints the
table.
"""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np


def _two_digits(value):
    return float(f"{value:.2g}")


def _uniform(low, high):
    return lambda draw: _two_digits(draw.uniform(low, high))


def _powers(low, high):
    return lambda draw: _two_digits(10 ** draw.uniform(low, high))


def _of(*values):
    return lambda draw: values[int(draw.integers(len(values)))]


# What a run's configuration may set, beside the defaults.
OTHER = {
    "tau": _powers(-1, 0.7),
    "baseline_shift": _uniform(-0.6, 0.2),
    "shift": _uniform(-0.6, 0.2),
    "eps": _powers(-5, -0.5),
    "batch_eps": _powers(-5, -0.5),
    "k": _of(2, 3, 4, 6, 8),
    "max_length": _of(1024.0, 2000.0, 4096.0, 8192.0, 12000.0, 65536.0),
    "gamma": _of(0.5, 0.8, 0.9, 0.93, 0.95, 0.97, 0.99, 0.995, 1.0),
    "method": _of("mean", "mean_std"),
    "grouping": _of("group", "batch"),
    "how": _of("sum", "max", "immediate"),
    "count": _of("rows", "rollouts"),
    "by": _of("turn", "trajectory"),
    "form": _of("loo", "plain"),
    "opmd_baseline": _of("logavgexp"),
    "weight": _uniform(0.05, 3),
    "episode_weight": _uniform(0.05, 3),
    "macro_weight": _uniform(0.05, 3),
    "beta": _uniform(0.05, 3),
    "penalty": _uniform(0.05, 0.5),
    "output_weight": _uniform(0.05, 0.5),
    "turns_weight": _uniform(0.05, 0.5),
    "rho": _uniform(0.5, 0.99),
    "alpha0": _uniform(0.1, 3),
    "beta0": _uniform(0.1, 3),
    "process_var": _powers(-6, -2),
    "meas_var": _powers(-3, 0),
    "r_max": _uniform(0.5, 3),
    "level": _of(0.2, 0.3, 0.5, 0.6, 0.8),
    "interpolate": _of(1.0),
    "ddof": _of(0, 1),
    "step_norm": _of(1.0),
    "token_norm": _of(1.0),
    "normalise": _of(0.0),
    "base": _of(1.0),
    "history": _of(0, 1, 3, 4),
    "alpha": _uniform(0.2, 3),
    "reward_clip": _of(0.5),
}
_KNOWN = {"rewards", "group", "step", "lengths", "parts", "weights"}
_TURNS = {"rewards", "group", "step", "rollout", "turn", "anchor", "episode", "lengths", "valid", "env_step"}
_TURNS |= {"agent", "input_tokens"}
STORED = {
    "float64": (float, 0.0),
    "float32": (lambda a: float(np.float32(a)), 0.0),
    "6 decimals": (lambda a: round(a, 6), 5e-7),
    "5 digits": (lambda a: float(f"{a:.5g}"), 5e-5),
    "4 decimals": (lambda a: round(a, 4), 5e-5),
}


@dataclass(frozen=True)
class Made:
    """A log; `truth` is (framework, estimator), `fitted` how many knobs are set, `kinds` how many groups differ in their |A|."""

    kind: str
    words: str
    truth: tuple
    fitted: int
    kinds: int
    rows: list
    room: float


def rules(level):
    """(framework or None, estimator, --like, scale, options, needs) of each rule that a plain dump has the columns of."""
    from advcli.estimators.catalog import ESTIMATORS
    from advcli.frameworks.catalog import RULES
    from advcli.matching.candidates import effective, like

    there = _KNOWN if level == "row" else _TURNS
    able = (rule for rule in RULES if rule.level == level and {*rule.needs} <= there)
    found = [
        (rule.framework, rule.estimator, like(rule), scale, tuple(rule.options), rule.needs)
        for rule in able
        for scale in rule.scales or (None,)
    ]
    for entry in (one for one in ESTIMATORS if one.level == level and {*one.needs} <= there):
        scales = ("group", "none") if entry.default_scale else (None,)
        knobs = tuple(effective(entry.target, {}))
        found += [(None, entry.name, None, scale, knobs, entry.needs) for scale in scales]
    return found


def _of_rows(draw, parts):
    groups, size = int(draw.integers(12, 61)), int(draw.choice([3, 4, 5, 6, 8, 16]))
    kind = str(draw.choice(["binary", "three", "plus minus", "tenths", "fine"]))
    found = []
    for group in range(groups):
        easy, dead = draw.random(), draw.random() < 0.1
        value = draw.random()
        for _ in range(size):
            value = value if dead else draw.random()
            reward = {
                "binary": float(value < easy),
                "three": float(round(2 * value) / 2),
                "plus minus": 1.0 if value < easy else -1.0,
                "tenths": round(value, 1),
                "fine": round(value, 4),
            }[kind]
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


def _set(draw, rule):
    """One or two knobs that a configuration sets."""
    able = [name for name in rule[4] if name in OTHER and (rule[3] != "none" or name not in ("eps", "ddof"))]
    many = min(len(able), 1 + int(draw.random() < 0.3))
    return (
        {str(name): OTHER[str(name)](draw) for name in draw.choice(able, many, replace=False)} if able else {}
    )


def _same(one, other):
    return all(
        abs(a - b) <= 1e-6 * (1 + abs(a)) or (a != a and b != b) for a, b in zip(one, other, strict=True)
    )


def log(seed, level, only=(), *, options=None):
    """The log of a seed; the rules take turns. `options`: whether knobs are set; None for as it comes."""
    draw = np.random.default_rng(seed)
    able = [rule for rule in rules(level) if not only or {rule[0], rule[1]} & {*only}]
    able = [rule for rule in able if {*rule[4]} & OTHER.keys()] if options else able
    rule = able[seed % len(able)]
    rows, words = _of_turns(draw) if level == "turn" else _of_rows(draw, "parts" in rule[5])
    knobs, logged = {}, _computed(rows, rule, {})
    if options or (options is None and draw.random() < 0.5):
        try:
            knobs = _set(draw, rule)
            given = _computed(rows, rule, knobs)
            knobs, logged = ({}, logged) if _same(given, logged) else (knobs, given)
        except ValueError:
            # A word that another rule has.
            knobs = {}
    stored = str(draw.choice(list(STORED)))
    store, room = STORED[stored]
    groups = {}
    for row, one in zip(rows, logged, strict=True):
        row["advantage"] = None if one != one else store(one)
        groups.setdefault(row["prompt_id"], []).append(abs(one))
    peak = max((one for own in groups.values() for one in own if one == one), default=1.0)
    sizes = [sorted(round(one / peak, 3) for one in own) for own in groups.values() if any(own)]
    # A number that all rows have tells one number.
    kinds = min(len({*map(tuple, sizes)}), len({one for own in sizes for one in own if one}))
    words = f"{rule[1]} {rule[3]} {rule[2]} {knobs}; {stored}, {words}"
    kind = f"{rule[0] or 'own'}{', other knobs' if knobs else ''}"
    return Made(kind, words, rule[:2], len(knobs), kinds, rows, room)


def _again(path, command, rows, room):
    """Whether the command of an answer gives the log."""
    from typer.testing import CliRunner

    from advcli.cli import app

    out = path.with_name("again.jsonl")
    words = [*shlex.split(command)[1:], "--out", str(out), "--force", "--quiet"]
    done = CliRunner().invoke(app, words)
    if done.exit_code:
        return False
    given = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    logged = [row["advantage"] for row in rows]
    peak = max(abs(one) for one in logged if one is not None)
    return all(
        a is None or (b is not None and abs(a - b) <= room + (room + 1e-5) * abs(a) + 4e-6 * peak)
        for a, b in zip(logged, [row["adv_processed"] for row in given], strict=True)
    )


def verdict(made, found, again):
    """How `match` did: right, tie, same numbers (of another rule), few, not determined, silent, or wrong.

    "no command" and "wrong command" are right answers that do not say what to type, or say what gives something else.
    """
    if not found["found"]:
        no = "not determined" in found["sentence"] or "identifies no rule" in found["sentence"]
        return "few" if made.kinds <= made.fitted + 1 else "not determined" if no else "silent"
    if again is not True:
        return "no command" if again is None else "wrong command"
    fits = [
        (one["framework"], one["estimator"])
        for one in (found["best"], *found["indistinguishable"])
        if one is not None
    ]
    if made.truth in fits:
        return "right" if fits[0] == made.truth else "tie"
    return "same numbers"


def judged(seed, level, only=(), *, options=None):
    """A log, what `match` says of it, and how good that is."""
    from typer.testing import CliRunner

    from advcli.cli import app

    made = log(seed, level, only, options=options)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in made.rows), encoding="utf-8")
        done = CliRunner().invoke(app, ["match", str(path), "--json"], catch_exceptions=False)
        found = json.loads(done.stdout)
        again = (
            _again(path, found["command"], made.rows, made.room)
            if found["found"] and found["command"]
            else None
        )
    return made, found, verdict(made, found, again)
