"""The groups on the page: all of them where they are few, the most telling where not."""

import json
import math

import pytest

from advcli.inspection import browser
from advcli.pipeline.report import report
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions


def made(path, groups, texts=20, **row):
    lines = [
        {
            "uid": f"p{number}",
            "prompt": f"question {number}",
            "response": f"said {number}-{place}",
            "reward": reward,
            **row,
        }
        for number, group in enumerate(groups)
        for place, reward in enumerate(group)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return report(Request((str(path),), Settings(), ColumnOptions(prompt="uid")), texts=texts)


GROUPS = [[0.0, 1.0, 1.0], [0.5, 0.5], [0.0, 3.0], [None, None], [2.0]]


def test_every_group_with_its_figures(tmp_path):
    found = {one.group: one for one in made(tmp_path / "a.jsonl", GROUPS).browser}
    assert list(found)[:2] == [2, 0]
    assert set(found) == {0, 1, 2, 3, 4}
    first = found[0]
    assert (first.size, first.dead, first.prompt) == (3, False, "p0 · question 0")
    assert first.mean == pytest.approx(2 / 3)
    assert first.std == pytest.approx(math.sqrt(1 / 3))
    assert first.max_centred == pytest.approx(2 / 3)
    # (0 − 2/3) / √(1/3)
    assert first.max_abs == pytest.approx(2 / math.sqrt(3))
    assert [one.reward for one in first.rows] == [1, 1, 0]
    assert [one.text for one in first.rows] == ["said 0-1", "said 0-2", "said 0-0"]
    assert (found[1].dead, found[1].std, found[1].max_abs) == (True, 0, 0)
    assert (found[2].solved, first.solved) == (0.5, 0)
    assert math.isnan(found[3].mean)
    assert math.isnan(found[4].std)
    assert math.isnan(found[4].max_abs)


def test_texts_are_of_the_most_extreme_and_of_dead_groups(tmp_path):
    found = made(tmp_path / "a.jsonl", [*GROUPS, [1.0, 1.0], [0.0, 0.0]], texts=1).browser
    told = {one.group for one in found if one.rows[0].text is not None}
    assert told == {2, 1}
    assert all(one.prompt for one in found)


def test_many_groups_and_rows_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "GROUPS", 8)
    monkeypatch.setattr(browser, "ROWS", 3)
    groups = [[0.0, float(one), 0.0, 0.0, 1.0] for one in range(20)] + [[1.0] * 5] * 10
    page = made(tmp_path / "a.jsonl", groups, texts=3)
    found = page.browser
    assert len(found) == 8
    assert [one.group for one in found][:3] == [19, 18, 17]
    assert sum(one.dead for one in found) >= 2
    assert all((len(one.rows), one.left) == (3, 2) for one in found)
    # The largest and the smallest advantage stay.
    assert (found[0].rows[0].reward, found[0].rows[-1].reward) == (19, 0)
    assert "the list of groups shows 8 of 30 groups" in page.remarks


def test_long_texts_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "_TEXT", 4)
    page = made(tmp_path / "a.jsonl", [[0.0, 1.0]])
    assert page.browser[0].rows[0].text == "said…"
    assert "2 texts cut at 4 characters" in page.remarks
