"""Each row of the catalog on a small dump of that writer's shape, every role by its value."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from advcli.errors import DataError
from advcli.grouping import group
from advcli.io.catalog import FORMATS
from advcli.io.read import read
from advcli.io.sources import opened
from advcli.records import ColumnOptions

NAN = math.nan
F32 = 0.10000000149011612  # 0.1 as float32, widened, as trainers write it
PROMPT = "user\nWhat is 7*8?\nassistant\n"
UUID = "0f6c2b1e-7a55-4b0e-9d0c-3a7b2f1c9e11"


def loaded(path, **options):
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions(**options))


def lines(path, *rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def columns(table):
    """Which column plays which part."""
    choice = table.choice
    return choice.format, choice.prompt, choice.step, choice.rewards, choice.length, choice.logged


@pytest.fixture
def trl(tmp_path):
    """completions_00120.parquet as GRPOTrainer writes it with pandas: two prompts, groups of two."""
    frame = pd.DataFrame(
        {
            "step": [120, 120, 120, 120],
            "prompt": [
                "system\nYou are a tutor.\nuser\n17*3?\n",
                "system\nYou are a tutor.\nuser\n17*3?\n",
                "b",
                "b",
            ],
            "completion": ["<answer>51</answer>", "52", "x", "y"],
            "accuracy_reward": [1.0, 0.0, None, None],
            "format_reward": [F32, 0.0, F32, None],
            "extracted": ["51", None, None, None],
            "advantage": [0.7071, -0.7071, 0.0, 0.0],
        }
    )
    frame.to_parquet(tmp_path / "completions_00120.parquet")
    return tmp_path / "completions_00120.parquet"


def test_trl(trl):
    table = loaded(trl)
    rewards = (("accuracy_reward", 1.0), ("format_reward", 1.0))
    assert columns(table) == ("trl", ("prompt",), "step", rewards, None, "advantage")
    np.testing.assert_array_equal(table.rewards, [1.0 + F32, 0.0, F32, NAN])
    assert table.cause.tolist() == [0, 0, 0, 1]
    assert table.key.tolist() == [0, 0, 1, 1]
    assert (table.step.tolist(), table.step_names) == ([0, 0, 0, 0], ("120",))
    np.testing.assert_array_equal(table.logged, [0.7071, -0.7071, 0.0, 0.0])
    assert table.length is None


def test_trl_weights_in_file_order(trl):
    np.testing.assert_allclose(loaded(trl, weights=(2.0, 10.0)).rewards, [2 + 10 * F32, 0, 10 * F32, NAN])


@pytest.mark.parametrize("run", ["grpo-group", "grpo-group-nullreward", "grpo-batch-chat"])
def test_trl_real_runs(data, run):
    """Four rows of a prompt stand together in each file; a prompt comes again at other steps."""
    folder = data / "trl" / run / "completions"
    table = loaded(folder)
    frames = [pd.read_parquet(file) for file in sorted(folder.iterdir())]
    parts = [name for name in frames[0] if name not in ("step", "prompt", "completion", "advantage")]
    assert columns(table) == (
        "trl",
        ("prompt",),
        "step",
        tuple((name, 1.0) for name in parts),
        None,
        "advantage",
    )
    assert group(table).group.tolist() == [row // 4 for row in range(sum(map(len, frames)))]
    both = pd.concat(frames)
    np.testing.assert_allclose(table.rewards, np.nansum(both[parts].to_numpy(), axis=1), rtol=1e-15)
    np.testing.assert_array_equal(table.logged, both["advantage"])
    assert [table.step_names[code] for code in table.step] == [str(step) for step in both["step"]]


VERL = {
    # release: what stands beside input, output, score and step
    "v0.4.1": {"acc": True, "pred": "56"},
    "v0.7 train": {"gts": "56", "acc": 0.0},
    "v0.7 valid": {"gts": "56", "reward": 1.0, "acc": 1.0},
    "v0.8 legacy": {
        "gts": None,
        "acc": True,
        "pred": "56",
        "overlong_reward": -0.25,
        "overlong": True,
        "request_id": "b1c0",
    },
}


@pytest.mark.parametrize("release", VERL)
def test_verl(tmp_path, release):
    """Rows of a prompt are scattered: no id, the text is the key."""
    other = PROMPT.replace("7", "9")
    rows = [(PROMPT, F32), (other, 1), (PROMPT, True), (other, "0.5"), (PROMPT, NAN)]
    path = lines(
        tmp_path / "12.jsonl",
        *(
            {"input": text, "output": "56", "score": score, "step": 12, **VERL[release]}
            for text, score in rows
        ),
    )
    table = loaded(path)
    assert columns(table) == ("verl", ("input",), "step", (("score", 1.0),), None, None)
    np.testing.assert_array_equal(table.rewards, [F32, 1.0, 1.0, 0.5, NAN])
    assert table.cause.tolist() == [0, 0, 0, 0, 2]
    assert table.key.tolist() == [0, 1, 0, 1, 0]
    assert table.step_names == ("12",)


def test_verl_files_of_a_folder_are_steps(tmp_path):
    for step in (10, 2, 1):
        rows = [{"input": text, "output": "o", "score": step, "step": step} for text in ("p", "q", "p", "q")]
        lines(tmp_path / f"{step}.jsonl", *rows)
    table = loaded(tmp_path)
    assert table.rewards.tolist() == [1] * 4 + [2] * 4 + [10] * 4
    assert table.step_names == ("1", "2", "10")
    assert group(table).group.tolist() == [0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5]


def test_verl_with_a_uid_per_row_is_never_grouped_by_it_silently(tmp_path):
    """verl v1 (0.9.0) writes `<uuid>_<session>_<index>`."""
    base = {"input": PROMPT, "output": "#### 56", "gts": "56", "score": 1.0, "step": 12}
    path = lines(tmp_path / "12.jsonl", *({**base, "uid": f"{UUID}_{session}_0"} for session in range(4)))
    table = loaded(path)
    assert table.choice.format != "verl"
    with pytest.raises(DataError, match=r"every group has one row: 'uid' \+ 'step'"):
        group(table)
    named = loaded(path, prompt="input")
    assert group(named).group.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
def test_generic(tmp_path, layout):
    rows = [
        {
            "problem_id": number,
            "prompt": f"text of {number}",
            "messages": [{"role": "user", "content": "Hi"}],
            "accuracy_reward": 1.0,
            "total_reward": reward,
            "global_step": 3,
            "completion_tokens": tokens,
            "advantages": 0.25,
        }
        for number, reward, tokens in ((7, 0.5, 10), (8, -1.0, 11), (7, None, 12))
    ]
    path = tmp_path / f"rollouts.{layout}"
    if layout == "jsonl":
        lines(path, *rows)
    else:
        pd.DataFrame(rows).to_parquet(path)
    table = loaded(path)
    assert columns(table) == (
        "generic",
        ("problem_id",),
        "global_step",
        (("total_reward", 1.0),),
        "completion_tokens",
        "advantages",
    )
    np.testing.assert_array_equal(table.rewards, [0.5, -1.0, NAN])
    assert table.key.tolist() == [0, 1, 0]
    assert table.step_names == ("3",)
    assert table.length.tolist() == [10, 11, 12]
    assert table.logged.tolist() == [0.25] * 3


def test_generic_sample(data):
    """The bundled sample has an id and a text, a total and its parts: the id and the total are taken."""
    table = loaded(Path(data).parents[1] / "sample_data" / "rewards.parquet")
    reward = (("reward", 1.0),)
    assert columns(table) == ("generic", ("prompt_id",), "step", reward, "response_length", None)
    assert len(table.rewards) == 502
    assert np.isnan(table.rewards).sum() == 4


def test_every_row_of_the_catalog_has_its_sample():
    """A new row of the catalog fails here until its own test asserts every role."""
    assert {f"test_{name}" for name in FORMATS.names()} <= globals().keys()


@pytest.mark.parametrize("form", list(FORMATS), ids=lambda form: form.name)
def test_a_row_is_complete(form):
    assert form.summary
    assert form.source
    assert form.files
    assert not set(form.requires) & set(form.forbids)
    assert set(form.prompt) <= set(form.requires)
    assert form.reward == "" or form.reward in form.requires


def test_the_last_row_takes_everything():
    *special, last = FORMATS
    assert (last.requires, last.forbids) == ((), ())
    assert all(form.requires for form in special)
