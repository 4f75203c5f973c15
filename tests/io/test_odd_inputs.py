"""A folder of broken and odd inputs, with what must come out of each in one table.

The files are written by make_odd_inputs.py. Each goes through the whole of `compute`: it is read and written back with the
rows, groups and missing rewards of the table, or refused with a message that has the words of the table. A crash is neither.
"""

import gzip
import io
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

ODD = Path(__file__).parent / "odd"
LINES, PARQUET = "expected one JSON object per line", "not a readable parquet file"
PICKLE = "which can run code when it is opened, so advcli never opens one"
METRICS = "this is a log of averages per step, expected a row per response with its reward"

# name: (rows, groups, missing rewards), or the words of the error after the name of the file
OUTCOMES = {
    # text and lines
    "plain.jsonl": (4, 2, 0),
    "bom.jsonl": (4, 2, 0),
    "crlf.jsonl": (4, 2, 0),
    "cr_only.jsonl": ":1: not valid JSON at column 35 (extra data)",
    "blank_lines.jsonl": (4, 2, 0),
    "no_last_line_end.jsonl": (4, 2, 0),
    "torn_last_line.jsonl": ":5: not valid JSON at column 20 (unterminated string starting at); the last line is incomplete",
    "torn_first_line.jsonl": ":1: not valid JSON at column 1",
    "line_separators.jsonl": (2, 1, 0),
    "control_character.jsonl": ":1: not valid JSON at column 40 (invalid control character",
    "tab_in_a_string.jsonl": ":1: not valid JSON at column 40 (invalid control character",
    "nul_in_a_string.jsonl": ":1: not valid JSON at column 40 (invalid control character",
    "escaped_controls.jsonl": (2, 1, 0),
    "lone_surrogate_escaped.jsonl": (2, 1, 0),
    "lone_surrogate_bytes.jsonl": (2, 1, 0),
    "lone_surrogate_in_a_key.jsonl": (2, 1, 0),
    "not_utf8.jsonl": ":2: not UTF-8 at byte 16",
    "latin1.jsonl": ":2: not UTF-8 at byte 18",
    "overlong_utf8.jsonl": ":1: not UTF-8 at byte 16",
    "utf16.jsonl": ": this is UTF-16 or UTF-32 text, expected UTF-8",
    "utf16_without_bom.jsonl": ": this is UTF-16 or UTF-32 text, expected UTF-8",
    "utf32.jsonl": ": this is UTF-16 or UTF-32 text, expected UTF-8",
    "zero_bytes.jsonl": ": the file holds nothing but zero bytes (a torn copy?)",
    "zero_bytes_at_the_end.jsonl": ":5: not valid JSON at column 1",
    # ids
    "id_of_30_digits.jsonl": (4, 2, 0),
    "id_of_5000_digits.jsonl": (2, 1, 0),
    "id_with_leading_zeros.jsonl": (3, 2, 0),
    "id_number_and_text.jsonl": (2, 1, 0),
    "id_object.jsonl": (2, 1, 0),
    "id_null.jsonl": ":2: 'prompt_id' is null, expected a prompt id",
    "id_empty.jsonl": "!'prompt_id' is empty in every row",
    "unique_ids.jsonl": "!each of 4 prompts has one row ('uid' differs in all of them",
    # rewards
    "reward_nan.jsonl": (3, 1, 1),
    "reward_infinity.jsonl": (3, 1, 1),
    "reward_null.jsonl": (3, 1, 1),
    "reward_text.jsonl": (3, 1, 0),
    "reward_word.jsonl": ":2: 'reward' is 'great', expected a number",
    "reward_with_underscore.jsonl": ":2: 'reward' is '1_000', expected a number",
    "reward_true.jsonl": (3, 1, 0),
    "reward_list.jsonl": ":2: 'reward' is [1, 2], expected a number",
    "reward_object.jsonl": ":2: 'reward' is {'score': 1}, expected a number",
    "reward_1e400.jsonl": (3, 1, 1),
    "reward_of_400_digits.jsonl": (3, 1, 1),
    "reward_of_5000_digits.jsonl": (3, 1, 1),
    "reward_missing_in_a_row.jsonl": (3, 1, 1),
    "without_a_reward.jsonl": "!no reward among the columns prompt_id, text",
    "without_a_prompt.jsonl": "!no prompt id among the columns reward",
    "parts_without_a_total.jsonl": "!no total reward, and several parts: acc_reward, fmt_reward",
    # objects, arrays, documents
    "key_twice.jsonl": (2, 1, 0),
    "key_appears_late.jsonl": (122, 1, 120),
    "deep.jsonl": ":2: nested too deeply",
    "trailing_comma.jsonl": ":1: not valid JSON at column 32",
    "single_quotes.jsonl": ":1: not valid JSON at column 2",
    "comments.jsonl": ":1: not valid JSON at column 1",
    "log_line_first.jsonl": ":1: not valid JSON at column 1",
    "two_objects_in_a_line.jsonl": ":1: not valid JSON at column 32 (extra data)",
    "arrays.jsonl": f":1: the line is a JSON array, {LINES}",
    "scalars.jsonl": f":1: the line is 1, {LINES}",
    "nulls.jsonl": f":1: the line is null, {LINES}",
    "a_string.json": f":1: the line is 'text', {LINES}",
    "empty_objects.jsonl": ": no rows, expected one per response",
    "empty.jsonl": ": the file is empty, expected rows",
    "blank.jsonl": ": no rows, expected one per response",
    "pretty_array.json": (4, 2, 0),
    "compact_array.json": (4, 2, 0),
    "array_of_numbers.json": f":1: the line is a JSON array, {LINES}",
    "array_cut_off.json": ":16: not valid JSON (expecting property name enclosed in double quotes)",
    "array_with_a_number.json": f":1: the line is a JSON array, {LINES}",
    "pretty_object.json": (4, 2, 0),
    "pretty_objects.json": ":4: not valid JSON (extra data); the value that begins in line 1 ends before it",
    "own_output.jsonl": ":1: the column adv_original is there already",
    # compressed
    "gzip.jsonl.gz": (4, 2, 0),
    "zstd.jsonl.zst": (4, 2, 0),
    "gzip_without_suffix.jsonl": (4, 2, 0),
    "gzip_members.jsonl.gz": (4, 2, 0),
    "zstd_frames.jsonl.zst": (4, 2, 0),
    "gzip_cut_off.jsonl.gz": ":7711: Truncated compressed stream",
    "gzip_cut_off_at_once.jsonl.gz": ":1: Truncated compressed stream",
    "zstd_cut_off.jsonl.zst": ":10391: Truncated compressed stream",
    "gzip_wrong_checksum.jsonl.gz": ":1: zlib inflate failed: incorrect data check",
    "gzip_then_garbage.jsonl.gz": ":1: zlib inflate failed: incorrect header check",
    "gzip_twice.jsonl.gz": ": this was compressed twice",
    "gzip_of_nothing.jsonl.gz": ": the file is empty, expected rows",
    "zlib.jsonl": ":1: not UTF-8 at byte 2",
    "bzip2.jsonl.bz2": ": this is compressed with bzip2, which is not read",
    "xz.jsonl.xz": ": this is compressed with xz, which is not read",
    # no dumps
    "lfs_pointer.parquet": ": this is a Git LFS pointer, not the file itself",
    "annex_pointer.jsonl": ": this is a git-annex pointer, not the file itself",
    "error_page.jsonl": ": this is an HTML page",
    "access_denied.parquet": ": this is an XML document",
    "pickle.jsonl": f": this is a pickle, {PICKLE}",
    "pickle_of_text.jsonl": f": this is a pickle, {PICKLE}",
    "slime.pt": ": this is a zip archive as torch.save writes it (a checkpoint, or slime's .pt dump); "
    "the pickle in it can run code",
    # One dump in an archive is read.
    "zip.jsonl": (4, 2, 0),
    "tar.jsonl": ": this is a tar archive",
    "database.jsonl": ": this is an SQLite database",
    "numpy.jsonl": ": this is a numpy array",
    "arrow.jsonl": "!no prompt id among the columns reward",
    "table.jsonl": ": this is a table of text, which is read if its name ends in .csv or .tsv",
    # Tabs, whatever its name says.
    "table.csv": (1, 1, 0),
    "trajectories.yaml": ": this is YAML or plain text",
    "picture.jsonl": ": this is a PNG picture",
    "program.jsonl": ": this is a program",
    "weights.jsonl": ": this is a safetensors file",
    "metrics.jsonl": f": {METRICS}",
    "experiment_log.jsonl": ": this is EasyR1's experiment_log.jsonl: averages per step, no rewards of single responses",
    "train.log": ":1: not valid JSON at column 1",
    # parquet
    "plain.parquet": (4, 2, 0),
    "packed.parquet.gz": (4, 2, 0),
    "cut_off.parquet": f": {PARQUET} (parquet magic bytes not found in footer",
    "head_only.parquet": f": {PARQUET} (parquet magic bytes not found in footer",
    "wrong_footer.parquet": f": {PARQUET} (",
    "magic_only.parquet": f": {PARQUET} (parquet file size is 4 bytes",
    "jsonl_inside.parquet": ": not a parquet file (it does not begin with PAR1)",
    "no_rows.parquet": ": no rows, expected one per response",
    "no_columns.parquet": ": no rows, expected one per response",
    "dictionary.parquet": (4, 2, 0),
    "decimal.parquet": (4, 2, 0),
    "binary_ids.parquet": (4, 2, 0),
    "reward_of_texts.parquet": ":3: 'reward' is 'x', expected a number",
    "column_twice.parquet": ": the column reward is there twice, expected unique names",
    "list_too_short.parquet": (4, 2, 0),
    "lists.parquet": (4, 2, 0),
    "struct_lists.parquet": (3, 1, 1),
    "null_column.parquet": (2, 1, 2),
    # layouts and formats
    "lists_of_other_lengths.jsonl": (5, 2, 0),
    "lists_empty.jsonl": (2, 1, 0),
    "lists_null.jsonl": ":2: 'rewards' is missing, expected a list with one value per row",
    "lists_then_a_row.jsonl": ":2: 'rewards' is no list, expected a list with one value per row",
    "a_row_then_lists.jsonl": ":2: 'reward' is [0, 1], expected a number",
    "nested_null.jsonl": ":2: 'rollouts' is missing, expected a list with one object per row",
    "nested_scalar.jsonl": ":2: item 1 of 'rollouts' is no object, expected one per row",
    # The average beside a rollout without a reward is not its reward.
    "nested_without_a_reward.jsonl": (3, 1, 1),
    "nested_in_a_string.jsonl": "!no reward among the columns prompt, trajectories",
    "traces_that_failed.jsonl": (3, 1, 1),
    "ones_of_two.jsonl": ":2: 'rewards' has 2 values, expected one value per row",
    "verl_v1.jsonl": (2, 1, 0),
    "verl_v1_padding_only.jsonl": ": no row is left (2 rows are no rollout ('uid.padding'): left out)",
    "swift_bare_nan.jsonl": (2, 1, 0),
    "two_formats_at_once.jsonl": ": the formats verifiers and areal fit; try --format verifiers or --format areal",
    # folders
    "folder_of_pt": ": no dump in this folder (hidden files and advcli's own .adv. files are skipped); it holds 1 .pt: torch",
    "folder_of_logs": f"/metrics.jsonl: {METRICS}",
    "folder_of_two_formats": "!the inputs have several formats: verl (",
    "folder_with_a_pointer": "/2.jsonl: this is a Git LFS pointer",
    "folder_with_side_files": (2, 1, 0),
    "folder_that_drifts": (6, 3, 1),
}


