"""The table and the heat map of a sweep, on points made by hand."""

import io
import math

import pytest
from rich.console import Console

from advcli.records.results.report import Column, Figures, Health
from advcli.records.results.sweep import Point, Sweep
from advcli.render import sweep as text

HEALTH = Health(8, 2, {4: 2}, 0, 0, 0, 0, 0, {"null": 0, "NaN": 0, "inf": 0})


def point(mean_abs, pos=1.0, neg=1.0, estimator="grpo", tokens=None):
    figures = Figures(8, 0.0, 1.0, -2.0, *[0.0] * 5, 1.0, mean_abs, 0.5, 0.0, 0.5)
    column = Column("", figures, 8, 2, 0, 2, 0, math.nan, 1.0, math.nan, math.nan, 0)
    settings = {
        "estimator": estimator,
        "like": None,
        "scale": "group",
        "keep_pos": pos,
        "keep_neg": neg,
        "compute_new_adv": False,
    }
    return Point(settings, column, 8.0, tokens)


def shown(points, width):
    console = Console(file=io.StringIO(), width=width)
    text.show(Sweep(HEALTH, tuple(points)), console)
    return console.file.getvalue().splitlines()


def test_what_is_the_same_at_every_point_stands_above_the_table():
    lines = shown([point(0.5, pos=0.5), point(0.75)], 120)
    assert lines[1].startswith(
        "at every point: estimator grpo, scale group, keep-neg 1, kept rows 8, kept groups 2, live groups 2, std 1, "
    )
    assert lines[3].split() == ["keep-pos", "mean", "|A|"]
    assert [line.split() for line in lines[5:7]] == [["0.5", "0.5"], ["1", "0.75"]]


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_no_cell_is_wrapped_or_cut(width):
    lines = shown(
        [point(0.5, pos=0.5, tokens=0.5), point(0.75, estimator="reinforce_plus_plus", tokens=1.0)], width
    )
    cells = " ".join(" ".join(lines).split())
    assert all(cell in cells for cell in ("0.5", "0.75", "reinforce_plus_plus", "50.0%", "100.0%"))
    assert max(len(line) for line in lines[2:]) <= max(width, 50)


def test_a_heat_map_needs_two_values_on_both_axes():
    assert list(text.heat_map([point(0.5, pos=0.5), point(0.75)])) == []
    grid = [point(pos + neg, pos, neg) for pos in (0.5, 1.0) for neg in (0.25, 1.0)]
    assert list(text.heat_map(grid)) == [
        "mean |A| of grpo group: ▁ 0.75 … █ 2; keep-pos across, keep-neg down",
        "       0.5    1",
        " 0.25 ▁▁▁▁ ▄▄▄▄",
        "    1 ▅▅▅▅ ████",
    ]


def test_undefined_and_absent_cells_of_a_heat_map():
    grid = [point(1.0, 0.5, 0.5), point(math.nan, 1.0, 0.5), point(3.0, 0.5, 1.0)]
    assert list(text.heat_map(grid))[2:] == ["  0.5 ▁▁▁▁ ····", "    1 ████ ····"]


def test_undefined_figures_come_last():
    given = Sweep(HEALTH, (point(math.nan), point(1.0), point(2.0)))
    for figure, order in (("mean_abs", [2.0, 1.0]), ("-mean_abs", [1.0, 2.0]), ("mean |A|", [2.0, 1.0])):
        found = [p.column.figures.mean_abs for p in text.in_order(given, figure).points]
        assert found[:2] == order
        assert math.isnan(found[2])
    assert text.in_order(given, None) is given


def test_the_only_point_is_a_line():
    lines = shown([point(0.5)], 80)
    assert lines[1].startswith(
        "the only point: estimator grpo, scale group, keep-pos 1, keep-neg 1, kept rows 8,"
    )
    assert not any("──" in line for line in lines)


def test_a_heat_map_fits_the_terminal_whatever_its_labels():
    grid = [point(pos + neg, pos=pos, neg=neg) for pos in (0.125, 0.25, 0.5, 1.0) for neg in (0.3333, 1.0)]
    (title, *lines) = text.heat_map(grid, width=24)
    assert title.startswith("mean |A| of grpo group")
    assert lines == [
        "        0.125  0.25",
        " 0.3333 ▁▁▁▁▁ ▁▁▁▁▁",
        "      1 ▄▄▄▄▄ ▅▅▅▅▅",
        "          0.5     1",
        " 0.3333 ▂▂▂▂▂ ▅▅▅▅▅",
        "      1 ▆▆▆▆▆ █████",
    ]


def test_each_shaping_has_its_own_heat_map_and_no_shaping_is_called_none():
    def shaped(shape, *ratios):
        one = point(0.5 if shape is None else 0.75, *ratios)
        return Point({**one.settings, "shape": shape}, one.column, 8.0, None)

    grid = [shaped(shape, pos, neg) for shape in (None, "gr3") for pos in (0.5, 1.0) for neg in (0.5, 1.0)]
    titles = [line.partition(":")[0] for line in text.heat_map(grid) if line.startswith("mean")]
    assert titles == ["mean |A| of grpo group", "mean |A| of grpo group gr3"]
    assert [line.split()[2] for line in shown(grid, 120) if line.startswith(" 0.5")] == ["none"] * 2 + [
        "gr3"
    ] * 2
