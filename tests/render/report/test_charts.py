"""Axes and paths, against values worked out by hand."""

import math

import pytest

from advcli.render.report.charts import Axis, Bars, Chart, nice

NAN = math.nan


def chart():
    return Chart(Axis("x", 0, 10), Axis("y", 0, 4), ())


def test_an_axis_that_starts_at_zero():
    assert Axis.over("", [3.0, 8.0], zero=True).low == 0
    assert Axis.over("", [-3.0, -8.0], zero=True).high == 0
    assert Axis.over("", [3.0, 8.0]).low == 2.75
    assert Axis.over("", [NAN]).low < Axis.over("", [NAN]).high
    assert Axis.over("", [5.0, 5.0]).at(5.0) == 500


def test_ticks():
    assert Axis("", 0, 1.04, "share").ticks()[-1] == (pytest.approx(96.154), "100%")
    assert [text for _, text in Axis("", 0, 230, "count").ticks()] == ["0", "50", "100", "150", "200"]
    assert [text for _, text in Axis.of("", ["a", "b"]).ticks()] == ["a", "b"]
    names = Axis.of("", [f"step {place} of a long run" for place in range(40)]).ticks()
    assert len(names) == 8
    assert names[0] == (1.25, "step 0 of a l…")


@pytest.mark.parametrize("ends", [(0, 1), (-3.2, 7), (0, 1e-9), (1e6, 1.01e6), (-1e300, 1e300), (0, 37)])
def test_nice_numbers_lie_inside(ends):
    found = nice(*ends)
    assert 3 <= len(found) <= 11
    assert all(ends[0] - 1e-9 * abs(ends[0]) <= one <= ends[1] * (1 + 1e-9) for one in found)


def test_paths():
    assert chart().line([0, 5, 10], [0, NAN, 4]) == "M0 1000M1000 0"
    assert chart().line([0, 5, 10], [0, 2, 4]) == "M0 1000L500 500L1000 0"
    assert chart().points([5, NAN], [1, 1]) == "M500 750h0"
    assert chart().whiskers([5, 6], [(1, 3), (NAN, NAN)]) == "M500 750V250"
    assert chart().band([0, 5], [(0, 4), (1, 3)]) == "M0 0L500 250L500 750L0 1000Z"
    assert chart().band([0, 5, 10], [(0, 4), (NAN, NAN), (1, 3)]) == "M0 0L0 1000ZM1000 250L1000 750Z"


def test_bars_that_adjoin_are_a_staircase():
    assert (
        chart().bars([(0, 1), (1, 2), (4, 5)], [4, 2, 1])
        == "M0 1000V0H100V500H200V1000M400 1000V750H500V1000"
    )
    assert chart().bars([(0, 1), (1, 2)], [0, 2]) == "M100 1000V500H200V1000"
    assert chart().bars([(0, 1)], [0]) == ""


def test_negative_bars_go_to_the_left_of_zero():
    bars = Bars.of(["a", "b"], [0.75, -0.25], ["75%", "-25%"])
    assert bars.zero == 25
    assert bars.rows == (("a", 25, 75, "75%"), ("b", 0, 25, "-25%"))
