"""`advcli estimators`: lists the estimators, or describes one."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from advcli.cli import output

if TYPE_CHECKING:
    from advcli.estimators.entry import Estimator, Numbers


def command(
    name: Annotated[str | None, typer.Argument(help="One estimator.", show_default=False)] = None,
) -> None:
    """List the estimators, or describe one.

    Shows the formula, inputs, defaults, source and a worked example.
    """
    from advcli.estimators.catalog import ESTIMATORS

    if name:
        output.pairs(dict(_described(ESTIMATORS[name])))
        return
    rows = [(row.name, row.level, row.formula, row.default_scale or "–") for row in ESTIMATORS]
    output.listing(("name", "advantage per", "formula", "default scale"), rows)


def _described(row: "Estimator") -> Iterator[tuple[str, str]]:
    from advcli.common.registry import knobs
    from advcli.records.roles import ROLES

    yield "estimator", f"{row.name}: {row.summary}"
    yield "formula", row.formula
    yield "advantage per", row.level
    if row.per_token:
        yield "per token", f"{row.per_token.formula} (with gamma < 1, or KL per token)"
    if row.biased:
        yield (
            "biased",
            "if the policy decides when to stop: late turns compare only the rollouts that reached them",
        )
    yield "default scale", row.default_scale or "no choice"
    for need in row.needs:
        yield f"needs {need}", f"{ROLES[need].what}: {ROLES[need].flag}"
    targets = [row.target, *([row.per_token.target] if row.per_token else [])]
    result = {knob: default for target in targets for knob, default in knobs(target).items()}
    yield "knobs", ", ".join(f"{knob}={default}" for knob, default in result.items()) or "none"
    yield "recomputed on kept rows", "yes" if row.recompute else "no"
    if row.worked:
        inputs = ", ".join(f"{column} {_numbers(values)}" for column, values in row.worked.inputs.items())
        yield "for example", f"{inputs} → advantages {_numbers(row.worked.advantages)}"
    yield "source", row.source


def _numbers(values: "Numbers") -> str:
    """Format numbers, or one list per row.

    Example:
        >>> _numbers((1.5, -0.5)), _numbers(((0.25, 0.5), (1,)))
        ('[1.5, -0.5]', '[[0.25, 0.5], [1]]')
    """
    shown = (_numbers(value) if isinstance(value, Sequence) else f"{value:g}" for value in values)
    return f"[{', '.join(shown)}]"
