"""Each check on a dump in which its trap has snapped, and on one in which it has not."""

import json

import pytest

from advcli.io.formats.traps import CHECKS
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions


@pytest.fixture
def said(tmp_path, monkeypatch):
    """What is said about some rows, one file per list."""
    monkeypatch.chdir(tmp_path)

    def run(*files, names=None, **options):
        names = names or [f"{number}.jsonl" for number in range(len(files))]
        for name, rows in zip(names, files, strict=True):
            (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        with opened(names) as sources:
            return " | ".join(read(sources, ColumnOptions(**options)).warnings)

    return run


def trl(step, rewards, prompts="ppqq", **more):
    return [
        {
            "step": step,
            "prompt": prompt,
            "completion": "c",
            "acc_reward": reward,
            "advantage": 0.1 * place,
            **more,
        }
        for place, (prompt, reward) in enumerate(zip(prompts, rewards, strict=True))
    ]


AGAIN = "holds the rows of an earlier step again (the first: step {}), as when one generation batch is logged"


def test_same_rows_at_several_steps(said):
    assert AGAIN.format(2) in said(trl(1, (1, 0, 1, 1)), trl(2, (1, 0, 1, 1)))
    text = said(trl(1, (1, 0, 1, 1)), trl(2, (1, 0, 1, 1)), trl(3, (1, 0, 1, 1)))
    assert "2 steps hold the rows of an earlier step again (the first: step 2)" in text


@pytest.mark.parametrize(
    "second",
    [
        trl(2, (1, 0, 1, 0)),
        trl(2, (1, 0, 1, 1), "pprr"),
        trl(2, (1, 0, 1)[:3], "ppq"),
        [row | {"advantage": 0.5} for row in trl(2, (1, 0, 1, 1))],
    ],
)
def test_other_rows_at_another_step(said, second):
    assert "earlier step again" not in said(trl(1, (1, 0, 1, 1)), second)


def test_rewards_that_are_all_equal_prove_nothing(said):
    assert "earlier step again" not in said(trl(1, (1, 1, 1, 1)), trl(2, (1, 1, 1, 1)))


def test_dedup_needs_no_hint(said):
    text = said(trl(1, (1, 0, 1, 1)), trl(2, (1, 0, 1, 1)), dedup=True)
    assert text == "4 rows are exact repeats of an earlier one: left out"


def test_evaluation_rows(said):
    text = said(trl(1, (1, 0, 1, 1, 0, 1), "ppqqqq"), trl(2, (0, 1, 0, 0)))
    assert (
        "1 step has groups of several sizes (step 1: 2, 4): evaluation rows among the training rows" in text
    )
    assert "several sizes" not in said(trl(1, (1, 0, 1, 1)), trl(2, (1, 0, 0, 1, 0, 1), "pppqqq"))


def test_numbers_from_log_extra(said):
    text = said(trl(1, (1, 0, 1, 1), confidence=5))
    assert (
        "'confidence' counts as a reward function; if logged with log_extra, try --reward acc_reward" in text
    )
    assert "log_extra" not in said(trl(1, (1, 0, 1, 1), format_score=5))


VERL = {"input": "p", "output": "o", "score": 1, "step": 1}


def test_overlong_penalty(said):
    rows = [VERL | {"overlong_reward": -0.5}, VERL]
    assert "'score' may not include the penalty" in said(rows)
    assert said(rows, rewards=(("score", 1.0), ("overlong_reward", 1.0))) == ""
    assert said([VERL, VERL]) == ""


NEMO = {"rewards": [1.0], "token_ids": [[1, 2]], "token_loss_mask": [[0, 1]], "idx": 0}


def test_rewards_of_other_rows(said):
    rows = [NEMO | {"filtered_rewards": [0.5]}] * 2
    assert "'filtered_rewards' is read" in said(rows)
    assert "try --reward filtered_rewards" in said(rows, rewards=(("rewards", 1.0),))
    assert said([NEMO, NEMO]) == ""


def episode(**info):
    return {"group": {"id": "g"}, "traces": [{"rewards": {"a": {"score": 1, "weight": 1}}, "info": info}]}


def test_no_advantage_yet(said):
    assert "written before groups were scored" in said([episode(), episode()])
    assert said([episode(advantage=0.5), episode(advantage=0.0)]) == ""


def test_several_splits(said):
    rows = [{"group_idx": 0, "traj_idx": place, "total_reward": 1, "iteration": 3} for place in (0, 1)]
    names = ["train_rollout_summaries.jsonl", "eval_x_rollout_summaries.jsonl"]
    assert "1 file of evaluation among those of training" in said(rows, rows, names=names)
    assert said(rows, rows, names=["eval_a.jsonl", "eval_b.jsonl"]) == ""


def test_already_normalised(said):
    rows = [{"prompt": "p", "response": "r", "reward": 0.5, "token_rewards": [0.5]}] * 2
    assert "already normalised" in said(rows)


def test_every_check_is_tested_here():
    assert {f"test_{name}" for name in CHECKS} <= globals().keys()


def test_no_updates(said):
    info = {"kind": "train", "dispatch": {"step": 1}}
    trace = {"id": "t", "agent": {"name": "a"}, "rewards": {"x": {"score": 1.0, "weight": 1.0}}, "info": info}
    episode = {"group": {"id": "g"}, "run": {}, "traces": [trace, trace]}
    text = "no advantage is logged: there are no updates in annotations/ next to the stream"
    assert text in said([episode])
    logged = trace | {"info": info | {"advantage": 0.0}}
    assert text not in said([episode | {"traces": [logged, logged]}])


def sampled(place, **metrics):
    about = {"doc_id": place, "target": 4, "filter": "none", "resps": [["x"]], "filtered_resps": ["x"]}
    return about | {"metrics": list(metrics)} | metrics


def test_no_groups(said):
    assert "no groups: the repeats of a document share one row" in said(
        [sampled(0, acc=1.0), sampled(1, acc=0.0)]
    )


def test_several_metrics(said):
    assert "without a total" not in said([sampled(0, acc=1.0)])
    text = said([sampled(0, acc=1.0, acc_norm=0.5), sampled(1, acc=0.0, acc_norm=0.5)])
    assert "2 metrics without a total: 'acc' is read; try --reward acc_norm" in text
