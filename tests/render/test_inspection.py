"""An inspection on the screen, from records made by hand."""

import io
import math
from dataclasses import replace

import pytest
from records_inspect import FACTS, FILES, PARTS, SIGNAL
from rich.console import Console

from advcli.records.results.inspection import (
    DeadCauses,
    DeadChance,
    Detail,
    Inspection,
    Lengths,
    Phantoms,
    StepFigures,
)
from advcli.render.inspection import show

NAN = math.nan


def shown(width=80, **changes):
    """The screen, with other facts or other files."""
    facts = replace(FACTS, **{name: value for name, value in changes.items() if hasattr(FACTS, name)})
    files = replace(FILES, **{name: value for name, value in changes.items() if hasattr(FILES, name)})
    more = {name: value for name, value in changes.items() if name in ("by", "split", "details", "causes")}
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    show(Inspection(files, facts, {}, **more), console)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def line_after(lines, beginning):
    """The cells of the line below a heading."""
    place = next(place for place, line in enumerate(lines) if line.startswith(beginning))
    return lines[place + 1].split()


def test_head_and_sections():
    lines = shown()
    assert lines[:3] == [
        "f.jsonl · format generic",
        "100 rows · 20 groups of 5 rows",
        "groups: 'uid' · reward: 'reward'",
    ]
    assert line_after(lines, "reward ") == [
        "reward",
        "97",
        "2",
        "null,",
        "1",
        "inf",
        "0",
        "0.25",
        "1",
        "9",
        "12.5%",
    ]
    assert line_after(lines, "groups ") == ["reward", "10", "5", "8", "4", "1", "3", "2", "60"]
    assert line_after(lines, "variance") == [
        "reward",
        "0.5",
        "1.5",
        "2",
        "1.375",
    ]
    (head,) = [line for line in lines if line.startswith("variance")]
    assert head.split() == ["variance", "within", "between", "total", "between,", "unbiased"]
    place = lines.index(next(line for line in lines if line.startswith("rows per group")))
    assert [" ".join(line.split()) for line in lines[place : place + 5]] == [
        "rows per group 2 8",
        "dead groups 50.0% 25.0%*",
        "live groups, of 18 9.0 13.5",
        "rows saved 54 -54",
        "* fitted (beta-binomial), 95% interval: 8 rows 12.5% … 37.5%",
    ]
    assert "3 groups, 15 rows: verl, trl 0.5" in lines
    assert "none: all others" in lines


def test_phantoms_of_the_same_groups_share_a_line():
    rules = (
        Phantoms("grpo", 3, 15, 0.5),
        Phantoms("verl:grpo", 3, 15, 0.25),
        Phantoms("trl:grpo", 3, 15, 0.25),
        Phantoms("slime:grpo", 3, 14, 10.0),
        Phantoms("easyr1:grpo", 0, 0, 0.0, skipped="refuses groups of one"),
        Phantoms("oat:grpo", 0, 0, 0.0),
    )
    lines = shown(phantoms=rules)
    place = next(place for place, line in enumerate(lines) if line.startswith("phantoms"))
    assert lines[place + 1 : place + 4] == [
        "3 groups, 14 rows: slime 10",
        "3 groups, 15 rows: grpo (these settings) 0.5; verl, trl 0.25",
        "none: easyr1 not computed; all others",
    ]


def test_phantoms_of_no_rule():
    lines = shown(phantoms=(Phantoms("grpo", 0, 0, 0.0), Phantoms("verl:grpo", 0, 0, 0.0)))
    assert "none: every framework, and these settings" in lines


@pytest.mark.parametrize("width", [70, 80])
def test_long_names_are_cut_and_no_line_is_wrapped(width):
    name = "rewards/a_reward_function_with_a_long_name/mean"
    lines = shown(width, rewards=(SIGNAL, replace(SIGNAL, name=name)))
    assert max(map(len, lines)) <= 80
    assert not any(name in line for line in lines)
    # In 70 columns a table is in two parts, each with the names.
    assert sum("…" in line and "name/mean" in line for line in lines) == {80: 3, 70: 4}[width]
    assert max(map(len, lines)) <= width


def test_layout_is_told_where_the_format_does_not():
    out = io.StringIO()
    found = Inspection(FILES, FACTS, {"layout": "lists"})
    show(found, Console(file=out, width=80))
    assert out.getvalue().splitlines()[0] == "f.jsonl · format generic · layout lists"


def test_sections_without_anything_to_say_are_left_out():
    lines = shown(
        rewards=(replace(SIGNAL, dead_groups=0, p_dead=(DeadChance(2, NAN, NAN, NAN, "", 0, NAN, 0),)),)
    )
    for word in ("phantoms", "part ", "length", "step ", "lint", "duplicates", "rows per", "of 8 dead"):
        assert not any(line.startswith(word) for line in lines), word


def test_duplicates_and_lint():
    lines = shown(duplicates=1, lint=("twice",))
    assert "duplicates: 1 row is identical to an earlier one, text included" in lines
    assert "lint: twice" in lines


