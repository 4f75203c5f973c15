"""prime-rl's stream of traces and the updates beside it, as its own readers put them together."""

import json

import numpy as np
import pyarrow as pa
import pytest

from advcli.dataset.grouping import group
from advcli.io.formats.prime_rl import is_evaluation, updates
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions

NAN = float("nan")


def episode(trace, score, *, group="a", kind="train", step=4, weight=1.0, trainable=True):
    return {
        "id": f"e{trace}",
        "group": {"id": group},
        "run": {"type": "train", "work": {"type": kind, "step": step}},
        "traces": [
            {
                "id": trace,
                "agent": {"name": "agent" if trainable else "judge", "trainable": trainable},
                "nodes": [{"mask": [False, True, True]}],
                "rewards": {"correct": None if score is None else {"score": score, "weight": weight}},
                "info": {"kind": kind, "dispatch": {"step": step}},
            }
        ],
    }


def update(trace, advantage=None, *, lists=(), **info):
    info = {"effective": True, "ship": {"step": 5}, **info}
    if advantage is not None:
        info["advantage"] = advantage
    branches = [{"index": index, "advantages": values} for index, values in enumerate(lists)]
    return {"version": 1, "trace_id": trace, "info": info, "branches": branches}


def put(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def traces(tmp_path):
    return tmp_path / "traces"


def loaded(path):
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions())


def used(table):
    """Rewards and logged advantages of the rows that belong to a group."""
    there = table.key >= 0
    return table.rewards[there].tolist(), table.logged[there].tolist()


def test_the_newest_update_counts_and_one_without_a_trace_is_no_error(traces):
    put(traces / "stream.jsonl", episode("t1", 1.0), episode("t2", 0.0))
    put(
        traces / "annotations" / "orchestrator.jsonl",
        update("t1", 0.5),
        update("t2", -0.5),
        update("gone", 9.0),
        update("t1", 0.25),
    )
    table = loaded(traces)
    assert table.choice.format == "prime-rl-stream"
    assert used(table) == ([1.0, 0.0], [0.25, -0.5])


def test_the_info_of_updates_is_merged_in_its_depth(traces):
    put(
        traces / "annotations" / "a.jsonl",
        {"trace_id": "t1", "info": {"ship": {"step": 5}, "advantage": 0.5}},
        {"trace_id": "t1", "info": {"ship": {"time": 1.0}}},
    )
    join = updates(put(traces / "stream.jsonl", episode("t1", 1.0)))
    (trace,) = join(episode("t1", 1.0))["traces"]
    assert trace["info"] == {
        "kind": "train",
        "dispatch": {"step": 4},
        "ship": {"step": 5, "time": 1.0},
        "advantage": 0.5,
    }


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([[None, 0.5, 0.5]], 0.5),
        ([[None, 0.0, 0.0]], 0.0),
        # The mean of what is not 0, over all branches.
        ([[None, 1.0, 0.0], [None, 0.25]], 0.625),
    ],
)
def test_without_a_number_the_lists_tell_the_advantage(traces, lists, expected):
    put(traces / "stream.jsonl", episode("t1", 1.0), episode("t2", 0.0))
    put(
        traces / "annotations" / "orchestrator" / "00000.jsonl",
        update("t1", lists=[[None, 9.0]]),
        update("t1", lists=lists),
    )
    assert used(loaded(traces))[1][0] == expected


def test_a_line_that_breaks_off_is_skipped_at_the_end_and_in_the_middle(traces):
    whole = [json.dumps(episode(f"t{place}", 1.0)) for place in range(3)]
    traces.mkdir()
    text = f"{whole[0]}\n{whole[1][:50]}\n{whole[1]}\n{whole[2][:70]}"
    (traces / "stream.jsonl").write_text(text)
    torn = put(traces / "annotations" / "o.jsonl", update("t0", 0.5))
    torn.write_text(torn.read_text() + '{"trace_id": "t1", "inf')
    table = loaded(traces)
    np.testing.assert_array_equal(used(table), ([1.0, 1.0], [0.5, NAN]))
    assert any("2 bad rows skipped" in text and "stream.jsonl:2" in text for text in table.warnings)


