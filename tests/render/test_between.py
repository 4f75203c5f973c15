"""Two data sets on a screen: every line by hand, nothing wider than 80 columns, and strict JSON."""

import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console

from advcli.records.between import Between, Coverage, Paired, PromptPair, RowPairs, Side, StepPair
from advcli.records.report import Column, Figures, Health, Report
from advcli.render.between import as_json, show
from advcli.render.jsonout import dumped

NAN = math.nan
FIGURES = Figures(8, 0.5, 0.25, -1, -1, -1, 0.5, 1, 1, 1, 0.75, 0.5, 0.25, 0.25)
SETTINGS = {
    "estimator": "grpo",
    "formula": "r − mean",
    "like": None,
    "scale": "group",
    "knobs": {"scale": "group"},
    "shaping": {},
    "keep_pos": 1.0,
    "keep_neg": 1.0,
    "reward": {"reward": 1.0},
}


def side(name, rows=8, mean=0.5, **settings):
    column = Column("original", FIGURES, 8, 2, 0, 0, 0.0, 1.0, 1.0, 0)
    health = Health(rows, 2, {rows // 2: 2}, 0, 0, 0, 0, 0, {})
    return Side(name, Report(health, SETTINGS | settings, (column,)), replace(FIGURES, mean=mean), 2, 2)


PROMPTS = (
    PromptPair(
        "What is\n[bold]1 + 1[/bold]? And what is 2 + 2?", "a.jsonl:1", "b.jsonl:9", 4, 4, 0.5, 1, 0.5
    ),
    PromptPair("short", "a.jsonl:5", "b.jsonl:5", 4, 1200, 1, 0.5, -0.5),
)
STEPS = (StepPair("1", 8, 8, 0.5, 0.625, 0.125, 2, 2, 1.0, 0.5),)
ROWS = RowPairs("'id'", 8, 0, 1, 8, 2, 1, 1, 0.0, 8, 0.25, 0.125, 0.5)
IT = Between(
    a=side("a.jsonl"),
    b=side("b.jsonl", rows=10, mean=0.75),
    coverage=Coverage(2, 0, 1, 8, 9, 0, 1, 0, 0),
    paired=Paired(2, 0.5, 0.75, 0.25, -0.125, 0.5, 1, 1, 0, 0.5, 2000, 3),
    changed=PROMPTS,
    steps=STEPS,
    stretches=STEPS,
    rows=ROWS,
    prompts={},
    warnings=("w",),
)


def drawn(between):
    console = Console(file=io.StringIO(), width=80, no_color=True, markup=False)
    show(between, console)
    return console.file.getvalue()


def cells(text, label):
    (line,) = (line for line in text.splitlines() if line.strip().startswith(label))
    return line.strip().removeprefix(label).split()


def test_the_answer_comes_first():
    lines = drawn(IT).splitlines()
    assert lines[:9] == [
        "B − A: +0.2500 in mean reward per prompt, over 2 prompts in both",
        "95 % interval -0.1250 … +0.5000 (bootstrap, 2,000 resamples of prompts, seed 3)",
        "1 up, 1 down, 0 the same; rank agreement of the prompts 0.5000",
        "in both: 2 prompts (8 rows of A, 9 of B), 1 step",
        "only in A: 0 prompts, 0 steps · only in B: 1 prompt, 0 steps",
        "A a.jsonl: reward 'reward'",
        "  8 rows · 2 groups of 4 rows · 0 dead groups",
        "B b.jsonl: reward 'reward'",
        "  10 rows · 2 groups of 5 rows · 0 dead groups",
    ]
    assert lines[9] == "grpo: r − mean · scale group"


def test_tables():
    text = drawn(IT)
    assert cells(text, "rows  ") == ["8", "10", "+2"]
    assert cells(text, "reward mean") == ["0.5000", "0.7500", "+0.2500"]
    assert cells(text, "advantage positive") == ["50.0", "%", "50.0", "%", "0.0", "pp"]
    assert cells(text, "1  ") == ["8", "8", "0.5000", "0.6250", "+0.1250", "100.0", "%", "50.0", "%"]
    assert cells(text, "'short'") == ["4", "1,200", "1.0000", "0.5000", "-0.5000"]
    # Nobody's prompt is markup or breaks a line.
    assert r"'What is\n[bold]1 + 1[/bold]?…" in text
    assert "processed" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_joined_rows():
    assert drawn(IT).splitlines()[-4:] == [
        "8 rows joined by 'id'; 0 of A and 1 of B without a partner",
        "reward: 25.0 % of 8 rows changed (1 up, 1 down), B − A 0 in the mean",
        "advantage: 25.0 % of 8 rows have another sign (−, 0, +), 12.5 % the opposite one",
        "rank agreement of the advantages within groups 0.5000",
    ]
    none = replace(ROWS, rows=0, rewarded=0, advantages=0, difference=NAN)
    assert drawn(replace(IT, rows=none)).splitlines()[-1].startswith("0 rows joined by 'id'")


def test_prompts_that_begin_alike_are_told_by_their_place():
    alike = tuple(replace(pair, prompt="<|system|> You are a helpful assistant" + "x") for pair in PROMPTS)
    text = drawn(replace(IT, changed=alike))
    assert "changed most, first row in A" in text
    assert cells(text, "a.jsonl:5")[0] == "4"


def test_processed_advantages_where_rows_were_filtered():
    column = IT.b.report.columns[0]
    fewer = replace(column, label="processed", kept_rows=5, figures=replace(FIGURES, count=5))
    b = replace(IT.b, report=replace(IT.b.report, columns=(column, fewer)))
    assert cells(drawn(replace(IT, b=b)), "processed rows") == ["8", "5", "-3"]


def test_two_rules_are_both_shown():
    text = drawn(replace(IT, b=side("b", estimator="rloo")))
    assert "A grpo: r − mean · scale group\nB rloo: r − mean · scale group\n" in text


@pytest.mark.parametrize(
    ("paired", "lines"),
    [
        (None, ["no prompt has a reward in both: only the figures of each are shown"]),
        (
            replace(IT.paired, prompts=1, low=NAN, high=NAN),
            [
                "B − A: +0.2500 in mean reward per prompt, over 1 prompt in both",
                "too few prompts for an interval",
            ],
        ),
    ],
)
def test_what_is_undefined_is_said(paired, lines):
    text = drawn(replace(IT, paired=paired, changed=(), stretches=(), steps=(), rows=None))
    assert text.splitlines()[: len(lines)] == lines
    assert "in both: 2 prompts" in text.splitlines()[len(lines)]


def test_without_steps_none_are_spoken_of():
    bare = replace(IT, coverage=Coverage(2, 0, 0, 8, 9), stretches=(), steps=())
    bare = replace(bare, a=replace(IT.a, steps=None), b=replace(IT.b, steps=None))
    assert "step" not in drawn(bare)


def test_json_is_strict():
    body = json.loads(dumped(as_json(replace(IT, paired=replace(IT.paired, low=NAN)))))
    assert list(body) == ["a", "b", "coverage", "paired", "changed", "steps", "rows", "warnings"]
    assert body["paired"]["low"] is None
    assert body["paired"]["high"] == 0.5
    assert (body["a"]["input"], body["a"]["steps"], body["a"]["reward"]["mean"]) == ("a.jsonl", 2, 0.5)
    assert body["a"]["original"] == body["a"]["processed"]
    assert body["changed"][1]["first_b"] == "b.jsonl:5"
    assert body["steps"][0]["live_b"] == 0.5
    assert body["coverage"]["prompts_b"] == 1
    assert json.loads(dumped(as_json(replace(IT, paired=None, rows=None))))["paired"] is None
