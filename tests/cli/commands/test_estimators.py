"""`advcli estimators`: the catalog, as a table and row by row."""

import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import UsageError
from advcli.estimators.catalog import ESTIMATORS


def run(*args):
    return CliRunner().invoke(app, ["estimators", *args], catch_exceptions=False)


def test_one_line_per_estimator():
    done = run()
    heading, *rows = done.stdout.splitlines()
    assert heading.split("  ")[0] == "name"
    assert [row.split()[0] for row in rows] == list(ESTIMATORS.names())
    for row, entry in zip(rows, ESTIMATORS, strict=True):
        assert entry.formula in row
        assert row.split()[-1] == (entry.default_scale or "–")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "scale", "recomputed", "source"),
    [("grpo", "group", "yes", "2402.03300"), ("rloo", "none", "no", "2402.14740")],
)
def test_one_estimator(name, scale, recomputed, source):
    shown = dict(line.split("  ", 1) for line in run(name).stdout.splitlines())
    shown = {label: value.strip() for label, value in shown.items()}
    assert list(shown) == [
        "estimator",
        "formula",
        "advantage per",
        "default scale",
        "needs rewards",
        "needs group",
        "needs step",
        "knobs",
        "recomputed on kept rows",
        "for example",
        "source",
    ]
    assert shown["estimator"].startswith(f"{name}: ")
    assert shown["formula"] == ESTIMATORS[name].formula
    assert (shown["default scale"], shown["recomputed on kept rows"]) == (scale, recomputed)
    assert shown["needs step"] == "the step of each row: --step-col COL"
    assert shown["for example"].startswith("rewards [1, 0, 0, 0] → advantages [")
    assert shown["knobs"] == f"scale='{scale}', ddof=1, eps=0.0"
    assert source in shown["source"]


def test_an_estimator_with_an_advantage_per_token():
    shown = run("gae").stdout
    assert "--values-col COL with a list per row" in shown
    assert "rewards [1], values [[0.25, 0.5, 0.75]] → advantages [[0.75, 0.5, 0.25]]" in shown
    assert "Σ_k γ^k r_{t+k}" in run("reinforce_plus_plus").stdout


def test_an_unknown_estimator():
    with pytest.raises(UsageError, match="unknown estimator 'gpro'; try grpo"):
        run("gpro")
