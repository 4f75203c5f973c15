"""`advcli compare`: every figure is compared with a plain pandas computation, or worked out by hand."""

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError

SAMPLE = Path(__file__).parents[3] / "sample_data" / "rewards.jsonl"
RATIOS = {"keep_pos": 0.7, "keep_neg": 0.5}
FLAGS = ("--keep-pos", "0.7", "--keep-neg", "0.5")
BASE = ("original", "kept", "kept + recomputed")


def run(*args, stdin=None):
    """Run in this process; an error of ours is raised as it is."""
    return CliRunner().invoke(app, ["compare", *map(str, args)], input=stdin, catch_exceptions=False)


def compared(*args, stdin=None):
    done = run(*args, "--json", stdin=stdin)
    return json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} in strict JSON"))


def dump(tmp_path, *groups):
    path = tmp_path / "f.jsonl"
    rows = [{"prompt_id": g, "reward": r} for g, group in enumerate(groups) for r in group]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# A second implementation, in pandas, of what the contract says.


def grpo(rewards, keys):
    by = rewards.groupby(keys)
    spread = by.transform(lambda r: 0 if r.nunique() == 1 else r.std())
    centred = rewards - by.transform("mean")
    return (centred / spread).where(spread > 0, 0.0).where(by.transform("count") > 1)


def side(advantages, keys):
    """-1, 0 or 1; at most 1e-6 of the largest |A| of the group is neutral."""
    largest = advantages.abs().groupby(keys).transform("max")
    return np.sign(advantages).where(advantages.abs() > 1e-6 * largest, 0.0)


def keep(advantages, keys, keep_pos, keep_neg):
    kept = advantages.notna()
    for sign, ratio in ((1, keep_pos), (-1, keep_neg)):
        chosen = advantages[side(advantages, keys) == sign]
        for _, rows in chosen.groupby(keys[chosen.index]):
            best = rows.abs().sort_values(ascending=False, kind="stable").index
            kept[best[max(1, int(len(rows) * ratio)) :]] = False
    return kept


def statistics(a, keys, tokens):
    quantiles = dict(zip(("p5", "p25", "median", "p75", "p95"), (0.05, 0.25, 0.5, 0.75, 0.95), strict=True))
    signs = side(a, keys)
    token_mean = (a * tokens).sum() / tokens.sum()
    return {
        "count": len(a),
        "mean": a.mean(),
        "std": a.std(),
        "min": a.min(),
        "max": a.max(),
        **{name: a.quantile(q) for name, q in quantiles.items()},
        "mean_abs": a.abs().mean(),
        "share_positive": (signs > 0).mean(),
        "share_zero": (signs == 0).mean(),
        "share_negative": (signs < 0).mean(),
        "token_mean": token_mean,
        "token_std": math.sqrt(((a - token_mean) ** 2 * tokens).sum() / tokens.sum()),
    }


def rank_agreement(before, after, keys):
    rhos = []
    for _, rows in before.groupby(keys):
        pair = pd.DataFrame({"before": rows, "after": after[rows.index]}).rank()
        if pair["before"].nunique() > 1 and pair["after"].nunique() > 1:
            rhos.append(np.corrcoef(pair["before"], pair["after"])[0, 1])
    return np.mean(rhos)


@pytest.fixture(scope="module")
def expected():
    """The columns on the sample: label → figures and distances."""
    table = pd.read_json(SAMPLE, lines=True)
    keys = table["prompt_id"] + "/" + table["step"].astype(str)
    rewards, tokens = table["reward"], table["response_length"]
    original = grpo(rewards, keys)
    kept = keep(original, keys, **RATIOS)
    again = grpo(rewards[kept], keys[kept]).reindex(rewards.index).fillna(original)
    by = rewards.groupby(keys)
    rloo = (rewards - by.transform("mean")) * by.transform("count") / (by.transform("count") - 1)
    whole, columns = original.notna(), {}
    for label, values, rows in (
        ("original", original, whole),
        ("kept", original, kept),
        ("kept + recomputed", again, kept),
        ("rloo", rloo, whole),
        ("grpo:scale=none", rewards - by.transform("mean").where(by.transform("count") > 1), whole),
        ("grpo:keep_pos=0.7,keep_neg=0.5", original, kept),
    ):
        a, o, k = values[rows], original[rows], keys[rows]
        left = rewards[rows].groupby(k)
        columns[label] = statistics(a, k, tokens[rows]) | {
            "kept_rows": int(rows.sum()),
            "kept_groups": k.nunique(),
            "below_two": 0,
            "dead_groups": int(((left.nunique() == 1) & (left.count() > 1)).sum()),
            "live_groups": int((left.nunique() > 1).sum()),
            "sign_changes": (side(values.where(rows), keys)[rows] != side(original, keys)[rows]).mean(),
            "mean_abs_ratio": a.abs().mean() / o.abs().mean(),
            "rank_agreement": rank_agreement(o, a, k),
            "correlation": o.corr(a),
            "phantoms": 0,
        }
    return columns


