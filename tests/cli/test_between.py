"""`advcli compare A B --between` from the command line: real dumps against pandas, odd ones by hand."""

import json
import random
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import stats
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError

TRL = Path(__file__).parents[1] / "data" / "trl"
SAMPLE = Path(__file__).parents[2] / "sample_data" / "rewards.parquet"


def run(*args, stdin=None):
    """Run in this process; an error of ours is raised as it is."""
    return CliRunner().invoke(app, ["compare", *map(str, args)], input=stdin, catch_exceptions=False)


def told(*args, stdin=None):
    done = run(*args, "--between", "--json", stdin=stdin)
    return json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} in strict JSON"))


@pytest.fixture
def dump(tmp_path, monkeypatch):
    """Write rows of (prompt, reward) and further columns to a file."""
    monkeypatch.chdir(tmp_path)

    def do(name, rows, **more):
        given = [
            {"prompt_id": prompt, "reward": reward} | {column: cells[at] for column, cells in more.items()}
            for at, (prompt, reward) in enumerate(rows)
        ]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in given))
        return name

    return do


def trl(run_name):
    frame = pd.concat(pd.read_parquet(path) for path in sorted((TRL / run_name / "completions").iterdir()))
    parts = frame[[name for name in ("digits", "length", "sometimes") if name in frame]]
    return frame.assign(total=parts.sum(axis=1, min_count=1)).reset_index(drop=True)


def test_two_runs_of_trl_against_pandas():
    names = ("grpo-group", "grpo-group-nullreward")
    frames = [trl(name) for name in names]
    body = told(*(TRL / name for name in names), "--join", "completion")
    first, second = (frame.groupby("prompt")["total"].mean() for frame in frames)
    gaps = (second - first).to_dict()
    assert body["paired"]["prompts"] == len(gaps) == 6
    assert body["paired"]["difference"] == pytest.approx(statistics.fmean(gaps.values()))
    assert body["paired"]["low"] < body["paired"]["difference"] < body["paired"]["high"] < 0
    assert {pair["prompt"]: pair["difference"] for pair in body["changed"]} == pytest.approx(gaps)
    assert [abs(pair["difference"]) for pair in body["changed"]] == sorted(
        map(abs, gaps.values()), reverse=True
    )
    places = {pair["prompt"]: Path(pair["first_a"]).name for pair in body["changed"]}
    assert places["What is 3 + 4?"] == "completions_00001.parquet:5"
    assert places["What is 2 + 3?"] == "completions_00002.parquet:1"
    assert body["coverage"] == {
        "prompts_both": 6,
        "prompts_a": 0,
        "prompts_b": 0,
        "rows_a": 32,
        "rows_b": 32,
        "other_steps": 0,
        "steps_both": 4,
        "steps_a": 0,
        "steps_b": 0,
    }
    steps = [frame.groupby("step")["total"].mean() for frame in frames]
    assert [step["step"] for step in body["steps"]] == ["1", "2", "3", "4"]
    assert [step["mean_a"] for step in body["steps"]] == pytest.approx(list(steps[0]))
    assert [step["mean_b"] for step in body["steps"]] == pytest.approx(list(steps[1]))
    # Dead groups of B: those of 0 + 1 and 4 + 5.
    assert [step["live_b"] for step in body["steps"]] == [0.5, 0.5, 1, 1]
    assert (body["a"]["reward"]["mean"], body["b"]["reward"]["std"]) == pytest.approx(
        (frames[0]["total"].mean(), frames[1]["total"].std())
    )
    # The logged advantages are of this estimator but for eps 1e-4.
    assert body["a"]["original"]["mean_abs"] == pytest.approx(frames[0]["advantage"].abs().mean(), abs=1e-3)
    # The same model and seed: the completions are the same but for one that no other run has.
    same = frames[0]["completion"] == frames[1]["completion"]
    rows = body["rows"]
    assert (rows["rows"], rows["only_a"], rows["only_b"]) == (31, 1, 1) == (same.sum(), (~same).sum(), 1)
    assert rows["changed"] == (frames[0]["total"] != frames[1]["total"])[same].sum()
    assert rows["difference"] == pytest.approx((frames[1]["total"] - frames[0]["total"])[same].mean())


