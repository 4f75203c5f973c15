"""`advcli verify`: figures by hand, and the groups that are named."""

import json

import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError


def run(*args):
    return CliRunner().invoke(app, ["verify", *map(str, args)], catch_exceptions=False)


@pytest.fixture
def dump(tmp_path):
    """Prompt, step, source, the rewards of A and B, and the response."""
    rows = [
        # A all wrong, and three of four rows say 7; B finds two right: live through B only.
        ("p", 1, "web", 0, 1, "#### 7"),
        ("p", 1, "web", 0, 1, r"\boxed{7}"),
        ("p", 1, "web", 0, 0, "#### 7"),
        ("p", 1, "web", 0, 0, "#### 8"),
        # Live in both; the third and fourth row change sides.
        ("q", 2, "book", 1, 1, "x"),
        ("q", 2, "book", 0, 0, "x"),
        ("q", 2, "book", 1, 0, "x"),
        ("q", 2, "book", 0, 1, "x"),
        # All wrong, no answer that most give; one row without B.
        ("r", 2, "book", 0, 0, "#### 1"),
        ("r", 2, "book", 0, 0, "#### 2"),
        ("r", 2, "book", 0, None, "#### 2"),
    ]
    names = ("prompt_id", "step", "source", "reward", "judge", "response")
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    return path


def test_two_rewards_of_the_same_rows(dump):
    found = json.loads(run(dump, "--vs-reward", "judge", "--by", "source", "--json").stdout)
    every = found["every"]
    assert [every[name] for name in ("both", "only_a", "only_b", "neither")] == [1, 1, 3, 5]
    # Agreement 0.6; by chance 0.2 · 0.4 + 0.8 · 0.6 = 0.56.
    assert every["kappa"]["share"] == pytest.approx((0.6 - 0.56) / 0.44)
    assert found["false_negative"]["share"] == pytest.approx(3 / 4)
    assert found["false_positive"]["share"] == pytest.approx(1 / 6)
    assert found["live"] == {"both": 1, "only A": 0, "only B": 1, "neither": 1}
    assert found["sign_changes"] == 2
    assert [(one["name"], one["only_b"]) for one in found["by"]["step"]] == [("1", 2), ("2", 1)]
    assert [(one["name"], one["only_a"]) for one in found["by"]["source"]] == [("web", 0), ("book", 1)]
    assert [one["name"] for one in found["by"]["prompt"]] == ["p", "q"]


def test_groups_that_are_all_wrong_with_one_answer(dump):
    found = json.loads(run(dump, "--json").stdout)
    assert found["all_wrong"] == 2
    first, second = found["same_answer"]
    assert (first["prompt"], first["answer"], first["share"], first["rows"]) == ("p", "7", 0.75, 4)
    assert (second["prompt"], second["answer"], second["share"]) == ("r", "2", pytest.approx(2 / 3))
    assert first["place"] == f"{dump}:1"
    assert found["every"] is None
    named = json.loads(run(dump, "--answer", "source", "--json").stdout)["same_answer"]
    assert [(one["answer"], one["share"]) for one in named] == [("web", 1), ("book", 1)]


def test_the_screen_fits_80_columns(dump, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(dump, "--vs-reward", "judge").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "agreement: 60.0% of 10 rows" in text


@pytest.fixture
def judged(tmp_path):
    """The rows of a second judge in another order and under other names; one row of A is not there, one is new."""
    rows = [
        ("p", 0, "d", 0),
        ("p", 0, "c", 1),
        ("q", 1, "e", 1),
        ("p", 0, "a", 1),
        ("q", 1, "f", 0),
        ("q", 1, "x", 1),
    ]
    path = tmp_path / "judge.jsonl"
    names = ("uid", "step", "said", "score")
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    return path


@pytest.fixture
def first(tmp_path):
    rows = [
        ("p", 0, "a", 1),
        ("p", 0, "b", 0),
        ("p", 0, "c", 0),
        ("p", 0, "d", 0),
        ("q", 1, "e", 0),
        ("q", 1, "f", 1),
    ]
    path = tmp_path / "first.jsonl"
    names = ("prompt_id", "step", "response", "reward")
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    return path


B = ("--b", "reward=score", "--b", "prompt-col=uid", "--b", "join=said", "--join", "response")


def test_two_inputs_are_paired_row_by_row(first, judged, tmp_path):
    out = tmp_path / "rows.jsonl"
    found = json.loads(run(first, judged, *B, "--out", out, "--json").stdout)
    # a: 1 and 1, c: 0 and 1, d: 0 and 0, e: 0 and 1, f: 1 and 0; b is only in A, x only in B.
    assert [found["every"][name] for name in ("both", "only_a", "only_b", "neither")] == [1, 1, 2, 1]
    assert (found["only_a"], found["only_b"], found["b"]) == (1, 1, "score")
    assert found["paired_by"] == "'response' and 'said'"
    assert found["inputs"] == [str(first), str(judged)]
    # p without b: A has a above the mean, c and d below; B has a and c above. q: both rows change sides.
    assert found["sign_changes"] == 3
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["place"], row["reward_a"], row["reward_b"], row["right"]) for row in rows] == [
        (f"{first}:3", 0, 1, "B"),
        (f"{first}:5", 0, 1, "B"),
        (f"{first}:6", 1, 0, "A"),
    ]
    assert all(row["changes_sign"] for row in rows)