def test_chunks_sealed_and_plain(traces):
    """A sealed chunk has several frames and, last, one to skip; of a chunk that is there twice the plain one is read."""
    rows = [json.dumps(episode(f"t{place}", place / 4)).encode() + b"\n" for place in range(4)]
    frames = [pa.compress(row, "zstd", asbytes=True) for row in rows[:2]]
    seek_table = b"\x5e\x2a\x4d\x18\x04\x00\x00\x00abcd"
    (traces / "stream").mkdir(parents=True)
    (traces / "stream" / "00000.jsonl.zst").write_bytes(b"".join(frames) + seek_table)
    (traces / "stream" / "00001.jsonl").write_bytes(rows[2])
    (traces / "stream" / "00001.jsonl.zst").write_bytes(pa.compress(rows[2], "zstd", asbytes=True))
    (traces / "stream" / "00002.jsonl.zst.tmp").write_bytes(b"half")
    (traces / "stream" / "00002.jsonl").write_bytes(rows[3])
    sealed = pa.compress(json.dumps(update("t0", 0.5)).encode() + b"\n", "zstd", asbytes=True)
    (traces / "annotations" / "o").mkdir(parents=True)
    (traces / "annotations" / "o" / "00000.jsonl.zst").write_bytes(sealed)
    put(traces / "annotations" / "o" / "00001.jsonl", update("t3", 0.25), update("t0", 0.75))
    rewards, logged = used(loaded(traces))
    assert rewards == [0.0, 0.25, 0.5, 0.75]
    np.testing.assert_array_equal(logged, [0.75, NAN, NAN, 0.25])
    # One chunk finds the updates too.
    np.testing.assert_array_equal(used(loaded(traces / "stream" / "00000.jsonl.zst"))[1], [0.75, NAN])


def test_an_index_is_no_dump_and_pieces_in_flight_are_none(traces):
    put(traces / "stream.jsonl", episode("t1", 1.0))
    put(
        traces / "stream.index.jsonl",
        {"offset": 0, "id": "e", "trace_ids": ["t1"], "reward": 1.0, "group": "a"},
    )
    put(traces / "annotations" / "o.index.jsonl", {"trace_id": "t1", "offset": 0, "info": {"advantage": 7.0}})
    put(traces / "annotations" / "o.jsonl", update("t1", 0.5))
    put(traces / "live" / "x.jsonl", {"prompt": "x"})
    table = loaded(traces)
    assert table.names == (str(traces / "stream.jsonl"),)
    assert used(table) == ([1.0], [0.5])


def test_without_updates_it_is_said(traces):
    put(traces / "stream.jsonl", episode("t1", 1.0), episode("t2", 0.0))
    table = loaded(traces)
    assert table.logged is None
    assert "no updates in annotations/" in " ".join(table.warnings)


def test_rows_of_an_evaluation_are_left_out_where_others_are_not(traces):
    rows = [
        episode("t1", 1.0),
        episode("t2", 0.0, kind="eval", group="b"),
        episode("t3", 0.5, weight=2.0),
        episode("t4", 1.0, trainable=False),
    ]
    put(traces / "stream.jsonl", *rows)
    table = loaded(traces)
    assert table.rewards[table.key >= 0].tolist() == [1.0, 1.0]
    said = " ".join(table.warnings)
    assert "1 row belongs to an evaluation: left out" in said
    assert "1 row is no rollout ('another agent's trace'): left out" in said
    put(traces / "stream.jsonl", rows[1], rows[1])
    assert loaded(traces).rewards.tolist() == [0.0, 0.0]


def test_a_group_can_lie_across_steps(traces):
    put(traces / "stream.jsonl", episode("t1", 1.0, step=4), episode("t2", 0.0, step=5))
    table = loaded(traces)
    assert group(table).count == 1
    assert table.step_names == ("4", "5")


@pytest.mark.parametrize(
    ("run", "info", "expected"),
    [
        ({"work": {"type": "eval"}}, None, True),
        ({"work": {"type": "train"}}, {"kind": "eval"}, True),
        ({"type": "eval"}, {}, False),
        (None, None, False),
    ],
)
def test_is_evaluation(run, info, expected):
    assert is_evaluation(run, info) is expected


def test_a_stream_that_is_written_on_is_read_again(traces):
    put(traces / "stream.jsonl", episode("t1", 1.0), episode("t2", 0.0))
    put(traces / "annotations" / "o.jsonl", update("t1", 0.5))
    loaded(traces)
    put(traces / "annotations" / "o.jsonl", update("t1", 0.5), update("t2", -0.5))
    assert used(loaded(traces))[1] == [0.5, -0.5]
