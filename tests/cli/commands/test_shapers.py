"""--shape and `advcli shapers`; all numbers made by hand."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError
from advcli.shaping.catalog import SHAPINGS

# Two groups; the second is dead until its lengths count.
ROWS = [
    {"prompt": "a", "reward": 1.0, "length": 10, "turns": 1, "end": "stop", "text": "x", "H": [0.5, 1.0]},
    {"prompt": "a", "reward": 1.0, "length": 30, "turns": 2, "end": "length", "text": "x", "H": [0.0]},
    {"prompt": "a", "reward": 0.0, "length": 20, "turns": 4, "end": "stop", "text": "y", "H": [9.0]},
    {"prompt": "b", "reward": 1.0, "length": 40, "turns": 2, "end": "stop", "text": "x", "H": [0.1]},
    {"prompt": "b", "reward": 1.0, "length": 60, "turns": None, "end": None, "text": "z", "H": [0.2]},
]


def run(command, *args):
    return CliRunner().invoke(app, [command, *map(str, args)], catch_exceptions=False)


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return "f.jsonl"


def rewards(path, *steps, flags=()):
    """The shaped rewards: those of an estimator that leaves them as they are."""
    given = [word for step in steps for word in ("--shape", step)]
    out = run("compute", path, "--estimator", "reinforce", *given, *flags, "--out", "-").stdout.splitlines()
    return [json.loads(line)["adv_original"] for line in out]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["gr3:alpha=1"], [1 / 1.5, 1 / 2.5, 0, 1 / 1.8, 1 / 2.2]),
        (["kimi"], [1.5, 0.5, 0, 1.5, 0.5]),
        (["kimi:length=turns"], [1.5, 1 + 0.5 - 1 / 3, -0.5, 1, None]),
        (["r - 0.1*turns where end == 'stop'"], [0.9, 1, -0.4, 0.8, 1]),
        (["stop_properly:coef=0.5,truncated=end == 'length'"], [1, 0.5, 0, 1, 1]),
        (["duplicate:response=text"], [0.5, 0.5, 0, 1, 1]),
        (["r*2", "r + 1"], [3, 3, 1, 3, 3]),
        (["r + 1", "r*2"], [4, 4, 2, 4, 4]),
        (["r + 1", "clip:min=0,max=1.5", "r*2"], [3, 3, 2, 3, 3]),
        (["r - len(text)/10"], [0.9, 0.9, -0.1, 0.9, 0.9]),
    ],
)
def test_steps_are_done_in_their_order(path, steps, expected):
    assert rewards(path, *steps) == [value if value is None else pytest.approx(value) for value in expected]


def test_the_other_options_keep_their_places(path):
    flags = ("--overlong", "max=40,buffer=20", "--affine", "scale=2", "--clip-reward", "min=-9,max=3")
    # 1, 0.5, 1, 0 and -1 after the length; + 1; · 2; at most 3.
    assert rewards(path, "r + 1", flags=flags) == [3, 3, 2, 2, 0]


def test_an_advantage_per_token(path):
    out = run(
        "compute", path, "--estimator", "reinforce", "--shape", "entropy", "--entropy-col", "H", "--out", "-"
    )
    rows = [json.loads(line)["adv_tokens"] for line in out.stdout.splitlines()]
    assert rows == [[1.2, 1.4], [1.0], [0.0], [1.04], [1.08]]


def test_the_head_of_the_table_says_what_is_shaped(path):
    shown = run("compare", path, "--shape", "gr3", "--shape", "difficulty", "--shape", "r + 1").stdout
    assert "reward: r / (1 + 0.33 · L/mean L), then r + 1 · advantage: A · (0.4 + " in shown


def test_groups_that_shaping_brings_to_life_are_said(path):
    result = run("compare", path, "--shape", "gr3")
    assert "1 group is counted as dead but live after reward shaping" in result.stderr
    assert "alive once" not in run("compare", path, "--affine", "scale=2").stderr


def test_a_framework_takes_shaped_rewards(path):
    plain = run("compute", path, "--like", "trl", "--shape", "r*1", "--out", "-").stdout
    assert plain == run("compute", path, "--like", "trl", "--out", "-").stdout


def test_filters_and_shaping_read_their_columns(path):
    assert rewards(path, "r + turns", flags=("--before", "where:turns < 4")) == [2, 3, None, 3, None]


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ("gr4", UsageError, "unknown shaper 'gr4'; try gr3"),
        ("linear:turns=0", UsageError, "--shape linear needs the input tokens of each row: input_tokens"),
        ("r - text", DataError, "f.jsonl:1: 'text' is 'x', expected a number"),
        ("r - txt", UsageError, "no column 'txt'"),
        ("r + men(len)", UsageError, "no function 'men' at character 5"),
        ("entropy", DataError, "--shape entropy needs the entropy of each token"),
        ("affine:scale=1", None, ""),
    ],
)
def test_what_makes_no_sense(path, shape, error, message):
    if error is None:
        assert run("compare", path, "--shape", shape).exit_code == 0
        return
    with pytest.raises(error) as caught:
        run("compare", path, "--shape", shape)
    assert message in str(caught.value)


def test_a_length_that_is_needed_is_asked_for(path):
    Path("g.jsonl").write_text(
        '{"prompt": "a", "reward": 1}\n{"prompt": "a", "reward": 0}\n', encoding="utf-8"
    )
    with pytest.raises(DataError, match=r"--shape gr3 needs the tokens of each row, .*--length-col COL"):
        run("compare", "g.jsonl", "--shape", "gr3")
    with pytest.raises(DataError, match="--shape needs the tokens of each row"):
        run("compare", "g.jsonl", "--shape", "r - len/10")


def test_the_table_of_shapers():
    heading, *rows = run("shapers").stdout.splitlines()
    assert heading.split() == ["name", "shapes", "how"]
    assert [row.split()[0] for row in rows] == list(SHAPINGS.names())
    assert max(map(len, rows)) <= 80


def test_one_shaper():
    shown = run("shapers", "gr3").stdout
    assert "knobs        alpha=0.33" in shown
    assert "length=EXPR  the tokens of each row, over columns; --length-col COL" in shown


def test_each_shape_of_a_sweep_is_a_point(path):
    shapes = ("none", "gr3", "r + turns; clip:min=0,max=2")
    given = [word for shape in shapes for word in ("--shape", shape)]
    found = json.loads(run("sweep", path, "--scale", "none", "--json", *given).stdout)
    assert [point["shape"] for point in found["points"]] == [None, "gr3", shapes[2]]
    # 2, 2 and 2 (of 4) in the first group: nothing is left of it.
    assert found["points"][0]["mean_abs"] == pytest.approx((1 / 3 + 1 / 3 + 2 / 3) / 5)
