"""`advcli match`: which rule made a logged advantage. The logs are real dumps, other packages' numbers, or plain loops."""

import json
import math
import random
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError

TRL = Path(__file__).parents[2] / "data" / "trl"


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


# That of every scale and number of parts: tests/matching/inference/test_weights.py.
@pytest.mark.parametrize(("seed", "scale"), [(0, "none"), (1, "group")])
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


def test_shuffled_advantages_are_called_shuffled(write):
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
    assert "shuffled" in found["sentence"]


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


def test_nothing_fits(write, monkeypatch):
    searched = import_module("advcli.matching.match")
    calls, search = [], searched.search
    monkeypatch.setattr(searched, "search", lambda *given, **more: calls.append(1) or search(*given, **more))
    draw = random.Random(5)
    rows = [{**row, "advantage": draw.gauss(0, 1)} for row in batch()]
    done = run(write(rows))
    assert done.exit_code == 1
    assert "no rule" in done.stdout
    # What fits as it was logged is not searched for again where rewards may have been shaped.
    assert len(calls) == 1


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
    assert found["sentence"].startswith("consistent with trl >=1.6 grpo, scale group:")


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


def parquet_of(tmp_path, rewards, advantages, dtype="float32"):
    """Groups of rewards and their advantages as a table."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        (f"p{g}", r, a)
        for g, (own, given) in enumerate(zip(rewards, advantages, strict=True))
        for r, a in zip(own, given, strict=True)
    ]
    ids, rewards, advantages = zip(*rows, strict=True)
    values = np.array(advantages).astype(dtype).astype(np.float64)
    path = tmp_path / "f.parquet"
    pq.write_table(
        pa.table({"prompt_id": ids, "step": [1] * len(ids), "reward": rewards, "advantage": values}), path
    )
    return path


BINARY = [
    [1, 0, 0, 0],
    [1, 1, 0, 0],
    [1, 1, 1, 1],
    [1, 1, 1, 0],
    [0, 0, 0, 0],
    [1, 1, 1, 1],
    [1, 0, 1, 0],
    [0, 1, 0, 0],
]


def over_std(r, eps=1e-6):
    return [(x - mean(r)) / (std(r) + eps) for x in r]


def test_what_dead_groups_carry_is_no_rounding(tmp_path):
    logged_ = [[0.25] * 4 if mean(r) == 1 else over_std(r) for r in BINARY]
    found = told(parquet_of(tmp_path, BINARY, logged_, "float64"))
    assert not found["found"]
    assert "8 rows of 2 dead groups (equal rewards) carry 0.25: no rule gives that" in found["sentence"]
    assert found["after"] == {}


def test_the_largest_value_of_a_log_is_no_clamp(tmp_path):
    logged_ = [[0.25] * 4 if mean(r) == 1 else over_std(r, 1e-5) for r in BINARY]
    found = told(parquet_of(tmp_path, BINARY, logged_))
    assert not found["found"]
    assert "clipped" not in found["sentence"]
    assert (found["best"]["framework"], found["best"]["eps"]) == ("areal", 1e-5)


# Each number of digits with another size.
@pytest.mark.parametrize(("digits", "n"), [("bf16", 4), ("float16", 5), (2, 2), (4, 3)])
def test_few_digits_of_few_different_numbers(tmp_path, digits, n):
    import torch

    rewards = [[float(place < k) for place in range(n)] for k in (*range(n + 1), 1, n - 1)]
    logged_ = [over_std(r) for r in rewards]
    if digits == "bf16":
        logged_ = torch.tensor(logged_).to(torch.bfloat16).double().tolist()
    elif digits != "float16":
        logged_ = [[round(a, digits) for a in own] for own in logged_]
    found = told(parquet_of(tmp_path, rewards, logged_, "float16" if digits == "float16" else "float64"))
    assert found["found"]
    assert ("verl", "grpo", "group") in names(found)
    assert found["best"]["framework"] is not None


# Each size with two rules.
@pytest.mark.parametrize(
    ("rule", "n"),
    [
        (lambda r: [math.tanh(a) for a in over_std(r)], 2),
        (lambda r: [(x - mean(r)) / 2 for x in r], 3),
        (lambda r: [math.exp(x) / sum(map(math.exp, r)) - 1 / len(r) for x in r], 2),
        (lambda r: [0.6744907594765952 * (2 * x - 1) if std(r) else 0.0 for x in r], 3),
    ],
    ids=["tanh", "ranks", "softmax", "median and MAD"],
)
def test_numbers_that_one_std_cannot_tell_are_not_fitted(tmp_path, rule, n):
    rewards = [[float(place < k) for place in range(n)] for k in (*range(n + 1), 1, n - 1, 1)]
    found = told(parquet_of(tmp_path, rewards, [rule(r) for r in rewards]))
    assert not found["found"]
    assert "consistent with" not in found["sentence"]


def test_a_format_of_another_name_names_its_framework(tmp_path):
    path = tmp_path / "train_rollout_summaries.jsonl"
    lines = [
        {
            "split": "train",
            "iteration": 1,
            "group_idx": g,
            "traj_idx": i,
            "total_reward": float(x),
            "advantage": x - 0.5,
        }
        for g in range(6)
        for i, x in enumerate([0, 1, 1, 0])
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert told(path)["best"]["framework"] == "tinker-cookbook"


def completions(parts, advantages):
    """Rows as TRL writes them: groups of four, reward functions by name."""
    return [
        {"step": 1, "prompt": f"p{row // 4}", "completion": f"c{row}", **own, "advantage": a}
        for row, (own, a) in enumerate(zip(parts, advantages, strict=True))
    ]


def test_a_weight_of_zero_is_zero_and_the_rounder_weights_come_first(write):
    right, form = [1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1]
    parts = [{"accuracy": float(a), "format": float(b)} for a, b in zip(right, form, strict=True)]
    logged_ = [right[row] - mean(right[row // 4 * 4 : row // 4 * 4 + 4]) for row in range(12)]
    found = told(write(completions(parts, logged_)))
    assert found["weights"] == {"accuracy": 1.0, "format": 0.0}
    assert math.copysign(1, found["weights"]["format"]) == 1
    assert (found["best"]["framework"], found["best"]["scale"]) == ("trl", "none")
    assert "format 0;" in found["sentence"]


def test_weights_are_computed_with_as_they_are_printed(write):
    import numpy as np

    draw = random.Random(8)
    pairs = [(float(draw.random() < 0.5), draw.randrange(16) / 16) for _ in range(32)]
    totals = np.float32([1, 0.3]) * np.float32(pairs)
    logged_ = []
    for r in totals.sum(1).reshape(-1, 4):
        logged_ += ((r - r.mean()) / (r.std(ddof=1) + np.float32(1e-4))).tolist()
    found = told(write(completions([{"r0": a, "r1": b} for a, b in pairs], logged_)))
    assert found["weights"] == {"r0": 1.0, "r1": 0.3}
    assert (found["best"]["framework"], found["best"]["version"]) == ("trl", ">=1.6")
    assert found["best"]["max_abs_diff"] < 5e-7


def test_rows_at_0_are_said_to_be_those_of_the_groups_that_they_are_in(tmp_path):
    # A share of the range, which no trainer has: 0 where all rewards are equal.
    logged_ = [[(x - min(r)) / ((max(r) - min(r)) or 1) for x in r] for r in BINARY]
    found = told(parquet_of(tmp_path, BINARY, logged_))
    assert not found["found"]
    assert "8 rows of dead groups (every reward 1)" in found["sentence"]


def test_rounded_rewards_swallow_no_row(write):
    rows = [
        {"prompt_id": g, "step": 4, "reward": r, "advantage": a}
        for g, own in enumerate(
            [[1.78, 1.78, 1.7, 1.74, 1.62, 1.76, 1.71, 1.78], [1.8, 1.8, 0.3, 1.8, 1.1, 1.2, 1.8, 1.8]]
        )
        for r, a in zip(own, [x - mean(own) for x in own], strict=True)
    ]
    found = told(write([*rows, {"prompt_id": 9, "step": 4, "reward": 1.76, "advantage": -0.0075}]))
    assert not found["found"]
    assert "everywhere but in 1 row, the only one of its group" in found["sentence"]


def test_parts_of_which_each_prompt_has_one(write):
    draw = random.Random(2)
    parts = [
        {"math": None, "code": float(draw.random() < 0.5)}
        if row // 4 % 2
        else {"math": float(row % 2), "code": None}
        for row in range(24)
    ]
    assert not told(
        write(completions(parts, [draw.gauss(0, 1) for _ in parts])), "--reward", "math", "--reward", "code"
    )["found"]


def test_who_speaks_and_what_would_tell_rules_apart(tmp_path):
    found = told(parquet_of(tmp_path, BINARY, [over_std(r) for r in BINARY]))
    assert found["found"]
    assert {key: found["evidence"][key] for key in ("rows", "compared", "groups", "live")} == {
        "rows": 20,
        "compared": 32,
        "groups": 5,
        "live": 5,
    }
    assert "a prompt with one row" in found["apart"]
    shown = run(parquet_of(tmp_path, BINARY, [over_std(r) for r in BINARY])).stdout
    assert "20 of 32 rows (62.5%) and 5 of 5 live groups tell rules apart" in shown
    assert "to tell them apart: " in shown


def test_a_version_narrows_the_search(tmp_path):
    path = parquet_of(tmp_path, BINARY, [over_std(r) for r in BINARY])
    assert told(path, "--like", "verl@0.9")["best"]["version"] == ">=0.4"
    found = told(path, "--like", "trl@0.16")
    assert not found["found"]
    assert found["sentence"].startswith("no rule with --like trl@0.16 fits this log")


def test_rows_that_carry_nothing_are_not_left_out_for_the_asking(write):
    # Only the last of each trajectory's rows got its advantage: more than half of the rows that trained carry 0.
    rows = [
        {"prompt_id": f"p{g}", "step": 1, "reward": r, "advantage": a if last else 0.0}
        for g, own in enumerate(([1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]))
        for r, a in zip(own, over_std(own, 0), strict=True)
        for last in (False, False, True)
    ]
    found = told(write(rows))
    assert not found["found"]
    assert "carry no advantage, and the dump does not say why" in found["sentence"]


def test_rows_that_are_there_twice_are_said(tmp_path):
    rows = [
        {"prompt": "a", "step": 0, "reward": r, "advantage": a, "text": t}
        for r, a, t in ((1.0, 0.5, "x"), (0.0, -0.5, "y"))
    ]
    lines = [json.dumps(row) for row in (*rows, rows[0], {**rows[1], "text": "another"})]
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
    warned = told(tmp_path / "log.jsonl")["warnings"]
    assert "1 row is identical to an earlier one, text included, and counted like any other" in warned