def test_the_same_file_twice_is_paired_by_place(dump):
    two = json.loads(run(dump, dump, "--b", "reward=judge", "--json").stdout)
    one = json.loads(run(dump, "--vs-reward", "judge", "--json").stdout)
    own = ("inputs", "paired_by", "only_a", "only_b", "warnings")
    assert {key: two[key] for key in two if key not in own} == {
        key: one[key] for key in one if key not in own
    }
    assert two["paired_by"] == "their place in the same files"


def test_groups_that_are_all_wrong_are_written(dump, tmp_path):
    out = tmp_path / "groups.csv"
    run(dump, "--out", out)
    assert out.read_text().splitlines()[:2] == [
        "prompt,step,answer,share,rows,place",
        f"p,1,7,0.75,4,{dump}:1",
    ]


def test_what_two_inputs_do_not_have(first, judged):
    with pytest.raises(DataError, match="the rows of A"):
        run(first, judged, "--b", "reward=score", "--b", "prompt-col=uid")
    with pytest.raises(UsageError, match="--join is for two INPUTs"):
        run(first, "--join", "response")
    with pytest.raises(UsageError, match=r"B .*no column 'nothing'.*--b OPTION=VALUE"):
        run(first, judged, "--b", "reward=nothing")
    with pytest.raises(UsageError, match="--b estimator=rloo: expected OPTION=VALUE"):
        run(first, judged, "--b", "estimator=rloo")
    with pytest.raises(UsageError, match="read as one data set"):
        run(first, judged, "--together", "--join", "response")


def test_what_is_refused(dump, tmp_path):
    with pytest.raises(UsageError, match="verify does not run on Ray"):
        run(dump, "--engine", "ray")
    with pytest.raises(UsageError, match="no column 'nothing'"):
        run(dump, "--answer", "nothing")
    path = tmp_path / "three.jsonl"
    path.write_text("".join(f'{{"prompt_id": "a", "reward": {reward}}}\n' for reward in (0, 0.5, 1)))
    with pytest.raises(UsageError, match=r"from 0 to 1.*--pass-at"):
        run(path)


def test_the_reward_of_a_is_no_second_verifier(dump):
    with pytest.raises(UsageError, match="--vs-reward reward is the reward of A too; try another column"):
        run(dump, "--reward", "reward", "--vs-reward", "reward")


def test_noise_is_left_out_without_a_group_of_two(tmp_path):
    alone = tmp_path / "alone.jsonl"
    alone.write_text('{"prompt": "p", "response": "a", "reward": 1}\n')
    assert "noise" not in run(alone).stdout


def test_two_inputs_without_a_row_in_common_say_by_what(dump, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"prompt_id": "p", "step": 1, "reward": 1, "response": "never said"}\n')
    with pytest.raises(DataError, match="have no row in common by 'response'; try another --join COL"):
        run(dump, other, "--join", "response")


def test_two_columns_without_a_row_in_common_are_named(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"prompt": "p", "a": 1, "b": null}\n{"prompt": "p", "a": null, "b": 0}\n')
    with pytest.raises(
        DataError, match="no row has both rewards, 'a' of A and 'b' of B; try another --reward or"
    ):
        run(path, "--reward", "a", "--vs-reward", "b")
