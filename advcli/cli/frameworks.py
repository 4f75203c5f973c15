"""`advcli frameworks`: whose numbers can be reproduced."""

from typing import Annotated

import typer

from advcli.cli import _show
from advcli.frameworks.catalog import RULES, frameworks, rules_of


def command(
    name: Annotated[str | None, typer.Argument(help="One framework.", show_default=False)] = None,
) -> None:
    """List the frameworks whose numbers --like reproduces, or the estimators of one, with formula and source."""
    if name is None:
        estimators = {
            framework: ", ".join(
                dict.fromkeys(rule.estimator for rule in RULES if rule.framework == framework)
            )
            for framework in frameworks()
        }
        _show.listing(("name", "estimators"), list(estimators.items()))
        return
    header = (
        "estimator",
        "versions",
        "scales",
        "formula",
        "groups of one",
        "missing",
        "dtype",
        "not replayed",
    )
    rows = [
        (
            rule.estimator,
            rule.versions or "all",
            ", ".join(rule.scales) or "–",
            rule.formula,
            str(rule.knobs.get("single", "zero")),
            str(rule.knobs.get("missing", "nan")),
            str(rule.knobs.get("dtype", "float32")),
            ", ".join(rule.lost) or "–",
        )
        for rule in rules_of(name)
    ]
    _show.listing(header, rows)
