"""The runner of example dumps: what agrees and what differs."""

import json

import pytest
from parity import dumps

ROWS = [
    {"prompt_id": prompt, "step": 3, "reward": reward, "advantage": 0.5}
    for prompt, reward in (("a", 1.0), ("b", 0.0), ("a", 0.0), ("b", 1.0))
]
EXPECTED = {
    "input": "run",
    "format": "generic",
    "rows": 4,
    "groups": 2,
    "group_of": ["x", "y", "x", "y"],
    "rewards": [1, 0, 0, 1],
    "advantages": [0.5] * 4,
    "steps": [3, 3, 3, 3],
    "split": "train",
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "agrees"),
        ({"group_of": ["x", "x", "y", "y"]}, "groups [0, 1, 0, 1], expected [0, 0, 1, 1]"),
        ({"rewards": [1, 0, 0, None]}, "rewards: entry 4 is 1.0, expected None"),
        ({"format": "verl"}, "format generic, expected verl"),
        ({"rows": 5}, "4 rows, expected 5"),
        ({"advantages": None}, "advantages where none was expected"),
        ({"input": "nowhere"}, "nowhere"),
    ],
)
def test_a_dump(tmp_path, capsys, change, said):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "expected.json").write_text(json.dumps({**EXPECTED, **change}))
    code = dumps.main([str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert said in lines[0]
    assert lines[-1] == f"agree {1 - code} of 1"
    assert code == (0 if said == "agrees" else 1)
