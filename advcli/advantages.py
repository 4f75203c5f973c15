"""From rewards and groups to advantages: estimate, keep, compute again."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from advcli.errors import DataError, UsageError
from advcli.estimators import engine
from advcli.estimators.catalog import ESTIMATORS, Estimator
from advcli.frameworks.catalog import find
from advcli.frameworks.rule import Rule
from advcli.records import DEFAULT_ESTIMATOR, AdvantageTable, Settings
from advcli.segments import Segments
from advcli.selection.keep_ratio import keep_ratio
from advcli.words import counted, either, one_line, verb

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MISSING = ("null", "zero", "error")
SINGLETON = ("null", "zero", "raw", "error")


@dataclass(frozen=True)
class Plan:
    """Settings that have been checked: everything that can be wrong before any data is seen.

    Attributes:
        settings: what was asked.
        entry: the estimator's row; with `like`, the framework's row in the same form.
        knobs: keyword arguments of the estimator, scale included.
        device: where to compute.
        dtype: what to compute in.
        rule: the framework's row, or None.
    """

    settings: Settings
    entry: Estimator
    knobs: Mapping[str, Any]
    device: torch.device
    dtype: torch.dtype
    rule: Rule | None = None

    @classmethod
    def of(cls, settings: Settings) -> "Plan":
        """Check the settings.

        Raises:
            UsageError: an unknown name, a ratio outside [0, 1], or settings that exclude each other.
        """
        _check_words(settings)
        device, dtype = engine.pick(settings.device)
        if settings.like is not None:
            rule = find(settings.like, settings.estimator)
            entry, knobs = _as_estimator(rule, settings)
            return cls(settings, entry, knobs, device, dtype, rule)
        entry = ESTIMATORS[settings.estimator or DEFAULT_ESTIMATOR]
        if settings.compute_new_adv and not entry.recompute:
            able = ", ".join(row.name for row in ESTIMATORS if row.recompute)
            raise UsageError(
                f"compute_new_adv is defined for {able} only, not for {entry.name}",
                hint=f"--estimator {able} or --no-compute-new-adv",
                about="compute_new_adv",
            )
        return cls(settings, entry, engine.knobs(entry, settings.scale, settings.knobs), device, dtype)


def _check_words(settings: Settings) -> None:
    for name in ("keep_pos", "keep_neg"):
        ratio = getattr(settings, name)
        if not 0 <= ratio <= 1:
            raise UsageError(f"{name} is {ratio:g}, expected a share between 0 and 1", about=name)
    for name, allowed in (("missing", MISSING), ("singleton", SINGLETON)):
        value = getattr(settings, name)
        if value not in allowed:
            raise UsageError(f"unknown {name} rule '{value}'", hint=either(allowed), about=name)


def _as_estimator(rule: Rule, settings: Settings) -> tuple[Estimator, dict[str, Any]]:
    """A framework's row as an estimator's row, with its keyword arguments for the chosen scale.

    Raises:
        UsageError: the settings try to change what the framework fixes.
    """
    fixed = [name for name in ("missing", "singleton") if getattr(settings, name) not in ("null", "error")]
    fixed += ["compute_new_adv"] if settings.compute_new_adv else []
    fixed += list(settings.knobs)
    if fixed:
        raise UsageError(
            f"--like {settings.like} fixes the rules, so {', '.join(fixed)} cannot be set",
            hint="without --like",
        )
    scale = settings.scale if settings.scale is not None else next(iter(rule.scales), None)
    if scale is not None and scale not in rule.scales:
        has = f"it has {', '.join(rule.scales)}" if rule.scales else "it has none to choose"
        raise UsageError(f"{rule.framework}'s {rule.estimator} has no scale '{scale}'; {has}")
    entry = Estimator(
        name=f"{rule.framework}:{rule.estimator}",
        target=rule.target,
        needs=rule.needs,
        formula=rule.formula,
        summary=f"{rule.estimator} of {rule.framework} {rule.versions}".strip(),
        source=rule.source,
        default_scale=scale,
        alone=True,
    )
    return entry, {**rule.knobs, **(rule.scales[scale] if scale is not None else {})}


def run(plan: Plan, columns: Mapping[str, Tensor]) -> AdvantageTable:
    """Compute the original and the processed advantage.

    Args:
        plan: what to do.
        columns: "rewards" [N] float (NaN or ±inf where missing), "group" [N] int64 (-1 for rows that
            belong nowhere), "step" [N] int64, and what else the estimator needs of
            `estimators.catalog.COLUMNS`; on any device.

    Returns:
        Tensors on the CPU, in `plan.dtype`.

    Raises:
        DataError: a missing reward or a singleton, and the rule is "error".
    """
    moved = {name: column.to(plan.device) for name, column in columns.items()}
    moved |= {name: column.to(plan.dtype) for name, column in moved.items() if column.is_floating_point()}
    engine.require(plan.entry, moved)
    # A trainer computes on all rows, missing ones included: its rule says what becomes of them.
    valid = engine.usable(plan.entry, moved) if plan.rule is None else moved["group"] >= 0
    original = engine.estimate(plan.entry, moved, valid, **plan.knobs)
    if not plan.entry.alone:
        original = _apply_singleton_rule(original, moved, valid, plan.settings.singleton)
    if plan.rule is None:
        original = _apply_missing_rule(original, moved["group"], valid, plan.settings.missing)
    defined = ~original.isnan()
    kept = defined & keep_ratio(
        original,
        moved["group"].clamp(min=0),
        keep_pos=plan.settings.keep_pos,
        keep_neg=plan.settings.keep_neg,
    )
    processed = torch.where(defined & ~kept, 0.0, original)
    warnings: tuple[str, ...] = ()
    if plan.settings.compute_new_adv:
        processed, warnings = _recompute(plan, moved, processed, kept, valid)
    return AdvantageTable(original.cpu(), processed.cpu(), kept.cpu(), warnings)


def _apply_singleton_rule(
    original: Tensor, columns: Mapping[str, Tensor], valid: Tensor, rule: str
) -> Tensor:
    """Give the only valid row of a group what the rule says."""
    segments = Segments.of(columns["group"][valid])
    if not (segments.size() == 1).any():
        return original
    alone = torch.zeros_like(valid)
    alone[valid] = segments.rows(segments.size()) == 1
    if rule == "error" and alone.any():
        many = int(alone.sum())
        raise DataError(
            f"{counted(many, 'group')} {verb(many, 'has', 'have')} one valid row (first: row {_first(alone)}), "
            "expected two or more",
            hint="--singleton null, zero or raw",
        )
    fill = {"zero": torch.zeros_like(original), "raw": columns["rewards"]}
    return torch.where(alone, fill.get(rule, torch.full_like(original, torch.nan)), original)


def _apply_missing_rule(original: Tensor, group: Tensor, valid: Tensor, rule: str) -> Tensor:
    """Give rows without a usable reward what the rule says; rows without a group stay undefined."""
    missing = ~valid & (group >= 0)
    if rule == "error" and missing.any():
        raise DataError(
            f"{_are(int(missing.sum()), 'reward')} missing (first: row {_first(missing)}), expected a finite number",
            hint="--missing null or zero",
        )
    return torch.where(missing, 0.0, original) if rule == "zero" else original


def _are(many: int, noun: str) -> str:
    return f"{counted(many, noun)} {verb(many, 'is', 'are')}"


def _first(mask: Tensor) -> int:
    """Position of the first True, counted from 1 as in a file."""
    return int(torch.nonzero(mask)[0]) + 1


def _recompute(
    plan: Plan, columns: Mapping[str, Tensor], processed: Tensor, kept: Tensor, valid: Tensor
) -> tuple[Tensor, tuple[str, ...]]:
    """The advantage of the kept rows, computed on the kept rows alone."""
    if plan.settings.keep_pos == plan.settings.keep_neg == 1:
        return processed, ("--compute-new-adv has no effect: both keep ratios are 1",)
    again = engine.estimate(plan.entry, columns, kept & valid, **plan.knobs)
    group = columns["group"]
    survivors = Segments.of(group[kept & valid], int(group.max()) + 1 if len(group) else 0).size()
    had_rows = Segments.of(group[valid], len(survivors)).size() > 1
    few = int(((survivors < 2) & had_rows).sum())
    warnings = (f"Not enough samples to compute std: {counted(few, 'group')}",) if few else ()
    return torch.where(again.isnan(), processed, again), warnings


def compute_advantages(  # noqa: PLR0913  the stable public signature
    rewards: "Tensor | ArrayLike",
    groups: "Tensor | ArrayLike | Sequence[Hashable]",
    *,
    estimator: str = DEFAULT_ESTIMATOR,
    scale: str | None = None,
    keep_pos: float = 1.0,
    keep_neg: float = 1.0,
    compute_new_adv: bool = False,
    like: str | None = None,
    weights: Sequence[float] | None = None,
    lengths: "Tensor | ArrayLike | None" = None,
    baselines: "Tensor | ArrayLike | None" = None,
    steps: "Tensor | ArrayLike | Sequence[Hashable] | None" = None,
    missing: str = "null",
    singleton: str = "null",
    device: str = "auto",
    **estimator_knobs: float | str,
) -> AdvantageTable:
    """Compute advantages from rewards and groups, in float64.

    Args:
        rewards: [N] numbers; None, NaN and ±inf are missing. [N, K] for K parts, summed with `weights`;
            a row that lacks a part is missing.
        groups: [N] hashable values; equal values are one group.
        estimator: name of an estimator, see `advcli estimators`. With `like`, as the framework names it;
            "grpo" is then the framework's first.
        scale: "group", "batch" or "none"; None for the estimator's default.
        keep_pos: share of the positive rows of each group to keep, in [0, 1].
        keep_neg: share of the negative rows of each group to keep, in [0, 1].
        compute_new_adv: compute the advantage again on the kept rows (grpo only).
        like: FRAMEWORK[@VERSION] whose numbers to reproduce, see `advcli frameworks`.
        weights: [K] weight of each reward part; 1 by default.
        lengths: [N] tokens per row, for estimators that weigh by them.
        baselines: [N] greedy reward of the row's prompt, for remax.
        steps: [N] hashable values; the batch of `scale="batch"` is the rows of one step, else all rows.
        missing: "null" (NaN, not kept), "zero" (0, kept) or "error".
        singleton: "null" (NaN, not kept), "zero" (0, kept), "raw" (the reward, kept) or "error".
        device: "auto", "cpu", "cuda" or "mps".
        **estimator_knobs: further knobs of the estimator, such as `eps` and `ddof`.

    Returns:
        `original`, `processed` ([N] float64, NaN where undefined) and `kept` ([N] bool), on the CPU.

    Raises:
        UsageError: an argument makes no sense (also a ValueError).
        DataError: a missing reward or a singleton under the rule "error" (also a ValueError).

    Example:
        >>> res = compute_advantages([0.1, 0.5, 0.9, 1.3, 1.7], ["p"] * 5, keep_neg=0.0, compute_new_adv=True)
        >>> res.processed.round(decimals=3).abs().tolist()
        [0.0, 0.0, 1.0, 0.0, 1.0]
        >>> res.kept.tolist()
        [False, False, True, True, True]
    """
    # Whatever a framework calls its GRPO is what its own default means.
    named = None if like is not None and estimator == DEFAULT_ESTIMATOR else estimator
    settings = Settings(
        named,
        scale,
        estimator_knobs,
        keep_pos,
        keep_neg,
        compute_new_adv,
        missing,
        singleton,
        device,
        like,
    )
    plan = Plan.of(settings)
    parts, weight = _parts(rewards, weights)
    rows = len(parts)
    columns = {"rewards": (parts * weight).sum(dim=1), "group": _codes(groups, "groups", rows)}
    columns |= {"parts": parts, "weights": weight}
    columns["step"] = torch.zeros(rows, dtype=torch.int64) if steps is None else _codes(steps, "steps", rows)
    given = {"lengths": lengths, "baselines": baselines}
    columns |= {name: _per_row(values, name, rows) for name, values in given.items() if values is not None}
    return run(plan, columns)


def _parts(rewards: "Tensor | ArrayLike", weights: Sequence[float] | None) -> tuple[Tensor, Tensor]:
    """[N] or [N, K] rewards of any kind → [N, K] float64 and the [K] weights."""
    parts = _floats(rewards, "rewards", "[N] or [N, K]")
    if parts.dim() not in (1, 2):
        raise UsageError(f"rewards have {parts.dim()} dimensions, expected [N] or [N, K]")
    if parts.dim() == 1:
        parts = parts.unsqueeze(1)
    if weights is None:
        return parts, torch.ones(parts.shape[1], dtype=torch.float64, device=parts.device)
    if len(weights) != parts.shape[1]:
        raise UsageError(f"{len(weights)} weights for {parts.shape[1]} reward parts")
    return parts, torch.tensor(weights, dtype=torch.float64, device=parts.device)


def _per_row(values: "Tensor | ArrayLike", name: str, rows: int) -> Tensor:
    """[N] numbers of any kind → [N] float64."""
    numbers = _floats(values, name, "[N]")
    if numbers.shape != (rows,):
        raise UsageError(f"{name} have shape {list(numbers.shape)}, expected one per reward: [{rows}]")
    return numbers


def _floats(values: "Tensor | ArrayLike", name: str, shape: str) -> Tensor:
    """Numbers of any kind → float64; the shape is for the message."""
    import numpy as np

    if isinstance(values, Tensor):
        return values.detach().to(torch.float64)
    try:
        return torch.from_numpy(np.array(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} are not numbers of shape {shape}: {error}") from error


def _codes(values: "Tensor | ArrayLike | Sequence[Hashable]", name: str, rows: int) -> Tensor:
    """[N] hashable values → [N] int64 codes in order of first appearance."""
    import numpy as np
    import pandas as pd

    if isinstance(values, Tensor):
        array = values.detach().cpu().double().numpy() if values.is_floating_point() else values.cpu().numpy()
    elif isinstance(values, np.ndarray | pd.Series):
        array = np.asarray(values)
    elif isinstance(values, Iterable):
        listed = list(values)
        array = np.empty(len(listed), dtype=object)
        array[:] = listed
    else:
        raise UsageError(f"{name} is {one_line(values)}, expected one value per reward")
    if array.shape != (rows,):
        raise UsageError(f"{name} have shape {list(array.shape)}, expected one per reward: [{rows}]")
    try:
        codes = pd.factorize(array)[0]
    except TypeError as error:
        raise UsageError(f"{name} cannot be compared: {error}", hint="strings, numbers or tuples") from error
    if (codes < 0).any():
        bad = int(np.argmax(codes < 0))
        raise UsageError(
            f"{name}[{bad}] is {one_line(array[bad])}, expected a value that names a {name[:-1]}"
        )
    return torch.from_numpy(codes.astype(np.int64))