LEFT_OUT = {"verl_v1.jsonl": 1}


def annotated(name, out):
    return compute(Request((str(ODD / name),), Settings(), ColumnOptions()), Output(f"{out}/"))


@pytest.mark.parametrize("name", [name for name, found in OUTCOMES.items() if isinstance(found, tuple)])
def test_what_is_read(name, tmp_path):
    rows, groups, missing = OUTCOMES[name]
    health = annotated(name, tmp_path).health
    assert (health.rows, health.groups, health.missing) == (rows, groups, missing)
    written = 0
    for path in tmp_path.rglob("*.adv.*"):
        if ".parquet" in path.name:
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            written += pq.read_table(io.BytesIO(data)).num_rows
        elif path.suffix == ".jsonl":
            text = path.read_bytes().decode("utf-8", "surrogatepass")
            found = [
                json.loads(line, parse_int=str)
                for line in text.removeprefix("\ufeff").split("\n")
                if line.strip()
            ]
            assert all("adv_kept" in row for row in found)
            written += len(found)
        else:
            written = rows
    # A row that was left out is written like any other.
    assert written == rows + LEFT_OUT.get(name, 0)


@pytest.mark.parametrize("name", [name for name, found in OUTCOMES.items() if isinstance(found, str)])
def test_what_is_refused(name, tmp_path):
    words = OUTCOMES[name]
    with pytest.raises(DataError) as error:
        annotated(name, tmp_path)
    shown = str(error.value)
    expected = words[1:] if words.startswith("!") else f"{ODD / name}{words}"
    assert shown.startswith(expected)
    assert not re.search(r"[\x00-\x1f\x7f]", shown)
    assert (
        error.value.hint
        or "no rows" in shown
        or "empty" in shown
        or "twice" in shown
        or "no row is left" in shown
    )
    assert list(tmp_path.iterdir()) == []


def test_every_file_is_in_the_table_and_there_are_many():
    assert set(OUTCOMES) == {path.name for path in ODD.iterdir()}
    assert len(OUTCOMES) >= 80


def test_a_line_of_100_megabytes(tmp_path):
    """Lists of 100 MB in one line: read, and copied byte by byte."""
    text = "x" * 12_500_000
    line = json.dumps({"prompt": "p", "rewards": [0, 1] * 4, "text": [text] * 8}) + "\n"
    (tmp_path / "long.jsonl").write_text(line)
    options = ColumnOptions(max_line=128_000_000)
    request = Request((str(tmp_path / "long.jsonl"),), Settings(), options)
    compute(request, Output(str(tmp_path / "out.jsonl"), same_layout=True))
    done = (tmp_path / "out.jsonl").read_text()
    assert done.startswith(line.rstrip()[:-1] + ', "adv_original": [')
