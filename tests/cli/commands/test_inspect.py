"""`advcli inspect` as a user runs it: what is on the screen, in the JSON, and in the exit code."""

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
import references_inspect as plain
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import UsageError

SAMPLE = Path(__file__).parents[3] / "sample_data" / "rewards.jsonl"


def run(*args, stdin=None):
    """Run in this process; an error of ours is raised as it is."""
    return CliRunner().invoke(app, ["inspect", *map(str, args)], input=stdin, catch_exceptions=False)


def inspected(*args, stdin=None):
    done = run(*args, "--json", stdin=stdin)
    return json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} in strict JSON"))


def dump(tmp_path, rows, name="f.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_file(tmp_path, rows):
    """The rows of a messy data set as a dump."""
    return dump(
        tmp_path,
        [
            {
                "uid": f"g{row['group']}",
                "step": row["step"],
                "reward": None if math.isnan(row["reward"]) else row["reward"],
                "length": None if math.isnan(row["length"]) else row["length"],
                "acc": None if math.isnan(row["parts"][0]) else row["parts"][0],
                "source": "odd" if row["group"] % 2 else "even",
                "response": f"answer {place}",
            }
            for place, row in enumerate(rows)
        ],
    )


@pytest.mark.parametrize("seed", range(3))
def test_counts_of_a_messy_dump(seed, tmp_path):
    rows = [row for row in plain.messy(seed) if row["group"] >= 0]
    found = inspected(as_file(tmp_path, rows))
    groups = plain.by_group(rows)
    dead = [values for values in groups.values() if plain.is_dead(values)]
    values = [value for members in groups.values() for value in members]
    assert found["rows"] == len(rows)
    assert found["groups"] == 40
    assert found["steps"] == 5
    assert found["dead_groups"] == len(dead)
    assert found["dead_groups_all_max"] == sum(members[0] == max(values) for members in dead)
    assert found["dead_groups_all_min"] == sum(members[0] == min(values) for members in dead)
    assert found["singletons"] == sum(len(members) == 1 for members in groups.values())
    assert found["missing"] == found["missing_by_cause"]["null"] == len(rows) - len(values)
    assert found["duplicates"] == 0
    assert found["format"] == "generic"
    assert found["columns"]["outcomes"] == ["acc"]
    assert [one["name"] for one in found["rewards"]] == ["reward", "acc"]
    sizes = pd.Series([row["group"] for row in rows]).value_counts().value_counts()
    assert found["group_sizes"] == {str(size): int(many) for size, many in sizes.items()}


def test_constant_outcome_counts_groups_alive_through_shaping(tmp_path):
    rows = [row for row in plain.messy(0) if row["group"] >= 0]
    found = inspected(as_file(tmp_path, rows))
    expected = 0
    for group, values in plain.by_group(rows).items():
        first = {row["parts"][0] for row in rows if row["group"] == group and not math.isnan(row["reward"])}
        expected += plain.is_live(values) and len(first) == 1
    assert expected > 0
    assert found["constant_outcome"] == {"acc": expected}


def test_outcome_by_its_name_and_with_gaps(tmp_path):
    rows = [
        {"uid": g, "reward": r, "raw": raw}
        for g, r, raw in [
            ("a", 1, 0),
            ("a", 2, 0),
            ("b", 1, None),
            ("b", 2, 1),
            ("c", 1, None),
            ("c", 2, None),
        ]
    ]
    path = dump(tmp_path, rows)
    assert inspected(path)["constant_outcome"] == {}
    # Where an outcome is missing, the group is not known to be constant.
    found = inspected(path, "--outcome", "raw")
    assert found["constant_outcome"] == {"raw": 1}
    assert found["rewards"][1]["missing_by_cause"]["null"] == 3


def test_by_splits_every_figure(tmp_path):
    rows = [row for row in plain.messy(1) if row["group"] >= 0]
    whole = inspected(as_file(tmp_path, rows), "--by", "source")
    assert whole["by"]["column"] == "source"
    for value, odd in (("odd", 1), ("even", 0)):
        alone = tmp_path / value
        alone.mkdir()
        expected = inspected(as_file(alone, [row for row in rows if row["group"] % 2 == odd]))
        found = whole["by"]["values"][value]
        assert {*found} == {*expected} - {
            *("format", "files", "columns", "group_rule", "lint", "duplicates", "settings"),
            *("by", "details", "fail_if", "schema", "dead_causes", "rollouts", "off_policy"),
        }
        for name in found.keys() - {"phantoms"}:
            assert found[name] == expected[name], name
    # What a group gets is that of the whole data set, as --like gives it.
    odd, even = (part["phantoms"] for part in whole["by"]["values"].values())
    for rule, first, second in zip(whole["phantoms"], odd, even, strict=True):
        assert rule["rows"] == first["rows"] + second["rows"]
        assert rule["groups"] == first["groups"] + second["groups"]
        assert rule["max_abs_adv"] == max(first["max_abs_adv"], second["max_abs_adv"])


def test_by_with_mixed_groups_and_null(tmp_path):
    rows = [
        {"uid": "a", "reward": 0, "source": "x"},
        {"uid": "a", "reward": 1, "source": None},
        {"uid": "a", "reward": 1, "source": "x"},
    ]
    found = inspected(dump(tmp_path, rows), "--n", 3, "--by", "source")
    assert {value: part["rows"] for value, part in found["by"]["values"].items()} == {"x": 2, "null": 1}
    assert "1 group has rows of several values of 'source', and is split" in found["lint"]


def test_parts_in_json_add_up():
    found = inspected(SAMPLE, "--reward", "accuracy_reward", "--reward", "format_reward=0.5")
    assert [(part["name"], part["weight"]) for part in found["parts"]["parts"]] == [
        ("accuracy_reward", 1.0),
        ("format_reward", 0.5),
    ]
    assert sum(part["share"] for part in found["parts"]["parts"]) == pytest.approx(1)
    assert [one["name"] for one in found["rewards"]][:3] == ["sum", "accuracy_reward", "format_reward"]
    rows = pd.read_json(SAMPLE, lines=True)
    for one in found["rewards"][1:3]:
        assert one["missing"] == int(rows[one["name"]].isna().sum())


def test_advantage_is_that_of_the_settings():
    frame = pd.read_json(SAMPLE, lines=True)
    by = frame.groupby(["prompt_id", "step"])["reward"]
    rloo = (frame["reward"] - by.transform("mean")) * by.transform("count") / (by.transform("count") - 1)
    found = inspected(SAMPLE, "--estimator", "rloo")
    assert found["max_abs_adv"] == pytest.approx(rloo.abs()[by.transform("count") > 1].max())
    assert found["settings"]["estimator"] == "rloo"


def test_keep_ratios_of_a_configuration_do_not_matter():
    plainly = inspected(SAMPLE)
    config = SAMPLE.parent / "easyr1.yaml"
    assert inspected(SAMPLE, "--config", config)["max_abs_adv"] == plainly["max_abs_adv"]
    # Recomputing is for grpo only, and would be refused beside rloo.
    assert (
        inspected(SAMPLE, "--config", config, "--estimator", "rloo")["settings"]["compute_new_adv"] is False
    )
    refused = run(SAMPLE, "--keep-pos", "0.5")
    assert refused.exit_code == 2
    assert "No such option: --keep-pos" in refused.stderr


# Single groups and rows.


@pytest.fixture
def small(tmp_path):
    rows = [
        ("a", 1, 0.0, "first\nline"),
        ("a", 1, 1.0, "x" * 300),
        ("a", 1, 1.0, "short"),
        ("b", 1, 2.0, "b1"),
        ("b", 1, 2.0, "b2"),
        ("a", 2, 0.0, "again"),
        ("a", 2, 5.0, "日本語" * 60),
        ("c", 2, None, "none"),
        ("c", 2, 3.0, "alone"),
    ]
    names = ("uid", "step", "reward", "response")
    return dump(tmp_path, [dict(zip(names, row, strict=True)) for row in rows])


def lines(*args):
    (detail,) = inspected(*args)["details"]
    return detail["lines"]


def test_step_shows_its_groups(small):
    found = lines(small, "--step", 1)
    assert [(line["prompt"], line["rows"], line["valid"], line["dead"]) for line in found] == [
        ("a", 3, 3, False),
        ("b", 2, 2, True),
    ]
    assert found[0]["reward_mean"] == pytest.approx(2 / 3)
    assert found[0]["max_abs_adv"] == pytest.approx((2 / 3) / math.sqrt(1 / 3))
    assert found[1]["max_abs_adv"] == 0


def test_a_group_without_an_advantage_is_undefined(small):
    found = lines(small, "--step", 2)
    assert [line["max_abs_adv"] is None for line in found] == [False, True]
    assert found[1]["prompt"] == "c"


def test_group_by_its_key_and_by_its_number(small):
    found = lines(small, "--group", "a")
    assert [(line["step"], line["reward"]) for line in found] == [
        ("1", 0),
        ("1", 1),
        ("1", 1),
        ("2", 0),
        ("2", 5),
    ]
    assert found[0]["text"] == "first\nline"
    assert found[0]["place"].endswith("f.jsonl:1")
    assert [line["text"] for line in lines(small, "--group", "a", "--step", 2)] == ["again", "日本語" * 60]
    assert [line["text"] for line in lines(small, "--group", "#1")] == ["b1", "b2"]


def test_top_and_bottom(small):
    top, bottom = inspected(small, "--top", 2, "--bottom", 2)["details"]
    assert [line["text"] for line in top["lines"]] == ["first\nline", "again"]
    assert [line["text"] for line in bottom["lines"]] == ["b1", "b2"]
    assert [line["reward"] for line in lines(small, "--top", 1, "--step", 2)] == [0.0]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--step", "7"), "no step '7'; try 1 or 2"),
        (("--group", "zzz"), "no group 'zzz'; try the whole text of uid.*'#0' to '#3'"),
        (("--group", "#9"), "no group '#9'"),
        (("--group", f"#{10**20}"), "no group '#1000"),
        (("--group", "b", "--step", "2"), "no group 'b'"),
        (("--by", "nope"), "no column 'nope'"),
        (("--outcome", "nope"), "no column 'nope'"),
        (("--fail-if", "alive > 1"), "no figure 'alive'"),
    ],
)
def test_what_is_not_there(small, args, message):
    with pytest.raises(UsageError, match=message):
        run(small, *args)


