"""What to type to compute the advantages of a log: it gives them."""

import json
import math
import random
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from advcli.cli import app


def mean(values):
    return math.fsum(values) / len(values)


def std(values):
    return math.sqrt(math.fsum((one - mean(values)) ** 2 for one in values) / (len(values) - 1))


def z(r, eps=1e-4):
    return [(one - mean(r)) / (std(r) + eps) for one in r]


def centred(r):
    return [one - mean(r) for one in r]


def written(path, rule, *, size=6, names=("reward",), weights=(1.0,), key=lambda row: row // 6):
    """A dump whose advantages a rule made of the weighed sum of some columns, group by group."""
    draw = random.Random(8)
    rows = []
    for row in range(180):
        rewards = {name: round(draw.random(), 3) for name in names}
        rows.append({"prompt": f"p{key(row)}", "tokens": 100 + 7 * row % 90, **rewards})
    for start in range(0, len(rows), size):
        own = rows[start : start + size]
        totals = [
            math.fsum(weight * row[name] for name, weight in zip(names, weights, strict=True)) for row in own
        ]
        for row, one in zip(own, rule(totals), strict=True):
            # As a trainer logs it.
            row["advantage"] = float(np.float32(one))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def answered(path, *more):
    done = CliRunner().invoke(app, ["match", str(path), "--json", *more], catch_exceptions=False)
    return json.loads(done.stdout)


def gives_the_log(path, command):
    out = path.with_name("out.jsonl")
    words = [*shlex.split(command), "--out", str(out), "--quiet"]
    assert words[:3] == ["advcli", "compute", str(path)]
    done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert done.exit_code == 0
    return all(abs(row["adv_processed"] - row["advantage"]) < 1e-5 for row in rows)


@pytest.mark.parametrize(
    ("given", "typed"),
    [
        ({"rule": z}, "--like trl@"),
        ({"rule": lambda r: z(r, 0.07)}, ":eps=0.07"),
        ({"rule": lambda r: [one + 0.4 for one in centred(r)]}, "baseline_shift=-0.4"),
        (
            {"rule": centred, "names": ("a_reward", "b_reward"), "weights": (1.0, 0.25)},
            "--reward b_reward=0.25",
        ),
        ({"rule": z, "size": 3}, "--n 3"),
    ],
)
def test_the_command_gives_the_log(tmp_path, given, typed):
    path = written(tmp_path / "log.jsonl", **given)
    found = answered(path)
    assert found["found"], found["sentence"]
    assert typed in found["command"]
    assert gives_the_log(path, found["command"])


def test_the_command_keeps_the_columns_that_were_named(tmp_path):
    path = written(tmp_path / "log.jsonl", z, names=("goodness",))
    found = answered(path, "--reward", "goodness", "--prompt-col", "prompt", "--like", "trl")
    assert "--prompt-col prompt --reward goodness --like trl@" in found["command"]
    assert gives_the_log(path, found["command"])


def test_there_is_no_command_for_a_clamp(tmp_path):
    path = written(tmp_path / "log.jsonl", lambda r: [max(-1.0, min(1.0, one)) for one in z(r)])
    found = answered(path)
    assert found["after"]["clip"] == [-1.0, 1.0]
    assert found["command"] is None


def test_the_screen_says_what_to_type(tmp_path):
    path = written(tmp_path / "log.jsonl", lambda r: [one + 0.4 for one in centred(r)])
    shown = CliRunner().invoke(app, ["match", str(path)], catch_exceptions=False).stdout
    assert (
        f"to compute it: advcli compute {path} --like trinity-rft --estimator asymre:baseline_shift=-0.4"
        in shown
    )
    assert "trinity-rft asymre:baseline_shift=-0.4" in shown.splitlines()[0]


def test_several_files_go_to_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = written(tmp_path / "log.jsonl", z).read_text().splitlines(keepends=True)
    (tmp_path / "log.jsonl").unlink()
    (tmp_path / "run").mkdir()
    for number in range(2):
        (tmp_path / "run" / f"{number}.jsonl").write_text("".join(lines[90 * number : 90 * number + 90]))
    command = answered("run")["command"]
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--quiet"], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "adv").iterdir()]
    rows = [json.loads(line) for text in texts for line in text.splitlines()]
    assert len(rows) == 180
    assert all(abs(row["adv_processed"] - row["advantage"]) < 1e-5 for row in rows)
