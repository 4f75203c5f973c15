"""The first pass: rewards, keys, steps and lengths of every row, and what is said about bad rows."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError, UsageError
from advcli.io.inputs import opened
from advcli.io.jsonl import read as jsonl
from advcli.io.parquet import read as parquet
from advcli.io.read import read
from advcli.records.table import ColumnOptions

NAN = math.nan


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """Write each list of rows to a file and read them all as one data set."""
    monkeypatch.chdir(tmp_path)

    def run(*files, layout="jsonl", skip=False, refuse_missing=False, refused=(), **columns):
        names = [f"f{i}.{layout}" for i in range(1, len(files) + 1)]
        for name, rows in zip(names, files, strict=True):
            if isinstance(rows, bytes):
                (tmp_path / name).write_bytes(rows)
            elif layout == "parquet":
                pq.write_table(rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows), name)
            else:
                (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        with opened(names) as sources:
            return read(
                sources,
                ColumnOptions(**columns),
                skip_bad_rows=skip,
                refuse_missing=refuse_missing,
                refused=refused,
            )

    return run


def rows(*pairs, **more):
    """Rows with a prompt id and a reward each."""
    return [{"prompt_id": key, "reward": reward, **more} for key, reward in pairs]


layouts = pytest.mark.parametrize("layout", ["jsonl", "parquet"])


@layouts
def test_every_narrow_column(reader, layout):
    data = [
        {"uid": "b", "step": 7, "score": 1.5, "response_length": 10, "advantage": 0.5, "text": "x"},
        {"uid": "a", "step": 7, "score": None, "response_length": 12, "advantage": None, "text": "y"},
        {"uid": "b", "step": 3, "score": 0.0, "response_length": None, "advantage": -0.5, "text": "z"},
    ]
    table = reader(data, layout=layout)
    np.testing.assert_array_equal(table.rewards, [1.5, NAN, 0.0])
    assert table.cause.tolist() == [0, 1, 0]
    assert table.key.tolist() == [0, 1, 0]
    assert table.step.tolist() == [0, 0, 1]
    assert table.step_names == ("7", "3")
    np.testing.assert_array_equal(table.length, [10, 12, NAN])
    np.testing.assert_array_equal(table.logged, [0.5, NAN, -0.5])
    assert (table.rows, table.dropped, table.warnings) == ((3,), (frozenset(),), ())
    assert table.choice.columns() == ("uid", "score", "step", "response_length", "advantage")
    assert [array.dtype for array in (table.rewards, table.cause, table.key)] == [
        np.float64,
        np.int8,
        np.int64,
    ]


@layouts
def test_several_files_are_one_data_set(reader, layout):
    table = reader(rows(("a", 1), ("b", 2)), rows(("b", 3)), rows(("c", 4), ("a", 5)), layout=layout)
    assert table.rewards.tolist() == [1, 2, 3, 4, 5]
    assert table.key.tolist() == [0, 1, 1, 2, 0]
    assert (table.rows, len(table.dropped)) == ((2, 1, 2), 3)
    places = [f"f1.{layout}:1", f"f1.{layout}:2", f"f2.{layout}:1", f"f3.{layout}:1", f"f3.{layout}:2"]
    assert [table.place(row) for row in range(5)] == places


def test_files_of_both_layouts_share_their_keys(tmp_path, reader):
    pq.write_table(pa.table({"prompt_id": [5, 6], "reward": [1.0, 0.0]}), tmp_path / "p.parquet")
    (tmp_path / "j.jsonl").write_text('{"prompt_id": "6", "reward": 1}\n{"prompt_id": 5, "reward": 0}\n')
    with opened(["p.parquet", "j.jsonl"]) as sources:
        assert read(sources, ColumnOptions()).key.tolist() == [0, 1, 1, 0]


IDS = {
    "strings": pa.array,
    "large strings": lambda ids: pa.array(ids, pa.large_string()),
    "dictionary": lambda ids: pa.array(ids).dictionary_encode(),
}
LONG_IDS = [f"{number:035}" for number in (3, 13, 3, 13)]


@pytest.mark.parametrize("make", IDS.values(), ids=IDS)
def test_long_ids_stay_apart_in_parquet(reader, make):
    table = reader(pa.table({"prompt_id": make(LONG_IDS), "reward": [0.0] * 4}), layout="parquet")
    assert table.key.tolist() == [0, 1, 0, 1]


def test_long_ids_stay_apart_in_jsonl(reader):
    assert reader(rows(*((key, 0) for key in LONG_IDS))).key.tolist() == [0, 1, 0, 1]
    numbers = [10**34 + 3, 10**34 + 13, 10**34 + 3, str(10**34 + 13)]
    assert reader(rows(*((key, 0) for key in numbers))).key.tolist() == [0, 1, 0, 1]


def test_the_number_5_and_the_string_5_are_one_prompt(reader):
    assert reader(rows((5, 0), ("5", 0), (5.0, 0), ("05", 0))).key.tolist() == [0, 0, 0, 1]


CHATS = [[{"role": "user", "content": text}] for text in ("Hi", "Ho", "Hi")]


@layouts
def test_chat_messages_are_a_prompt(reader, layout):
    data = [{"prompt": chat, "reward": 1.0} for chat in CHATS]
    assert reader(data, layout=layout).key.tolist() == [0, 1, 0]


def test_the_order_of_keys_in_a_message_does_not_matter(reader):
    turned = [dict(reversed(message.items())) for message in CHATS[0]]
    assert reader([{"prompt": chat, "reward": 1} for chat in (CHATS[0], turned)]).key.tolist() == [0, 0]


@layouts
def test_several_columns_are_one_key(reader, layout):
    data = [{"p": p, "q": q, "reward": 1.0} for p, q in ("xx", "xy", "yx", "xx", "yy")]
    table = reader(data, layout=layout, group_by=("p", "q"))
    assert table.key.tolist() == [0, 1, 2, 0, 3]


def test_the_parts_of_a_key_are_not_glued_together(reader):
    data = [{"p": p, "q": q, "reward": 1} for p, q in (("a", "bc"), ("ab", "c"), ("a", "bc"))]
    assert reader(data, group_by=("p", "q")).key.tolist() == [0, 1, 0]


def test_a_row_without_a_step_is_of_a_step_of_its_own(reader):
    data = [{"prompt_id": "a", "reward": 1, "step": step} for step in (1, None, 1, None)]
    table = reader(data)
    assert table.step.tolist() == [0, 1, 0, 1]
    assert table.step_names == ("1", "null")


def test_without_a_prompt_every_row_has_the_same_key(reader):
    assert reader([{"reward": 1}, {"reward": 2}], n=2).key.tolist() == [0, 0]


@layouts
def test_causes_of_missing_rewards(reader, layout):
    cells = [None, NAN, math.inf, -math.inf, 2.0]
    table = reader(rows(*(("a", cell) for cell in cells)), layout=layout)
    np.testing.assert_array_equal(table.rewards, [NAN, NAN, NAN, NAN, 2.0])
    assert table.cause.tolist() == [1, 2, 3, 3, 0]


def test_numbers_as_strings_and_booleans(reader):
    cells = ["0.5", " 1e1 ", "NaN", "-Infinity", True, False, 10**30]
    table = reader(rows(*(("a", cell) for cell in cells)))
    np.testing.assert_array_equal(table.rewards, [0.5, 10, NAN, NAN, 1, 0, 1e30])
    assert table.cause.tolist() == [0, 0, 2, 3, 0, 0, 0]


def test_bare_nan_and_infinity(reader):
    table = reader(
        b'{"prompt_id": 1, "reward": NaN}\n{"prompt_id": 1, "reward": -Infinity}\n{"prompt_id": 1, "reward": 1}'
    )
    assert table.cause.tolist() == [2, 3, 0]


WEIGHTED = {
    # id: (p, q, total, cause) with reward p + 0.5 q
    "sum": (1, 2, 2.0, 0),
    "one null": (1, None, NAN, 1),
    "null and NaN": (None, NAN, NAN, 2),
    "inf": (math.inf, 1, NAN, 3),
    "inf and null": (math.inf, None, NAN, 3),
    "opposite infinities": (math.inf, -math.inf, NAN, 3),
    "overflow": (1.7e308, 1.7e308, NAN, 3),
}


@pytest.mark.parametrize("case", WEIGHTED.values(), ids=WEIGHTED)
def test_parts_are_weighted_and_summed(reader, case):
    p, q, total, cause = case
    data = [{"prompt_id": "a", "p": p, "q": q}]
    table = reader(data, rewards=(("p", 1.0), ("q", 0.5)))
    np.testing.assert_array_equal(table.rewards, [total])
    assert table.cause.tolist() == [cause]


TRL = {"step": 1, "prompt": "p", "completion": "c", "advantage": 0.0}


@pytest.mark.parametrize(
    ("p", "q", "total", "cause"),
    [
        (1.0, 2.0, 3.0, 0),
        (1.0, None, 1.0, 0),
        (None, NAN, NAN, 2),
        (None, None, NAN, 1),
        (math.inf, None, NAN, 3),
        (1.0, -math.inf, NAN, 3),
    ],
)
def test_a_missing_part_counts_0_in_trl(reader, p, q, total, cause):
    """As torch.nansum in TRL: only a row without any part is missing; an infinite part never vanishes."""
    table = reader([TRL | {"p": 0.0, "q": 0.0}, TRL | {"p": p, "q": q}], layout="parquet")
    np.testing.assert_array_equal(table.rewards, [0.0, total])
    assert table.cause.tolist() == [0, cause]


BAD = {
    # id: (bad row, message)
    "null prompt": ({"prompt_id": None, "reward": 1.0}, "'prompt_id' is null, expected a prompt id"),
    "text reward": ({"prompt_id": "a", "reward": "great"}, "'reward' is 'great', expected a number"),
}


@layouts
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_row_is_an_error_with_its_place(reader, bad, layout):
    row, message = bad
    good = {"prompt_id": "a", "reward": type(row["reward"])(1)}
    with pytest.raises(DataError, match=rf"^f2\.{layout}:2: {message}.*; try --.*--on-bad-row skip"):
        reader([good], [good, row, good], layout=layout)


@layouts
def test_bad_rows_are_counted_and_belong_nowhere(reader, layout):
    data = [("a", "1"), (None, "2"), ("a", "great"), (None, "worse"), ("a", "3"), ("a", None)]
    table = reader(rows(*data), layout=layout, skip=True)
    assert table.key.tolist() == [0, -1, -1, -1, 0, 0]
    np.testing.assert_array_equal(table.rewards, [1, NAN, NAN, NAN, 3, NAN])
    assert table.cause.tolist() == [0, 0, 0, 0, 0, 1]
    (warning,) = table.warnings
    assert warning.startswith("3 bad rows skipped (first: f1.")


def test_broken_lines_are_dropped_and_counted_with_the_bad_rows(reader):
    table = reader(
        b'{"prompt_id": "a", "reward": 1}\noops\n{"prompt_id": null, "reward": 1}\n{"prompt_id": "a", "reward": 0}\n[]',
        rows(("a", 5)),
        skip=True,
    )
    assert table.rows == (3, 1)
    assert table.dropped == (frozenset({2, 5}), frozenset())
    assert table.key.tolist() == [0, -1, 0, 0]
    assert [table.place(row) for row in range(4)] == ["f1.jsonl:1", "f1.jsonl:3", "f1.jsonl:4", "f2.jsonl:1"]
    assert table.warnings[0].startswith("3 bad rows skipped (first: f1.jsonl:2: not valid JSON")


def test_one_bad_row_is_one_in_words(reader):
    assert reader(rows(("a", 1), (None, 1)), skip=True).warnings[0].startswith("1 bad row skipped")


def test_a_field_that_a_line_lacks_is_null(reader):
    with pytest.raises(DataError, match=r"f1\.jsonl:2: 'prompt_id' is null"):
        reader([{"prompt_id": "a", "reward": 1}, {"reward": 1}])
    assert reader([{"prompt_id": "a", "reward": 1}, {"prompt_id": "a"}]).cause.tolist() == [0, 1]


def test_a_column_that_one_file_lacks_is_null_there(reader):
    one, two = pa.table({"prompt_id": ["a"], "reward": [1.0]}), pa.table({"prompt_id": ["a"], "x": [1.0]})
    table = reader(one, two, layout="parquet")
    np.testing.assert_array_equal(table.rewards, [1.0, NAN])


@pytest.mark.parametrize(
    ("reward", "told"),
    [
        ("great", r"f1\.\w+:1: 'reward' is 'great', expected a number; try --reward COL"),
        ([1.0], "'reward' holds lists, expected a number per row; try --explode reward$"),
        ({"a": 1.0}, r"'reward' holds objects, expected a number per row; try --reward reward\.a$"),
    ],
)
@layouts
def test_a_reward_that_is_no_number(reader, reward, told, layout):
    with pytest.raises(DataError, match=told):
        reader(rows(("a", reward), ("a", reward)), layout=layout)


@pytest.mark.parametrize("data", [b"\n \n", b"\xef\xbb\xbf\n"])
def test_no_rows(reader, data):
    with pytest.raises(DataError, match=r"^f1\.jsonl: no rows, expected one per response"):
        reader(data)


def test_only_broken_lines(reader):
    with pytest.raises(DataError, match=r"^f1\.jsonl:1: not valid JSON"):
        reader(b"oops\n" * 3)


def test_only_bad_rows(reader):
    with pytest.raises(
        DataError, match=r"^f1\.jsonl: every row is bad \(f1\.jsonl:1: 'reward' is 'x', expected"
    ):
        reader(rows(("a", "x"), ("a", "y")), skip=True)


def test_only_empty_prompt_ids(reader):
    with pytest.raises(DataError, match=r"^'prompt_id' is empty in every row of the sample, expected"):
        reader(rows((None, 1), (None, 2)), skip=True)


@layouts
def test_missing_rewards_can_be_refused(reader, layout):
    with pytest.raises(DataError, match=rf"^f1\.{layout}:2: .*null"):
        reader(rows(("a", 1.0), ("a", None)), layout=layout, refuse_missing=True)


@layouts
def test_a_refused_column(reader, layout):
    with pytest.raises(DataError, match=r"the columns adv_kept, adv_x are there already"):
        reader(rows(("a", 1.0), adv_x=1, adv_kept=2), layout=layout, refused=("adv_kept", "adv_x", "other"))


def test_a_column_that_is_not_there(reader):
    with pytest.raises(
        UsageError, match=r"no column 'promt'; the columns are prompt_id, reward; try prompt_id"
    ):
        reader(rows(("a", 1)), prompt="promt")


def test_a_kind_is_what_any_file_says(reader):
    """A length that is null in one file and text in another is no length."""
    table = reader(rows(("a", 1), length=None), rows(("a", 1), length="long"), rows(("a", 1), length=None))
    assert table.length is None
    assert reader(rows(("a", 1), length=None), rows(("a", 1), length=3)).length[1] == 3


@layouts
def test_more_rows_than_a_batch_holds(reader, monkeypatch, layout):
    monkeypatch.setattr(jsonl, "_BATCH_BYTES", 100)
    monkeypatch.setattr(parquet, "_MAX_ROWS", 3)
    data = rows(*((i % 7, float(i)) for i in range(100)), step=1, length=2)
    table = reader(data, data[:10], layout=layout)
    assert table.rewards.tolist() == [*range(100), *range(10)]
    assert table.key.tolist() == [i % 7 for i in range(100)] + [*range(7), 0, 1, 2]
    assert [len(column) for column in (table.step, table.length, table.cause)] == [110] * 3
    assert [table.place(row) for row in (0, 99, 100, 109)] == [
        f"f{file}.{layout}:{line}" for file, line in ((1, 1), (1, 100), (2, 1), (2, 10))
    ]
    data[90]["prompt_id"] = None
    with pytest.raises(DataError, match=rf"^f1\.{layout}:91: 'prompt_id' is null"):
        reader(data, layout=layout)
