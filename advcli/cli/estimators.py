"""`advcli estimators`: what there is to estimate with."""

from typing import Annotated

import typer

from advcli.cli import _show
from advcli.estimators.catalog import ESTIMATORS
from advcli.registry import knobs


def command(
    name: Annotated[str | None, typer.Argument(help="One estimator.", show_default=False)] = None,
) -> None:
    """List the estimators, or describe one: formula, scale, source."""
    rows = [ESTIMATORS[name]] if name else list(ESTIMATORS)
    if name:
        (row,) = rows
        _show.pairs(
            {
                "estimator": f"{row.name}: {row.summary}",
                "formula": row.formula,
                "default scale": row.default_scale or "no choice",
                "needs": ", ".join(row.needs),
                "knobs": ", ".join(f"{knob}={default}" for knob, default in knobs(row.target).items())
                or "none",
                "recomputed on kept rows": "yes" if row.recompute else "no",
                "source": row.source,
            }
        )
    else:
        _show.listing(
            ("name", "formula", "default scale"), [(r.name, r.formula, r.default_scale or "–") for r in rows]
        )
