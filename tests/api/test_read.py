"""From files and frames to a dump, and what is refused."""

import pandas as pd
import pyarrow as pa
import pytest

import advcli

COLUMNS = {
    "uid": ["a", "a", "b", "b", "a", "a"],
    "epoch": [1, 1, 1, 1, 2, 2],
    "score": [0.0, 1.0, 0.5, 0.5, 3.0, 5.0],
}
# r less the mean of the other rows of (uid, epoch); by uid alone the four rows of "a" are one group.
RLOO = [-1.0, 1.0, 0.0, 0.0, -2.0, 2.0]


def polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas with an index": lambda columns: pd.DataFrame(columns, index=list("uvwxyz")),
    "pandas with categories": lambda columns: pd.DataFrame(columns).astype({"uid": "category"}),
    "pyarrow": pa.table,
    "batches": lambda columns: pa.table(columns).to_reader(),
    "polars": polars,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_any_package(kind):
    dump = advcli.from_frame(FRAMES[kind](COLUMNS), group_by=["uid", "epoch"], reward="score")
    assert len(dump) == 6
    assert dump.columns["group"] == ["uid", "epoch"]
    assert dump.advantages("rloo").original.tolist() == RLOO


def test_a_frame_is_a_copy():
    df = pd.DataFrame(COLUMNS)
    dump = advcli.from_frame(df, group_by=["uid", "epoch"], reward="score")
    df["score"] = 0.0
    assert dump.advantages("rloo").original.tolist() == RLOO


def test_a_step_is_part_of_the_group_of_a_prompt():
    dump = advcli.from_frame(pd.DataFrame(COLUMNS), prompt="uid", step="epoch", reward="score")
    assert dump.advantages("rloo").original.tolist() == RLOO


def test_weights_of_rewards():
    frame = pd.DataFrame({"uid": ["a", "a"], "right": [0.0, 1.0], "form": [1.0, 0.0]})
    dump = advcli.from_frame(frame, prompt="uid", reward={"right": 1, "form": 0.5})
    assert dump.advantages("rloo").original.tolist() == [-0.5, 0.5]
    both = advcli.from_frame(frame, prompt="uid", reward=["right", "form"])
    assert both.advantages("rloo").original.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("frame", "options", "error", "message"),
    [
        ([1, 2], {}, advcli.UsageError, "is not a table; try a DataFrame"),
        (pd.DataFrame(), {}, advcli.DataError, "frame: no rows"),
        (
            pd.DataFrame({"uid": ["a"], "reward": ["high"]}),
            {},
            advcli.DataError,
            "frame:1: 'reward' is 'high'",
        ),
        (pd.DataFrame({"uid": [1, "a"], "reward": [0, 1]}), {}, advcli.DataError, "column uid"),
        (pd.DataFrame(COLUMNS), {"prompt": "id"}, advcli.UsageError, "no column 'id'"),
        (pd.DataFrame(COLUMNS), {"prompt": ["uid", "epoch"]}, advcli.UsageError, r"try group_by=\["),
        (pd.DataFrame(COLUMNS), {"rewards": "score"}, advcli.UsageError, "no option 'rewards'"),
        (pd.DataFrame(COLUMNS), {"on_bad_row": "stop"}, advcli.UsageError, "'stop'.*try error or skip"),
    ],
)
def test_what_is_refused(frame, options, error, message):
    with pytest.raises(error, match=message):
        advcli.from_frame(frame, **options)


def test_a_lazy_frame_is_collected_by_its_owner():
    with pytest.raises(advcli.UsageError, match=r"try df.collect\(\)"):
        advcli.from_frame(polars(COLUMNS).lazy())


def test_files(tmp_path):
    for name, rewards in (("1.jsonl", (0, 1)), ("2.jsonl", (2, 4))):
        lines = (f'{{"prompt_id": "{name}", "reward": {reward}}}\n' for reward in rewards)
        (tmp_path / name).write_text("".join(lines))
    want = [-1.0, 1.0, -2.0, 2.0]
    for path in (tmp_path, str(tmp_path / "*.jsonl"), [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]):
        assert advcli.read(path).advantages("rloo").original.tolist() == want


@pytest.mark.parametrize("path", [3, None, []])
def test_no_input(path):
    with pytest.raises(advcli.UsageError, match="is not an input; try"):
        advcli.read(path)


def test_no_such_file(tmp_path):
    with pytest.raises(advcli.DataError, match="no such file"):
        advcli.read(tmp_path / "gone.parquet")


def test_broken_rows_are_skipped_if_asked(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text('{"prompt_id": 1, "reward": 0}\n{"prompt_id": 1, "rew\n{"prompt_id": 1, "reward": 1}\n')
    with pytest.raises(advcli.DataError, match=r"f\.jsonl:2"):
        advcli.read(path)
    dump = advcli.read(path, on_bad_row="skip")
    assert dump.advantages("rloo").original.tolist() == [-1.0, 1.0]
    assert any("skipped" in text for text in dump.warnings)


def test_like_of_the_dump_holds_unless_a_call_says_otherwise():
    frame = pd.DataFrame({"uid": ["a"] * 4, "reward": [1.0, 0.0, 0.0, 0.0]})
    dump = advcli.from_frame(frame, prompt="uid", like="openrlhf")
    assert dump.advantages().summary.settings["like"].startswith("openrlhf")
    assert dump.advantages(like="trl").summary.settings["like"].startswith("trl")


def test_where_chooses_rows():
    frame = pd.DataFrame(
        {"prompt_id": ["a", "a", "a", "b"], "reward": [0.0, 1.0, 1.0, 1.0], "lag": [0, 9, 0, 0]}
    )
    found = advcli.from_frame(frame, where="lag < 5", prompt="prompt_id").prompts()
    assert [(one.prompt, one.mean) for one in found.shown] == [("a", 0.5), ("b", 1.0)]
