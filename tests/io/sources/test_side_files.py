"""Files beside dumps: what they are, when they are passed over, and when they are refused."""

import json

import pytest

from advcli.common.errors import DataError
from advcli.io.inputs import opened
from advcli.io.layouts import kinds
from advcli.io.read import read
from advcli.io.sources.side_files import passed_over, rivals, what
from advcli.records.table import ColumnOptions

SIDE = {
    "EasyR1's experiment_log.jsonl": (
        "experiment_log.jsonl",
        {"step": 1, "reward": {"overall": 1}, "critic": {}},
    ),
    "verl's log": ("verl.jsonl", {"step": 1, "data": {"critic/score/mean": 0.5}}),
    "'verifiers validate'": (
        "results.jsonl",
        {"index": 0, "name": "x", "mode": "m", "valid": True, "reason": ""},
    ),
    "settings of an evaluation": ("m.json", {"env_id": "x", "num_examples": 5, "rollouts_per_example": 4}),
    "settings of a run": ("r_metadata.jsonl", {"run_name": "r", "git_commit": "c", "model_name": "m"}),
    "prime-rl's tokens": (
        "rank_0.jsonl",
        {"micro_step": 0, "loss_mask": [1], "token_ids": [5], "advantages": [0.5]},
    ),
    "state of a trainer": ("trainer_state.json", {"log_history": [], "global_step": 5}),
    "averages per step": ("logging.jsonl", {"loss": 0.1, "grad_norm": 1.0, "reward": 0.5, "reward_std": 0.1}),
    "averages per": ("x.jsonl", {"step": 12, "env/all/reward/total": 0.5}),
    "averages over": ("aggregated_results.jsonl", {"avg_score": 0.5}),
}


def shaped(row):
    found: dict[str, str] = {}
    kinds.add(found, row)
    return found


@pytest.mark.parametrize("text", SIDE)
def test_each_side_file_is_named(text):
    name, row = SIDE[text]
    assert text in what(f"run/{name}", shaped(row))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("rewards.jsonl", {"prompt_id": "a", "reward": 1}),
        # The columns count, not the name.
        ("metrics.jsonl", {"prompt": "a", "reward": 1}),
        ("metadata.json", {"uid": "a", "score": 1}),
        ("a.jsonl", {"prompt": "a", "rewards/accuracy": 1.0, "rewards/format": 1.0}),
        ("a.jsonl", {"prompt": "a", "step": 1, "reward": 0.5, "critic": 0.4}),
        ("empty.jsonl", {}),
    ],
)
def test_what_may_be_a_dump_is_none(name, row):
    assert what(name, shaped(row)) is None


@pytest.mark.parametrize("text", SIDE)
def test_among_dumps_it_is_passed_over_and_said_alone_it_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, row = SIDE[text]
    (tmp_path / "d.jsonl").write_text('{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n')
    (tmp_path / name).write_text(json.dumps(row) + "\n")
    with opened(["d.jsonl", name]) as sources:
        table = read(sources, ColumnOptions())
    assert table.names == ("d.jsonl",)
    assert table.warnings[0].startswith(f"1 file skipped: {name} (")
    assert text in table.warnings[0]
    with opened([name]) as sources, pytest.raises(DataError, match=f"{name}: this is .*{text}"):
        read(sources, ColumnOptions())


def test_several_side_files_and_no_dump(tmp_path):
    for number in (1, 2):
        (tmp_path / f"{number}.jsonl").write_text('{"step": 1, "critic/score/mean": 0.5}\n')
    with (
        pytest.raises(DataError, match=r"1\.jsonl: this is a log of averages per step"),
        opened([str(tmp_path)]),
    ):
        pass


def test_an_empty_file_in_a_folder_is_passed_over(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"prompt_id": "a", "reward": 1}\n')
    (tmp_path / "b.jsonl").write_text("")
    with opened([str(tmp_path)]) as sources:
        assert [source.name for source in sources] == [f"{tmp_path}/a.jsonl"]
        assert "b.jsonl (empty)" in sources[0].remarks[0]


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (
            ["r/train/all/t.jsonl", "r/train/effective/t.jsonl"],
            {"r/train/all/t.jsonl": "'effective' is read"},
        ),
        (["r/train/all/t.jsonl"], {}),
        (["r/train/1.jsonl", "r/eval/1.jsonl", "r/val/2.jsonl"], {"r/eval/1.jsonl": "", "r/val/2.jsonl": ""}),
        (["a/train/1.jsonl", "b/eval/1.jsonl"], {}),
        (["train_data_step1.jsonl", "val_data_step1.jsonl"], {"val_data_step1.jsonl": "'train' is read"}),
        # An evaluation may be of other steps.
        (["train_data_step1.jsonl", "val_data_step2.jsonl"], {"val_data_step2.jsonl": "'train' is read"}),
        (["t/2.jsonl", "t/eval_4.jsonl"], {"t/eval_4.jsonl": "an evaluation; training is read"}),
        (["t/a.jsonl", "t/eval_4.jsonl"], {}),
        (
            ["train_rollout/train_rollout_3.jsonl", "eval_rollout/eval_rollout_0.jsonl"],
            {"eval_rollout/eval_rollout_0.jsonl": "'train' is read"},
        ),
        (["train_x.jsonl.zip", "validation_x.jsonl.zip"], {"validation_x.jsonl.zip": "'train' is read"}),
        (["s/train/data.arrow", "s/test/data.arrow"], {"s/test/data.arrow": "'train' is read"}),
        (["s/evaluate.jsonl", "s/traine.jsonl", "s/contest/train.jsonl"], {}),
        # A data base may lie beside what it holds; compressed twins are told by their contents.
        (["s/0.jsonl", "s/0.jsonl.zst", "s/0.jsonl.gz"], {}),
        (["b/o.jsonl", "b/o.db", "b/p.db"], {"b/o.db": "o.jsonl is read"}),
        (["r/traces/live/a.jsonl", "r/traces/stream.jsonl"], {"r/traces/live/a.jsonl": "rollouts in flight"}),
        (["set/cache-12ab.arrow"], {"set/cache-12ab.arrow": "a cache"}),
        (["r/rollout/5.jsonl", "r/validation/5.jsonl"], {"r/validation/5.jsonl": "'rollout' is read"}),
        (
            ["r/rollout_data/5.jsonl", "r/val_data/0.jsonl"],
            {"r/val_data/0.jsonl": "'rollout_data' is read"},
        ),
        (["r/gsm8k/5.jsonl", "r/validation/5.jsonl"], {}),
        (["r/val_rollouts/5.jsonl", "r/eval/5.jsonl"], {}),
        (["all", "effective"], {}),
    ],
)
def test_rivals(names, left):
    found = rivals(names)
    assert found.keys() == left.keys()
    assert all(why in found[name] for name, why in left.items())


def test_many_files_are_summed_up():
    (text,) = passed_over({f"{number}.jsonl": "empty" for number in range(5)})
    assert text == "5 files skipped: 0.jsonl (empty), 1.jsonl (empty), 2.jsonl (empty) and 2 more"
    assert passed_over({}) == ()
