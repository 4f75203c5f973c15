"""Make the sample: `python sample_data/make.py`. The same files come out every time.

64 prompts, 16 in each of 4 steps, 8 rows each: accuracy is 0 or 1 with a chance that differs between prompts
and grows from step to step, format is 0, 0.1 or 0.2, reward is their sum. Some prompts are always or never
solved (dead groups). One group lost three rows, one is left with a single row, and four rewards are null.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
STEPS, PROMPTS, ROWS = 4, 16, 8
RAGGED, SINGLE = 21, 42
NULLS = {(3, 1), (17, 5), (17, 6), (50, 0)}


def main(folder: Path = HERE) -> None:
    """Write rewards.parquet, rewards.jsonl and tokens.jsonl."""
    rng = np.random.default_rng(20260101)
    rows = [row for step in range(1, STEPS + 1) for row in _step(rng, step)]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, folder / "rewards.parquet", compression="zstd")
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / "rewards.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(rows)} rows, {STEPS * PROMPTS} prompts")
    rng = np.random.default_rng(20260102)
    lines = [json.dumps(_with_lists(rng, row)) for row in rows[: 8 * ROWS]]
    (folder / "tokens.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _with_lists(rng: np.random.Generator, row: dict[str, object]) -> dict[str, object]:
    """A row as a trainer with a critic may dump it: a value and a KL for each of a few tokens."""
    tokens = int(rng.integers(3, 9))
    target = row["reward"] if isinstance(row["reward"], float) else 0.6
    values = target + np.linspace(0.6 - target, 0, tokens) + rng.normal(0, 0.1, tokens)
    return {
        **{name: row[name] for name in ("prompt_id", "step", "reward")},
        "values": [round(float(value), 3) for value in values],
        "kl": [round(float(abs(value)), 3) for value in rng.normal(0, 0.05, tokens)],
    }


def _step(rng: np.random.Generator, step: int) -> list[dict[str, object]]:
    rows = []
    for place in range(PROMPTS):
        number = (step - 1) * PROMPTS + place
        a, b = (int(x) for x in rng.integers(11, 99, 2))
        skill = float(np.clip(rng.beta(0.9, 0.9) + 0.06 * (step - 1), 0, 1))
        chance = 0.0 if place == 5 else 1.0 if place == 11 else skill
        for index in range({RAGGED: 5, SINGLE: 1}.get(number, ROWS)):
            right = bool(rng.random() < chance)
            answer = a * b if right else a * b + int(rng.integers(1, 9))
            accuracy = float(right)
            form = {5: 0.0, 11: 0.2}.get(place, float(rng.choice([0.0, 0.1, 0.2], p=[0.1, 0.2, 0.7])))
            missing = (number, index) in NULLS
            rows.append(
                {
                    "prompt_id": f"mul-{number:04d}",
                    "step": step,
                    "prompt": f"What is {a} × {b}?",
                    "response": f"{a} × {b} = {answer}",
                    "accuracy_reward": None if missing else accuracy,
                    "format_reward": form,
                    "reward": None if missing else round(accuracy + form, 1),
                    "response_length": int(rng.gamma(6.0, 30.0) + 20),
                }
            )
    return rows


if __name__ == "__main__":
    main()
