"""Every plot: drawn from what it names, with the numbers behind it."""

import pytest
from render.report.pages import dump, page

from advcli.pipeline.report import report
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions
from advcli.render.report.plots import plots

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


def of(path, **settings):
    found = report(Request((str(path),), Settings(**settings), ColumnOptions()))
    return {plot.name: plot for plot in plots(found)}


def test_every_plot_is_there_and_has_numbers(drawn):
    assert set(drawn) == NAMES
    for plot in drawn.values():
        assert len({len(column) for column in plot.data.values()}) == 1, plot.name


def test_what_the_pointer_finds_is_what_is_drawn(drawn):
    for name in ("reward", "advantage", "reward-by-step", "groups", "length"):
        plot = drawn[name]
        many = {len(column) for column in plot.data.values()}
        assert {len(column) for column in plot.figure.at.values()} == many, name
        assert all(0 <= one <= 1000 for one in plot.figure.at["x"]), name


def test_steps_are_those_of_inspect(drawn):
    data = drawn["reward-by-step"].data
    assert data["step"] == ["0", "1", "2"]
    # Per step: 0, 2, 3 and 4 rows right, and 0.5 × 0.1 for two rows of each group of four.
    assert data["mean reward"] == [pytest.approx((9 + 0.05 * 8) / 16)] * 3
    assert data["95% interval, low"] == [None] * 3


def test_a_step_has_its_interval(tmp_path):
    path = tmp_path / "dump.jsonl"
    path.write_text(
        "".join(
            f'{{"prompt": "{p}", "step": 1, "reward": {p % 7 + 2 * r}}}\n' for p in range(14) for r in (0, 1)
        )
    )
    plot = of(path)["reward-by-step"]
    low, high = plot.data["95% interval, low"][0], plot.data["95% interval, high"][0]
    # scipy.stats.t.interval(0.95, 13, mean, sem) of the group means 1 … 7, each twice.
    assert (low, high) == (pytest.approx(2.801643, abs=1e-5), pytest.approx(5.198357, abs=1e-5))
    assert "95% interval over groups" in plot.note


def test_bars_and_shares_start_at_nothing(drawn):
    for name in ("reward", "advantage", "solve-rate", "live-by-step", "length-by-step", "advantage-by-step"):
        assert drawn[name].figure.y.low == 0, name


def test_columns_over_the_same_bins_are_outlines(drawn):
    assert [layer.look for layer in drawn["advantage"].figure.layers] == ["pale", "outline", "outline"]
    assert [layer.look for layer in drawn["reward"].figure.layers] == ["bars"]


def test_keep_ratios_of_one_are_the_original(made, drawn):
    data = drawn["keep-ratios"].data
    assert (data["keep-pos"][-1], data["keep-neg"][-1]) == (1, 1)
    assert data["mean |A|"][-1] == pytest.approx(made.report.columns[0].figures.mean_abs, rel=1e-5)
    assert data["kept"][-1] == 1


def test_the_chosen_keep_ratios_are_marked(made, drawn):
    heat = drawn["keep-ratios"].figure
    (chosen,) = [
        (column, name, cell.text)
        for name, cells in heat.rows
        for column, cell in zip(heat.columns, cells, strict=True)
        if cell.chosen
    ]
    assert chosen[:2] == ("0.5", "0.5")
    assert float(chosen[2]) == pytest.approx(made.report.columns[1].figures.mean_abs, rel=1e-3)


def test_dead_groups_are_marked(tmp_path):
    path = tmp_path / "dead.jsonl"
    path.write_text(
        "".join(f'{{"prompt": "{p}", "reward": {r}}}\n' for p, r in [("a", 1), ("a", 1), ("b", 0), ("b", 1)])
    )
    found = of(path)
    assert "length" not in found
    assert "reward-by-step" not in found
    plot = found["groups"]
    assert [layer.name for layer in plot.figure.layers] == ["live (1)", "dead (1)"]
    places = zip(plot.data["state"], plot.data["mean"], plot.data["std"], strict=True)
    assert {state: (mean, std) for state, mean, std in places}["dead"] == (1.0, 0.0)
    assert plot.figure.at["find"][plot.data["state"].index("dead")] == "mean:1 std:0"


@pytest.mark.parametrize(
    "rewards", [(1e300, -1e300), (1e308, -1e308), (5e-324, 0.0), (7.0, 7.0), (-3.0, -1.0)]
)
def test_rewards_of_any_size_are_drawn(tmp_path, rewards):
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(f'{{"prompt": "a", "step": 1, "reward": {one!r}}}\n' for one in rewards * 2))
    for plot in of(path).values():
        assert "nan" not in repr(plot.figure)
        assert all(-1000 < one < 2000 for one in getattr(plot.figure, "at", {}).get("x", ()))