def test_every_figure_agrees_with_pandas(expected):
    versus = [word for label in list(expected)[3:] for word in ("--vs", label)]
    body = compared(SAMPLE, *FLAGS, *versus)
    assert list(body["columns"]) == list(expected)
    for label, figures in expected.items():
        assert body["columns"][label] == pytest.approx(figures, abs=1e-9), label
    # The sample can tell the columns apart.
    assert expected["kept + recomputed"]["sign_changes"] > 0
    assert expected["kept"]["mean_abs_ratio"] == pytest.approx(1)
    assert expected["kept + recomputed"]["mean_abs_ratio"] < 0.9


def test_head_of_the_json():
    body = compared(SAMPLE, *FLAGS)
    table = pd.read_json(SAMPLE, lines=True)
    by = table.groupby(["prompt_id", "step"])["reward"]
    assert body["rows"] == len(table)
    assert body["groups"] == len(by)
    assert body["missing"] == table["reward"].isna().sum()
    assert body["singletons"] == (by.count() == 1).sum()
    assert body["dead_groups"] == ((by.nunique() == 1) & (by.count() > 1)).sum()
    assert body["kept_rows"] == body["columns"]["kept"]["kept_rows"] < body["rows"]
    assert body["settings"]["keep_pos"] == 0.7


def test_sign_changes_by_hand(tmp_path):
    # Rewards 0 6 7 8 9, mean 6: A ∝ -6 0 1 2 3. keep-pos 0.7 keeps int(3 · 0.7) = 2 of the positives, so
    # 0 6 8 9 stay with mean 5.75: the 6 was neutral and is now positive, one change in four.
    column = compared(dump(tmp_path, [0, 6, 7, 8, 9]), "--scale", "none", "--keep-pos", "0.7")["columns"]
    assert column["kept"]["sign_changes"] == 0
    assert column["kept + recomputed"]["sign_changes"] == 0.25
    # |A| before: 6 0 2 3; after: 5.75 0.25 2.25 3.25.
    assert column["kept + recomputed"]["mean_abs_ratio"] == pytest.approx(11.5 / 11)
    assert column["kept + recomputed"]["rank_agreement"] == pytest.approx(1)


def test_rank_agreement_with_ties_by_hand(tmp_path):
    # As above, and a missing reward, which stands at 0 before and after. Ranks of the kept 0 6 8 9 and of the
    # missing one: 1 2.5 4 5 2.5 before, 1 3 4 5 2 after; deviations -2 -.5 1 2 -.5 and -2 0 1 2 -1.
    args = ("--scale", "none", "--keep-pos", "0.7", "--missing", "zero")
    columns = compared(dump(tmp_path, [0, 6, 7, 8, 9, None]), *args)["columns"]
    assert columns["kept + recomputed"]["rank_agreement"] == pytest.approx(9.5 / math.sqrt(9.5 * 10))


def test_counts_of_groups_by_hand(tmp_path):
    # Kept per group: the best positive and nothing else (0 neutral, no negatives) | all of a dead group |
    # a group of one is undefined.
    body = compared(dump(tmp_path, [0, 0, 1, 2], [3, 3], [5]), "--keep-pos", "0.5", "--keep-neg", "0")
    kept = body["columns"]["kept"]
    assert (kept["kept_rows"], kept["kept_groups"], kept["below_two"], kept["dead_groups"]) == (3, 2, 1, 1)
    original = body["columns"]["original"]
    assert [original[name] for name in ("kept_rows", "kept_groups", "below_two", "dead_groups")] == [
        6,
        2,
        0,
        1,
    ]
    assert "Not enough samples to compute std: 1 group" in " ".join(body["warnings"])


