"""Two data sets on a screen: every line by hand, nothing wider than 80 columns, and strict JSON."""

import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console

from advcli.records.results.between import (
    Between,
    BetweenResult,
    Coverage,
    McNemar,
    Paired,
    PromptPair,
    RowPairs,
    RunFigures,
    Side,
    StepPair,
)
from advcli.records.results.report import Column, Figures, Health, Report
from advcli.records.results.result import dumped
from advcli.render.between import show

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
    column = Column("original", FIGURES, 8, 2, 0, 2, 0, 0.0, 1.0, 1.0, 1.0, 0)
    health = Health(rows, 2, {rows // 2: 2}, 0, 0, 0, 0, 0, {})
    return Side(name, Report(health, SETTINGS | settings, (column,)), replace(FIGURES, mean=mean), 2)


PROMPTS = (
    PromptPair(
        "What is\n[bold]1 + 1[/bold]? And what is 2 + 2?", "a.jsonl:1", "b.jsonl:9", 4, 4, 0.5, 1, 0.5
    ),
    PromptPair("short", "a.jsonl:5", "b.jsonl:5", 4, 1200, 1, 0.5, -0.5),
)
STEPS = (StepPair("1", 8, 8, 0.5, 0.625, 0.125, 2, 2, 2, 2, 1.0, 0.5),)
ROWS = RowPairs("'id'", 8, 0, 1, 8, 2, 1, 1, 0.0, 8, 0.25, 0.125, 0.5)
PAIRED = Paired(
    prompts=20,
    runs_a=1,
    runs_b=1,
    mean_a=0.5,
    mean_b=0.75,
    difference=0.25,
    low=-0.125,
    high=0.5,
    p=0.12345,
    unclear="",
    detectable=0.375,
    prompts_needed=50,
    runs_needed=None,
    up=11,
    down=8,
    same=1,
    rank_agreement=0.5,
    mcnemar=None,
)
IT = Between(
    a=side("a.jsonl"),
    b=side("b.jsonl", rows=10, mean=0.75),
    coverage=Coverage(2, 0, 1, 8, 9, 0, 1, 0, 0),
    paired=PAIRED,
    changed=PROMPTS,
    runs=(),
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
    assert lines[:11] == [
        "B − A: +0.25 in mean reward per prompt, over 20 prompts in both",
        "95% interval -0.125 … +0.5, p 0.12 (over prompts, not over seeds)",
        "smallest detectable difference: 0.375 (p < 0.05 with 80% power)",
        "detecting 0.25 would take 50 prompts (30 more)",
        "11 up, 8 down, 1 the same; rank agreement of the prompts 0.5",
        "in both: 2 prompts (8 rows of A, 9 of B), 1 step",
        "only in A: 0 prompts, 0 steps · only in B: 1 prompt, 0 steps",
        "A a.jsonl: reward 'reward'",
        "  8 rows · 2 groups of 4 rows · 0 dead groups",
        "B b.jsonl: reward 'reward'",
        "  10 rows · 2 groups of 5 rows · 0 dead groups",
    ]
    assert lines[11] == "grpo: r − mean · scale group"


def test_tables():
    text = drawn(IT)
    assert cells(text, "rows  ") == ["8", "10", "+2"]
    assert cells(text, "reward mean") == ["0.5", "0.75", "+0.25"]
    assert cells(text, "advantage positive") == ["50.0%", "50.0%", "0.0", "pp"]
    assert cells(text, "1  ") == ["8", "8", "0.5", "0.625", "+0.125", "100.0%", "50.0%"]
    assert cells(text, "'short'") == ["4", "1,200", "1", "0.5", "-0.5"]
    # Nobody's prompt is markup or breaks a line.
    assert r"'What is\n[bold]1 + 1[/bold]?…" in text
    assert "processed" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_joined_rows():
    assert drawn(IT).splitlines()[-4:] == [
        "8 rows joined by 'id'; 0 of A and 1 of B without a partner",
        "reward: 25.0% of 8 rows changed (1 up, 1 down), B − A 0 in the mean",
        "advantage: 25.0% of 8 rows have another sign (−, 0, +), 12.5% the opposite sign",
        "rank agreement of the advantages within groups 0.5",
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
            replace(IT.paired, prompts=1, low=NAN, high=NAN, unclear="no interval: 1 prompt"),
            [
                "B − A: +0.25 in mean reward per prompt, over 1 prompt in both",
                "no interval: 1 prompt",
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


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({"p": 0.0004}, ["95% interval -0.125 … +0.5, p < 0.001 (over prompts, not over seeds)"]),
        (
            {"mcnemar": McNemar(1234, 5, 0.04)},
            ["two rewards (McNemar): 1,234 higher in B only, 5 in A only, p 0.04"],
        ),
        (
            {"runs_a": 1, "runs_b": 3, "prompts_needed": None, "runs_needed": 7},
            [
                "B − A: +0.25 in mean reward per prompt, over 20 prompts in every run",
                "95% interval -0.125 … +0.5, p 0.12 (over prompts and 1 run of A, 3 of B)",
                "detecting 0.25 would take 7 runs per side",
            ],
        ),
        (
            {"runs_a": 2, "runs_b": 2, "runs_needed": 7},
            ["detecting 0.25 would take 50 prompts (30 more) or 7 runs per side"],
        ),
        ({"prompts_needed": None}, ["detecting 0.25 would take more prompts and more runs"]),
    ],
)
def test_how_sure_it_is(more, lines):
    text = drawn(replace(IT, paired=replace(PAIRED, **more)))
    assert [line for line in lines if line not in text.splitlines()] == []
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_significant_needs_no_more_prompts():
    assert "would take" not in drawn(replace(IT, paired=replace(PAIRED, p=0.01)))


def test_runs():
    runs = (
        RunFigures("A", "a_run_with_a_long_name_seed_0", 320, 40, 0.5, NAN, NAN, NAN, NAN, NAN),
        RunFigures("B", "[b]", 320, 40, 0.75, 0.25, 0.12345, 0.375, 0.0001, 0.0456),
        RunFigures("B", "c", 320, 40, 0.5, 0.0, NAN, NAN, NAN, NAN),
    )
    text = drawn(replace(IT, runs=runs))
    lines = [line.split() for line in text.splitlines()]
    assert ["A", "…name_seed_0", "320", "0.5"] in lines
    assert ["B", "[b]", "320", "0.75", "+0.25", "+0.123", "…", "+0.375", "<", "0.001", "0.046"] in lines
    assert ["B", "c", "320", "0.5", "0"] in lines
    assert max(map(len, text.splitlines())) <= 80


def test_json_is_strict():
    body = json.loads(dumped(BetweenResult.of(replace(IT, paired=replace(IT.paired, low=NAN)))))
    assert list(body) == [
        "schema",
        "a",
        "b",
        "coverage",
        "paired",
        "runs",
        "changed",
        "steps",
        "rows",
        "warnings",
    ]
    assert body["paired"]["low"] is None
    assert body["paired"]["high"] == 0.5
    assert (body["a"]["input"], body["a"]["steps"], body["a"]["reward"]["mean"]) == ("a.jsonl", 2, 0.5)
    assert body["a"]["original"] == body["a"]["processed"]
    assert body["changed"][1]["first_b"] == "b.jsonl:5"
    assert body["steps"][0]["live_b"] == 0.5
    assert body["coverage"]["prompts_b"] == 1
    assert json.loads(dumped(BetweenResult.of(replace(IT, paired=None, rows=None))))["paired"] is None