def test_two_rewards_of_the_same_file_against_pandas(tmp_path):
    out = tmp_path / "prompts.parquet"
    flags = ("--reward", "reward", "--b", "reward=accuracy_reward", "--out", out)
    body = told(SAMPLE, SAMPLE, *flags)
    frame = pd.read_parquet(SAMPLE)
    means = frame.groupby("prompt_id")[["reward", "accuracy_reward"]].mean()
    gaps = means["accuracy_reward"] - means["reward"]
    assert body["paired"]["difference"] == pytest.approx(gaps.mean())
    assert (body["paired"]["up"], body["paired"]["down"]) == ((gaps > 1e-9).sum(), (gaps < -1e-9).sum())
    assert body["a"]["settings"]["reward"] == {"reward": 1}
    assert body["b"]["settings"]["reward"] == {"accuracy_reward": 1}
    assert body["rows"]["by"] == "their place in the same files"
    assert (
        body["rows"]["changed"]
        == (frame["reward"] != frame["accuracy_reward"])[frame["reward"].notna()].sum()
    )
    written = pd.read_parquet(out).set_index("prompt")
    assert written["difference"].to_dict() == pytest.approx(gaps.to_dict(), abs=1e-12)
    assert written["rows_a"].to_dict() == frame.groupby("prompt_id")["reward"].count().to_dict()
    place = int(written.loc["mul-0001", "first_a"].rpartition(":")[2])
    assert frame["prompt_id"].tolist().index("mul-0001") == place - 1


def test_other_columns_format_and_estimator_of_b(dump):
    a = dump("a.jsonl", [("p", 0), ("p", 1), ("q", 1), ("q", 1)])
    Path("b.jsonl").write_text(
        "".join(
            json.dumps({"q": p, "new": r, "s": s}) + "\n"
            for p, r, s in [("p", 1, 9), ("p", 3, 9), ("r", 0, 9), ("r", 0, 9)]
        )
    )
    flags = ("prompt-col=q", "reward=new=0.5", "estimator=rloo", "step-col=s")
    body = told(a, "b.jsonl", *(word for flag in flags for word in ("--b", flag)))
    assert (body["a"]["settings"]["estimator"], body["b"]["settings"]["estimator"]) == ("grpo", "rloo")
    assert body["b"]["settings"]["reward"] == {"new": 0.5}
    assert (body["a"]["steps"], body["b"]["steps"], body["steps"]) == (None, 1, [])
    assert body["paired"]["difference"] == 0.5
    assert body["paired"]["low"] is None
    assert body["coverage"]["steps_both"] is None
    assert body["b"]["original"]["max"] == 1


def test_rows_joined_by_an_id_of_another_name(dump):
    a = dump("a.jsonl", [("p", 0), ("p", 1)], id=["u", "v"])
    b = dump("b.jsonl", [("p", 0), ("p", 1)], key=["v", "u"])
    rows = told(a, b, "--join", "id", "--b", "join=key")["rows"]
    assert (rows["by"], rows["rows"], rows["changed"], rows["flips"]) == ("'id' and 'key'", 2, 2, 1)
    with pytest.raises(
        UsageError,
        match=r"^B \(b.jsonl\): no column 'id'; the columns are .*; try --b OPTION=VALUE for B only",
    ):
        run(a, b, "--between", "--join", "id")
    with pytest.raises(UsageError, match="--b join=COL without --join does nothing"):
        run(a, b, "--between", "--b", "join=key")


def test_the_interval_is_around_the_paired_t_test_of_scipy(dump):
    a = dump("a.jsonl", [(p, r) for p in range(30) for r in (p, p + 1)])
    b = dump("b.jsonl", [(p, r) for p in range(30) for r in (p + p % 7, p + 1)])
    found = told(a, b)["paired"]
    gaps = [p % 7 / 2 for p in range(30)]
    low, high = stats.ttest_1samp(gaps, 0).confidence_interval(0.95)
    assert found["difference"] == pytest.approx(statistics.fmean(gaps))
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=0.05)
    assert found["low"] <= low
    assert found["high"] >= high
    assert len(told(a, b, "--top", 3)["changed"]) == 3
    assert len(told(a, b)["changed"]) == 10
    assert told(a, b, "--top", 0)["changed"] == []


