"""`advcli compute`: expected numbers are worked out by hand, or by pandas where a file is large."""

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import torch
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError

SAMPLE = Path(__file__).parents[3] / "sample_data"
PROGRAM = f"{sys.executable} -m advcli"


def run(*args, stdin=None):
    """Run in this process; an error of ours is raised as it is."""
    return CliRunner().invoke(app, ["compute", *map(str, args)], input=stdin, catch_exceptions=False)


def strict(text):
    """One JSON object, in which NaN and Infinity are errors."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in strict JSON"))


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def dump(tmp_path, monkeypatch):
    """Write rows to a JSON Lines file in the working directory."""
    monkeypatch.chdir(tmp_path)

    def write(rows, name="f.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return name

    return write


@pytest.fixture
def computed(dump):
    """Compute the advantages of some rows: column name → values, in row order."""

    def compute(rows, *args):
        run(dump(rows), "--out", "out.jsonl", "--force", *args)
        written = lines(Path("out.jsonl"))
        return {name: [row[name] for row in written] for name in written[0]}

    return compute


def rewards(*groups, **more):
    """One row per reward, one prompt per group."""
    return [{"prompt_id": f"p{g}", "reward": r, **more} for g, group in enumerate(groups) for r in group]


# std_g: sqrt(4 · 0.5² / 3) = 1/√3 and sqrt((0.75² + 3 · 0.25²) / 3) = 1/2;
# std of all eight: mean 3/8, sum of squares 3 · (5/8)² + 5 · (3/8)² = 15/8.
TWO = ([0, 1, 0, 1], [1, 0, 0, 0])
ALL = math.sqrt(15 / 8 / 7)
R3 = math.sqrt(3)


@pytest.mark.parametrize(
    ("args", "first", "second"),
    [
        ("", [-R3 / 2, R3 / 2, -R3 / 2, R3 / 2], [1.5, -0.5, -0.5, -0.5]),
        ("--estimator grpo:eps=0.5", [-0.5 / (1 / R3 + 0.5), 0.5 / (1 / R3 + 0.5)] * 2, [0.75] + [-0.25] * 3),
        ("--estimator grpo:ddof=0", [-1, 1, -1, 1], [R3, -1 / R3, -1 / R3, -1 / R3]),
        ("--scale none", [-0.5, 0.5, -0.5, 0.5], [0.75, -0.25, -0.25, -0.25]),
        ("--estimator grpo:scale=none", [-0.5, 0.5, -0.5, 0.5], [0.75, -0.25, -0.25, -0.25]),
        ("--scale batch", [-0.5 / ALL, 0.5 / ALL] * 2, [0.75 / ALL] + [-0.25 / ALL] * 3),
        ("--estimator rloo", [-2 / 3, 2 / 3, -2 / 3, 2 / 3], [1, -1 / 3, -1 / 3, -1 / 3]),
        ("--estimator rloo --scale group", [-2 / R3, 2 / R3] * 2, [2, -2 / 3, -2 / 3, -2 / 3]),
        ("--estimator rloo --scale batch", [-2 / 3 / ALL, 2 / 3 / ALL] * 2, [1 / ALL] + [-1 / 3 / ALL] * 3),
    ],
)
def test_estimator_and_scale(computed, args, first, second):
    columns = computed(rewards(*TWO), *args.split())
    assert columns["adv_original"] == pytest.approx([*first, *second], abs=1e-12)
    assert columns["adv_processed"] == columns["adv_original"]
    assert columns["adv_kept"] == [True] * 8
    assert columns["adv_group"] == [0] * 4 + [1] * 4


def test_small_eps(computed):
    got = computed(rewards(*TWO), "--estimator", "grpo:eps=1e-4")["adv_original"]
    assert got[4] == pytest.approx(0.75 / 0.5001, abs=1e-12)


def test_batch_scale_is_per_step(computed):
    rows = [{**row, "epoch": row["prompt_id"]} for row in rewards(*TWO)]
    per_step = computed(rows, "--scale", "batch", "--step-col", "epoch")["adv_original"]
    assert per_step == pytest.approx([-R3 / 2, R3 / 2, -R3 / 2, R3 / 2, 1.5, -0.5, -0.5, -0.5])
    whole = computed(rows, "--scale", "batch")["adv_original"]
    assert whole[4] == pytest.approx(0.75 / ALL)


def test_worked_example_best_three_recomputed(computed):
    rows = rewards([0.1, 0.5, 0.9, 1.3, 1.7])
    off = computed(rows, "--keep-neg", "0")
    assert off["adv_original"] == pytest.approx([-1.265, -0.632, 0, 0.632, 1.265], abs=5e-4)
    assert off["adv_processed"] == pytest.approx([0, 0, 0, 0.632, 1.265], abs=5e-4)
    on = computed(rows, "--keep-neg", "0", "--compute-new-adv")
    assert on["adv_processed"] == pytest.approx([0, 0, -1, 0, 1], abs=1e-12)
    assert on["adv_original"] == off["adv_original"]
    assert on["adv_kept"] == off["adv_kept"] == [False, False, True, True, True]


# Ten positive and ten negative rows around a mean of 0.
TWENTY = rewards([*range(1, 11), *range(-1, -11, -1)])


@pytest.mark.parametrize(
    ("args", "positive", "negative", "recomputed"),
    [
        ("--keep-pos 0.5", 5, 10, False),
        ("--keep-neg 0.25", 10, 2, False),
        ("--keep-pos 0.01 --keep-neg 0.99", 1, 9, False),
        ("--keep-pos 0 --keep-neg 1", 0, 10, False),
        ("--preset conservative", 8, 7, True),
        ("--preset aggressive", 5, 3, True),
        ("--preset aggressive --no-compute-new-adv", 5, 3, False),
        ("--preset aggressive --keep-pos 1 --keep-neg 0.5", 10, 5, True),
    ],
)
def test_keep_ratios_and_presets(computed, args, positive, negative, recomputed):
    columns = computed(TWENTY, *args.split())
    best = [reward > 10 - positive for reward in range(1, 11)]
    worst = [reward < -10 + negative for reward in range(-1, -11, -1)]
    assert columns["adv_kept"] == best + worst
    pairs = zip(columns["adv_original"], columns["adv_processed"], columns["adv_kept"], strict=True)
    assert all(after == 0 for _, after, kept in pairs if not kept)
    pairs = zip(columns["adv_original"], columns["adv_processed"], columns["adv_kept"], strict=True)
    assert any(before != after for before, after, kept in pairs if kept) is recomputed


def test_compute_new_adv_needs_grpo_and_a_ratio(dump):
    name = dump(TWENTY)
    with pytest.raises(UsageError, match="defined for grpo only, not for rloo"):
        run(name, "--estimator", "rloo", "--compute-new-adv", "--keep-pos", "0.5")
    assert "--compute-new-adv has no effect: both keep ratios are 1" in run(name, "--compute-new-adv").stderr


def test_groups_with_too_few_kept_rows_are_counted(computed, dump):
    # Two positives and two negatives each: one and none stay, so there is no std.
    rows = rewards([0, 1, 0, 1], [0, 2, 0, 2], [0, 0, 0])
    columns = computed(rows, "--keep-pos", "0.5", "--keep-neg", "0", "--compute-new-adv")
    assert columns["adv_processed"] == pytest.approx([0, R3 / 2, 0, 0] * 2 + [0] * 3)
    said = run(dump(rows), "--keep-pos", "0.5", "--keep-neg", "0", "--compute-new-adv").stderr
    assert "Not enough samples to compute std: 2 groups" in said


def test_n_cuts_the_rows_of_a_prompt(computed, dump):
    # "b" interrupts "a": the rows of a prompt are cut in file order, wherever they stand.
    order = [("a", 0), ("b", 0), ("a", 1), ("a", 5), ("b", 2), ("a", 9), ("a", 3)]
    rows = [{"prompt_id": prompt, "reward": reward} for prompt, reward in order]
    columns = computed(rows, "--n", "2", "--scale", "none")
    assert columns["adv_group"] == [0, 1, 0, 2, 1, 2, 3]
    assert columns["adv_original"] == [-0.5, -1, 0.5, -2, 1, 2, None]
    said = run(dump(rows), "--n", "2").stderr
    assert "groups: 'prompt_id', cut by 2" in said
    assert "1 group of fewer than 2 rows left over (1 row), kept as it is" in said


def test_n_without_a_key_cuts_consecutive_rows(computed, dump):
    rows = [{"reward": reward} for reward in (0, 1, 0, 1, 1, 0, 0, 0, 7, 9)]
    columns = computed(rows, "--n", "4", "--estimator", "rloo")
    assert columns["adv_group"] == [0] * 4 + [1] * 4 + [2] * 2
    assert columns["adv_original"] == pytest.approx(
        [-2 / 3, 2 / 3, -2 / 3, 2 / 3, 1, -1 / 3, -1 / 3, -1 / 3, -2, 2]
    )
    said = run(dump(rows), "--n", "4").stderr
    assert "groups: consecutive rows, cut by 4" in said
    assert "1 group of fewer than 4 rows left over (2 rows), kept as it is" in said
    with pytest.raises(DataError, match=r"no prompt id among the columns reward.*--n ROWS_PER_PROMPT"):
        run(dump(rows), "--force")


# One row each with a null, a NaN and an infinite reward beside two that are there, and a row all alone.
HOLES = rewards([1, None, 3, math.nan, math.inf], [7])


@pytest.mark.parametrize(
    ("args", "original", "kept"),
    [
        ("", [-1, None, 1, None, None, None], [True, False, True, False, False, False]),
        ("--missing zero", [-1, 0, 1, 0, 0, None], [True] * 5 + [False]),
        ("--singleton zero", [-1, None, 1, None, None, 0], [True, False, True, False, False, True]),
        ("--singleton raw", [-1, None, 1, None, None, 7], [True, False, True, False, False, True]),
    ],
)
def test_missing_and_singleton_rules(computed, args, original, kept):
    columns = computed(HOLES, "--scale", "none", *args.split())
    assert columns["adv_original"] == columns["adv_processed"] == original
    assert columns["adv_kept"] == kept
    assert columns["adv_group"] == [0] * 5 + [1]


def test_missing_and_singletons_are_counted_by_cause(dump):
    done = run(dump(HOLES), "--json")
    body = strict(done.stdout)
    assert (body["rows"], body["groups"], body["missing"], body["singletons"]) == (6, 2, 3, 1)
    assert body["missing_by_cause"] == {"null": 1, "NaN": 1, "inf": 1}
    assert body["kept_rows"] == body["original"]["count"] == 2
    shown = run("f.jsonl", "--force").stdout
    assert "3 missing rewards (1 null, 1 NaN, 1 inf)" in shown
    assert "1 singleton" in shown


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--missing error", r"f\.jsonl:2: 'reward' is null, expected a finite number"),
        ("--singleton error", r"f\.jsonl:6: 1 group has one valid row, expected two or more"),
    ],
)
def test_rule_error_writes_nothing(dump, args, message):
    name = dump(HOLES)
    before = Path(name).read_bytes()
    with pytest.raises(DataError, match=message):
        run(name, *args.split())
    assert [path.name for path in Path().iterdir()] == [name]
    assert Path(name).read_bytes() == before


def test_prompt_column(computed):
    rows = [{"prompt_id": "same", "question": q, "reward": r} for q, r in (("x", 0), ("y", 5), ("x", 2))]
    columns = computed(rows, "--prompt-col", "question", "--scale", "none")
    assert columns["adv_original"] == [-1, None, 1]


PARTS = [
    {"prompt": "p", "acc": 1, "style": 0.5, "len=1": 10},
    {"prompt": "p", "acc": 0, "style": 0.1, "len=1": 20},
    {"prompt": "p", "acc": None, "style": 0.9, "len=1": 30},
]


@pytest.mark.parametrize(
    ("flags", "original", "said"),
    [
        (["acc"], [0.5, -0.5, None], "reward: 'acc'"),
        (["acc", "style"], [0.7, -0.7, None], "reward: 'acc' + 'style'"),
        (["acc=2", "style=-1"], [0.8, -0.8, None], "reward: 2 × 'acc' + -1 × 'style'"),
        (["style=0.5"], [0, -0.2, 0.2], "reward: 0.5 × 'style'"),
        (["len=1=1"], [-10, 0, 10], "reward: 'len=1'"),
    ],
)
def test_rewards_are_weighted_and_summed(computed, dump, flags, original, said):
    args = [word for flag in flags for word in ("--reward", flag)]
    assert computed(PARTS, *args, "--scale", "none")["adv_original"] == pytest.approx(original)
    assert said in run(dump(PARTS), *args).stderr


STEPS = [
    {"prompt": prompt, "at": at, "reward": reward}
    for at, prompt, reward in ((1, "p", 0), (1, "p", 2), (2, "p", 10), (2, "p", 30), (2, "q", 1), (2, "q", 1))
]


def test_step_column_splits_a_prompt(computed, dump):
    together = computed(STEPS, "--scale", "none")["adv_original"]
    assert together == pytest.approx([-10.5, -8.5, -0.5, 19.5, 0, 0])
    apart = computed(STEPS, "--scale", "none", "--step-col", "at")["adv_original"]
    assert apart == [-1, 1, -10, 10, 0, 0]
    said = run(dump(STEPS), "--step-col", "at").stderr
    assert "groups: 'prompt' + 'at'" in said
    assert "1 prompt is drawn at several steps: each step is a group of its own" in said


def test_group_by_is_the_whole_key(computed, dump):
    by = ["--scale", "none", "--step-col", "at", "--group-by", "prompt"]
    assert computed(STEPS, *by)["adv_group"] == [0, 0, 0, 0, 1, 1]
    said = run(dump(STEPS), *by).stderr
    assert "1 group mixes rows of several steps; try --group-by prompt,at" in said
    for both in ("prompt,at", " prompt , at,"):
        split = computed(STEPS, "--scale", "none", "--group-by", both)["adv_original"]
        assert split == [-1, 1, -10, 10, 0, 0]


def test_metrics_per_step(dump):
    name = dump(STEPS)
    run(name, "--step-col", "at", "--keep-pos", "0", "--scale", "none", "--metrics", "m.jsonl")
    first, second = map(strict, Path("m.jsonl").read_text().splitlines())
    assert first == pytest.approx(
        {
            "step": 1,
            "critic/score/mean": 1,
            "critic/score/max": 2,
            "critic/score/min": 0,
            "critic/advantages/mean": 0,
            "critic/advantages/max": 1,
            "critic/advantages/min": -1,
            "critic/advantages/std": math.sqrt(2),
            "critic/advantages_processed/mean": -1,
            "critic/advantages_processed/max": -1,
            "critic/advantages_processed/min": -1,
            "critic/advantages_processed/std": None,
        }
    )
    # Scores 10 30 1 1; advantages -10 10 0 0; kept -10 0 0.
    assert list(second.values()) == pytest.approx(
        [2, 10.5, 30, 1, 0, 10, -10, math.sqrt(200 / 3), -10 / 3, 0, -10, math.sqrt(100 / 3)]
    )
    assert second.keys() == first.keys()


def test_metrics_without_steps_is_one_line_and_never_overwritten(dump):
    name = dump(rewards([0, 1]))
    run(name, "--metrics", "m.jsonl")
    (only,) = lines(Path("m.jsonl"))
    assert "step" not in only
    assert only["critic/score/mean"] == 0.5
    with pytest.raises(UsageError, match=r"m\.jsonl exists already.*another --metrics"):
        run(name, "--metrics", "m.jsonl", "--out", "second.jsonl")
    assert not Path("second.jsonl").exists()
    run(name, "--metrics", "m.jsonl", "--force")


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize(
    ("out", "metrics"), [("o.jsonl", "o.jsonl"), ("o.jsonl", "x/../o.jsonl"), ("d/", "d/f.adv.jsonl")]
)
def test_metrics_never_replace_the_rows(dump, out, metrics, force):
    name = dump(rewards([0, 1]))
    with pytest.raises(UsageError, match="is where the annotated rows go"):
        run(name, "--out", out, "--metrics", metrics, *force)
    assert [path.name for path in Path().iterdir()] == [name]


def test_json_has_the_promised_keys(dump):
    rows = [{**row, "tokens": 3 - row["reward"]} for row in rewards([0, 2], [1, 1, 1], [5])]
    body = strict(run(dump(rows), "--json", "--length-col", "tokens", "--keep-pos", "0").stdout)
    promised = {"rows", "groups", "kept_rows", "dead_groups", "singletons", "missing", "settings"}
    assert body.keys() >= promised | {"original", "processed"}
    assert {name: body[name] for name in sorted(promised - {"settings"})} == {
        "dead_groups": 1,
        "groups": 3,
        "kept_rows": 4,
        "missing": 0,
        "rows": 6,
        "singletons": 1,
    }
    # Original: ∓1/√2 on 0 and 2, three zeros. The share of the positive rows that is kept is none.
    half = 1 / math.sqrt(2)
    assert {name: body["original"][name] for name in ("count", "min", "max", "median", "mean_abs")} == (
        pytest.approx({"count": 5, "min": -half, "max": half, "median": 0, "mean_abs": 2 * half / 5})
    )
    assert body["original"]["std"] == pytest.approx(0.5)
    assert [body["original"][f"share_{side}"] for side in ("positive", "zero", "negative")] == [0.2, 0.6, 0.2]
    assert [body["processed"][f"share_{side}"] for side in ("positive", "zero", "negative")] == [
        0,
        0.75,
        0.25,
    ]
    assert body["processed"]["mean"] == pytest.approx(-half / 4)
    # Tokens 3 and 1, three of 2: the row at -1/√2 weighs 3 of 10.
    assert body["original"]["token_mean"] == pytest.approx((-3 * half + half) / 10)


def test_json_says_which_settings_were_used(dump):
    words = "estimator=rloo scale=batch keep-pos=0.5 missing=zero singleton=raw n=2"
    args = [f"--{word}" for word in words.split()]
    used = strict(run(dump(rewards([0, 1])), "--json", *args).stdout)["settings"]
    assert {
        name: used[name] for name in ("estimator", "scale", "keep_pos", "keep_neg", "compute_new_adv")
    } == {
        "estimator": "rloo",
        "scale": "batch",
        "keep_pos": 0.5,
        "keep_neg": 1.0,
        "compute_new_adv": False,
    }
    assert (used["missing"], used["singleton"], used["n"], used["device"]) == ("zero", "raw", 2, "cpu")
    assert (used["reward"], used["group_by"]) == ({"reward": 1.0}, ["prompt_id"])


@pytest.mark.parametrize(("estimator", "scale"), [("grpo", "group"), ("rloo", "none")])
def test_the_default_scale_is_the_estimators_and_is_printed(dump, estimator, scale):
    name = dump(rewards([0, 1]))
    assert strict(run(name, "--json", "--estimator", estimator).stdout)["settings"]["scale"] == scale
    assert f"scale {scale}" in run(name, "--estimator", estimator, "--force").stdout


def test_json_without_any_reward_is_strict(dump):
    body = strict(run(dump(rewards([None, math.nan], [None])), "--json").stdout)
    assert body["missing"] == body["rows"] == 3
    assert body["kept_rows"] == body["original"]["count"] == 0
    assert body["original"]["mean"] is None
    assert body["processed"]["share_zero"] is None


def test_quiet_says_nothing(dump):
    done = run(dump(rewards([0, 1])), "--quiet", "--n", "4")
    assert (done.stdout, done.stderr) == ("", "")
    assert len(lines(Path("f.adv.jsonl"))) == 2


def test_an_existing_output_needs_force(dump):
    name = dump(rewards([0, 1]))
    Path("f.adv.jsonl").write_text("precious")
    with pytest.raises(UsageError, match=r"f\.adv\.jsonl exists already.*--force"):
        run(name)
    assert Path("f.adv.jsonl").read_text() == "precious"
    assert "wrote f.adv.jsonl" in run(name, "--force").stderr
    assert len(lines(Path("f.adv.jsonl"))) == 2


def test_an_annotated_file_needs_another_prefix(computed, dump):
    first = computed(rewards([0, 1]))
    rows = [dict(zip(first, values, strict=True)) for values in zip(*first.values(), strict=True)]
    with pytest.raises(DataError, match=r"adv_original.*--prefix"):
        run(dump(rows), "--out", "again.jsonl")
    again = computed(rows, "--prefix", "new_", "--scale", "none")
    assert again["new_original"] == [-0.5, 0.5]
    assert again["adv_original"] == first["adv_original"]


def test_device(dump, monkeypatch):
    name = dump(rewards([0, 1]))
    assert strict(run(name, "--json", "--device", "cpu").stdout)["settings"]["device"] == "cpu"
    monkeypatch.setattr("advcli.engine.dispatch._AVAILABLE", {"cuda": lambda: False})
    with pytest.raises(UsageError, match="device 'cuda' is not available on this machine; try --device cpu"):
        run(name, "--device", "cuda", "--force")
    with pytest.raises(UsageError, match="unknown device 'tpu'"):
        run(name, "--device", "tpu", "--force")


@pytest.mark.gpu
def test_device_cuda(computed):
    assert torch.cuda.is_available()
    got = computed(rewards(*TWO), "--device", "cuda")["adv_original"]
    assert got == pytest.approx([-R3 / 2, R3 / 2, -R3 / 2, R3 / 2, 1.5, -0.5, -0.5, -0.5])


def test_every_group_of_one_row_is_an_error(dump):
    name = dump([{"uid": f"a_{i}", "reward": i} for i in range(3)])
    with pytest.raises(
        DataError,
        match=r"each of 3 prompts has one row \('uid' differs in all.*--estimator batch_norm",
    ):
        run(name)
    assert run(name, "--singleton", "raw", "--quiet").exit_code == 0
    assert [row["adv_original"] for row in lines(Path("f.adv.jsonl"))] == [0, 1, 2]


def test_unique_keys_are_not_answered_with_the_flag_that_was_typed(dump):
    name = dump([{"uid": i, "reward": i % 2} for i in range(8)])
    with pytest.raises(DataError, match="each of 8 prompts has one row") as caught:
        run(name, "--n", "4")
    assert "--n" not in caught.value.hint


def test_one_group_for_everything_is_a_warning(dump):
    name = dump(rewards([0, 1, 2]))
    assert "warning: all 3 rows are one group: 'prompt_id' is the same in every row" in run(name).stderr
    assert "one group" not in run(name, "--n", "3", "--force").stderr


def test_sizes_that_are_a_multiple_of_the_mode_are_a_warning(dump):
    name = dump(rewards([0, 1], [0, 1], [0, 1, 2, 3], [1, 2, 3]))
    said = run(name).stderr
    assert (
        "warning: 1 group has a multiple of 2 rows: the same prompt drawn more than once? try --n 2" in said
    )
    assert "multiple" not in run(dump(rewards([0, 1], [0, 1], [0, 1, 2])), "--force").stderr


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"prompt_id": "a", "uid": "b", "reward": 1},
            r"2 columns can be the prompt id: prompt_id, uid; try --prompt-col prompt_id or --prompt-col uid",
        ),
        (
            {"prompt": "a", "reward": 1, "score": 2},
            r"2 columns can be the reward: reward, score; try --reward reward or --reward score",
        ),
    ],
)
def test_two_columns_of_one_rank_are_an_error(dump, row, message):
    with pytest.raises(DataError, match=message):
        run(dump([row, row]))
    ids = {"prompt_id", "uid"} & row.keys()
    flag = ["--prompt-col", "uid"] if ids else ["--reward", "score"]
    assert run("f.jsonl", *flag).exit_code == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--keep-pos 1.5", "keep.pos is 1.5, expected a share between 0 and 1"),
        ("--keep-neg -0.1", "keep.neg is -0.1, expected a share between 0 and 1"),
        ("--keep-pos nan", "--keep-pos is nan, expected a number"),
        ("--scale grup", "unknown scale 'grup'; try group"),
        ("--estimator gpro", "unknown estimator 'gpro'; try grpo"),
        ("--estimator grpo:epsilon=1", "grpo has no knob 'epsilon'; try ddof"),
        ("--estimator grpo:eps=nan", "grpo: eps is nan, expected a number"),
        ("--estimator grpo:eps=inf", "grpo: eps is inf, expected a number"),
        ("--estimator grpo:eps=-1", "grpo: eps is -1, expected 0 or more"),
        ("--estimator grpo:ddof=0.5", "grpo: ddof is 0.5, expected a whole number"),
        ("--estimator grpo:eps", "'eps' is not KEY=VALUE"),
        ("--estimator grpo:eps=tiny", "eps is 'tiny', expected a number"),
        ("--preset agressive", "unknown preset 'agressive'; try aggressive"),
        ("--missing drop", "unknown missing rule 'drop'; try null"),
        ("--singleton drop", "unknown singleton rule 'drop'; try null"),
        ("--on-bad-row drop", "unknown value 'drop' for --on-bad-row; try error or skip"),
        ("--format trll", "unknown format 'trll'; try trl"),
        ("--prompt-col prompt", "no column 'prompt'; there is prompt_id, reward; try prompt_id"),
        ("--step-col step", "no column 'step'; there is prompt_id, reward"),
        ("--length-col tokens", "no column 'tokens'"),
        ("--group-by prompt_id,step", "no column 'step'"),
        ("--reward rewards=2", "no column 'rewards'; there is prompt_id, reward; try reward"),
        ("--reward reward=nan", "--reward reward=nan: the weight is nan, expected a finite number"),
        ("--reward reward=-inf", "the weight is -inf, expected a finite number"),
        ("--group-by ,", "--group-by ',' names no column; try --group-by A,B"),
        ("--n 0", "n is 0, expected rows per prompt, from 1 to 2,147,483,648"),
        ("--n -3", "n is -3, expected rows per prompt, from 1 to 2,147,483,648"),
        ("--n 99999999999999999999", "n is 99999999999999999999, expected rows per prompt, from 1 to"),
        ("--before pods:m=99999999999999999999", "m is 1e.20, expected at most 2,147,483,648"),
        ("--estimator passk:k=1e15", "k is 1e.15, expected at most 2,147,483,648"),
        ("--metrics -", "--metrics writes a file, not stdout"),
        (
            "--metrics f.jsonl --force",
            "f.jsonl is an input, which is never overwritten; try another --metrics",
        ),
        ("--json --out -", "--json and the annotated rows both go to standard output; try --out FILE"),
        ("--out f.jsonl --force", "f.jsonl is an input, which is never overwritten"),
    ],
)
def test_what_the_command_line_gets_wrong(dump, args, message):
    name = dump(rewards([0, 1]))
    with pytest.raises(UsageError, match=message) as caught:
        run(name, *args.split())
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert [path.name for path in Path().iterdir()] == [name]


def test_a_length_column_of_text_is_an_error(dump):
    name = dump(rewards([0, 1], answer="forty-two"))
    with pytest.raises(DataError, match=r"f\.jsonl:1: 'answer' is 'forty-two', expected a number"):
        run(name, "--length-col", "answer")


def test_no_advantage_at_all_is_a_warning(dump):
    said = run(dump(rewards([0, 1, 2], [3, 4, 6])), "--estimator", "grpo:ddof=3").stderr
    assert "warning: no row has an advantage" in said


def test_the_logged_advantage_is_held_against_ours(dump):
    rows = [
        {**row, "advantage": a}
        for row, a in zip(rewards([0, 1, 2, 3]), (-1.5, -0.5, 0.25, None), strict=True)
    ]
    said = run(dump(rows), "--scale", "none").stderr
    assert "logged 'advantage' differs from original by at most 0.25 in 3 rows" in said


VERL = """
algorithm: {{adv_estimator: {}, norm_adv_by_std_in_grpo: true, use_kl_in_reward: true, kl_ctrl: {{kl_coef: 0.1}}}}
actor_rollout_ref: {{rollout: {{n: 4, val_kwargs: {{n: 1}}}}, actor: {{use_kl_loss: true}}}}
trainer: {{rollout_data_dir: /tmp/x}}
"""


def test_config_of_verl_rloo_is_not_scaled(computed, dump):
    """`norm_adv_by_std_in_grpo: true` stands in every verl configuration; rloo does not look at it."""
    Path("c.yaml").write_text(VERL.format("rloo"))
    columns = computed(rewards([0, 1, 0, 1, 1, 0, 0, 0]), "--config", "c.yaml")
    third = 1 / 3
    assert columns["adv_original"] == pytest.approx([-2 * third, 2 * third] * 2 + [1, -third, -third, -third])
    done = run(dump(rewards([0, 1, 0, 1])), "--config", "c.yaml", "--estimator", "grpo", "--json")
    used = strict(done.stdout)["settings"]
    assert (used["estimator"], used["scale"], used["n"]) == ("grpo", "group", 4)
    assert "warning: c.yaml: algorithm.use_kl_in_reward is True: the reward was reduced" in done.stderr
    assert done.stderr.count("warning: c.yaml") == 1


def test_config_of_easyr1(computed):
    Path("c.yaml").write_text(
        "algorithm: {adv_estimator: grpo, keep_pos_ratio: 1.0, keep_neg_ratio: 0.0, compute_new_adv: true}\n"
        "worker: {rollout: {n: 5}}\n"
    )
    rows = rewards([0.1, 0.5, 0.9, 1.3, 1.7])
    assert computed(rows, "--config", "c.yaml")["adv_processed"] == pytest.approx([0, 0, -1, 0, 1])
    args = ["--config", "c.yaml", "--set", "algorithm.keep_neg_ratio=1"]
    assert computed(rows, *args)["adv_kept"] == [True] * 5
    assert computed(rows, *args, "--keep-neg", "0.5")["adv_kept"] == [True, False, True, True, True]


def test_config_of_trl(dump):
    """Weights belong to the reward functions in file order; a null counts as if the function were not there."""
    rows = [
        {"step": 1, "prompt": "p", "completion": "c", "right": right, "short": short, "advantage": 0.0}
        for right, short in ((1, 2), (0, 4), (None, 6), (1, 0))
    ]
    name = dump(rows)
    Path("args.json").write_text(
        json.dumps({"reward_weights": [1.0, 0.5], "num_generations": 2, "scale_rewards": False})
    )
    run(name, "--config", "args.json", "--quiet")
    assert [row["adv_original"] for row in lines(Path("f.adv.jsonl"))] == [0, 0, 1, -1]
    assert "reward: 'right' + 0.5 × 'short'" in run(name, "--config", "args.json", "--force").stderr
    with pytest.raises(UsageError, match="3 reward weights for 2 reward columns: right, short"):
        run(name, "--set", "reward_weights=[1,2,3]", "--force")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("algorithm: {adv_estimator: vtrace}", r"^c\.yaml: unknown estimator 'vtrace'"),
        ("keep_pos_ratio: 1.5", r"^c\.yaml: keep.pos is 1.5, expected a share"),
        ("scale_rewards: grup", r"^c\.yaml: unknown scale 'grup'"),
        ("adv_estimator: rloo\ncompute_new_adv: true", r"^c\.yaml: compute_new_adv is defined for grpo only"),
    ],
)
def test_a_wrong_setting_of_a_configuration_says_where_it_stands(dump, text, message):
    name = dump(rewards([0, 1]))
    Path("c.yaml").write_text(text)
    with pytest.raises(UsageError, match=message):
        run(name, "--config", "c.yaml")
    over = ("--estimator", "grpo", "--keep-pos", "1", "--scale", "none")
    assert run(name, "--config", "c.yaml", *over).exit_code == 0


def test_tables_go_to_stderr_when_the_rows_go_to_stdout():
    text = "".join(json.dumps(row) + "\n" for row in rewards([0, 1]))
    for args in (("-",), ("-", "--out", "-")):
        done = run(*args, stdin=text)
        assert [strict(line)["adv_kept"] for line in done.stdout.splitlines()] == [True, True]
        assert "mean |A|" in done.stderr
        assert "2 rows · 1 group of 2 rows" in done.stderr


def test_table_and_talk_are_apart(dump):
    done = run(dump(rewards([0, 1], [3, 3])), "--n", "2")
    assert "2 groups of 2 rows" in done.stdout
    assert re.search(r"^ advantage +original +processed$", done.stdout, re.MULTILINE)
    assert all(line.startswith("advcli: ") for line in done.stderr.splitlines())
    assert "advcli" not in done.stdout


# As typed by users, through a real shell.


def shell(line, cwd):
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_compute_as_the_design_types_it(tmp_path):
    shutil.copy(SAMPLE / "rewards.parquet", tmp_path)
    done = shell(f"{PROGRAM} compute rewards.parquet --estimator rloo --n 8", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 groups of fewer than 8 rows left over (6 rows)" in done.stderr
    assert "mean |A|" in done.stdout
    before = pd.read_parquet(tmp_path / "rewards.parquet")
    after = pd.read_parquet(tmp_path / "rewards.adv.parquet")
    pd.testing.assert_frame_equal(after[before.columns], before)
    by = before.groupby(["prompt_id", "step"])["reward"]
    others = (by.transform("sum") - before["reward"]) / (by.transform("count") - 1)
    expected = (before["reward"] - others).rename("adv_original")
    pd.testing.assert_series_equal(after["adv_original"], expected, atol=1e-12)


def test_pipe_as_the_design_types_it(tmp_path):
    for name, rows in {"a.jsonl": rewards([0, 1]), "b.jsonl": rewards([5, 3])}.items():
        (tmp_path / name).write_text("".join(json.dumps({**row, "of": name}) + "\n" for row in rows))
    done = shell(f"cat *.jsonl | {PROGRAM} compute - --out - --scale none --prompt-col of | cat", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [strict(line)["adv_original"] for line in done.stdout.splitlines()] == [-0.5, 0.5, 1, -1]
    assert "mean |A|" in done.stderr


def test_a_pipe_that_closes_early(tmp_path):
    rows = ({"prompt_id": i // 8, "reward": i % 3, "text": "x" * 400} for i in range(4000))
    (tmp_path / "f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert (tmp_path / "f.jsonl").stat().st_size > 1e6
    done = shell(f"cat f.jsonl | {PROGRAM} compute - --out - --quiet | head -1", tmp_path)
    # The shell runs with pipefail: every command of the pipe has to be content.
    assert (done.returncode, done.stderr) == (0, "")
    (only,) = done.stdout.splitlines()
    assert strict(only)["prompt_id"] == 0
    assert list(strict(only))[-4:] == ["adv_original", "adv_processed", "adv_kept", "adv_group"]


@pytest.mark.parametrize("like", ["verl", "trl", "openrlhf", "areal"])
def test_a_framework_rule_and_a_row_that_is_skipped(computed, like):
    # float32 rules once could not be put beside a row without a group.
    rows = [*rewards([0, 1]), {"prompt_id": None, "reward": 5.0}]
    found = computed(rows, "--like", like, "--on-bad-row", "skip")
    assert found["adv_original"][2] is None
    assert found["adv_original"][1] == -found["adv_original"][0] > 0


@pytest.mark.parametrize("codec", ["", ".gz", ".zst"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'{"prompt_id": 1, "reward": 1}\n' * 3 + b'{"x": "' + b"y" * 3_000_000, 4),
        (b'{"prompt_id": 1, "reward": 1}\n' * 3 + b'{"x": "' + b"y" * 3_000_000 + b'"}\n{}\n', 4),
        (b"z" * 3_000_000, 1),
        (b"[" + b" " * 3_000_000 + b"]", 1),
        (b'{"prompt_id": 1, "reward": 1}\n' * 50_000 + b'{"x": "' + b"y" * 3_000_000 + b'"}\n', 50_001),
    ],
    ids=["cut off", "in the middle", "no JSON", "an array", "far down"],
)
def test_a_line_has_a_bound(advcli, tmp_path, codec, text, line):
    name = f"a.jsonl{codec}"
    with pa.CompressedOutputStream(
        str(tmp_path / name), {"": "gzip", ".gz": "gzip", ".zst": "zstd"}[codec]
    ) as out:
        out.write(text)
    done = advcli("compute", name, "--max-line", "2MB", "--out", "o.jsonl")
    assert done.returncode == 3
    assert (
        done.stderr.decode()
        == f"advcli: {name}:{line}: the line is longer than 2 MB; try --max-line 4MB, if that is no mistake\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("size", ["0", "x", "-1", "1TB", "", "9" * 30])
def test_a_size_is_a_number_and_a_unit(advcli, size):
    done = advcli("compute", "-", "--max-line", size, stdin="{}\n")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