def test_three_columns_and_the_promised_rows(tmp_path):
    text = run(dump(tmp_path, [0, 1, 2], [1, 1, 1]), *FLAGS).stdout
    (heading,) = re.findall(r"^ advantage .*$", text, re.MULTILINE)
    assert re.split(r" {2,}", heading.strip()) == ["advantage", *BASE]
    for row in (
        (
            "count|mean|std|min|p5|p25|median|p75|p95|max|mean |A||positive|zero|negative|kept rows|kept groups|"
            "groups with < 2 kept|dead groups|sign changes vs original|ratio of mean |A| vs original|"
            "rank agreement vs original"
        )
        .replace("|A|", "/A/")
        .split("|")
    ):
        assert re.search(rf"^ {re.escape(row.replace('/A/', '|A|'))} ", text, re.MULTILINE), row
    assert "6 rows · 2 groups of 3 rows · 1 dead group" in text


@pytest.mark.parametrize("flag", ["--compute-new-adv", "--no-compute-new-adv"])
def test_both_ways_are_always_shown(tmp_path, flag):
    body = compared(dump(tmp_path, [0, 1, 2, 5]), "--keep-neg", "0", flag)
    assert tuple(body["columns"]) == BASE
    assert body["columns"]["kept"]["mean"] != body["columns"]["kept + recomputed"]["mean"]


def test_an_estimator_without_recomputation_has_no_third_column(tmp_path):
    rows, flags = dump(tmp_path, [0, 1, 2, 5]), ("--estimator", "rloo", "--preset", "aggressive")
    columns = compared(rows, *flags, "--no-compute-new-adv", "--vs", "grpo")["columns"]
    assert list(columns) == ["original", "kept", "grpo"]
    # rloo of 5: 5 - (0 + 1 + 2) / 3.
    assert columns["original"]["max"] == pytest.approx(4)
    with pytest.raises(UsageError, match=r"^preset aggressive: compute_new_adv is defined for grpo only"):
        run(rows, *flags)


def test_versus_takes_the_rules_but_not_the_ratios(tmp_path):
    rows = dump(tmp_path, [0, 2], [None, 4], [1, 1])
    columns = compared(rows, "--keep-pos", "0", "--singleton", "raw", "--missing", "zero", "--vs", "rloo")[
        "columns"
    ]
    # rloo: -2 2, the missing one as 0 beside a raw 4, and two zeros.
    assert columns["rloo"]["kept_rows"] == 6
    assert columns["rloo"]["max"] == 4
    assert columns["rloo"]["mean"] == pytest.approx(4 / 6)
    assert columns["kept"]["kept_rows"] == 4


def test_the_same_estimator_twice_is_one_column(tmp_path):
    rows = dump(tmp_path, [0, 1, 2])
    assert list(compared(rows, "--vs", "rloo", "--vs", "rloo")["columns"]) == [*BASE, "rloo"]
    assert run(rows, "--vs", "rloo", "--vs", "rloo").stdout.count("rloo") == 1


def headings(text):
    (heading,) = re.findall(r"^ advantage .*$", text, re.MULTILINE)
    return re.split(r" {2,}", heading.strip())[1:]


@pytest.mark.parametrize(
    ("flags", "shown", "said"),
    [
        (
            (),
            ["original"],
            "showing the original only; try --keep-pos 0.7",
        ),
        (
            ("--vs", "rloo"),
            ["original", "rloo"],
            "showing the original only; try --keep-pos 0.7 --keep-neg 0.5\n",
        ),
        (
            ("--estimator", "rloo"),
            ["original"],
            "showing the original only; try --keep-pos 0.7 --keep-neg 0.5, or --vs grpo",
        ),
        (("--keep-pos", "0.5"), [*BASE], None),
        (("--before", "dynamic_sampling"), [*BASE], None),
    ],
)
def test_columns_that_would_be_as_the_original_are_not_shown(tmp_path, flags, shown, said):
    done = run(dump(tmp_path, [0, 1, 2]), *flags)
    assert headings(done.stdout) == shown
    assert ("no filter set" in done.stderr) == (said is not None)
    assert said is None or said in done.stderr
    assert "vs original" in done.stdout or len(shown) == 1