def test_step_without_a_step_column(tmp_path):
    path = dump(tmp_path, [{"uid": "a", "reward": 1}, {"uid": "a", "reward": 0}])
    with pytest.raises(UsageError, match="no step column; try --step-col"):
        run(path, "--step", 1)
    assert inspected(path)["per_step"] == []
    assert inspected(path)["steps"] == 0


def test_one_row_per_prompt_has_rewards_and_no_groups(tmp_path):
    found = inspected(dump(tmp_path, [{"uid": n, "reward": n % 2} for n in range(4)]))
    assert (found["rows"], found["groups"], found["singletons"], found["live_groups"]) == (4, 4, 4, 0)
    assert found["rewards"][0]["mean"] == 0.5
    assert found["rewards"][0]["variance"]["between_unbiased"] is None
    (text,) = [text for text in found["lint"] if text.startswith("each of 4 prompts has one row")]
    assert "'uid' differs in all of them" in text
    assert text.endswith("try --estimator batch_norm, which compares all rows")


def test_rows_without_any_prompt_have_rewards_and_no_groups(tmp_path):
    rows = [{"step": n // 8, "reward": n % 4, "response_length": 7 + n} for n in range(16)]
    path = dump(tmp_path, rows)
    found = inspected(path)
    assert (found["rows"], found["groups"], found["singletons"], found["steps"]) == (16, 16, 16, 2)
    assert found["group_rule"] == "none, as there is no prompt id"
    assert found["rewards"][0]["mean"] == 1.5
    assert [step["reward_mean"] for step in found["per_step"]] == [1.5, 1.5]
    assert any(text.startswith("no prompt id, so each row is a group of its own") for text in found["lint"])
    # What the hint says works.
    assert inspected(path, "--n", 4)["live_groups"] == 4
    assert max(map(len, run(path).stdout.splitlines()[1:])) <= 80


def test_a_value_without_a_usable_row_is_not_shown(tmp_path):
    path = dump(tmp_path, [{"uid": "a", "reward": 2}, {"uid": "a", "reward": 0.5}, {"reward": 0.5}])
    flags = ("--by", "uid", "--on-bad-row", "skip")
    values = inspected(path, *flags)["by"]["values"]
    assert [(one["rows"], one["groups"]) for one in values.values()] == [(2, 1)]
    assert "1 bad row skipped" in run(path, *flags).stdout


def test_rows_that_are_left_out_are_in_no_figure(tmp_path):
    rows = [
        {"uid": f"{step} {n // 2}", "step": step, "reward": float(n % 2), "score": None, "tokens": 10 * step}
        for step in (1, 2)
        for n in range(4)
    ]
    rows[4]["score"] = 1.0
    found = inspected(
        dump(tmp_path, rows), "--where", "step == 1", "--reward", "reward", "--length-col", "tokens"
    )
    assert (found["rows"], found["groups"], found["steps"]) == (4, 2, 1)
    assert [(one["step"], one["rows"]) for one in found["per_step"]] == [("1", 4)]
    assert found["length"]["mean"] == 10


def test_one_reward_is_said(tmp_path):
    path = dump(tmp_path, [{"uid": n // 3, "reward": 0.0, "response": "a"} for n in range(6)])
    found = inspected(path)
    assert found["rewards"][0]["at_max"] is None
    assert (found["dead_groups"], found["dead_groups_all_max"], found["dead_groups_all_min"]) == (2, 0, 0)
    assert "'reward' is 0 in all 6 rows: no group can be live" in run(path).stdout


def test_all_min_is_known_where_another_value_has_the_other_end(tmp_path):
    rows = [{"uid": n // 2, "reward": float(n > 5), "source": "a" if n < 4 else "b"} for n in range(8)]
    values = inspected(dump(tmp_path, rows), "--by", "source")["by"]["values"]
    assert (values["a"]["dead_groups_all_max"], values["a"]["dead_groups_all_min"]) == (0, 2)


def rollouts(uid, reward, texts, ends=("stop",) * 4, errors=(None,) * 4):
    return [
        {"uid": uid, "reward": reward, "response": text, "finish_reason": end, "error": error}
        for text, end, error in zip(texts, ends, errors, strict=True)
    ]


def test_why_groups_are_dead(tmp_path):
    rows = rollouts("collapsed", 1, ["same", "same", "same", "other"])
    rows += rollouts("half", 1, ["same", "same", "x", "y"])
    rows += rollouts("cut", 0, list("abcd"), ("length",) * 4)
    rows += rollouts("cut in part", 0, list("abcd"), ("length", "length", "length", "stop"))
    rows += rollouts("failed", 0, ["", "", "", ""], errors=("boom",) * 4)
    rows += rollouts("in between", 0.5, list("abcd"))
    rows = [{**row, "answer": "42"} for row in rows]
    rows += [dict(row, reward=n) for n, row in enumerate(rollouts("live", 0, list("aaaa")))]
    found = inspected(dump(tmp_path, rows))["dead_causes"]
    assert found == {
        "groups": 6,
        "all_max": 0,
        "all_min": 3,
        "read": 6,
        "same_text": 1,
        "truncated": 1,
        "truncated_by": "finish_reason",
        "failed": 1,
        "failed_by": "error",
        "unexplained": 3,
        "constant_parts": {},
    }


def test_the_right_answer_is_no_response(tmp_path):
    rows = [{"uid": n // 2, "reward": n // 4, "answer": "42", "error": math.nan} for n in range(8)]
    found = inspected(dump(tmp_path, rows))["dead_causes"]
    assert (found["groups"], found["same_text"], found["failed"], found["unexplained"]) == (4, None, 0, 4)


def test_parts_that_are_constant_in_dead_groups(tmp_path):
    # In b the two parts cancel each other.
    cells = [("a", 1, 0), ("a", 1, 0), ("b", 1, 0), ("b", 0, 1), ("c", 0, 0), ("c", 1, 0)]
    rows = [{"uid": uid, "acc": one, "fmt": two, "response_length": 5} for uid, one, two in cells]
    flags = ("--reward", "acc", "--reward", "fmt")
    found = inspected(dump(tmp_path, rows), *flags)["dead_causes"]
    assert found["constant_parts"] == {"acc": 1, "fmt": 1}
    assert (found["groups"], found["same_text"], found["truncated"], found["failed"]) == (2, None, None, None)


def test_rows_that_end_at_the_longest_length_are_truncated(tmp_path):
    lengths = [16, 16, 16, 9, 3, 16]
    rows = [{"uid": n // 2, "reward": 0, "response_length": one} for n, one in enumerate(lengths)]
    rows.append({"uid": 2, "reward": 1, "response_length": 4})
    found = inspected(dump(tmp_path, rows))["dead_causes"]
    assert (found["groups"], found["truncated"], found["truncated_by"]) == (2, 1, "length 16, the longest")


def test_a_step_stands_out_by_its_rewards_where_the_scale_hides_them(tmp_path):
    """Scaled advantages are the same at every step: one with rewards a hundred times as large is found."""
    rows = [
        {"uid": f"{step}-{n // 4}", "step": step, "reward": (n % 2) * (100.0 if step == 7 else 1.0)}
        for step in range(10)
        for n in range(8)
    ]
    path = dump(tmp_path, rows)
    steps = {one["step"]: one for one in inspected(path)["per_step"]}
    assert len({round(one["max_abs_adv"], 6) for one in steps.values()}) == 1
    assert [name for name, one in steps.items() if one["outlier"]] == ["7"]
    assert steps["7"]["stands_out"] == ["reward_mean", "max_abs_reward", "max_abs_centred"]
    assert (steps["7"]["max_abs_reward"], steps["7"]["max_abs_centred"]) == (100, 50)
    said = "! step 7: mean reward 50, max |r| 100, max |r − group mean| 50"
    assert said in " ".join(run(path).stdout.split())
    first = inspected(path, "--step", 7)["details"][0]
    assert first["title"] == "groups of step 7, largest |r − group mean| first"
    assert first["lines"][0]["max_abs_centred"] == 50


# Pipelines.


@pytest.mark.parametrize(
    ("conditions", "code", "held"),
    [
        (["missing > 0"], 1, ["missing is 4"]),
        (["missing > 4"], 0, []),
        (["missing > 9", "dead > 0.1", "singletons >= 1"], 1, ["dead is 0.126984", "singletons is 1"]),
    ],
)
def test_fail_if(conditions, code, held, advcli):
    flags = [text for condition in conditions for text in ("--fail-if", condition)]
    done = advcli("inspect", SAMPLE, *flags)
    assert done.returncode == code
    talk = done.stderr.decode()
    assert [line.split("is true: ")[1] for line in talk.splitlines() if "is true: " in line] == held
    # The answer is there all the same.
    assert "502 rows" in done.stdout.decode()
    quiet = advcli("inspect", SAMPLE, "-q", *flags)
    assert (quiet.returncode, quiet.stdout) == (code, b"")
    assert quiet.stderr.decode() == talk


def test_fail_if_in_json(advcli):
    done = advcli("inspect", SAMPLE, "--json", "--fail-if", "missing > 0", "--fail-if", "conflicts > 0")
    assert done.returncode == 1
    assert json.loads(done.stdout)["fail_if"] == [
        {"condition": "missing > 0", "value": 4.0, "held": True},
        {"condition": "conflicts > 0", "value": None, "held": False},
    ]
    assert "conflicts is undefined here" in done.stderr.decode()


def test_standard_input(advcli):
    done = advcli("inspect", "-", "--json", stdin=SAMPLE.read_bytes())
    assert json.loads(done.stdout)["rows"] == 502


# The screen.


@pytest.mark.parametrize(
    "args", [(), ("--top", 3), ("--step", 2), ("--group", "#0"), ("--estimator", "rloo")]
)
def test_screen_fits_80_columns(args):
    shown = run(SAMPLE, *args).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.splitlines()[1] == "502 rows · 64 groups (62 of 8 rows, 1 of 5, 1 of 1) · 4 steps"
    assert not re.search(r"\d{12}", shown)


@pytest.mark.parametrize("args", [("--format", "generic", "--reward", "accuracy_reward"), ()])
def test_screen_is_short(args):
    # With one reward column and with three.
    assert len(run(SAMPLE, *args).stdout.splitlines()) <= 50


def test_no_verdict_on_the_screen(small):
    for args in ((SAMPLE,), (small,), (small, "--step", 1)):
        words = run(*args).stdout.lower()
        assert not any(word in words for word in ("hack", "healthy", "bad", "good", "suspicious"))


def test_text_is_cut_to_the_width(small):
    shown = run(small, "--group", "a").stdout.splitlines()
    (long,) = [line for line in shown if "xxx" in line]
    assert long.endswith("…")
    assert len(long) <= 80
    assert any("first line" in line for line in shown)


# The documentation.


def documented():
    text = (SAMPLE.parents[1] / "docs" / "inspect.md").read_text()
    found, section = {}, ""
    for line in text.splitlines():
        if line.startswith("### `"):
            section = line.removeprefix("### `").rstrip("`")
        elif section and (match := re.match(r"\| `(\w+)` \|", line)):
            found.setdefault(section, set()).add(match[1])
    return found


def test_documented_keys_are_those_printed(small, tmp_path):
    whole = inspected(
        SAMPLE,
        "--reward",
        "accuracy_reward",
        "--reward",
        "format_reward",
        "--by",
        "step",
        "--top",
        1,
        "--fail-if",
        "missing > 0",
    )
    groups = inspected(small, "--step", 1)["details"][0]["lines"][0]
    lists = [{"prompt_id": "a", "reward": reward, "turn_rewards": [reward]} for reward in (0.0, 1.0)]
    turns = inspected(dump(tmp_path, lists, "turns.jsonl"))["rollouts"]
    states = [
        {"prompt_id": "a", "traj_id": rollout, "turn": turn, "reward": rollout, "state_hash": f"s{turn}"}
        for rollout in (0, 1)
        for turn in (0, 1)
    ]
    anchors = inspected(dump(tmp_path, states, "states.jsonl"))["rollouts"]["anchors"]
    both = [{**row, "rollout_log_probs": [-1.0], "old_log_probs": [-1.5]} for row in lists]
    off_policy = inspected(dump(tmp_path, both, "both.jsonl"))["off_policy"]
    printed = {
        "inspect": whole,
        "rollouts": turns,
        "rollouts.by_turns[]": turns["by_turns"][0],
        "rollouts.anchors": anchors,
        "columns": whole["columns"],
        "dead_causes": whole["dead_causes"],
        "off_policy": off_policy,
        "rewards[]": whole["rewards"][0],
        "variance": whole["rewards"][0]["variance"],
        "p_dead[]": whole["rewards"][0]["p_dead"][0],
        "phantoms[]": whole["phantoms"][0],
        "parts": whole["parts"],
        "parts.parts[]": whole["parts"]["parts"][0],
        "length": whole["length"],
        "per_step[]": whole["per_step"][0],
        "by": whole["by"],
        "details[]": whole["details"][0],
        "details[].lines[], rows": whole["details"][0]["lines"][0],
        "details[].lines[], groups": groups,
        "fail_if[]": whole["fail_if"][0],
    }
    assert documented() == {section: {*keys} for section, keys in printed.items()}
