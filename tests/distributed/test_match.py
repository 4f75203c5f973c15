"""`match` on Ray: the search on one machine while there are few rows, a sample and a proof where there are many."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from distributed import local

from advcli.api.advantages import compute_advantages
from advcli.common.errors import DataError
from advcli.pipeline.request import Request
from advcli.records.results.match import Match
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("inline_ray")]

SIZE, GROUPS = 8, 120


def written(
    folder: Path,
    *,
    step: bool = True,
    prompt: bool = True,
    change: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda a, group: a,
    **knobs: object,
) -> tuple[str, ...]:
    """A log of a rule in three files, groups and steps across their edges."""
    pick = np.random.default_rng(5)
    rows = GROUPS * SIZE
    group = np.arange(rows) // SIZE
    steps, rewards = group // 10, np.round(pick.normal(size=rows), 3)
    made = compute_advantages(torch.tensor(rewards), group, steps=steps if step else None, **knobs)
    advantages = change(made.processed.double().numpy().copy(), group)
    lines = [
        {"reward": r, "advantage": a, "response": "x"}
        | ({"prompt_id": f"p{g}"} if prompt else {})
        | ({"step": int(s)} if step else {})
        for r, a, g, s in zip(rewards.tolist(), advantages.tolist(), group.tolist(), steps, strict=True)
    ]
    edges = (0, rows // 3, rows // 3 + 3, rows)
    for number in range(3):
        part = lines[edges[number] : edges[number + 1]]
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in part))
    return tuple(str(folder / f"{number}.jsonl") for number in range(3))


def on_both(inputs: tuple[str, ...]) -> tuple[Match, Match]:
    from advcli.distributed import commands

    request = Request(inputs, Settings(), ColumnOptions())
    return local.match(request), commands.match(request)


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the dumps were too large to be searched as they are: a third of them is."""
    from advcli.distributed import match

    monkeypatch.setattr(match, "_MAX_LOCAL", 100)
    monkeypatch.setattr(match, "_SAMPLE_ROWS", 320)


def test_few_rows_are_searched_as_they_are(tmp_path: Path):
    one, two = on_both(written(tmp_path, like="verl"))
    assert one.found
    assert asdict(one) == asdict(two)


LOGS = {
    "verl": {"like": "verl"},
    "rloo, no step": {"step": False, "estimator": "rloo"},
    "batch": {"estimator": "grpo", "scale": "batch"},
    "by position": {"step": False, "prompt": False, "estimator": "rloo"},
    "clipped": {"step": False, "change": lambda a, group: a.clip(-1, 1), "estimator": "grpo"},
    "keep ratios": {"estimator": "grpo", "keep_pos": 0.5, "keep_neg": 0.5},
    "filtered": {
        "change": lambda a, group: np.where(np.arange(len(a)) % 5 == 0, 0.0, a),
        "estimator": "grpo",
    },
}


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("name", LOGS)
def test_what_is_found_on_a_sample_is_proven_on_all_rows(name: str, tmp_path: Path):
    one, two = on_both(written(tmp_path, **LOGS[name]))
    assert one.found
    assert two.found
    assert two.sentence.rpartition(" (max")[0] == one.sentence.rpartition(" (max")[0]
    assert two.best.max_abs_diff == pytest.approx(one.best.max_abs_diff, abs=1e-6)
    assert (two.after, two.weights) == (one.after, one.weights)
    assert two.tolerance == pytest.approx(one.tolerance, rel=1e-9)
    assert (two.rows, two.compared) == (one.rows, one.compared) == (GROUPS * SIZE,) * 2
    (said,) = [note for note in two.notes if note not in one.notes]
    assert said.startswith("searched on ")
    assert said.endswith(f" rows of {GROUPS * SIZE}")


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("step", [True, False])
def test_one_group_that_is_otherwise_is_found_wherever_it_is(step: bool, tmp_path: Path):
    """What does not hold on all rows is searched for again, with the rows on which it does not hold."""

    def change(a: np.ndarray, group: np.ndarray) -> np.ndarray:
        return np.where(group == 77, a * 1.5, a)

    one, two = on_both(written(tmp_path, step=step, change=change, estimator="grpo"))
    assert not one.found
    assert not two.found
    assert [bad.place for bad in two.breaks.worst] == [bad.place for bad in one.breaks.worst]
    assert "the rule fits everywhere but in 1 group" in two.sentence
    assert any("the rows that do not fit are among these" in note for note in two.notes)


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize(("step", "told"), [(False, True), (True, False)])
def test_a_part_of_a_step_tells_no_rule_of_the_batch(step: bool, told: bool, tmp_path: Path):
    one, two = on_both(written(tmp_path, step=step, estimator="grpo", scale="batch"))
    assert one.best.scale == "batch"
    assert (two.best.scale == "batch") is step
    said = [note for note in two.notes if note.startswith("skipped: rules of the batch")]
    assert bool(said) is told


def test_what_is_no_log(tmp_path: Path):
    from advcli.distributed import commands

    (tmp_path / "x.jsonl").write_text('{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n')
    for engine in (local, commands):
        with pytest.raises(DataError, match="no logged advantage"):
            engine.match(Request((str(tmp_path / "x.jsonl"),), Settings(), ColumnOptions()))