def test_json_has_them_all_the_same(tmp_path):
    assert tuple(compared(dump(tmp_path, [0, 1, 2]))["columns"]) == BASE


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--vs rlo", "unknown estimator 'rlo'; try rloo"),
        ("--vs=", "--vs names no estimator; try --vs rloo"),
        ("--estimator rloo --compute-new-adv", "compute_new_adv is defined for grpo only, not for rloo"),
        ("--vs grpo:scale", "grpo:scale: 'scale' is not KEY=VALUE"),
        ("--vs grpo:scale=batches", "unknown scale 'batches'"),
        ("--vs grpo:keep_pos=2", "keep.pos is 2, expected a share"),
        ("--vs grpo:keep_pos=half", "keep_pos is 'half', expected a number"),
        ("--vs grpo:compute_new_adv=maybe", "compute_new_adv is 'maybe', expected true or false"),
        ("--vs rloo:compute_new_adv=true", "defined for grpo only"),
        ("--vs grpo:epsilon=1", "grpo has no knob 'epsilon'"),
    ],
)
def test_wrong_versus(tmp_path, args, message):
    with pytest.raises(UsageError, match=message):
        run(dump(tmp_path, [0, 1]), *args.split())


def test_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(dump(tmp_path, [0, 1]), *FLAGS)
    assert [path.name for path in tmp_path.iterdir()] == ["f.jsonl"]


def test_talk_is_on_stderr_and_quiet_silences_it(tmp_path):
    rows = dump(tmp_path, [0, 1])
    loud, quiet = run(rows), run(rows, "--quiet")
    assert all(line.startswith("advcli: ") for line in loud.stderr.splitlines())
    assert "format generic, groups: 'prompt_id', reward: 'reward'" in loud.stderr
    assert "warning: all 2 rows are one group" in loud.stderr
    assert quiet.stderr == ""
    assert (quiet.stdout, quiet.exit_code) == ("", 0)


def test_the_bundled_sample_is_said_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*FLAGS)
    assert done.stderr.splitlines()[0] == "advcli: no input: using the bundled sample"
    assert [line for line in done.stderr.splitlines() if "sample" in line] == done.stderr.splitlines()[:1]
    assert "502 rows · 64 groups" in done.stdout
    assert run(*FLAGS, "--quiet").stderr == ""


def test_dash_is_standard_input():
    body = compared("-", stdin='{"prompt": "p", "score": 0}\n{"prompt": "p", "score": 2}\n')
    assert (body["rows"], body["settings"]["reward"]) == (2, {"score": 1.0})
    assert body["columns"]["original"]["max"] == pytest.approx(1 / math.sqrt(2))
    with pytest.raises(UsageError, match="cannot be combined with other inputs"):
        run("-", "f.jsonl", stdin="{}")
    with pytest.raises(DataError, match="<stdin>: the file is empty, expected rows"):
        run("-", stdin="")


def test_compare_as_the_design_types_it(tmp_path):
    """Piped rows are read; with nothing piped the sample is used. In a shell, where the process matters."""
    shutil.copy(dump(tmp_path, [0, 1, 2, 3]), tmp_path / "piped.jsonl")
    program = f"{sys.executable} -m advcli compare --keep-pos 0.7 --keep-neg 0.5"
    line = f"{program} </dev/null; echo ---; cat piped.jsonl | {program}"
    done = subprocess.run(
        ["bash", "-ec", line], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    sample, piped = done.stdout.split("---\n")
    assert "502 rows" in sample
    assert "4 rows · 1 group of 4 rows" in piped
    assert done.stderr.count("bundled sample") == 1
    assert max(map(len, sample.splitlines()[2:])) < 80


@pytest.mark.parametrize("flags", [(), ("--vs", "rloo"), ("--compute-new-adv",)])
def test_that_recomputing_has_no_effect_is_no_news_where_every_column_shows_it(flags):
    assert "no effect" not in run(*flags).stderr
