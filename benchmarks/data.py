"""Seeded dumps: `python -m benchmarks.data KIND FILE --rows N [--shuffled] [--text BYTES]`.

Rows lie in groups of 8, 128 groups in a step, unless they are shuffled over the whole file. Texts are put together
from a few thousand templates of random words and the number of the row, so that making them takes seconds and no text is
met twice but the prompt of a group.
"""

import argparse
import json
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

GROUP = 8
STEP = 1024
SEED = 2026
_BLOCK = 1 << 20
_TEMPLATES = 2048
_PROMPT_SHARE = 4


def main() -> None:
    """Make one file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=_KINDS)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--text", type=int, default=4096, help="bytes of prompt and response in a row")
    parser.add_argument("--files", type=int, default=1, help="FILE is a folder with so many files")
    args = parser.parse_args()
    place = _places(args.rows, shuffled=args.shuffled)
    if args.files == 1:
        _KINDS[args.kind](args.file, place, args.text)
        return
    args.file.mkdir(parents=True)
    suffix = "jsonl" if args.kind == "jsonl" else "parquet"
    for number, part in enumerate(np.array_split(place.reshape(-1, GROUP), args.files)):
        _KINDS[args.kind](args.file / f"part-{number:05}.{suffix}", part.reshape(-1), args.text)


def _places(rows: int, *, shuffled: bool) -> np.ndarray:
    """Which of the rows, as they were sampled, stands where."""
    place = np.arange(rows)
    return np.random.default_rng(SEED).permutation(place) if shuffled else place


def _blocks(place: np.ndarray, size: int) -> Iterator[np.ndarray]:
    return (place[start : start + size] for start in range(0, len(place), size))


def _narrow_columns(place: np.ndarray) -> dict[str, pa.Array]:
    """Id, step and reward; the id is that of a prompt, 16 digits with no order in them."""
    group = place // GROUP
    mixed = (group.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(4)
    digits = pc.utf8_lpad(pa.array(mixed, pa.uint64()).cast(pa.string()), 18, "0")
    rewards = np.random.default_rng(SEED).random(4096)[(place * 7919) % 4093].round(3)
    return {
        "prompt_id": digits,
        "step": pa.array(place // STEP, pa.int64()),
        "reward": pa.array(rewards, pa.float64()),
    }


@cache
def _texts(size: int) -> pa.Array:
    """Templates of random words, about `size` bytes each."""
    rng = np.random.default_rng(SEED)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    words = ["".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(5000)]
    each = max(1, size // 7)
    drawn = rng.integers(0, len(words), (_TEMPLATES, each))
    # A line break every dozen words, as in chains of thought: JSON escapes it.
    lines = (" ".join(words[w] for w in row[at : at + 12]) for row in drawn for at in range(0, each, 12))
    per_text = -(-each // 12)
    return pa.array(["\n".join(islice(lines, per_text))[:size] for _ in drawn])


def _wide_columns(
    place: np.ndarray, prompts: pa.Array, responses: pa.Array, names: tuple[str, str]
) -> dict[str, pa.Array]:
    group = place // GROUP

    def text(templates: pa.Array, number: np.ndarray) -> pa.Array:
        start = pa.array(number).cast(pa.string())
        chosen = templates.take(pa.array(number * 31 % _TEMPLATES))
        return pc.binary_join_element_wise(start, chosen, ": ")

    return {names[0]: text(prompts, group), names[1]: text(responses, place)}


def _narrow(file: Path, place: np.ndarray, text: int) -> None:
    del text
    _write(file, (_narrow_columns(part) for part in _blocks(place, _BLOCK)))


def _wide(file: Path, place: np.ndarray, text: int) -> None:
    prompts, responses = _texts(text // _PROMPT_SHARE), _texts(text - text // _PROMPT_SHARE)
    size = min(_BLOCK, max(1024, (64 << 20) // text))
    _write(
        file,
        (
            _narrow_columns(part) | _wide_columns(part, prompts, responses, ("prompt", "response"))
            for part in _blocks(place, size)
        ),
    )


def _write(file: Path, blocks: Iterator[dict[str, pa.Array]]) -> None:
    writer = None
    for columns in blocks:
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(file, table.schema, compression="snappy")
        writer.write_table(table, row_group_size=len(table))
    if writer:
        writer.close()


def _jsonl(file: Path, place: np.ndarray, text: int) -> None:
    """The lines of verl's `trainer.rollout_data_dir`; no id, the prompt's text is the key."""
    prompts, responses = _texts(text // _PROMPT_SHARE), _texts(text - text // _PROMPT_SHARE)
    with file.open("w", encoding="utf-8") as out:
        for part in _blocks(place, 4096):
            columns = _narrow_columns(part) | _wide_columns(part, prompts, responses, ("input", "output"))
            for row in pa.table(columns).to_pylist():
                record = {
                    "input": row["input"],
                    "output": row["output"],
                    "gts": row["prompt_id"],
                    "score": row["reward"],
                    "step": row["step"],
                }
                out.write(json.dumps(record, ensure_ascii=False) + "\n")


_KINDS = {"narrow": _narrow, "wide": _wide, "jsonl": _jsonl}

if __name__ == "__main__":
    main()
