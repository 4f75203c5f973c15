"""Knobs of the weights by difficulty that are not those of the source are found again; see test_shapers.py for those."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from advcli.cli import app


def matched(tmp_path, weight, size, digits=17):
    """What `match` says of centred rewards, each times the weight of how often its answer is given."""
    draw, lines = np.random.default_rng(4), []
    for group in range(30):
        rewards = (draw.random(size) < draw.random()).astype(float)
        share = rewards.mean()
        for reward in rewards:
            advantage = reward - share
            told = share if advantage > 0 else 1 - share
            logged = round(advantage * weight(told), digits)
            lines.append({"prompt": group, "reward": reward, "advantage": logged})
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return json.loads(CliRunner().invoke(app, ["match", str(path), "--json"]).stdout)


def of_knobs(told):
    return 0.3 + 0.9 / (1 + math.exp(6 * (told - 0.6)))


@pytest.mark.parametrize("digits", [17, 6])
def test_other_knobs_are_fitted(tmp_path, digits):
    outcome = matched(tmp_path, of_knobs, 8, digits)
    assert outcome["found"], outcome["sentence"]
    assert outcome["shape"] == "difficulty:low=0.3,high=1.2,middle=0.6,steepness=6"


# Ends of the curve: with a middle far off it is an exponential, with no steepness a line.
@pytest.mark.parametrize(
    "weight", [lambda told: math.exp(-told), lambda told: 1.2 - 0.8 * told, lambda told: 0.7]
)
def test_other_weights_are_not_named(tmp_path, weight):
    outcome = matched(tmp_path, weight, 6)
    assert not outcome["found"] or outcome["shape"] is None


def test_weights_that_are_no_more_than_the_knobs_are_no_rule(tmp_path):
    assert not matched(tmp_path, of_knobs, 4)["found"]


def test_few_digits_may_fit_by_chance(tmp_path):
    assert not matched(tmp_path, of_knobs, 6, 1)["found"]
