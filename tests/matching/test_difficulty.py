"""Knobs of the weights by difficulty that are not those of the source are found again; see test_shapers.py for those."""

import json
import math

import numpy as np
from typer.testing import CliRunner

from advcli.cli import app


def test_other_knobs_are_fitted(tmp_path):
    draw, lines = np.random.default_rng(4), []
    for group in range(30):
        rewards = (draw.random(8) < draw.random()).astype(float)
        share = rewards.mean()
        for reward in rewards:
            advantage = reward - share
            told = share if advantage > 0 else 1 - share
            weight = 0.3 + 0.9 / (1 + math.exp(6 * (told - 0.6)))
            lines.append({"prompt": group, "reward": reward, "advantage": advantage * weight})
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    outcome = json.loads(CliRunner().invoke(app, ["match", str(path), "--json"]).stdout)
    assert outcome["found"], outcome["sentence"]
    assert outcome["shape"].startswith("difficulty:")
