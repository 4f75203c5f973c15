"""`advcli frameworks`: lists the frameworks that `--like` reproduces, or describes one."""

from typing import TYPE_CHECKING, Annotated

import typer

from advcli.cli import output

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
        output.listing(("name", "estimators"), list(estimators.items()), widths={"name": None})
        return
    rules = rules_of(name)
    output.listing(_HEADER, [_cells(rule) for rule in rules], widths=_WIDTHS)
    output.below([*_footnotes(rules), *_corrections(rules[0].framework)])


def _cells(rule: "Rule") -> tuple[str, ...]:
    details = (
        f"n = 1: {rule.alone}",
        f"missing: {rule.without_reward}",
        rule.arithmetic,
        f"groups {rule.grouping}",
        f"counts {rule.unit.counted}",
        f"checked: {rule.proof}",
        *(["biased if the policy decides when to stop"] if rule.biased else []),
        *([f"options: {_options(rule)}"] if _options(rule) else []),
    )
    versions = rule.versions.replace(",", ", ") or "all"
    return rule.estimator, versions, ", ".join(rule.scales) or "–", rule.formula, "; ".join(details)


def _options(rule: "Rule") -> str:
    """The options of a rule, with the framework's defaults."""
    options = {**rule.options, **(rule.per_token.options if rule.per_token else {})}
    return ", ".join(
        f"{name}={value}" if isinstance(value, str) else f"{name}={value:g}"
        for name, value in options.items()
    )


def _corrections(framework: str) -> list[str]:
    """The off-policy corrections of a framework, newest version first, with their settings and defaults."""
    from advcli.common.registry import knobs
    from advcli.off_policy.catalog import CORRECTIONS

    lines = []
    for row in CORRECTIONS:
        if row.framework == framework:
            given = [
                f"{knob}={default}" if default else knob
                for knob, default in knobs(row.target).items()
                if knob not in row.knobs
            ]
            name = f"{row.function} {row.versions.replace(',', ', ')}".strip()
            lines.append(f"--after correction, {name}: {', '.join(given)}")
    return lines


def _footnotes(rules: "tuple[Rule, ...]") -> list[str]:
    """Lines for what a dump does not contain, with the affected estimators, and for the framework's source files."""
    names = list(dict.fromkeys(rule.estimator for rule in rules))
    lines = []
    for what in dict.fromkeys(lost for rule in rules for lost in rule.lost):
        affected = list(dict.fromkeys(rule.estimator for rule in rules if what in rule.lost))
        lines.append(f"not in a dump: {what} ({'all' if affected == names else ', '.join(affected)})")
    return lines + [f"source: {source}" for source in dict.fromkeys(rule.source for rule in rules)]
