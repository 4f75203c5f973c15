"""Rules of shaping are found again on logs that they made, knobs and all. The logs are made by plain loops."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.matching.inference.shapers import TRIALS
from advcli.shaping.catalog import SHAPINGS

GROUPS, SIZE = 12, 8


def rows(seed):
    draw = np.random.default_rng(seed)
    solved = draw.random(GROUPS)
    return [
        {
            "prompt": f"p{group}",
            "reward": float(draw.random() < solved[group]),
            "length": int(draw.lognormal(6, 0.7)) + 5,
            "input_tokens": int(draw.integers(20, 400)),
            "num_turns": int(draw.integers(1, 8)),
            "truncated": bool(draw.random() < 0.2),
            "response": f"answer {draw.integers(0, 4)}",
        }
        for group in range(GROUPS)
        for _ in range(SIZE)
    ]


def of(group, name):
    return [row[name] for row in group]


def linear(group, row):
    mean = sum(of(group, "reward")) / SIZE
    share = (
        0.3 * row["length"] / max(of(group, "length"))
        + 0.2 * row["input_tokens"] / max(of(group, "input_tokens"))
        + 0.15 * row["num_turns"] / max(of(group, "num_turns"))
    )
    return row["reward"] - mean * share


def kimi(group, row):
    low, high = min(of(group, "length")), max(of(group, "length"))
    term = 0.5 - (row["length"] - low) / (high - low)
    return row["reward"] + 0.4 * (term if row["reward"] else min(0, term))


def alp(group, row):
    return row["reward"] - 2e-4 * row["length"] * max(sum(of(group, "reward")), 1) / SIZE


def gr3(group, row):
    return row["reward"] / (1 + 0.33 * row["length"] * SIZE / sum(of(group, "length")))


def duplicate(group, row):
    return row["reward"] / of(group, "response").count(row["response"]) ** 0.5


def stop_properly(group, row):
    return row["reward"] * (0.4 if row["truncated"] else 1)


def cosine(group, row):
    wave = (1 + math.cos(math.pi * min(row["length"] / 1200, 1))) / 2
    return 0.5 + 0.5 * wave if row["reward"] else -0.5 - 0.5 * wave


MADE = {
    "linear:output=0.3,input=0.2,turns=0.15,input_tokens=input_tokens,num_turns=num_turns": linear,
    "kimi:weight=0.4": kimi,
    "alp:beta=0.0002": alp,
    "gr3": gr3,
    "duplicate:alpha=0.5,response=response": duplicate,
    "stop_properly:coef=0.4,truncated=truncated": stop_properly,
    "cosine:clamp=1,max=1200": cosine,
}


def matched(tmp_path, shaped, seed, *flags, divided):
    """What `match` says of a log: rewards of plain loops, centred and perhaps divided."""
    found = rows(seed)
    for start in range(0, len(found), SIZE):
        group = found[start : start + SIZE]
        rewards = [shaped(group, row) for row in group]
        mean = sum(rewards) / SIZE
        std = math.sqrt(sum((r - mean) ** 2 for r in rewards) / (SIZE - 1)) + 1e-6 if divided else 1
        for row, reward in zip(group, rewards, strict=True):
            row["advantage"] = (reward - mean) / std
    path = Path(tmp_path) / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    out = CliRunner().invoke(app, ["match", str(path), "--json", *flags], catch_exceptions=False).stdout
    return json.loads(out)


@pytest.mark.parametrize(("shape", "made"), MADE.items(), ids=list(MADE))
def test_a_rule_is_found_again_with_its_knobs(tmp_path, shape, made):
    found = matched(tmp_path, made, seed=len(shape), divided=len(shape) % 2 == 0)
    assert found["found"], found["sentence"]
    assert found["shape"] == shape
    assert f"with rewards shaped by {shape}" in found["sentence"]
    assert found["best"]["estimator"] in ("grpo", "drgrpo", "dr_grpo", "rloo")


def test_advantages_that_were_weighed_are_found_again(tmp_path):
    found = rows(3)
    for start in range(0, len(found), SIZE):
        group = found[start : start + SIZE]
        share = sum(of(group, "reward")) / SIZE
        for row in group:
            advantage = row["reward"] - share
            told = share if advantage > 0 else 1 - share
            row["advantage"] = advantage * (0.4 + 1.1 / (1 + math.exp(10 * (told - 0.75))))
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    outcome = json.loads(CliRunner().invoke(app, ["match", str(path), "--json"]).stdout)
    assert (outcome["found"], outcome["shape"]) == (True, "difficulty")


def test_rewards_that_nobody_shaped_have_no_shape(tmp_path):
    found = matched(tmp_path, lambda group, row: row["reward"], seed=1, divided=True)
    assert (found["found"], found["shape"]) == (True, None)


def test_noise_is_no_rule(tmp_path):
    draw = np.random.default_rng(5)
    found = matched(tmp_path, lambda group, row: row["reward"] + draw.normal(), seed=1, divided=True)
    assert not found["found"]


def test_a_rule_that_nobody_has_is_tried_where_it_is_given(tmp_path):
    def made(group, row):
        return row["reward"] - 0.3 * row["num_turns"] ** 2 / max(of(group, "num_turns"))

    shape = "r - 0.3*num_turns**2/max(num_turns)"
    assert not matched(tmp_path, made, seed=2, divided=True)["found"]
    found = matched(tmp_path, made, 2, "--shape", shape, divided=True)
    assert (found["found"], found["shape"]) == (True, shape)


def test_every_rule_that_is_tried_is_in_the_catalog():
    for name, trials in TRIALS.items():
        known = {*SHAPINGS[name].required, *SHAPINGS[name].optional}
        assert all({*trial.fitted, *trial.fixed} <= known for trial in trials)
