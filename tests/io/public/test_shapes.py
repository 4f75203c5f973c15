"""Files in the shape of public ones: the columns, groups and numbers that a person chose by hand, without a flag."""

import json

import pyarrow.parquet as pq
import pytest
from in_process import run
from public import data_sets, evaluations, training

SHAPES = {shape.file: shape for kind in (training, data_sets, evaluations) for shape in kind.SHAPES}


def test_there_are_forty_and_each_has_a_name_of_its_own():
    assert sum(len(kind.SHAPES) for kind in (training, data_sets, evaluations)) == len(SHAPES) >= 40
    assert all(len(shape.note) > 40 for shape in SHAPES.values())


def annotated(folder):
    """The rows that were written, file by file."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            yield from pq.read_table(path).to_pylist()
        elif path.suffix == ".jsonl":
            yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def refused(code, err, words):
    assert code == 3, err
    assert err.count("\n") == 1, err
    for text in words:
        assert text in err


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_public_shape(shape, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["compute", str(shape.write(tmp_path / "in")), "--scale", "none", "--json", "--out", "out/"]
    if not shape.reward:
        code, _, err = run(command)
        refused(code, err, shape.said)
        assert not (tmp_path / "out").exists()
        return
    for flags in shape.args:
        # Each time the hint names what is typed next.
        code, _, err = run(command)
        refused(code, err, [f"; try {' '.join(flags)}"])
        command += flags
    code, out, err = run(command)
    assert code == 0, err
    assert all(words in err for words in shape.said), err
    # Where each answer of a prompt has its own epoch or model, there are no runs to tell apart.
    assert "hold rows of several" not in err
    found = json.loads(out)
    chosen = found["settings"]
    assert (list(chosen["reward"]), chosen["group_by"]) == (list(shape.reward), list(shape.group_by))
    assert chosen["step"] == shape.step
    assert (found["rows"], found["groups"]) == (len(shape.advantages), shape.groups)
    got = [row["adv_original"] for row in annotated(tmp_path / "out")]
    expected = [None if value is None else pytest.approx(value, abs=1e-9) for value in shape.advantages]
    assert got == expected
