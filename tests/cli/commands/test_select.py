"""`advcli select`: the files that are written, read by the reader that `datasets` uses."""

import json

import pyarrow.json as reader
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError


def run(*args):
    return CliRunner().invoke(app, ["select", *map(str, args)], catch_exceptions=False)


def line(prompt, reward, response, step=1):
    return {"prompt": prompt, "step": step, "reward": reward, "response": response}


@pytest.fixture
def dump(tmp_path):
    lines = [
        line("p", 0, "wrong"),
        line("p", 1, None),
        line("p", 1, "right/né"),
        line("q", 0, "no"),
        line("q", 0, "never"),
        line("r", None, "lost"),
        line("r", 1, "yes"),
        line("p", 1, "later", step=2),
        line("p", 0, "", step=2),
    ]
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def selected(dump, kind, *args):
    out = dump.with_name("out.jsonl")
    done = run(dump, "--as", kind, "--out", out, "--force", *args)
    assert done.exit_code == 0
    return reader.read_json(out).to_pylist()


def test_the_best_row_of_each_prompt_with_a_text(dump):
    assert selected(dump, "sft") == [
        {"prompt": "p", "completion": "right/né", "source": str(dump), "line": 3, "reward": 1},
        {"prompt": "r", "completion": "yes", "source": str(dump), "line": 7, "reward": 1},
    ]
    assert [one["line"] for one in selected(dump, "sft", "--min", 0)] == [3, 4, 7]


def test_pairs(dump):
    (one,) = selected(dump, "dpo")
    assert (one["prompt"], one["chosen"], one["rejected"]) == ("p", "right/né", "wrong")
    assert (one["chosen_line"], one["rejected_line"]) == (3, 1)
    assert (one["chosen_reward"], one["rejected_reward"]) == (1, 0)
    every = selected(dump, "dpo", "--all-pairs")
    assert [(pair["chosen_line"], pair["rejected_line"]) for pair in every] == [(3, 1), (8, 1)]


def test_prompts(dump):
    assert [(one["prompt"], one["solved"]) for one in selected(dump, "prompts")] == [
        ("p", 0.6),
        ("q", 0),
        ("r", 1),
    ]
    (one,) = selected(dump, "prompts", "--band", "0.1:0.9")
    # Two of the five rows of p: C(3, 2) + C(2, 2) of the 10 pairs are equal.
    assert (one["prompt"], one["live_chance"], one["line"]) == ("p", pytest.approx(0.6), 1)
    assert [one["prompt"] for one in selected(dump, "prompts", "--top", 1)] == ["p"]


def test_a_chat(dump):
    user, right = {"role": "user", "content": "p"}, {"role": "assistant", "content": "right/né"}
    wrong = {"role": "assistant", "content": "wrong"}
    first = selected(dump, "sft", "--style", "chat")[0]
    assert (first["prompt"], first["completion"]) == ([user], [right])
    assert selected(dump, "sft", "--style", "messages")[0]["messages"] == [user, right]
    (pair,) = selected(dump, "dpo", "--style", "messages")
    assert (pair["messages"], pair["rejected_messages"]) == ([user, right], [user, wrong])
    assert selected(dump, "prompts", "--style", "messages")[0]["messages"] == [user]