def test_too_few_changes_are_a_warning_also_in_json(dump):
    a = dump("a.jsonl", [(p, r) for p in range(30) for r in (0, 1)])
    b = dump("b.jsonl", [(p, r) for p in range(30) for r in (0, 1 if p else 0)])
    text = "no interval: too few prompts change (1 of 30 prompts changes)"
    body = told(a, b)
    again = "B: 1 row is identical to an earlier one, text included, and counted like any other"
    assert body["warnings"] == [again, text]
    assert (body["paired"]["unclear"], body["paired"]["low"], body["paired"]["p"]) == (text, None, None)
    done = run(a, b, "--between")
    assert f"warning: {text}" in done.stderr
    assert done.stdout.splitlines()[1] == text


def test_one_row_per_prompt_needs_no_groups(dump):
    a = dump("a.jsonl", [(p, p % 2) for p in range(20)])
    b = dump("b.jsonl", [(p, 1) for p in range(20)])
    found = told(a, b)["paired"]
    assert found["mcnemar"] == {"gained": 10, "lost": 0, "p": pytest.approx(2 * 0.5**10)}
    assert found["difference"] == 0.5


@pytest.fixture
def seeds(dump):
    """Three runs of A and two of B: folders with files, and the same rows in one file with a column."""
    dice = random.Random(3)
    rate = [dice.random() for _ in range(25)]
    cells = {}
    for side, count, shift in (("a", 3, 0.0), ("b", 2, 0.1)):
        everyone = []
        for seed in range(count):
            rows = [(p, float(dice.random() < rate[p] + shift)) for p in range(25) for _ in range(4)]
            cells[side, seed] = pd.DataFrame(rows, columns=["p", "r"]).groupby("p")["r"].mean().to_numpy()
            Path(f"{side}/s{seed}").mkdir(parents=True)
            dump(f"{side}/s{seed}/1.jsonl", rows[:48])
            dump(f"{side}/s{seed}/2.jsonl", rows[48:])
            everyone += [(*row, seed) for row in rows]
        dump(f"{side}.jsonl", [row[:2] for row in everyone], seed=[row[2] for row in everyone])
    return cells


def test_several_runs_by_path_and_by_column_are_the_same(seeds):
    by_column = told("a.jsonl", "b.jsonl", "--runs", "seed")
    assert (by_column["a"]["runs"], by_column["b"]["runs"]) == (["0", "1", "2"], ["0", "1"])
    # A group is one prompt of one run.
    assert (by_column["a"]["groups"], by_column["b"]["groups"]) == (75, 50)
    means = [np.stack([row for (side, _), row in seeds.items() if side == name]) for name in "ab"]
    gaps = means[1].mean(0) - means[0].mean(0)
    found = by_column["paired"]
    assert (found["runs_a"], found["runs_b"], found["prompts"]) == (3, 2, 25)
    assert found["difference"] == pytest.approx(gaps.mean())
    assert [run["mean"] for run in by_column["runs"]] == pytest.approx(
        [row.mean() for side in means for row in side]
    )
    for inputs in (("a", "b"), ("a/s*/*.jsonl", "b/*/*.jsonl")):
        by_path = told(*inputs, "--runs", "path")
        assert by_path["a"]["runs"] == ["s0", "s1", "s2"]
        assert by_path["paired"] == by_column["paired"]
    done = run("a", "b", "--between", "--runs", "path")
    assert "(over prompts and 3 runs of A, 2 of B)" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_prompt_that_one_run_lacks_is_said(seeds):
    rows = Path("b/s1/2.jsonl").read_text().splitlines(keepends=True)
    Path("b/s1/2.jsonl").write_text("".join(row for row in rows if json.loads(row)["prompt_id"] != 24))
    body = told("a", "b", "--runs", "path")
    assert body["paired"]["prompts"] == 24
    assert "1 prompt in both is not in every run: the difference is over the other 24" in body["warnings"]


def test_rollouts_of_several_rows_in_several_runs(dump):
    # Two seeds, in each a prompt with two rollouts of two turns; the last turn has the reward.
    rewards = {"a": (0, 1, 0, 0), "b": (0, 1, 0, 1)}
    rows = [("p", reward) for seed in rewards for reward in rewards[seed]]
    more = {
        "seed": [seed for seed in rewards for _ in range(4)],
        "rollout_id": [f"{seed}{number // 2}" for seed in rewards for number in range(4)],
        "turn": [0, 1] * 4,
    }
    first, second = dump("a.jsonl", rows, **more), dump("b.jsonl", [("p", 1)] * 8, **more)
    body = told(first, second, "--runs", "seed")
    # The seeds' means of A are 0.5 and 1, both of B are 1.
    (prompt,) = body["changed"]
    assert (prompt["mean_a"], prompt["mean_b"], prompt["difference"]) == (0.75, 1.0, 0.25)
    assert body["a"]["runs"] == body["b"]["runs"] == ["a", "b"]


