"""Lists per row, an advantage per token, and reward shaping, through the commands; all numbers made by hand."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError

ROWS = [
    {
        "prompt_id": "a",
        "reward": 1.0,
        "v": [0.25, 0.5, 0.75],
        "kl": [0.5, 0.0, 0.25],
        "m": [1, 0, 1],
        "len": 3,
    },
    {"prompt_id": "a", "reward": 0.0, "v": [0.5, 0.25], "kl": [0.0, 0.5], "m": [1, 1], "len": 2},
]
GAE = ("--estimator", "gae", "--values-col", "v")


def run(command, *args):
    return CliRunner().invoke(app, [command, *map(str, args)], catch_exceptions=False)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(rows, suffix="jsonl"):
        if suffix == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), "f.parquet")
        else:
            Path("f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return f"f.{suffix}"

    return write


def computed(path, *args):
    """The added columns, row by row."""
    run("compute", path, *args, "--out", "out.parquet", "--force")
    return pd.read_parquet("out.parquet").filter(like="adv_")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_list_in_and_a_list_and_its_mean_out(write, suffix):
    found = computed(write(ROWS, suffix), *GAE)
    assert [list(tokens) for tokens in found["adv_tokens"]] == [[0.75, 0.5, 0.25], [-0.5, -0.25]]
    assert found["adv_original"].tolist() == found["adv_processed"].tolist() == [0.5, -0.375]
    assert found["adv_kept"].tolist() == [True, True]


def test_json_lines_stay_json_lines(write):
    done = run("compute", write(ROWS), *GAE, "--out", "-")
    first = done.stdout.splitlines()[0]
    assert first.startswith(json.dumps(ROWS[0])[:-1])
    assert json.loads(first)["adv_tokens"] == [0.75, 0.5, 0.25]


def test_tokens_of_a_tool_take_no_part(write):
    # Without the second token: return 1 minus 0.25 and 0.75.
    found = computed(write(ROWS), *GAE, "--mask-col", "m")
    assert json.loads(pd.Series(found["adv_tokens"][0]).to_json(orient="values")) == [0.75, None, 0.25]
    assert found["adv_original"][0] == 0.5


def test_a_row_without_its_list_has_no_advantage(write):
    found = computed(
        write(
            [
                *ROWS,
                {"prompt_id": "a", "reward": 1.0, "v": None},
                {"prompt_id": "a", "reward": None, "v": [1.0]},
            ]
        ),
        *GAE,
    )
    assert found["adv_original"].isna().tolist() == [False, False, True, True]
    assert found["adv_tokens"][2] is None
    assert found["adv_kept"].tolist() == [True, True, False, False]


def test_a_discount_makes_lengths_count(write):
    # γ = 0.5: returns 0.25, 0.5, 1 and 0, 0; mean 0.35, variance 0.7 / 4.
    found = computed(write(ROWS), "--estimator", "reinforce_plus_plus:gamma=0.5,eps=0", "--length-col", "len")
    expected = [(x - 0.35) / 0.175**0.5 for x in (0.25, 0.5, 1.0, 0.0, 0.0)]
    assert [a for tokens in found["adv_tokens"] for a in tokens] == pytest.approx(expected)
    assert found["adv_original"].tolist() == pytest.approx([sum(expected[:3]) / 3, sum(expected[3:]) / 2])


def test_a_discount_of_1_is_no_discount(write):
    path = write(ROWS)
    plain, one = (
        computed(path, "--length-col", "len", "--estimator", f"reinforce_plus_plus{knob}")
        for knob in ("", ":gamma=1")
    )
    assert "adv_tokens" not in one
    assert plain["adv_original"].tolist() == one["adv_original"].tolist()


def test_the_kl_of_tokens_is_summed_for_an_advantage_per_row(write):
    # 1 − 2 · 0.75 = −0.5 and 0 − 2 · 0.5 = −1.
    found = computed(write(ROWS), "--estimator", "rloo", "--kl-col", "kl", "--kl-coef", 2)
    assert found["adv_original"].tolist() == pytest.approx([0.5, -0.5])
    masked = computed(write(ROWS), "--estimator", "rloo", "--kl-col", "kl", "--kl-coef", 2, "--mask-col", "m")
    assert masked["adv_original"].tolist() == pytest.approx([0.5, -0.5])


def test_the_kl_of_tokens_is_taken_off_token_by_token_where_it_can_be(write):
    rows = [{**row, "greedy": 0.0} for row in ROWS]
    found = computed(
        write(rows), "--estimator", "remax", "--baseline-col", "greedy", "--kl-col", "kl", "--kl-coef", 1
    )
    assert [list(tokens) for tokens in found["adv_tokens"]] == [[0.25, 0.75, 0.75], [-0.5, -0.5]]


def test_shaping_is_done_in_one_order_and_printed(write):
    # 1 − (3 − 2)/2 = 0.5 and 0; doubled 1 and 0; clipped to 0.75; less the KL of the row.
    rows = [{**row, "kl": kl} for row, kl in zip(ROWS, (0.25, 0.5), strict=True)]
    flags = ("--kl-coef", 1, "--kl-col", "kl", "--clip-reward", "min=-1,max=0.75", "--affine", "scale=2")
    flags = (*flags, "--overlong", "max=4,buffer=2", "--length-col", "len", "--estimator", "reinforce")
    assert computed(write(rows), *flags)["adv_original"].tolist() == [0.5, -0.5]
    done = run("compare", "f.jsonl", *flags)
    order = (
        "reward: r + min(0, (4 − 2 − L) / 2 · 1), then 2 · (r +0), then clip(r, -1, 0.75), then r − 1 · KL"
    )
    assert order.replace("(r +0)", "(r + 0)") in done.stdout
    settings = json.loads(run("compare", "f.jsonl", *flags, "--json").stdout)["settings"]
    assert settings["shaping"]["overlong"]["buffer"] == 2
    assert settings["kl"] == "kl"


def test_other_columns_of_compare_have_the_same_reward(write):
    done = run("compare", write(ROWS), "--affine", "scale=4", "--vs", "reinforce", "--json")
    assert json.loads(done.stdout)["columns"]["reinforce"]["max"] == 4.0


@pytest.mark.parametrize(
    ("flags", "error", "message"),
    [
        (GAE[:2], DataError, "gae needs the critic's value of each token, but there is no such column; try --values-col"),
        ((*GAE, "--keep-pos", 0.5), UsageError, "gae gives one per token here; try without --keep-pos and --keep-neg"),
        ((*GAE, "--scale", "group"), UsageError, "gae has no scale 'group'; try --scale none or batch"),
        (("--estimator", "gae:lam=1.5", "--values-col", "v"), UsageError, "lam is 1.5, expected a number from 0 to 1"),
        (("--estimator", "gae", "--values-col", "w"), UsageError, "no column 'w'"),
        (("--estimator", "gae", "--values-col", "prompt_id"), UsageError, "'prompt_id' holds text, expected a list"),
        (("--estimator", "gae", "--values-col", "len"), DataError, "f.jsonl:1: 'len' is 3, expected a list of numbers"),
        (("--overlong", "max=4,buffer=2", "--reward", "reward"), DataError, "--overlong needs the tokens of each row"),
        (("--kl-col", "kl"), UsageError, "--kl-col without --kl-coef does nothing; try --kl-coef 0.05"),
        (("--kl-coef", 1), DataError, "--kl-coef needs the KL of each row"),
        (("--estimator", "gdpo", "--affine", "scale=2"), UsageError, "so their sum cannot be shaped (--affine)"),
        (
            ("--like", "verl", "--estimator", "gae:eps=1"),
            UsageError,
            "so eps cannot be set; try without --like, or one of gamma or lam",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_sense(write, flags, error, message):
    rows = [{name: value for name, value in row.items() if name != "len"} for row in ROWS]
    path = write(ROWS if "len" in flags else rows)
    with pytest.raises(error) as caught:
        run("compare", path, *flags)
    assert message in str(caught.value)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_lists_of_different_lengths_are_a_bad_row(write, suffix):
    path = write([*ROWS, {**ROWS[0], "m": [1, 1]}], suffix)
    with pytest.raises(
        DataError, match=rf"f\.{suffix}:3: 'v' has 3 tokens and 'm' 2, expected equal lengths"
    ):
        run("compute", path, *GAE, "--mask-col", "m")
    found = computed(path, *GAE, "--mask-col", "m", "--on-bad-row", "skip")
    assert found["adv_original"].isna().tolist() == [False, False, True]
    assert found["adv_tokens"][0].tolist()[0] == 0.75


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_an_existing_column_of_tokens_is_refused(write, suffix):
    with pytest.raises(DataError, match=r"adv_tokens is there already"):
        run("compute", write([{**row, "adv_tokens": 1} for row in ROWS], suffix))


def test_like_a_framework(write):
    # verl whitens over tokens: 0.75, 0.5, 0.25, −0.5, −0.25 have mean 0.15 and variance 1.075 / 4.
    found = computed(write(ROWS), *GAE, "--like", "verl")
    expected = [(x - 0.15) / (0.26875 + 1e-8) ** 0.5 for x in (0.75, 0.5, 0.25, -0.5, -0.25)]
    assert [a for tokens in found["adv_tokens"] for a in tokens] == pytest.approx(expected, abs=1e-6)
    options = computed(
        "f.jsonl",
        "--estimator",
        "gae:gamma=0,lam=0",
        "--values-col",
        "v",
        "--like",
        "twinkle",
        "--scale",
        "none",
    )
    assert [list(tokens) for tokens in options["adv_tokens"]] == [[-0.25, -0.5, 0.25], [-0.5, -0.25]]


def test_kl_that_is_replayed_is_not_said_to_be_lost(write):
    path = write(ROWS)
    assert "KL in the reward" in run("compare", path, "--like", "verl").stderr
    told = run("compare", path, "--like", "verl", "--kl-col", "kl", "--kl-coef", 0.1)
    assert "KL in the reward" not in told.stderr


@pytest.mark.parametrize(("rule", "advantage"), [("null", None), ("zero", 0.0)])
def test_a_missing_reward_has_what_the_rule_says_on_every_token(write, rule, advantage):
    path = write([*ROWS, {"prompt_id": "a", "reward": None, "v": [1.0, 2.0]}])
    out = run("compute", path, *GAE, "--missing", rule, "--out", "-").stdout.splitlines()
    row = json.loads(out[2])
    assert (row["adv_original"], row["adv_tokens"]) == (advantage, [advantage] * 2)
    assert row["adv_kept"] == (rule == "zero")


@pytest.mark.parametrize(("rule", "advantage"), [("null", None), ("zero", 0.0), ("raw", 1.0)])
def test_a_group_of_one_has_what_the_rule_says_on_every_token(write, rule, advantage):
    rows = [{**row, "lp": [-0.5] * len(row["v"]), "sq": [0.5] * len(row["v"])} for row in ROWS]
    path = write([*rows, {**rows[0], "prompt_id": "alone"}])
    lists = ("--log-probs-col", "lp", "--sum-pi-squared-col", "sq", "--estimator", "optimal_token_baseline")
    row = json.loads(run("compute", path, *lists, "--singleton", rule, "--out", "-").stdout.splitlines()[2])
    assert (row["adv_original"], row["adv_tokens"]) == (advantage, [advantage] * 3)


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (("--kl-col", "x", "--kl-coef", 1), "the KL of each row, or a list with that of each token"),
        (("--overlong", "max=4,buffer=2", "--length-col", "x"), "the tokens of each row"),
        (("--estimator", "opo", "--length-col", "x"), "the tokens of each row"),
        (("--estimator", "remax", "--baseline-col", "x"), "the greedy reward of each prompt"),
    ],
)
def test_rows_that_lack_what_is_needed_are_said(write, flags, what):
    path = write([{"prompt_id": "a", "reward": r, "x": x} for r, x in ((1.0, 1), (0.0, 2), (1.0, None))])
    warning = f"warning: 1 row has a reward but lacks {what}: no advantage"
    assert warning in run("compare", path, *flags).stderr
    assert (
        "a reward but not"
        not in run(
            "compare", write([{"prompt_id": "a", "reward": r, "x": 1} for r in (1.0, 0.0)]), *flags
        ).stderr
    )


def test_rows_without_tokens_are_said(write):
    path = write(
        [*ROWS, {"prompt_id": "a", "reward": 1.0, "v": None}, {"prompt_id": "a", "reward": None, "v": [1.0]}]
    )
    told = "1 row has a reward but lacks the critic's value of each token: no advantage"
    assert told in run("compare", path, *GAE).stderr


def test_a_list_behind_a_dotted_path(write):
    rows = [
        {"prompt_id": row["prompt_id"], "reward": row["reward"], "critic": {"v": row["v"], "kl": 0.25}}
        for row in ROWS
    ]
    found = computed(
        write(rows), "--estimator", "gae", "--values-col", "critic.v", "--kl-col", "critic.kl", "--kl-coef", 1
    )
    assert [list(tokens) for tokens in found["adv_tokens"]] == [[0.5, 0.25, 0.0], [-0.75, -0.5]]
