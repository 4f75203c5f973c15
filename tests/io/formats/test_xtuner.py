"""XTuner's files of rollouts, which begin with a summary."""

import json

from advcli.dataset.grouping import group
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions

SUMMARY = {"reward_mean": 0.5, "reward_std": 0.5, "total_len": 2}


def row(rollout, group_id, reward, prompt="a"):
    return {
        "rollout_id": rollout,
        "group_id": group_id,
        "prompt": [{"role": "user", "content": prompt}],
        "response": "x",
        "reward": reward,
        "response_len": 2,
        "reward_payload": {"score": reward, "length": 0.5},
    }


def put(path, *rows):
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in (SUMMARY, *rows)))


def loaded(path):
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions(find_outcomes=True))


def test_without_a_group_id_the_prompt_is_the_key(tmp_path):
    put(
        tmp_path / "train_rollout" / "train_rollout_3.jsonl",
        row(1, None, 1.0),
        row(2, None, 0.0, "b"),
        row(3, None, 0.5),
    )
    table = loaded(tmp_path)
    assert table.choice.format == "xtuner"
    assert group(table).group.tolist() == [-1, 0, 1, 0]
    assert table.step_names == ("3",)
    assert table.outcomes == {}


def test_an_evaluation_beside_the_training_is_passed_over_and_read_alone(tmp_path):
    put(tmp_path / "train_rollout" / "train_rollout_3.jsonl", row(1, 7, 1.0), row(2, 7, 0.0))
    put(tmp_path / "eval_rollout" / "eval_rollout_0.jsonl", row(1, None, 0.5), row(2, None, 0.5))
    table = loaded(tmp_path)
    assert table.rewards[table.key >= 0].tolist() == [1.0, 0.0]
    assert "eval_rollout_0.jsonl ('train' is read)" in table.warnings[0]
    alone = loaded(tmp_path / "eval_rollout")
    assert alone.rewards[alone.key >= 0].tolist() == [0.5, 0.5]
