"""`advcli prompts`: the figures of files written here, and what the screen looks like."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError


def run(*args):
    return CliRunner().invoke(app, ["prompts", *map(str, args)], catch_exceptions=False)


@pytest.fixture
def dump(tmp_path):
    """Prompt a: nothing, then everything right at step 10; b: uneven rollouts, one step."""
    lines = [
        {"prompt_id": "a", "step": step, "reward": int(step == 10), "response_length": 5 + step}
        for step in (10, 2, 2, 10)
        for _ in range(8)
    ]
    lines += [
        {"prompt_id": "b", "step": 2, "reward": reward, "response_length": 3} for reward in (1, 1, 1, None)
    ]
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_json(dump):
    found = json.loads(run(dump, "--json", "--k", "1,4").stdout)
    assert found["mean_over_rows"] == pytest.approx(19 / 35)
    assert found["mean_over_prompts"]["mean"] == pytest.approx(0.75)
    assert found["states"]["learned"] == found["states"]["always"] == 1
    a, b = found["shown"]
    assert a["per_step"] == [{"step": "2", "mean": 0.0}, {"step": "10", "mean": 1.0}]
    assert (a["rows"], a["change"], a["last_step"]) == (32, 1.0, "10")
    assert (a["length_right"], a["length_wrong"]) == (15, 7)
    # 1 − C(16, 4) / C(32, 4)
    assert a["pass_at"]["4"]["share"] == pytest.approx(1 - 1820 / 35960)
    assert (b["rows"], b["rewarded"], b["pass_at"]["4"]["share"]) == (4, 3, None)
    assert found["length_unit"] == "tokens"
    assert found["pass_at"]["4"]["count"] == 1


def test_the_screen_fits_80_columns(dump, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(dump).stdout
    # The line of the groups is prose, which a terminal may wrap.
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert "learned" in text
    assert "▁█" in text


def test_every_prompt_is_written(dump, tmp_path):
    for suffix, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        out = tmp_path / f"prompts.{suffix}"
        assert run(dump, "--top", 0, "--out", out).exit_code == 0
        table = read(out)
        assert table["prompt"].tolist() == ["a", "b"]
        assert table["state"].tolist() == ["learned", "always"]
    with pytest.raises(UsageError, match="exists"):
        run(dump, "--out", out)


def test_characters_where_there_are_no_tokens(tmp_path):
    """One prompt: right answers of 2 and 4 characters (an é is one), a wrong one of 7; one chat each in the second file."""
    answers = [("né", 1), ("four", 1), ("quite 7", 0)]
    for name, form in {
        "text": lambda said: said,
        "chat": lambda said: [{"role": "assistant", "content": said}],
    }.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text(
            "".join(
                json.dumps({"prompt": "p", "completion": form(said), "reward": reward}) + "\n"
                for said, reward in answers
            )
        )
        found = json.loads(run(path, "--json").stdout)
        assert (found["shown"][0]["length_right"], found["shown"][0]["length_wrong"]) == (3, 7)
        assert found["length_unit"] == "characters"
    assert "right, wrong: mean characters" in run(path).stdout


def test_where_chooses_rows(dump):
    found = json.loads(run(dump, "--where", "step == 2", "--json").stdout)
    assert (found["steps"], found["mean_over_rows"]) == (1, pytest.approx(3 / 19))


def test_what_is_refused(dump, tmp_path):
    with pytest.raises(UsageError, match="--sort nothing: no such figure"):
        run(dump, "--sort", "nothing")
    with pytest.raises(UsageError, match="--k 0"):
        run(dump, "--k", "0")
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"reward": 1}\n{"reward": 0}\n')
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"prompt_id": "a", "reward": null}\n')
    with pytest.raises(DataError, match="no row has a reward"):
        run(empty)
    with pytest.raises(DataError, match="no prompt id"):
        run(bare, "--n", 2)


def test_other_rewards_need_a_threshold(tmp_path):
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(f'{{"prompt_id": "a", "reward": {reward}}}\n' for reward in (0.1, 0.5, 0.9)))
    done = run(path, "--json")
    assert json.loads(done.stdout)["pass_at"] == {}
    assert "--pass-at" in done.stderr
    found = json.loads(run(path, "--json", "--pass-at", 0.5, "--k", 1).stdout)
    assert found["pass_at"]["1"]["mean"] == pytest.approx(2 / 3)


def test_a_figure_that_is_not_there_is_said_in_words_and_a_date_is_whole(tmp_path):
    lines = [
        {"prompt_id": name, "step": step, "reward": reward}
        for name, step, reward in [("a", "2026-01-03", 1), ("a", "2026-01-03", 0), ("b", "2026-01-03", None)]
    ]
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    screen = run(path, "--k", "1,4").stdout
    assert "pass@4: no prompt has 4 rows\n" in screen
    # No trend was tested, so there is no rate of false discoveries.
    assert "prompts: 1 drawn at one step\n" in screen
    table = [line.split() for line in screen.splitlines() if line.startswith((" a ", " b "))]
    assert table[0][:3] == ["a", "one", "step"]
    assert table[1][:2] == ["b", "–"]
    assert [row[-1] for row in table[2:]] == ["2026-01-03", "–"]


def test_rewards_near_the_largest_float_lie_between_the_lowest_and_the_highest(tmp_path):
    path = tmp_path / "dump.jsonl"
    # (−1e308 … 1e308): a mean of 2.5e307 is five eighths of the way.
    lines = [{"prompt_id": "a", "step": 1, "reward": one} for one in (1e308, -1e308, 1e308, 0.0)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    bands = json.loads(run(path, "--json").stdout)["bands"]
    assert [(band["low"], band["high"]) for band in bands if band["prompts"]] == [(0.5, 0.75)]