def test_parts_and_outcomes():
    lines = shown(parts=PARTS, constant_outcome={"acc": 4, "other": 0})
    assert line_after(lines, "part ") == ["a", "1", "75.0%", "0.5", "3"]
    assert "rewards of conflicting sign: 25.0% of the rows of live groups" in lines
    assert "other rewards, same advantage: 7 rows in 2 groups" in lines
    assert "constant in live groups: 'acc' in 4 of 10" in lines
    assert not any("'other'" in line for line in lines)


def test_length():
    lines = shown(length=Lengths(10.4, 1234.0, -0.25, NAN, 0.5))
    assert line_after(lines, "length: mean") == ["10", "1,234", "-0.25", "–", "50.0%"]


def step(number, top=2.0, z=0.0):
    out = ("max_abs_centred", "max_abs_adv") if z > 3.5 else ()
    return StepFigures(str(number), 10, 2, 0.5, 1.0, 0.7, top, 0.25, 1.0, NAN, z, out)


def test_steps_and_outliers():
    lines = shown(steps=3, per_step=(step(1), step(2, 99.0, 40.0), step(3)))
    assert "! step 2: max |r − group mean| 0.25, max |A| 99, robust z 40" in lines
    (marked,) = [line for line in lines if line.startswith("2 ")]
    assert marked.endswith("!")
    assert marked.split()[:3] == ["2", "10", "0.5"]


def test_many_steps_and_many_outliers():
    lines = shown(steps=50, per_step=tuple(step(n, 99.0, n) for n in range(50)))
    assert "50 steps in 10 bins; --json has each" in lines
    assert "0 to 4" in {line[:6] for line in lines}
    assert [line.split(":")[0] for line in lines if line.startswith("! step")] == [
        "! step 49",
        "! step 48",
        "! step 47",
    ]
    assert "! 43 more steps with a robust z above 3.5" in lines


def test_split():
    split = {"x": replace(FACTS, rows=60), **{f"v{n}": FACTS for n in range(8)}}
    lines = shown(by="source", split=split)
    assert line_after(lines, "source ") == ["x", "60", "20", "10", "8", "4", "1", "3", "0.25", "0.7"]
    assert "── 'source' is x ──" in lines
    assert "3 more values of 'source' in the table above and in --json" in lines


@pytest.mark.parametrize("width", [60, 80, 120])
def test_details_are_cut_to_the_width(width):
    line = {
        "place": "a/very/long/path/of/a/file.jsonl:17",
        "group": 4,
        "reward": 1.0,
        "text": "tab\there " + "語" * 200,
    }
    lines = shown(width, details=(Detail("rows", "rows", (line,), left=5),))
    (row,) = [text for text in lines if "#4" in text]
    cells = sum(2 if char == "語" else 1 for char in row)
    assert width - 2 <= cells <= width
    assert row.endswith("…")
    assert "tab here" in row
    assert row.startswith("…")
    assert "file.jsonl:17" in row
    assert "5 more lines not shown" in lines


def test_details_of_groups_and_parts():
    group = {"group": 1, "rows": 1200, "reward_mean": NAN, "dead": True, "prompt": "why?"}
    rows = {"place": "f:1", "group": 2, "parts": {"a": 1.0, "b": 0.5}, "length": NAN, "text": ""}
    lines = shown(
        details=(
            Detail("one", "groups", (group,)),
            Detail("two", "rows", (rows,)),
            Detail("three", "rows", ()),
        )
    )
    assert line_after(lines, "group ") == ["#1", "1,200", "–", "dead", "why?"]
    assert line_after(lines, "place ") == ["f:1", "#2", "1", "0.5", "–"]
    assert lines[-1] == "three"


CAUSES = DeadCauses(
    groups=8,
    all_max=4,
    all_min=1,
    read=8,
    same_text=3,
    truncated=2,
    truncated_by="finish_reason",
    failed=0,
    failed_by="error",
    unexplained=3,
    constant_parts={"a": 8, "b": 7},
)


def test_why_groups_are_dead():
    text = " ".join(" ".join(shown(causes=CAUSES)).split())
    assert (
        "of 8 dead groups: 1 never solved (all at the min), 4 always (all at the max), 3 with one text in most rows, "
        "2 truncated in all rows (finish_reason), 0 failed in all rows (error)"
    ) in text
    assert "parts that are constant in dead groups: a in 8, b in 7 of 8" in text


def test_what_nothing_tells_of_dead_groups_is_left_out():
    bare = replace(
        CAUSES, all_max=0, all_min=0, same_text=None, truncated=None, failed=None, constant_parts={}, read=2
    )
    assert "dead groups:" not in " ".join(shown(causes=bare))
    text = " ".join(" ".join(shown(causes=replace(bare, same_text=1))).split())
    assert "of 8 dead groups: 1 of 2 that were read with one text in most rows" in text


def test_one_reward_is_said_and_has_no_end():
    one = replace(SIGNAL, min=0.0, mean=0.0, max=0.0, at_max=NAN, live_groups=0)
    lines = shown(rewards=(one,))
    assert "'reward' is 0 in all 97 rows: no group can be live" in lines
    assert line_after(lines, "groups ") == ["reward", "0", "5", "8", "–", "–", "–", "2", "60"]