def test_no_prompt_in_common_is_said_and_the_rest_is_shown(dump):
    a = dump("a.jsonl", [("p", 0), ("p", 1), ("q", 1), ("q", 1)])
    b = dump("b.jsonl", [("r", 0), ("r", 1), ("s", 1), ("s", 0)])
    done = run(a, b, "--between")
    assert done.exit_code == 0
    assert done.stdout.startswith("no prompt has a reward in both: only the figures of each are shown\n")
    assert (
        "no prompt is in both: A has 'prompt_id' as 'p' and B has 'prompt_id' as 'r'; try --prompt-col"
        in done.stderr
    )
    body = told(a, b)
    assert (body["paired"], body["rows"], body["changed"]) == (None, None, [])
    assert (body["a"]["dead_groups"], body["b"]["dead_groups"]) == (1, 0)


def test_a_dump_without_prompt_ids(dump):
    Path("n.jsonl").write_text("".join(json.dumps({"reward": r}) + "\n" for r in (0, 1, 1, 1)))
    b = dump("b.jsonl", [("r", 0), ("r", 1), ("s", 1), ("s", 0)])
    done = run("n.jsonl", b, "--between", "--n", "2")
    assert "warning: A has no prompt id, so no prompt can be found in both" in done.stderr
    assert "only in B: 2 prompts" in done.stdout


def test_missing_rewards_count_on_neither_side(dump):
    a = dump("a.jsonl", [("p", None), ("p", 1), ("q", None), ("q", None), ("r", 1), ("r", 0)])
    b = dump("b.jsonl", [("p", 1), ("p", 0), ("q", 1), ("q", 0), ("r", 1), ("r", 1)])
    body = told(a, b)
    assert (body["coverage"]["prompts_both"], body["paired"]["prompts"]) == (3, 2)
    # p: 1 → 0.5, r: 0.5 → 1.
    assert body["paired"]["difference"] == 0
    assert (body["a"]["missing"], body["b"]["missing"]) == (3, 0)


def test_prompts_that_were_met_at_other_steps_are_said(dump):
    a = dump("a.jsonl", [("p", 0), ("p", 1), ("q", 1), ("q", 0)], step=[1, 1, 2, 2])
    b = dump("b.jsonl", [("p", 0), ("p", 1), ("q", 1), ("q", 0)], step=[1, 1, 3, 3])
    done = run(a, b, "--between")
    assert (
        "1 prompt in both was not sampled at the same steps: the difference includes what training"
        in done.stderr
    )
    assert "only in A: 0 prompts, 1 step · only in B: 0 prompts, 1 step" in done.stdout


def test_many_steps_are_put_together_on_screen_only(dump):
    rows = [(p, p % 3) for p in range(50) for _ in range(2)]
    a = dump("a.jsonl", rows, step=[p for p in range(50) for _ in range(2)])
    assert len(told(a, a)["steps"]) == 50
    table = [
        line.split()[0]
        for line in run(a, a, "--between").stdout.splitlines()
        if "%   " in line and "–" in line
    ]
    assert table[0] == "0–2"
    assert len(table) == 17


def test_what_filters_left_out_is_counted_for_each():
    done = run(SAMPLE, SAMPLE, "--between", "--before", "dynamic_sampling", "--keep-pos", "0.5")
    assert done.stdout.count("  left out before the statistics by dynamic_sampling: ") == 2
    assert "processed mean |A|" in done.stdout


