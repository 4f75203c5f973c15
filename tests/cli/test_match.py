"""`advcli match`: which rule made a logged advantage. The logs are real dumps, other packages' numbers, or plain loops."""

import json
import math
import random
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.errors import DataError

TRL = Path(__file__).parents[1] / "data" / "trl"


def run(*args):
    return CliRunner().invoke(app, ["match", *map(str, args)], catch_exceptions=False)


def told(*args):
    done = run(*args, "--json")
    found = json.loads(done.stdout, parse_constant=pytest.fail)
    assert done.exit_code == (0 if found["found"] else 1)
    return found


def names(found):
    """Framework (or advcli), estimator and scale of the best rule and of those that cannot be told from it."""
    return {
        (fit["framework"], fit["estimator"], fit["scale"])
        for fit in (found["best"], *found["indistinguishable"])
    }


def mean(values):
    return math.fsum(values) / len(values)


def std(values, ddof=1):
    middle = mean(values)
    return math.sqrt(math.fsum((v - middle) ** 2 for v in values) / (len(values) - ddof))


def batch(seed=0, groups=12, n=6, parts=1):
    draw = random.Random(seed)
    return [
        {
            "prompt_id": f"p{g}",
            "step": g % 3,
            **{f"r{k}_reward": round(draw.random(), 3) for k in range(parts)},
        }
        for g in range(groups)
        for _ in range(n)
    ]


def logged(rows, rule, weights=(1.0,)):
    """Rows with the advantage that a rule gives to each group's weighted sums."""
    for g in dict.fromkeys(row["prompt_id"] for row in rows):
        own = [row for row in rows if row["prompt_id"] == g]
        totals = [sum(w * row[f"r{k}_reward"] for k, w in enumerate(weights)) for row in own]
        for row, advantage in zip(own, rule(totals), strict=True):
            row["advantage"] = advantage
    return rows


@pytest.fixture
def write(tmp_path):
    def write(rows):
        path = tmp_path / "f.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("folder", "scale"),
    [("grpo-group", "group"), ("grpo-batch-chat", "batch"), ("grpo-group-nullreward", "group")],
)
def test_real_runs_of_trl_are_named_without_flags(folder, scale):
    found = told(TRL / folder)
    best = found["best"]
    assert (best["framework"], best["version"], best["estimator"], best["scale"]) == (
        "trl",
        ">=1.6",
        "grpo",
        scale,
    )
    assert best["max_abs_diff"] <= 1e-6
    assert best["share_matched"] == 1
    assert (best["eps"], best["ddof"]) == (1e-4, 1)
    assert found["weights"] is None


@pytest.mark.parametrize(
    ("rule", "ddof", "eps"),
    [
        (lambda r: [(x - mean(r)) / std(r) for x in r], 1, 0),
        (lambda r: [(x - mean(r)) / (std(r, 0) + 1e-4) for x in r], 0, 1e-4),
        (lambda r: [(x - mean(r)) / (std(r) + 1e-6) for x in r], 1, 1e-6),
    ],
)
def test_a_notebook_rule_of_its_own(write, rule, ddof, eps):
    found = told(write(logged(batch(), rule)))
    assert found["found"]
    fits = (found["best"], *found["indistinguishable"])
    assert (ddof, eps) in {(fit["ddof"], fit["eps"]) for fit in fits}


def test_what_was_read_ahead_is_not_read_again(write, monkeypatch):
    def again(*_, **__):
        pytest.fail("read again")

    monkeypatch.setattr(import_module("advcli.pipeline.match"), "read", again)
    rows = logged(batch(), lambda r: [(x - mean(r)) / std(r) for x in r])
    assert told(write(rows))["found"]


def test_leave_one_out_is_not_taken_for_a_centred_reward(write):
    rows = logged(batch(), lambda r: [x - mean([*r[:i], *r[i + 1 :]]) for i, x in enumerate(r)])
    assert {estimator for _, estimator, _ in names(told(write(rows)))} >= {"rloo"}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", ["none", "group"])
def test_reward_weights_come_back(write, seed, scale):
    draw = random.Random(100 + seed)
    weights = [draw.uniform(0.1, 3) for _ in range(2 + seed % 3)]
    divide = std if scale == "group" else (lambda r: 1.0)
    rows = logged(batch(seed, parts=len(weights)), lambda r: [(x - mean(r)) / divide(r) for x in r], weights)
    found = told(write(rows))
    assert found["found"]
    given = [found["weights"][f"r{k}_reward"] for k in range(len(weights))]
    # With the std of the group only the direction is in the log.
    factor = 1 if scale == "none" else weights[0] / given[0]
    assert [w * factor for w in given] == pytest.approx(weights, rel=1e-3)


def test_shuffled_advantages_are_called_misaligned(write):
    rows = logged(batch(groups=30), lambda r: [(x - mean(r)) / std(r) for x in r])
    draw = random.Random(1)
    for step in range(3):
        own = [row for row in rows if row["step"] == step]
        values = [row["advantage"] for row in own]
        draw.shuffle(values)
        for row, value in zip(own, values, strict=True):
            row["advantage"] = value
    found = told(write(rows))
    assert not found["found"]
    assert "misaligned" in found["sentence"]


def test_token_lists_are_read_as_one_number(write):
    rows = logged(batch(), lambda r: [(x - mean(r)) / std(r) for x in r])
    for place, row in enumerate(rows):
        row["advantages"] = [row.pop("advantage")] * (1 + place % 4)
    assert told(write(rows))["found"]


def test_another_name_for_the_column(write):
    rows = logged(batch(), lambda r: [x - mean(r) for x in r])
    for row in rows:
        row["my_a"] = row.pop("advantage")
    path = write(rows)
    with pytest.raises(DataError, match=r"no logged advantage.*my_a.*; try --logged-col COL"):
        run(path)
    assert told(path, "--logged-col", "my_a")["found"]


def test_nothing_fits(write):
    draw = random.Random(5)
    rows = [{**row, "advantage": draw.gauss(0, 1)} for row in batch()]
    done = run(write(rows))
    assert done.exit_code == 1
    assert "no rule" in done.stdout


def test_the_keys_of_the_json():
    found = told(TRL / "grpo-group")
    assert {"found", "best", "indistinguishable", "weights", "sentence"} <= set(found)
    keys = {
        "framework",
        "version",
        "estimator",
        "scale",
        "ddof",
        "eps",
        "grouping",
        "max_abs_diff",
        "share_matched",
    }
    assert keys <= set(found["best"])
    assert found["sentence"].startswith("trl >=1.6 grpo, scale group made this log")


@pytest.mark.parametrize(
    "flags",
    [
        ("--before", "pods:m=2"),
        ("--after", "cppo:keep=0.5"),
        ("--affine", "scale=3"),
        ("--overlong", "max=4,buffer=2"),
        ("--clip-reward", "min=0,max=1"),
        ("--kl-coef", "1"),
        ("--kl-col", "step"),
        ("--values-col", "step"),
        ("--keep-pos", "0.5"),
    ],
)
def test_what_would_be_ignored_is_no_option(flags):
    done = CliRunner().invoke(app, ["match", str(TRL / "grpo-group"), *flags])
    assert done.exit_code == 2
    assert "No such option" in done.stderr