def test_one_chat_among_texts_makes_all_of_them_chats(tmp_path):
    user = {"role": "user", "content": "q"}
    path = tmp_path / "dump.jsonl"
    lines = [
        {"id": 0, "prompt": "p", "reward": 1, "response": "a"},
        {"id": 1, "prompt": [user], "reward": 1, "response": "b"},
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    found = selected(path, "sft", "--prompt-col", "id")
    assert [one["prompt"][0]["content"] for one in found] == ["p", "q"]


def test_parquet_and_the_counts(dump, tmp_path):
    out = tmp_path / "out.parquet"
    counts = json.loads(run(dump, "--as", "sft", "--out", out, "--json").stdout)
    assert (counts["records"], counts["prompts"], counts["used"], counts["empty"]) == (2, 3, 2, 1)
    assert pq.read_table(out).column("completion").to_pylist() == ["right/né", "yes"]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("kind", "style", "columns"),
    [
        ("sft", "text", {"prompt": "string", "completion": "string"}),
        ("sft", "chat", {"prompt": "chat", "completion": "chat"}),
        ("sft", "messages", {"messages": "chat"}),
        ("dpo", "text", {"prompt": "string", "chosen": "string", "rejected": "string"}),
        ("dpo", "messages", {"messages": "chat", "rejected_messages": "chat"}),
        ("prompts", "chat", {"prompt": "chat"}),
    ],
)
def test_datasets_loads_the_file_as_it_is(dump, tmp_path, monkeypatch, kind, style, columns, suffix):
    """The package that TRL and ms-swift load with; their trainers tell a format by the columns and their types."""
    # Read when the package is imported: nothing of this is on a hub.
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="the package 'datasets' is not installed")
    out = tmp_path / f"out.{suffix}"
    run(dump, "--as", kind, "--style", style, "--out", out)
    loader = {"jsonl": "json", "parquet": "parquet"}[suffix]
    found = datasets.load_dataset(
        loader, data_files=str(out), split="train", cache_dir=str(tmp_path / "cache")
    )
    for name, form in columns.items():
        cell = found[0][name]
        assert {type(cell)} == ({list} if form == "chat" else {str})
        if form == "chat":
            assert {*cell[0]} == {"role", "content"}
    assert found.num_rows == {"sft": 2, "dpo": 1, "prompts": 3}[kind]


def test_what_is_refused(dump, tmp_path):
    out = tmp_path / "out.jsonl"
    for args, said in {
        ("--as", "grpo"): "unknown value 'grpo' for --as",
        ("--as", "sft", "--margin", "1"): "--margin does nothing with --as sft",
        ("--as", "prompts", "--band", "0.8:0.2"): "--band 0.8:0.2: expected two shares",
        ("--as", "dpo", "--margin", "-1"): "--margin is -1",
        ("--as", "sft", "--engine", "ray"): "select does not run on Ray",
    }.items():
        with pytest.raises(UsageError, match=said):
            run(dump, "--out", out, *args)
    with pytest.raises(UsageError, match=r"expected \.jsonl or \.parquet"):
        run(dump, "--as", "sft", "--out", tmp_path / "out.csv")
    with pytest.raises(DataError, match="rewards differ by 2 or more; try --margin below 2"):
        run(dump, "--as", "dpo", "--margin", "2", "--out", out)
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"prompt": "p", "response": "a", "reward": null}\n')
    with pytest.raises(DataError, match="no row has a reward"):
        run(bare, "--as", "sft", "--out", out)
    assert not out.exists()


def test_what_nothing_is_selected_for_is_said_in_full(dump, tmp_path):
    out = tmp_path / "out.jsonl"
    with pytest.raises(
        DataError, match="a prompt and a response has a reward of 7 or more; try --min below 7"
    ):
        run(dump, "--as", "sft", "--min", "7", "--out", out)
    with pytest.raises(DataError, match=r"no prompt is in the band 0\.01:0\.02; try a wider --band"):
        run(dump, "--as", "prompts", "--band", "0.01:0.02", "--out", out)
    half = tmp_path / "half.jsonl"
    half.write_text('{"prompt": "p", "response": "a", "reward": 0.5}\n' * 2)
    with pytest.raises(
        DataError, match=r"every reward is 0\.5, so no prompt is solved more than another; try --min"
    ):
        run(half, "--as", "prompts", "--out", out)


def test_rewards_near_the_largest_float_lie_on_the_scale(tmp_path):
    out, dump = tmp_path / "out.jsonl", tmp_path / "dump.jsonl"
    rewards = {"p": [1e308, -1e308, 1e308, 0.0], "q": [-1e308] * 4}
    lines = [{"prompt": name, "response": "a", "reward": one} for name, of in rewards.items() for one in of]
    dump.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run(dump, "--as", "prompts", "--out", out)
    assert [json.loads(line)["solved"] for line in out.read_text().splitlines()] == [0.625, 0.0]


def test_a_name_does_not_reach_the_terminal_as_it_is(dump, tmp_path):
    out = tmp_path / "a\x1b[2Jb.jsonl"
    said = run(dump, "--as", "sft", "--out", out).stdout
    assert "\x1b" not in said
    assert r"a\x1b[2Jb.jsonl" in said
    assert out.exists()