def test_standard_input_may_be_one_of_the_two(dump):
    a = dump("a.jsonl", [("p", 0), ("p", 1)])
    body = told(a, "-", stdin=Path(a).read_text())
    assert (body["b"]["input"], body["paired"]["difference"], body["rows"]) == ("-", 0, None)
    with pytest.raises(UsageError, match="cannot be both A and B"):
        run("-", "-", "--between")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_every_prompt_of_either_as_a_file(dump, suffix):
    a = dump("a.jsonl", [("p", 0), ("p", 1), ("q", 1), ("q", None)])
    b = dump("b.jsonl", [("r", 0), ("r", 1), ("q", 3), ("q", 0)])
    out = f"out.{suffix}"
    run(a, b, "--between", "--out", out)
    read = {
        "csv": pd.read_csv,
        "parquet": pd.read_parquet,
        "jsonl": lambda path: pd.read_json(path, lines=True),
    }
    frame = read[suffix](out)
    assert frame["prompt"].tolist() == ["p", "q", "r"]
    assert frame["rows_a"].tolist() == [2, 1, 0]
    assert frame["difference"].tolist() == pytest.approx([float("nan"), 0.5, float("nan")], nan_ok=True)
    assert frame["first_b"].tolist()[1:] == ["b.jsonl:3", "b.jsonl:1"]
    assert pd.isna(frame["first_b"][0])
    assert suffix != "parquet" or pq.read_table(out)["difference"].null_count == 2
    assert suffix != "jsonl" or '"difference":null' in Path(out).read_text()
    with pytest.raises(UsageError, match="exists already"):
        run(a, b, "--between", "--out", out)
    assert run(a, b, "--between", "--out", out, "--force").exit_code == 0


@pytest.mark.parametrize("of", ["a", "b"])
def test_neither_input_is_ever_overwritten(dump, of):
    names = {name: dump(f"{name}.jsonl", [("p", 0), ("p", 1)]) for name in "ab"}
    before = Path(names[of]).read_bytes()
    # The letter of an input would say that its options are wrong.
    with pytest.raises(
        UsageError, match=r"^[ab]\.jsonl is an input, which is never overwritten; try another --out$"
    ):
        run(*names.values(), "--between", "--out", names[of], "--force")
    assert Path(names[of]).read_bytes() == before


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        (
            "a.jsonl --between",
            UsageError,
            r"--between compares two INPUTs, A and B, but 1 was given; try a folder or a",
        ),
        ("a.jsonl a.jsonl a.jsonl --between", UsageError, "but 3 were given"),
        ("--between", UsageError, "but 0 were given"),
        ("a.jsonl no.jsonl --between", DataError, r"^B: no.jsonl: no such file"),
        ("no.jsonl a.jsonl --between", DataError, r"^A: no.jsonl: no such file"),
        (
            "a.jsonl a.jsonl --between --reward old",
            UsageError,
            r"^A \(a.jsonl\): no column 'old'; the columns are",
        ),
        (
            "a.jsonl a.jsonl --between --b reward=new",
            UsageError,
            r"^B \(a.jsonl\): no column 'new'; the columns are",
        ),
        (
            "a.jsonl a.jsonl --between --b rewards=x",
            UsageError,
            r"--b rewards=x: expected OPTION=VALUE; try reward=, ",
        ),
        ("a.jsonl a.jsonl --between --b reward", UsageError, r"--b reward: expected OPTION=VALUE"),
        ("a.jsonl a.jsonl --between --b n=two", UsageError, r"--b n=two: expected a whole number"),
        (
            "a.jsonl a.jsonl --between --b estimator=rlo",
            UsageError,
            r"^B .*unknown estimator 'rlo'; try rloo",
        ),
        ("a.jsonl a.jsonl --between --estimator rlo", UsageError, r"^unknown estimator 'rlo'; try rloo"),
        ("a.jsonl a.jsonl --between --vs rloo", UsageError, "--between compares two; try --b estimator=rloo"),
        ("a.jsonl a.jsonl --between --top -1", UsageError, "--top is -1, expected 0 or more"),
        (
            "a.jsonl a.jsonl --between --runs seed",
            UsageError,
            r"^A \(a.jsonl\): no column 'seed'; the columns are",
        ),
        (
            "a.jsonl a.jsonl --between --out x.txt",
            UsageError,
            r"--out x.txt: expected .*; try --out prompts.csv",
        ),
        (
            "a.jsonl --runs seed",
            UsageError,
            r"^--runs without --between does nothing; try --between, with two INPUTs",
        ),
        ("a.jsonl --join id", UsageError, "^--join without --between does nothing"),
        ("a.jsonl --force", UsageError, "^--force without --between does nothing"),
    ],
)
def test_what_makes_no_sense(dump, args, kind, message):
    dump("a.jsonl", [("p", 0), ("p", 1)])
    with pytest.raises(kind, match=message):
        run(*args.split())
