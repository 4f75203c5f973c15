"""What speaks against the columns that were chosen, and that the hint settles it."""

import pytest

from advcli.io.columns.choose import choose
from advcli.io.columns.evidence import Evidence
from advcli.records.table import ColumnOptions

EIGHT = [1, 0, 0, 1, 1, 1, 1, 0]
TWO = ["a"] * 4 + ["b"] * 4


def choice(columns, **options):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    kinds = {name: "text" if isinstance(cells[0], str) else "number" for name, cells in columns.items()}
    return choose(kinds, ColumnOptions(**options), evidence=Evidence(lambda: rows))


def test_nothing_speaks_against_a_plain_dump():
    assert choice({"prompt_id": TWO, "reward": EIGHT}).doubts == ()


def test_training_and_evaluation_in_one_file():
    columns = {"prompt_id": TWO * 2, "reward": EIGHT * 2, "mode": ["train"] * 8 + ["validation"] * 8}
    (said,) = choice(columns).doubts
    assert said == (
        "rows of training and of evaluation ('mode': 'train' or 'validation') are read alike; "
        "try --where '`mode` == \"train\"'"
    )
    assert choice(columns, where=('`mode` == "train"',)).doubts == ()
    assert choice(columns, group_by=("prompt_id", "mode")).doubts == ()


def test_several_splits_of_training_are_all_read():
    columns = {"prompt_id": TWO, "reward": EIGHT, "set": ["train_a", "train_b", "val_a", "test"] * 2}
    (said,) = choice(columns).doubts
    assert said.endswith("""; try --where '`set` in ("train_a", "train_b")'""")


@pytest.mark.parametrize("texts", [["train"] * 8, ["train", "gsm8k"] * 4, ["val", "test"] * 4])
def test_one_split_or_other_words_are_no_doubt(texts):
    assert not any(
        "evaluation" in said for said in choice({"prompt_id": TWO, "reward": EIGHT, "mode": texts}).doubts
    )


def test_rows_of_an_evaluation_by_a_flag_are_left_out():
    columns = {"prompt_id": TWO * 2, "reward": EIGHT * 2, "is_eval": [False] * 8 + [True] * 8}
    chosen = choice(columns)
    assert (chosen.rules.evaluation, chosen.doubts) == ("is_eval", ())


def test_equally_many_rows_of_several_runs():
    columns = {"prompt_id": TWO * 2, "reward": EIGHT * 2, "epoch": [0] * 8 + [1] * 8}
    (said,) = choice(columns).doubts
    assert said.startswith(
        "every group has equally many rows of each of 2 values of 'epoch', as when several "
    )
    assert said.endswith("; try --group-by prompt_id,epoch")


ENVIRONMENT = {
    "prompt_id": [p for p in "ab" for _ in range(8)],
    "rollout_id": [f"{p}{a}" for p in "ab" for a in range(4) for _ in (0, 1)],
    "step": [0, 1] * 8,
    "reward": [0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0],
}


def test_a_step_that_numbers_the_rows_of_a_rollout():
    (said,) = choice(ENVIRONMENT).doubts
    assert said.endswith("try --rollout-col rollout_id --turn-col step or --step-col step")
    assert choice(ENVIRONMENT, step="step").doubts == ()
    turns = choice(ENVIRONMENT, rollout="rollout_id", turn="step")
    assert (turns.step, turns.turn, turns.doubts) == (None, "step", ())


@pytest.mark.parametrize("prompts", [["a", "a", "b", "b"] * 2, ["a"] * 4 + ["b"] * 4, ["a"] * 8])
def test_rollouts_that_are_numbered_in_each_step_are_no_turns(prompts):
    numbers = [0, 1, 0, 1] * 2 if prompts[2] == "b" else [0, 1, 2, 3] * 2
    columns = {"prompt_id": prompts, "rollout_id": numbers, "step": [1] * 4 + [2] * 4, "reward": EIGHT}
    assert choice(columns).doubts == ()


def test_the_steps_of_rollouts_of_one_prompt():
    columns = {
        "prompt_id": ["a"] * 8,
        "rollout_id": [0, 0, 1, 1, 2, 2, 3, 3],
        "step": [0, 1] * 4,
        "reward": EIGHT,
    }
    assert "like a turn" in choice(columns).doubts[0]


def test_n_beside_a_column_that_tells_the_prompts():
    columns = {"question": TWO, "reward": EIGHT}
    assert choice(columns, n=4).doubts == choice(columns, n=2).doubts == ()
    assert choice(columns, n=3).doubts == (
        "groups are 3 consecutive rows, and most values of 'question' have 4; try --prompt-col question",
    )
