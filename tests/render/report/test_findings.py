"""What the page says first, on dumps whose figures are counted by hand."""

import json

from render.report.pages import dump, page

from advcli.pipeline.report import report
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions
from advcli.render.report.findings import findings


def said(path, rows, **settings):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {
        one.text: one
        for one in findings(report(Request((str(path),), Settings(**settings), ColumnOptions())))
    }


def group(prompt, *rewards, step=1):
    return [{"prompt": prompt, "step": step, "reward": one} for one in rewards]


def test_dead_groups_come_first(tmp_path):
    rows = [*group("a", 1, 1), *group("b", 0, 0), *group("c", 0, 1), *group("d", 0.5, 0.5)]
    first, one = next(iter(said(tmp_path / "a.jsonl", rows).items()))
    assert first == (
        "3 of 4 groups (75.0%) carry no signal: 1 solved by every row, 1 by none, 1 constant in between."
    )
    assert one.links[0].find == "state:dead"
    assert next(iter(said(tmp_path / "b.jsonl", group("a", 0, 1)))) == "The only group carries a signal."


def test_of_one_reward_no_group_is_solved(tmp_path):
    texts = list(said(tmp_path / "a.jsonl", [*group("a", 1, 1), *group("b", 1, 1)]))
    assert texts[0] == "2 of 2 groups (100.0%) carry no signal."


def test_nothing_to_compare(tmp_path):
    rows = [*group("a", None, 1), *group("b", None, None)]
    first, one = next(iter(said(tmp_path / "a.jsonl", rows).items()))
    assert first == "No group has two valid rewards: nothing can be compared."
    assert one.doubt


def test_missing_rewards_and_where_they_are(tmp_path):
    found = said(tmp_path / "a.jsonl", [*group("a", 0, 1, None), *group("b", 0, 1)])
    one = found["1 of 5 rows has no usable reward: 1 null."]
    assert one.links[0].find == "reward:missing"


def test_a_step_that_stands_out(tmp_path):
    rows = [row for step in range(6) for row in group("a", 0, 100 if step == 4 else 1, step=step)]
    found = said(tmp_path / "a.jsonl", rows)
    (text,) = [text for text in found if text.startswith("Step ")]
    assert text.startswith("Step 4 stands out by mean reward 50")
    assert found[text].links[0].find == "step:4"


def test_the_course_of_the_reward(tmp_path):
    rows = [
        row
        for step in (1, 2)
        for prompt in range(6)
        for row in group(f"p{prompt}", prompt, prompt + 1 + 20 * (step == 2), step=step)
    ]
    texts = list(said(tmp_path / "a.jsonl", rows))
    assert "Mean reward: 3 at step 1, 13 at step 2; their 95% intervals do not overlap." in texts


def test_prompts_over_the_run(tmp_path):
    rows = [row for step in range(3) for row in [*group("a", 1, 1, step=step), *group("b", 0, 0, step=step)]]
    assert "Of 2 prompts over the run: 1 never, 1 always." in said(tmp_path / "a.jsonl", rows)


def test_keep_ratios_say_what_they_leave(tmp_path):
    texts = [one.text for one in findings(page(dump(tmp_path / "a.jsonl"), keep_pos=0.5, keep_neg=0.5))]
    assert any(
        " with an advantage (" in text and "are trained on; mean |A| goes from" in text for text in texts
    )
    texts = [one.text for one in findings(page(dump(tmp_path / "b.jsonl")))]
    assert not any("are trained on; mean" in text for text in texts)
