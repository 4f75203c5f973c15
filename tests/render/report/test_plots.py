"""Every plot: drawn from what it names, and a figure that Plotly accepts."""

import pytest
from render.report.pages import dump, page

from advcli.render.report.plots import PALETTES, coloured, plots

NAMES = {
    "reward",
    "advantage",
    "reward-by-step",
    "live-by-step",
    "advantage-by-step",
    "length-by-step",
    "groups",
    "solve-rate",
    "keep-ratios",
    "reward-parts",
    "length",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return page(dump(tmp_path_factory.mktemp("plots") / "dump.jsonl"), keep_pos=0.5, keep_neg=0.5)


@pytest.fixture(scope="module")
def drawn(made):
    return {plot.name: plot for plot in plots(made)}


def test_every_plot_is_there(drawn):
    assert set(drawn) == NAMES


def test_plotly_accepts_every_figure(drawn):
    graph_objects = pytest.importorskip("plotly.graph_objects", reason="Plotly is not installed")
    for plot in drawn.values():
        graph_objects.Figure(coloured(plot.figure, PALETTES["light"]))


def test_no_colour_stays_a_name(drawn):
    for theme, palette in PALETTES.items():
        assert palette.keys() == PALETTES["light"].keys(), theme
        for plot in drawn.values():
            assert "'@" not in str(coloured(plot.figure, palette))


def test_steps_are_those_of_inspect(made, drawn):
    (trace,) = drawn["reward-by-step"].figure["data"]
    assert trace["x"] == ["0", "1", "2"]
    # Per step: 0, 2, 3 and 4 rows right, and 0.5 × 0.1 for two rows of each group of four.
    assert trace["y"] == [pytest.approx((9 + 0.05 * 8) / 16)] * 3


def test_keep_ratios_of_one_are_the_original(made, drawn):
    (trace,) = drawn["keep-ratios"].figure["data"]
    assert trace["x"][-1] == trace["y"][-1] == "1"
    original = made.report.columns[0].figures.mean_abs
    assert trace["z"][-1][-1] == pytest.approx(original, rel=1e-5)
    assert trace["customdata"][-1][-1] == 1


def test_dead_groups_are_marked(tmp_path):
    path = tmp_path / "dead.jsonl"
    path.write_text(
        "".join(f'{{"prompt": "{p}", "reward": {r}}}\n' for p, r in [("a", 1), ("a", 1), ("b", 0), ("b", 1)])
    )
    from advcli.pipeline.report import report
    from advcli.pipeline.request import Request
    from advcli.records.settings import Settings
    from advcli.records.table import ColumnOptions

    found = {plot.name: plot for plot in plots(report(Request((str(path),), Settings(), ColumnOptions())))}
    assert "length" not in found
    assert "reward-by-step" not in found
    names = [trace["name"] for trace in found["groups"].figure["data"]]
    assert names == ["live (1)", "dead (1)"]
    dead = found["groups"].figure["data"][1]
    assert (dead["x"], dead["y"]) == ([1.0], [0.0])
