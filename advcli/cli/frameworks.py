"""`advcli frameworks`: whose numbers can be reproduced."""

from typing import TYPE_CHECKING, Annotated

import typer

from advcli.cli import _show

if TYPE_CHECKING:
    from advcli.frameworks.rule import Rule

_HEADER = ("estimator", "versions", "scales", "formula", "details")
_WIDTHS = {"estimator": None, "versions": 9, "scales": 6}


def command(
    name: Annotated[str | None, typer.Argument(help="One framework.", show_default=False)] = None,
) -> None:
    """List the frameworks that --like reproduces, or the estimators of one."""
    from advcli.frameworks.catalog import RULES, frameworks, rules_of

    if name is None:
        estimators = {
            framework: ", ".join(
                dict.fromkeys(rule.estimator for rule in RULES if rule.framework == framework)
            )
            for framework in frameworks()
        }
        _show.listing(("name", "estimators"), list(estimators.items()), widths={"name": None})
        return
    rules = rules_of(name)
    _show.listing(_HEADER, [_cells(rule) for rule in rules], widths=_WIDTHS)
    _show.below(_footnotes(rules))


def _cells(rule: "Rule") -> tuple[str, ...]:
    details = (
        f"n = 1: {rule.alone}",
        f"missing: {rule.without_reward}",
        rule.arithmetic,
        f"groups {rule.grouping}",
        f"counts {rule.unit.counted}",
        f"checked: {rule.proof}",
    )
    versions = rule.versions.replace(",", ", ") or "all"
    return rule.estimator, versions, ", ".join(rule.scales) or "–", rule.formula, "; ".join(details)


def _footnotes(rules: "tuple[Rule, ...]") -> list[str]:
    """What is not in a dump, with the estimators concerned, and the framework's source files."""
    names = list(dict.fromkeys(rule.estimator for rule in rules))
    lines = []
    for what in dict.fromkeys(lost for rule in rules for lost in rule.lost):
        concerned = list(dict.fromkeys(rule.estimator for rule in rules if what in rule.lost))
        lines.append(f"not in a dump: {what} ({'all' if concerned == names else ', '.join(concerned)})")
    return lines + [f"source: {source}" for source in dict.fromkeys(rule.source for rule in rules)]
