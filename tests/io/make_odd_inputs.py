"""Write the odd inputs in tests/io/odd: python tests/io/make_odd_inputs.py, run from the root of the project.

What must come out of each stands in the table of test_odd_inputs.py.
"""

import bz2
import gzip
import io
import json
import lzma
import pickle
import shutil
import sqlite3
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

ODD = Path(__file__).parent / "odd"
ROWS = [
    {"prompt_id": name, "reward": reward} for name, reward in (("a", 0.0), ("a", 1.0), ("b", 0.5), ("b", 0.0))
]
ROW = b'{"prompt_id": "a", "reward": 1}\n'
OTHER = b'{"prompt_id": "a", "reward": 0}\n'


def lines(*rows: dict) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


PLAIN = lines(*ROWS)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def zst(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


def parquet(table: pa.Table, **options) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def saved(write) -> bytes:
    sink = io.BytesIO()
    write(sink)
    return sink.getvalue()


def text(value: str) -> bytes:
    return ('{"prompt_id": "a", "reward": 1, "x": "' + value + '"}\n').encode(
        "utf-8", "surrogatepass"
    ) + OTHER


def reward(value: str) -> bytes:
    return OTHER + f'{{"prompt_id": "a", "reward": {value}}}\n'.encode() + ROW


SYNTAX = {
    "plain.jsonl": PLAIN,
    "bom.jsonl": b"\xef\xbb\xbf" + PLAIN,
    "crlf.jsonl": PLAIN.replace(b"\n", b"\r\n"),
    "cr_only.jsonl": PLAIN.replace(b"\n", b"\r"),
    "blank_lines.jsonl": b"\n\n" + PLAIN.replace(b"\n", b"\n \t\n"),
    "no_last_line_end.jsonl": PLAIN.rstrip(),
    "torn_last_line.jsonl": PLAIN + b'{"prompt_id": "b", "rew',
    "torn_first_line.jsonl": b'pt_id": "a", "reward": 1}\n' + PLAIN,
    "line_separators.jsonl": text("a\u2028b\u2029c\x85d\x0be"[:-2]),
    "control_character.jsonl": text("a\x01b"),
    "tab_in_a_string.jsonl": text("a\tb"),
    "nul_in_a_string.jsonl": text("a\0b"),
    "escaped_controls.jsonl": text("a\\u0000b\\u0001\\n"),
    "lone_surrogate_escaped.jsonl": text("\\ud800"),
    "lone_surrogate_bytes.jsonl": text("\ud800"),
    "lone_surrogate_in_a_key.jsonl": ROW.replace(b'"a"', b'"\\udfff"')
    + OTHER.replace(b'"a"', b'"\xed\xbf\xbf"'),
    "not_utf8.jsonl": OTHER + ROW.replace(b'"a"', b'"\xff\xfe"'),
    "latin1.jsonl": OTHER + ROW.replace(b'"a"', b'"Gr\xf6\xdfe"'),
    "overlong_utf8.jsonl": ROW.replace(b'"a"', b'"\xc0\xaf"'),
    "utf16.jsonl": PLAIN.decode().encode("utf-16"),
    "utf16_without_bom.jsonl": PLAIN.decode().encode("utf-16-le"),
    "utf32.jsonl": PLAIN.decode().encode("utf-32"),
    "zero_bytes.jsonl": bytes(4096),
    "zero_bytes_at_the_end.jsonl": PLAIN + bytes(64),
    "id_of_30_digits.jsonl": b"".join(
        b'{"prompt_id": 12345678901234567890123456789%d, "reward": %d}\n' % (last, value)
        for last in (0, 1)
        for value in (0, 1)
    ),
    "id_of_5000_digits.jsonl": b'{"prompt_id": %s, "reward": 1}\n' % (b"7" * 5000)
    + b'{"prompt_id": %s, "reward": 0}\n' % (b"7" * 5000),
    "id_with_leading_zeros.jsonl": ROW.replace(b'"a"', b'"0012"')
    + OTHER.replace(b'"a"', b'"012"')
    + OTHER.replace(b'"a"', b'"012"'),
    "id_number_and_text.jsonl": ROW.replace(b'"a"', b"5") + OTHER.replace(b'"a"', b'"5"'),
    "id_object.jsonl": ROW.replace(b'"a"', b'{"b": 1, "c": [2]}')
    + OTHER.replace(b'"a"', b'{"c": [2], "b": 1}'),
    "id_null.jsonl": ROW + OTHER.replace(b'"a"', b"null"),
    "id_empty.jsonl": ROW.replace(b'"a"', b'""') + OTHER.replace(b'"a"', b'""'),
    "reward_nan.jsonl": reward("NaN"),
    "reward_infinity.jsonl": reward("-Infinity"),
    "reward_null.jsonl": reward("null"),
    "reward_text.jsonl": reward('"0.5"'),
    "reward_word.jsonl": reward('"great"'),
    "reward_with_underscore.jsonl": reward('"1_000"'),
    "reward_true.jsonl": reward("true"),
    "reward_list.jsonl": reward("[1, 2]"),
    "reward_object.jsonl": reward('{"score": 1}'),
    "reward_1e400.jsonl": reward("1e400"),
    "reward_of_400_digits.jsonl": reward("9" * 400),
    "reward_of_5000_digits.jsonl": reward("9" * 5000),
    "reward_missing_in_a_row.jsonl": ROW + b'{"prompt_id": "a"}\n' + OTHER,
    "key_twice.jsonl": b'{"prompt_id": "b", "reward": 9, "prompt_id": "a", "reward": 1}\n' + OTHER,
    "key_appears_late.jsonl": b'{"prompt_id": "a", "x": 1}\n' * 120 + ROW + OTHER,
    "deep.jsonl": OTHER + b'{"prompt_id": "a", "reward": 1, "x": ' + b"[" * 20000 + b"]" * 20000 + b"}\n",
    "trailing_comma.jsonl": b'{"prompt_id": "a", "reward": 1,}\n',
    "single_quotes.jsonl": b"{'prompt_id': 'a', 'reward': 1}\n",
    "comments.jsonl": b"// rewards\n" + PLAIN,
    "log_line_first.jsonl": b"INFO: loading 4 rows, wait\n" + PLAIN,
    "arrays.jsonl": b'["a", 1]\n["a", 0]\n',
    "scalars.jsonl": b"1\n2\n",
    "nulls.jsonl": b"null\nnull\n",
    "a_string.json": b'"text"',
    "empty_objects.jsonl": b"{}\n{}\n",
    "empty.jsonl": b"",
    "blank.jsonl": b" \n\t\n\n",
    "two_objects_in_a_line.jsonl": ROW.rstrip() + OTHER,
    "pretty_array.json": json.dumps(ROWS, indent=2).encode(),
    "compact_array.json": json.dumps(ROWS).encode(),
    "array_of_numbers.json": b"[1, 2, 3]",
    "array_cut_off.json": json.dumps(ROWS, indent=2).encode()[:-20],
    "array_with_a_number.json": b'[{"prompt_id": "a", "reward": 1}, 5]',
    "pretty_object.json": json.dumps({"rollouts": [{"id": 1, **row} for row in ROWS]}, indent=2).encode(),
    "pretty_objects.json": json.dumps(ROWS[0], indent=2).encode() * 2,
    "without_a_reward.jsonl": b'{"prompt_id": "a", "text": "x"}\n' * 2,
    "without_a_prompt.jsonl": b'{"reward": 1}\n{"reward": 0}\n',
    "parts_without_a_total.jsonl": b'{"prompt_id": "a", "acc_reward": 1, "fmt_reward": 0}\n' * 2,
    "unique_ids.jsonl": lines(*({"uid": f"u{row}", "score": row} for row in range(4))),
    "own_output.jsonl": lines({"prompt_id": "a", "reward": 1, "adv_original": 0.5}),
}
PACKED = {
    "gzip.jsonl.gz": packed(PLAIN),
    "zstd.jsonl.zst": zst(PLAIN),
    "gzip_without_suffix.jsonl": packed(PLAIN),
    "gzip_members.jsonl.gz": packed(PLAIN[:70]) + packed(PLAIN[70:]),
    "zstd_frames.jsonl.zst": zst(PLAIN[:70]) + zst(PLAIN[70:]),
    "gzip_cut_off.jsonl.gz": packed(PLAIN * 2000)[:-40],
    "gzip_cut_off_at_once.jsonl.gz": packed(PLAIN)[:5],
    "zstd_cut_off.jsonl.zst": zst(
        b"".join(lines({**row, "x": str(n * 7919)}) for n in range(3000) for row in ROWS)
    )[:-40],
    "gzip_wrong_checksum.jsonl.gz": packed(PLAIN)[:-8] + b"\0\0\0\0" + packed(PLAIN)[-4:],
    "gzip_then_garbage.jsonl.gz": packed(PLAIN) + b"garbage",
    "gzip_twice.jsonl.gz": packed(packed(PLAIN)),
    "gzip_of_nothing.jsonl.gz": packed(b""),
    "zlib.jsonl": zlib.compress(PLAIN),
    "bzip2.jsonl.bz2": bz2.compress(PLAIN),
    "xz.jsonl.xz": lzma.compress(PLAIN),
}


def tar(sink) -> None:
    with tarfile.open(fileobj=sink, mode="w") as archive:
        info = tarfile.TarInfo("a.jsonl")
        info.size = len(PLAIN)
        archive.addfile(info, io.BytesIO(PLAIN))


def zipped(sink) -> None:
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.jsonl"), PLAIN)


def database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table rows (reward real)")
    return connection.serialize()


def arrow_file(sink) -> None:
    with pa.ipc.new_file(sink, pa.schema([("reward", pa.float64())])) as out:
        out.write_batch(pa.record_batch({"reward": [1.0]}))


HEADER = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
STRANGERS = {
    "lfs_pointer.parquet": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n",
    "annex_pointer.jsonl": b"/annex/objects/SHA256E-s1--0123.jsonl\n",
    "error_page.jsonl": b"<!doctype html>\n<html><head><title>404 Not Found</title></head></html>\n",
    "access_denied.parquet": b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>',
    "pickle.jsonl": pickle.dumps(ROWS, protocol=4),
    "pickle_of_text.jsonl": pickle.dumps(ROWS, protocol=0),
    "slime.pt": saved(lambda sink: torch.save({"rollout_id": 1, "samples": ROWS}, sink)),
    "zip.jsonl": saved(zipped),
    "tar.jsonl": saved(tar),
    "database.jsonl": database(),
    "numpy.jsonl": saved(lambda sink: np.save(sink, np.zeros(2))),
    "arrow.jsonl": saved(arrow_file),
    "table.jsonl": b"prompt_id,reward\na,1\na,0\n",
    "table.csv": b"prompt_id\treward\na\t1\n",
    "trajectories.yaml": b"- reward: 1\n  messages: []\n",
    "picture.jsonl": b"\x89PNG\r\n\x1a\n" + bytes(16),
    "program.jsonl": b"\x7fELF" + bytes(60),
    "weights.jsonl": struct.pack("<Q", len(HEADER)) + HEADER + bytes(4),
    "metrics.jsonl": lines({"step": 1, "critic/score/mean": 0.5}, {"step": 2, "critic/score/mean": 0.6}),
    "experiment_log.jsonl": lines(
        {"step": 1, "reward": {"overall": 0.5}, "critic": {"score": {"mean": 0.5}}}
    ),
    "train.log": b"step 1 reward 0.5\nstep 2 reward 0.6\n",
}
COLUMNS = {"prompt_id": ["a", "a", "b", "b"], "reward": [0.0, 1.0, 0.5, 0.0]}
TABLE = pa.table(COLUMNS)
LISTS = pa.table({"prompt": ["p", "q"], "rewards": [[0.0, 1.0], [1.0, 0.0]], "text": [["a", "b"], ["c"]]})
PARQUET = {
    "plain.parquet": parquet(TABLE),
    "packed.parquet.gz": packed(parquet(TABLE)),
    "cut_off.parquet": parquet(TABLE)[:-30],
    "head_only.parquet": parquet(TABLE)[:60],
    "wrong_footer.parquet": parquet(TABLE)[:-12] + b"\xff" * 4 + parquet(TABLE)[-8:],
    "magic_only.parquet": b"PAR1",
    "jsonl_inside.parquet": PLAIN,
    "no_rows.parquet": parquet(TABLE.slice(0, 0)),
    "no_columns.parquet": parquet(pa.table({})),
    "dictionary.parquet": parquet(TABLE.set_column(0, "prompt_id", TABLE["prompt_id"].dictionary_encode())),
    "decimal.parquet": parquet(TABLE.set_column(1, "reward", TABLE["reward"].cast(pa.decimal128(5, 2)))),
    "binary_ids.parquet": parquet(TABLE.set_column(0, "prompt_id", TABLE["prompt_id"].cast(pa.binary()))),
    "reward_of_texts.parquet": parquet(pa.table({**COLUMNS, "reward": ["0", "1", "x", "0"]})),
    "column_twice.parquet": parquet(
        pa.Table.from_arrays(
            [pa.array(["a"] * 2), pa.array([0.0, 1.0]), pa.array([1, 2])],
            names=["prompt_id", "reward", "reward"],
        )
    ),
    "list_too_short.parquet": parquet(LISTS),
    "lists.parquet": parquet(LISTS.drop_columns("text")),
    "struct_lists.parquet": parquet(
        pa.table({"prompt": ["p"], "samples": [[{"reward": 0.0}, {"reward": None}, {"reward": 1.0}]]})
    ),
    "null_column.parquet": parquet(pa.table({"prompt_id": ["a", "a"], "reward": pa.nulls(2)})),
}
UID = "0f6c2b1e-7a55-4b0e-9d0c-3a7b2f1c9e11"
PAD = "pad5d1f0c3b9a7e4c0f8d2b6a1e93c47f05_0_0"
VERL = {"input": "p", "output": "o", "score": 1.0, "step": 1}
LAYOUTS = {
    "lists_of_other_lengths.jsonl": lines(
        {"prompt": "p", "rewards": [0, 1]}, {"prompt": ["p"], "rewards": [0, 1, 1]}
    ),
    "lists_empty.jsonl": lines({"prompt": "p", "rewards": [0, 1]}, {"prompt": "q", "rewards": []}),
    "lists_null.jsonl": lines({"prompt": "p", "rewards": [0, 1]}, {"prompt": "q", "rewards": None}),
    "lists_then_a_row.jsonl": lines({"prompt": "p", "rewards": [0, 1]}, {"prompt": "q", "rewards": 1}),
    "a_row_then_lists.jsonl": lines({"prompt": "p", "reward": 1}, {"prompt": "p", "reward": [0, 1]}),
    "nested_null.jsonl": lines(
        {"prompt": "p", "rollouts": [{"reward": 1}, {"reward": 0}]}, {"prompt": "q", "rollouts": None}
    ),
    "nested_scalar.jsonl": lines(
        {"prompt": "p", "rollouts": [{"reward": 1}, {"reward": 0}]}, {"prompt": "q", "rollouts": [1]}
    ),
    "nested_without_a_reward.jsonl": lines(
        {"prompt": "p", "reward": 9, "rollouts": [{"reward": 1}, {"reward": 0}]},
        {"prompt": "p", "reward": 9, "rollouts": [{"text": "x"}]},
    ),
    "nested_in_a_string.jsonl": lines(
        {"prompt": "p", "trajectories": json.dumps([{"reward": 1}, {"reward": 0}])}
    ),
    "traces_that_failed.jsonl": lines(
        {
            "group": {"id": "g"},
            "traces": [
                {"ok": False, "rewards": {}},
                {"ok": True, "rewards": {"a": {"score": 1, "weight": 1}}},
                {"ok": True, "rewards": {"a": {"score": 0, "weight": 1}}},
            ],
        }
    ),
    "ones_of_two.jsonl": lines(
        {"rewards": [1.0], "token_ids": [[1]], "token_loss_mask": [[1]], "idx": 0},
        {"rewards": [1.0, 2.0], "token_ids": [[1]], "token_loss_mask": [[1]], "idx": 1},
    ),
    "verl_v1_padding_only.jsonl": lines(*({**VERL, "uid": PAD} for _ in range(2))),
    "verl_v1.jsonl": lines(
        *({**VERL, "uid": f"{UID}_{session}_0", "score": session} for session in range(2)),
        {**VERL, "uid": PAD},
    ),
    "swift_bare_nan.jsonl": b'{"step": ["1", "1"], "prompt": ["p", "p"], "completion": ["a", "b"], '
    b'"A": [NaN, 1.0], "B": [0.5, NaN]}\n',
    "two_formats_at_once.jsonl": lines(
        {"example_id": 1, "reward": 1, "completion": "c", "task_id": 1, "sample_idx": 1, "seqlen": 3}
    ),
}
FOLDERS = {
    "folder_of_pt/rollout_data/0.pt": STRANGERS["slime.pt"],
    "folder_of_logs/metrics.jsonl": STRANGERS["metrics.jsonl"],
    "folder_of_logs/wandb.jsonl": lines({"loss": 0.5, "grad_norm": 1.0}),
    "folder_of_two_formats/1.jsonl": lines(VERL, VERL),
    "folder_of_two_formats/completions.jsonl": LAYOUTS["swift_bare_nan.jsonl"],
    "folder_with_a_pointer/1.jsonl": PLAIN,
    "folder_with_a_pointer/2.jsonl": STRANGERS["lfs_pointer.parquet"],
    "folder_with_side_files/1.jsonl": lines(VERL, {**VERL, "score": 0}),
    "folder_with_side_files/metrics.jsonl": STRANGERS["metrics.jsonl"],
    "folder_with_side_files/empty.jsonl": b"",
    "folder_that_drifts/1.jsonl": lines({"prompt_id": None, "reward": None}, *ROWS[:2])[
        len(lines({"prompt_id": None, "reward": None})) :
    ],
    "folder_that_drifts/2.jsonl": lines(
        {"prompt_id": "c", "reward": 1, "step": 5}, {"prompt_id": "c", "reward": 0.5, "step": 5.0}
    ),
    "folder_that_drifts/3.parquet": parquet(
        pa.table({"prompt_id": [7, 7], "reward": ["0.5", None], "step": ["5", "5"]})
    ),
}


def main() -> None:
    shutil.rmtree(ODD, ignore_errors=True)
    for name, data in {**SYNTAX, **PACKED, **STRANGERS, **PARQUET, **LAYOUTS, **FOLDERS}.items():
        path = ODD / name
        path.parent.mkdir(parents=True, exist_ok=True)
        assert not path.exists(), name
        path.write_bytes(data)


if __name__ == "__main__":
    main()
