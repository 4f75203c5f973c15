"""Each row of the catalog on a small dump of that writer's shape, every role by its value."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError, UsageError
from advcli.common.registry import load
from advcli.dataset.grouping import group
from advcli.io.formats.catalog import FORMATS
from advcli.io.formats.traps import CHECKS
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

HERE = Path(__file__).parents[1] / "data"

NAN = math.nan
F32 = 0.10000000149011612  # 0.1 as float32, widened, as trainers write it
PROMPT = "user\nWhat is 7*8?\nassistant\n"


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
    # Sums of parts are sums of the decimals that the parts stand for.
    np.testing.assert_array_equal(table.rewards, [1.1, 0.0, 0.1, NAN])
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


# The rewards of two questions with four answers each, in file order and in the order of verl's balancing.
FIRST, SECOND = [1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.5]
IN_ORDER, BLOCKS = FIRST + SECOND, [0, 0, 0, 0, 1, 1, 1, 1]
SHUFFLED, MIXED = [1.0, 0.0, 1.0, 1.0, 0.0, 0.5, 0.0, 1.0], [0, 1, 1, 0, 0, 1, 0, 1]


def sample(rewards, groups, **more):
    """What is expected of a sample; roles that are not named are none."""
    return SimpleNamespace(
        rewards=rewards,
        groups=groups,
        **{
            "prompt": (),
            "step": None,
            "steps": (),
            "reward": ("reward",),
            "length": None,
            "lengths": None,
            "logged": None,
            "logs": None,
            "layout": "rows",
            "lines": None,
            **more,
        },
    )


SAMPLES = {
    "verl": sample(
        [*SHUFFLED, *SHUFFLED[::-1]],
        # In each step the groups are numbered by their first row.
        [*MIXED, *(3 if group == 0 else 2 for group in MIXED[::-1])],
        prompt=("input",),
        step="step",
        steps=("1", "2"),
        reward=("score",),
    ),
    "verl-v1": sample(
        # Two outputs of one session are a rollout; the row that pads is none.
        [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.5, NAN],
        [0, 0, 0, 0, 0, 1, 1, 1, 1, -1],
        prompt=("uid.prompt",),
        step="step",
        steps=("7",),
        reward=("score",),
    ),
    "trl": sample(
        # accuracy + format, which is null in the third answer: TRL skips it.
        [1.1, 0.1, 0, 1.1, 1.1, 1.1, 0, 0.6] * 2 + [0.1, 1.1, 0.5, 0.1, 1.1, 1.1, 1.0, 0.1, 0.1, 1.0],
        [*BLOCKS, *(group + 2 for group in BLOCKS), *(group + 4 for group in BLOCKS), 6, 6],
        prompt=("prompt",),
        step="step",
        steps=("10", "11", "12"),
        reward=("accuracy_reward", "format_reward"),
        logged="advantage",
        logs=[0.5, 0.25, 0.0, -0.25] * 6 + [0.5, 0.0],
    ),
    "ms-swift": sample(
        # MathAccuracy is NaN in the third answer of each question.
        [1.5, 0.5, 0.0, 1.5, 1.5, 1.5, 0.0, 1.0, 1.0, 0.0, 1.5, 1.5, 1.5, 0.0, 0.5, 1.5],
        [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3],
        prompt=("prompt",),
        step="step",
        steps=("5", "10"),
        reward=("MathAccuracy", "Format"),
        logged="advantages",
        logs=[0.5, 0.25, 0.0, -0.25] * 2 + [-0.25, 0.0, 0.25, 0.5] * 2,
        layout="lists",
        lines=[1] * 8 + [2] * 8,
    ),
    "ms-swift-3.1": sample(
        IN_ORDER, BLOCKS, prompt=("messages",), step="step", steps=("2",), layout="lists", lines=[1] * 8
    ),
    "ms-swift-megatron": sample(
        IN_ORDER,
        BLOCKS,
        prompt=("prompt",),
        step="gen_step",
        steps=("3",),
        reward=("MathAccuracy",),
        logged="advantages",
        logs=IN_ORDER,
        layout="lists",
        lines=[1] * 8,
    ),
    "ms-swift-ray": sample(IN_ORDER, BLOCKS, prompt=("prompt",), step="gen_step", steps=("3",)),
    "openrlhf": sample(SHUFFLED, MIXED, prompt=("input",)),
    "prime-rl": sample(
        # 2 × correct + 0.2 × brief (0.5 everywhere); format is null.
        [2 * reward + 0.1 for reward in SHUFFLED],
        MIXED,
        prompt=("group.id", "agent.name"),
        step="@step",
        steps=("3",),
        reward=("rewards.total",),
        length="nodes.tokens",
        lengths=[2] * 8,
        logged="info.advantage",
        # a quarter per place of the answer
        logs=[0.0, 0.5, 0.0, 0.75, 0.25, 0.75, 0.5, 0.25],
        layout="nested",
    ),
    "prime-rl-rollouts": sample(
        SHUFFLED,
        MIXED,
        prompt=("example_id", "env_name"),
        step="@step",
        steps=("12",),
        logged="advantage",
        logs=[reward - 0.5 for reward in SHUFFLED],
    ),
    "prime-rl-tokens": sample(
        [0.5, -0.5, 0.0],
        [0, 1, 2],
        prompt=("@file", "@line"),
        step="step",
        steps=("3",),
        reward=("first advantage",),
        length="trained tokens",
        lengths=[2, 2, 1],
        logged="advantages",
        logs=[0.5, -0.5, 0.0],
    ),
    "verifiers": sample(SHUFFLED, MIXED, prompt=("example_id",)),
    "verifiers-v1": sample(
        [2 * reward + 0.1 for reward in SHUFFLED],
        MIXED,
        prompt=("task.key", "agent.name"),
        reward=("rewards.total",),
        length="nodes.tokens",
        lengths=[2] * 8,
        layout="nested",
    ),
    "rllm": sample(
        # A solver and a judge in each episode; the judge has a quarter per place of the answer.
        [1.0, 0.0, 0.0, 0.25, 0.0, 0.5, 1.0, 0.75, 1.0, 0.0, 1.0, 0.25, 0.0, 0.5, 0.5, 0.75],
        [0, 1] * 4 + [2, 3] * 4,
        prompt=("task_hash", "name"),
        step="training_step",
        steps=("3",),
        layout="nested",
        lines=[1] * 16,
    ),
    "art": sample(IN_ORDER, BLOCKS, prompt=("@file", "group_index"), step="@step", steps=("7",)),
    "art-v2": sample(
        # The last row marks a group without trajectories.
        [*IN_ORDER, NAN],
        [*BLOCKS, -1],
        prompt=("@file", "group_index"),
        step="@step",
        steps=("8",),
    ),
    "art-jsonl": sample(
        IN_ORDER,
        BLOCKS,
        prompt=("@file", "@line"),
        step="@step",
        steps=("3",),
        layout="nested",
        lines=[1] * 4 + [2] * 4,
    ),
    "atropos": sample(
        IN_ORDER,
        BLOCKS,
        prompt=("@file", "@line"),
        reward=("scores",),
        length="masks.tokens",
        lengths=[2] * 8,
        logged="first advantage",
        logs=[0.5, -0.5, -1.5, -2.5, NAN, NAN, NAN, NAN],
        layout="lists",
        lines=[1] * 4 + [2] * 4,
    ),
    "tinker": sample(
        IN_ORDER,
        BLOCKS,
        prompt=("split", "group_idx"),
        step="iteration",
        steps=("12",),
        reward=("total_reward",),
        length="steps.tokens",
        lengths=[120, 121, 122, 123] * 2,
    ),
    "tinker-bench": sample(IN_ORDER, BLOCKS, prompt=("benchmark", "example_id")),
    "nemo-rl": sample(
        # filtered_rewards, not the rewards of other rows
        IN_ORDER,
        BLOCKS,
        prompt=("prompt tokens",),
        step="@step",
        steps=("4",),
        reward=("filtered_rewards",),
        length="trained tokens",
        lengths=[3] * 8,
        logged="first advantage",
        logs=[0.75, 0.25, -0.25, -0.75] * 2,
        layout="ones",
    ),
    "nemo-rl-val": sample(
        IN_ORDER,
        BLOCKS,
        prompt=("content.prompt",),
        step="@step",
        steps=("5",),
        reward=("rewards",),
        layout="ones",
    ),
    "nemo-rl-eval": sample(IN_ORDER, BLOCKS, prompt=("prompt",), layout="nested", lines=[1] * 8),
    "nemo-gym": sample(SHUFFLED, MIXED, prompt=("agent_ref.name", "_ng_task_index")),
    "skyrl": sample(
        IN_ORDER, BLOCKS, prompt=("input_prompt",), step="@step", steps=("20",), reward=("score.sum",)
    ),
    "roll": sample(
        # rounded to float16
        [0.7001953125, 0.0, 0.0, 0.7001953125, 0.7001953125, 0.7001953125, 0.0, 0.5],
        BLOCKS,
        prompt=("prompt",),
        step="global_step",
        steps=("3",),
        reward=("scores",),
        layout="lists",
        lines=[1] * 8,
    ),
    "roll-agentic": sample(
        IN_ORDER,
        BLOCKS,
        prompt=("exp_name", "trajectory_data.env_info.group_id"),
        step="global_step",
        steps=("4",),
        reward=("trajectory_data.reward_info.episode_reward",),
        layout="lists",
        lines=[1] * 8,
    ),
    "roll-board": sample(
        [reward - 0.5 for reward in IN_ORDER],
        BLOCKS,
        prompt=("prompt",),
        step="step",
        steps=("6",),
        length="response_tokens",
        lengths=[2, 3, 4, 5] * 2,
    ),
    "open-instruct": sample(
        [10 * reward for reward in IN_ORDER],
        BLOCKS,
        prompt=("prompt_idx",),
        step="step",
        steps=("3",),
        logged="advantage",
        logs=[10 * reward - 5 for reward in IN_ORDER],
    ),
    "areal": sample(
        IN_ORDER, BLOCKS, prompt=("@file", "prompt"), step="@folder", steps=("3",), lines=[1, 2, 3, 4] * 2
    ),
    "oat": sample(IN_ORDER, BLOCKS, prompt=("problem",), step="@step", steps=("30",), reward=("scores",)),
    "slime": sample(
        IN_ORDER,
        BLOCKS,
        prompt=("group_index",),
        step="record.rollout_id",
        steps=("5",),
        reward=("reward.value",),
        length="response_length",
        lengths=[2, 3, 4, 5] * 2,
        layout="nested",
        lines=[1] * 8,
    ),
    "nested": sample(
        # The record's own reward, an average, is no row's.
        IN_ORDER,
        BLOCKS,
        prompt=("prompt_id",),
        step="global_step",
        steps=("2",),
        layout="nested",
        lines=[1] * 4 + [2] * 4,
    ),
    "lists": sample(
        IN_ORDER,
        BLOCKS,
        prompt=("prompt",),
        step="step",
        steps=("2",),
        reward=("rewards",),
        layout="lists",
        lines=[1] * 4 + [2] * 4,
    ),
}
NOT_READ = {"easyr1", "generic", "atif"}
# Where each is read: sources/test_containers.py for tables of any writer, and the tests of their modules.
ELSEWHERE = {"csv", "arrow", "arrow-stream", "zip", "inspect-ai-json", "trinity-rft-db", "trackio-traces"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_read_without_flags(name):
    """Every role by its value: which column plays it, and what is in it."""
    expected = SAMPLES[name]
    table = loaded(HERE / name)
    choice = table.choice
    assert (choice.format, choice.prompt, choice.step) == (name, expected.prompt, expected.step)
    assert tuple(column for column, _ in choice.rewards) == expected.reward
    assert (choice.length, choice.logged, choice.layout.name) == (
        expected.length,
        expected.logged,
        expected.layout,
    )
    np.testing.assert_allclose(table.rewards, expected.rewards, rtol=1e-15)
    assert group(table).group.tolist() == expected.groups
    assert table.step_names == expected.steps
    if expected.length:
        assert table.length.tolist() == expected.lengths
    if expected.logged:
        np.testing.assert_array_equal(table.logged, expected.logs)
    if expected.lines:
        assert table.lines.tolist() == expected.lines


def test_easyr1_has_nothing_to_read():
    with pytest.raises(
        DataError, match=r"experiment_log\.jsonl: this is EasyR1's .* averages per step, no rewards of"
    ):
        loaded(HERE / "easyr1")


def test_every_row_of_the_catalog_has_its_sample():
    """A new row of the catalog fails here until its sample asserts every role, or an example of its writer is there."""
    examples = {json.loads(place.read_text())["format"] for place in HERE.glob("*/expected.json")}
    assert {*SAMPLES, *NOT_READ, *examples, *ELSEWHERE} == set(FORMATS.names())
    assert {path.name for path in HERE.iterdir() if path.is_dir()} >= set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("same_layout", [False, True])
def test_a_sample_is_written_back(name, same_layout, tmp_path):
    """Nothing of a row is lost, and every file can be read again as what it was."""
    documents = [
        path for path in (HERE / name).rglob("*.json") if path.name.startswith(("episode_", "eval", "30"))
    ]
    if same_layout and documents:
        with pytest.raises(
            UsageError, match="a JSON document cannot keep its layout; try without --same-layout"
        ):
            annotated(HERE / name, tmp_path, same_layout=True)
        return
    before = loaded(HERE / name)
    annotated(HERE / name, tmp_path, same_layout=same_layout)
    if same_layout:
        for path in tmp_path.rglob("*.adv.*"):
            path.rename(path.with_name(path.name.replace(".adv.", ".")))
        after = loaded(tmp_path)
        assert after.choice.layout.name == before.choice.layout.name
        np.testing.assert_array_equal(after.rewards, before.rewards)
        assert group(after).group.tolist() == group(before).group.tolist()
        return
    rows = list(written_rows(tmp_path))
    assert len(rows) == len(before.rewards)
    assert all({"adv_original", "adv_processed", "adv_kept", "adv_group"} <= row.keys() for row in rows)
    groups = [-1 if row["adv_group"] is None else row["adv_group"] for row in rows]
    assert sorted(groups) == sorted(group(before).group.tolist())
    if before.choice.layout.exploded or documents:
        assert sorted(row["adv_source"] for row in rows) == sorted(before.lines.tolist())


def annotated(path, out, *, same_layout=False):
    request = Request((str(path),), Settings(), ColumnOptions())
    return compute(request, Output(f"{out}/", same_layout=same_layout))


def written_rows(folder):
    for path in sorted(folder.rglob("*.adv.*")):
        if path.suffix == ".parquet":
            yield from pq.read_table(path).to_pylist()
        else:
            yield from (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def test_prime_rl_reads_what_was_trained_on():
    (remark, *_) = loaded(HERE / "prime-rl").warnings
    assert remark.startswith("2 files skipped: ")
    assert "eval/all/traces.jsonl ('train' is read)" in remark
    assert "train/all/traces.jsonl ('effective' is read)" in remark
    alone = loaded(HERE / "prime-rl/rollouts/step_3/train/all/traces.jsonl")
    assert any("written before groups were scored" in text for text in alone.warnings)


@pytest.mark.parametrize("name", ["open-instruct", "skyrl", "tinker"])
def test_side_files_are_passed_over_and_said(name):
    names = {"open-instruct": "run_metadata", "skyrl": "aggregated_results", "tinker": "metrics"}
    assert f"{names[name]}.jsonl (" in loaded(HERE / name).warnings[0]


@pytest.mark.parametrize("form", list(FORMATS), ids=lambda form: form.name)
def test_a_row_is_complete(form):
    assert form.summary
    # The listing fits 80 columns beside the longest name.
    assert len(form.summary) <= 79 - max(map(len, FORMATS.names())) - 1
    assert form.source
    assert form.files or form.otherwise
    assert form.switch or not form.requires
    names = {need.partition(":")[0] for need in form.requires}
    assert not names & set(form.forbids)
    assert set(form.checks) <= set(CHECKS)
    assert form.layout in ("rows", "ones", "lists", "nested")
    for column in form.derived:
        assert callable(load(column.target))


def test_the_last_row_takes_everything():
    *special, _, _, last = FORMATS
    assert (last.requires, last.forbids) == ((), ())
    assert all(form.requires or form.opener for form in special)
