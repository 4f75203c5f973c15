"""`sweep`: a grid of settings on a data set that is read once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from advcli.common.errors import UsageError
from advcli.dataset import remarks
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.pipeline.describe import device, health_of
from advcli.pipeline.request import Request
from advcli.records.results.sweep import Point, Sweep
from advcli.records.settings import Settings, ShapeSpec
from advcli.records.table import Source
from advcli.settings.resolve import parse_spec
from advcli.shaping.spec import typed
from advcli.stats import comparison, concentration


@dataclass(frozen=True)
class Grid:
    """The axes of a sweep; () for the setting of the request.

    Attributes:
        estimators: `NAME[:KEY=VALUE,...]`.
        likes: `FRAMEWORK[@VERSION]`.
        scales: "group", "batch", "none".
        keep_pos: shares of the positive rows.
        keep_neg: shares of the negative rows.
        again: whether the advantage is recomputed on the kept rows.
        shapes: the shaping steps of each point.
    """

    estimators: tuple[str, ...] = ()
    likes: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    keep_pos: tuple[float, ...] = (1.0,)
    keep_neg: tuple[float, ...] = (1.0,)
    again: tuple[bool, ...] = (False,)
    shapes: tuple[tuple[ShapeSpec, ...], ...] = ()


def sweep(
    request: Request,
    grid: Grid,
    *,
    check: Callable[[Sequence[Source]], None] | None = None,
    advance: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Compute every point of a grid on a data set that is read once.

    Args:
        request: the request; its settings are those that are the same at every point.
        grid: the values of each axis.
        check: called with the inputs before they are read, to refuse an output that would overwrite them.
        advance: called with the number of points done, and the total.

    Returns:
        A point for each combination. An estimator without a choice of scale has one scale. Points are compared
        with the original: the advantages of the first point before any keep ratio and filter.
    """
    plans = list(points(request.settings, grid))
    with request.opened() as sources:
        if check:
            check(sources)
        data = request.load(sources)
    columns = data.columns()
    plans = [plan.at(columns) for plan in plans]
    by_rollout = all(plan.unit.counts == "rollouts" for plan in plans)
    unit = data.per_rollout(plans[0].unit.reward) if by_rollout else data
    results: list[Point] = []
    plain = run(original_of(plans).at(columns), columns)
    original = plain.original
    per_rollout = plain.per_rollout.original if by_rollout and plain.per_rollout is not None else original
    for done, plan in enumerate(plans):
        result = run(plan, columns)
        result = result.per_rollout if by_rollout and result.per_rollout is not None else result
        results.append(
            Point(
                settings=coordinates(plan),
                column=comparison.compare("", unit.rows, per_rollout, result),
                effective_rows=concentration.effective_rows(result.processed[result.kept]),
                token_share=concentration.token_share(unit.rows, result.kept),
            )
        )
        if advance:
            advance(done + 1, len(plans))
    return Sweep(
        health=health_of(data, unit),
        points=tuple(results),
        notes=(*remarks.notes(data, original), *device(request, data, plans[0])),
        warnings=(
            *request.warnings,
            *dict.fromkeys(text for plan in plans for text in plan.warnings),
            *data.table.warnings,
            *data.grouping.warnings,
        ),
    )


def original_of(plans: Sequence[Plan]) -> Plan:
    """The plan of the original: the first point without keep ratios and filters."""
    return replace(plans[0], settings=plans[0].settings.unprocessed())


def points(base: Settings, grid: Grid) -> Iterator[Plan]:
    """The checked settings of each point; the first axis varies slowest."""
    combinations = product(grid.likes or (None,), grid.estimators or (None,), grid.shapes or (base.shaping,))
    starts = []
    for like, name, shaping in combinations:
        result, knobs = parse_spec(name or "")
        if like and "like" in result:
            raise UsageError(f"{name} and --like {like} both name a framework", hint="one of the two")
        starts.append(
            replace(
                base,
                **{"like": like or base.like, **result, "knobs": knobs or base.knobs, "shaping": shaping},
            )
        )
    able = [Plan.of(replace(start, scale=None)).recomputes for start in starts]
    for start, recomputes in zip(starts, able, strict=True):
        # If no estimator can be recomputed, asking for it is an error; if some can, the others are left as they are.
        again = grid.again if recomputes or not any(able) else (False,)
        for scale in _scales(start, grid.scales):
            for new, pos, neg in product(again, grid.keep_pos, grid.keep_neg):
                yield Plan.of(replace(start, scale=scale, compute_new_adv=new, keep_pos=pos, keep_neg=neg))


def _scales(settings: Settings, wanted: Sequence[str]) -> Sequence[str | None]:
    """The requested scales that an estimator supports; None (its own) if it has no choice."""
    plan = Plan.of(replace(settings, scale=None, compute_new_adv=False))
    if not wanted or plan.entry.default_scale is None:
        return [settings.scale if not wanted else None]
    has = plan.rule.scales if plan.rule else wanted
    return [scale for scale in wanted if scale in has] or [None]


def _named(plan: Plan) -> str:
    """The estimator with the knobs that it was given, as `--estimator` takes them."""
    name = plan.rule.estimator if plan.rule else plan.entry.name
    given = ",".join(
        f"{knob}={value:g}" if isinstance(value, float) else f"{knob}={value}"
        for knob, value in plan.settings.knobs.items()
    )
    return f"{name}:{given}" if given else name


def coordinates(plan: Plan) -> dict[str, Any]:
    """The settings of a point along the axes of the grid."""
    return {
        "estimator": _named(plan),
        "like": plan.rule and f"{plan.rule.framework} {plan.rule.versions}".strip(),
        "scale": plan.entry.default_scale if plan.rule else plan.knobs.get("scale"),
        "keep_pos": plan.settings.keep_pos,
        "keep_neg": plan.settings.keep_neg,
        "compute_new_adv": plan.settings.compute_new_adv,
        "shape": "; ".join(map(typed, plan.settings.shaping)) or None,
    }
