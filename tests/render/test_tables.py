"""Reports as tables, on consoles of a fixed width that write to a string."""

import io
import math
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from advcli.records.results.report import Column, Figures, Health, Report
from advcli.render.tables import describe_sizes, health_line, rule_line, show

FIGURES = Figures(
    count=1234567,
    mean=-8.9e-19,
    std=0.87,
    min=-2.4748737,
    p5=-1.5,
    p25=-0.5,
    median=0.00001,
    p75=0.25,
    p95=math.inf,
    max=123456.7,
    mean_abs=math.nan,
    share_positive=0.5,
    share_zero=0.125,
    share_negative=0.375,
)
HEALTH = Health(
    rows=1502,
    groups=188,
    sizes={8: 186, 13: 1, 1: 1},
    dead_groups=9,
    dead_max=4,
    dead_min=3,
    singletons=1,
    missing=5,
    missing_by_cause={"null": 4, "NaN": 0, "inf": 1},
)
CLEAN = Health(2, 1, {2: 1}, 0, 0, 0, 0, 0, {"null": 0, "NaN": 0, "inf": 0})
SETTINGS = {
    "estimator": "grpo",
    "formula": "A = r - m",
    "scale": "group",
    "knobs": {"scale": "group"},
    "like": None,
    "keep_pos": 1.0,
    "keep_neg": 1.0,
    "shaping": {},
}
LABELS = (
    "original",
    "kept",
    "kept + recomputed",
    "rloo",
    "grpo:ddof=0",
    "grpo:scale=batch",
    "d",
    "rloo:eps=1",
)
SHOWN = {
    "count": "1,234,567",
    "mean": "0",
    "std": "0.87",
    "min": "-2.475",
    "p5": "-1.5",
    "p25": "-0.5",
    "median": "1e-05",
    "p75": "0.25",
    "p95": "–",
    "max": "1.235e+05",
    "mean |A|": "–",
    "positive": "50.0%",
    "zero": "12.5%",
    "negative": "37.5%",
    "kept rows": "1,000",
    "kept groups": "188",
    "groups with < 2 kept": "3",
    "live groups": "179",
    "dead groups": "9",
    "phantom advantages": "7",
    "sign changes vs original": "2.5%",
    "ratio of mean |A| vs original": "0.75",
    "rank agreement vs original": "–",
    "correlation vs original": "0.875",
}


def column(label, figures=FIGURES):
    return Column(
        label=label,
        figures=figures,
        kept_rows=1000,
        kept_groups=188,
        below_two=3,
        dead_groups=9,
        live_groups=179,
        sign_changes=0.025,
        mean_abs_ratio=0.75,
        rank_agreement=math.nan,
        correlation=0.875,
        phantoms=7,
    )


def shown(columns, width):
    """The printed lines. Without a width nobody's width has to be met."""
    out = io.StringIO()
    console = Console(file=out, width=width or 10_000, force_terminal=False, color_system=None)
    show(Report(HEALTH, SETTINGS, tuple(columns)), console)
    return out.getvalue().splitlines()


def tables(lines):
    """The printed tables, each as heading → row label → cell."""
    found = []
    for line in lines[2:]:
        cells = re.split(r" {2,}", line.strip())
        if cells[0] == "advantage":
            found.append({heading: {} for heading in cells[1:]})
        elif len(cells) > 1:
            named = list(found[-1])[-len(cells) + 1 :]
            for heading, cell in zip(named, cells[1:], strict=True):
                found[-1][heading][cells[0]] = cell
    return found


@pytest.mark.parametrize("width", [60, 80, 120, None])
@pytest.mark.parametrize("many", range(2, 9))
def test_no_cell_is_wrapped_or_cut(many, width):
    labels = LABELS[:many]
    lines = shown(map(column, labels), width)
    assert "…" not in "".join(lines)
    found = tables(lines)
    # The original beside "kept + recomputed" needs 63: narrower terminals wrap it, and nothing is lost.
    assert max(cell_len(line) for line in lines[2:]) <= max(width or 10_000, 63)
    # The original leads every table; each other column is in exactly one.
    assert [next(iter(table)) for table in found] == ["original"] * len(found)
    assert [label for table in found for label in list(table)[1:]] == list(labels[1:])
    for table in found:
        for label, cells in table.items():
            expected = {row: cell for row, cell in SHOWN.items() if label != "original" or "vs" not in row}
            assert cells == expected
    if width is None:
        assert len(found) == 1


def test_narrow_consoles_get_several_tables_and_wide_ones_as_few_as_fit():
    columns = [column(label) for label in LABELS]
    assert [len(tables(shown(columns, width))) for width in (60, 80, 120, None)] == [7, 4, 2, 1]


def test_rows_come_in_the_order_of_the_contract():
    (table,) = tables(shown(map(column, LABELS[:2]), 80))
    assert list(table["kept"]) == list(SHOWN)


def test_token_rows_are_there_with_lengths_only():
    weighted = Figures(**{**vars(FIGURES), "token_mean": 0.5, "token_std": math.nan})
    (table,) = tables(shown([column("original", weighted), column("kept", weighted)], 80))
    assert table["kept"]["mean over tokens"] == "0.5"
    assert table["kept"]["std over tokens"] == "–"
    assert "over tokens" not in "".join(shown(map(column, LABELS[:2]), 80))


def test_two_lines_stand_above_the_tables():
    first, second = shown(map(column, LABELS[:2]), 60)[:2]
    assert first == health_line(HEALTH)
    assert second == rule_line(Report(HEALTH, SETTINGS, ()))


def test_health_line():
    assert health_line(HEALTH) == (
        "1,502 rows · 188 groups (186 of 8 rows, 1 of 13, 1 of 1) · 9 dead groups (4 all-max, 3 all-min, "
        "2 in between) · 1 singleton · 5 missing rewards (4 null, 1 inf)"
    )
    assert health_line(CLEAN) == "2 rows · 1 group of 2 rows · 0 dead groups"


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({4: 2}, "2 groups of 4 rows"),
        ({1: 1}, "1 group of 1 row"),
        ({8: 1000, 7: 2}, "1,002 groups (1,000 of 8 rows, 2 of 7)"),
        (
            {8: 9, 7: 5, 6: 4, 5: 3, 4: 2, 3: 1, 2: 1},
            "25 groups (9 of 8 rows, 5 of 7, 4 of 6, 3 of 5, 2 of 4, 2 of other sizes)",
        ),
    ],
)
def test_describe_sizes(sizes, text):
    assert describe_sizes(sizes) == text


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "grpo: A = r - m · scale group"),
        (
            {"knobs": {"scale": "group", "eps": 1e-4, "ddof": 0}},
            "grpo: A = r - m · scale group · eps 0.0001 · ddof 0",
        ),
        (
            {"knobs": {"scale": "none"}, "keep_pos": 0.7},
            "grpo: A = r - m · scale none · keep 0.7 of the positive and 1 of the negative rows",
        ),
        (
            {"like": "trl >=1.6", "estimator": "trl:grpo", "knobs": {"eps": 1e-4}},
            "trl:grpo: A = r - m · as in trl >=1.6 · scale group",
        ),
        (
            {"keep_neg": 0.0},
            "grpo: A = r - m · scale group · keep 1 of the positive and 0 of the negative rows",
        ),
    ],
)
def test_rule_line(changed, text):
    assert rule_line(Report(HEALTH, SETTINGS | changed, ())) == text


def test_no_colour_without_a_terminal():
    out = io.StringIO()
    show(Report(HEALTH, SETTINGS, (column("original"), column("kept"))), Console(file=out, width=80))
    assert "\x1b" not in out.getvalue()
