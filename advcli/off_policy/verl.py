"""verl's rollout correction: importance weights, rejection and the metrics of both."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import either
from advcli.off_policy.correction import Correction, numbers
from advcli.off_policy.divergence import divergences, effective_share
from advcli.off_policy.tokens import LEVELS, SAFETY_BOUND, LogProbs, bounded_exp, kl

PREFIX = "rollout_corr/"
_REDUCE = ("token", "seq_sum", "seq_mean", "seq_max")
REJECTIONS = tuple(
    f"{reduce}_{kind}"
    for reduce in _REDUCE
    for kind in ("k1", "k2", "k3")
    if (reduce, kind) != ("seq_max", "k1")
)
"""Valid parts of `rollout_rs`: the reduction of token values over a row, and the KL estimate."""


def rollout_correction(  # noqa: PLR0913  the settings of verl
    tokens: LogProbs,
    *,
    rollout_is: str | None = None,
    rollout_is_threshold: float | str | None = 2.0,
    rollout_is_batch_normalize: bool = False,
    rollout_rs: str | None = None,
    rollout_rs_threshold: float | str | None = None,
    described: str = "applied",
) -> Correction:
    """The rollout correction of verl after 0.7.0.

    Args:
        tokens: the two log-probabilities.
        rollout_is: "token" or "sequence" (the product over the row); None for no weights.
        rollout_is_threshold: u to truncate weights at u, or "lo_hi" to zero those outside (IcePop).
        rollout_is_batch_normalize: divide the weights by their mean.
        rollout_rs: comma-separated names of `REJECTIONS`; None to reject nothing.
        rollout_rs_threshold: for k1 "lo_hi" or u (meaning 1/u to u), bounds on rollout over trainer probability; for k2
            and k3 the largest value. One for all options, or a comma-separated list with one for each.
        described: which weights the metrics describe: "applied", but with the row shares of raw ones; "applied-rows",
            with the row shares of applied ones too, as in 0.8; "raw", with std and effective sample size of weights
            clamped on both sides, as in 0.7.

    Returns:
        Metrics under "rollout_corr/"; weights are 0 on tokens that are not trained on.

    Raises:
        DataError: no token is trained on.
        UsageError: an option or a threshold that verl rejects.

    Source:
        verl 0.9.1, verl/trainer/ppo/rollout_corr_helper.py
    """
    _require_tokens(tokens)
    metrics: dict[str, Tensor | float] = {}
    weights = None
    mask = tokens.mask
    if rollout_is is not None and rollout_is_threshold is not None:
        low, high = _weight_bounds(rollout_is_threshold)
        raw = _raw_weights(tokens, rollout_is)
        weights = raw.clamp(max=high) if low is None else torch.where((raw >= low) & (raw <= high), raw, 0.0)
        reach = (1 / high if low is None else low, high)
        shown = {"applied": (weights, raw, raw), "applied-rows": (weights, raw, weights), "raw": (raw,) * 3}
        least = None if described == "raw" else 0.0
        metrics |= _weight_metrics("rollout_is", tokens, rollout_is, shown[described], reach, least=least)
        if low is not None:
            metrics["rollout_is_oob_ratio"] = tokens.mean(_flag(raw, (raw < low) | (raw > high)))
        if rollout_is_batch_normalize:
            weights, metrics["rollout_is_batch_norm_factor"] = _normalised(tokens, weights, rollout_is)
    if rollout_rs is not None:
        mask, more = _reject(tokens, rollout_rs, rollout_rs_threshold)
        metrics |= more
    return Correction(mask, numbers({**metrics, **divergences(tokens)}, PREFIX), weights)


def rollout_correction_0_7_0(  # noqa: PLR0913  the settings of verl
    tokens: LogProbs,
    *,
    rollout_is: str | None = None,
    rollout_is_threshold: float | None = 2.0,
    rollout_is_batch_normalize: bool = False,
    rollout_rs: str | None = None,
    rollout_rs_threshold: float | None = None,
    rollout_rs_threshold_lower: float | None = None,
    rollout_token_veto_threshold: float | None = None,
) -> Correction:
    """The rollout correction of verl up to 0.7.0, whose metrics describe weights before truncation.

    Args:
        tokens: the two log-probabilities.
        rollout_is: "token" or "sequence" (the product over the row); None for no weights.
        rollout_is_threshold: upper bound at which weights are truncated.
        rollout_is_batch_normalize: divide the weights by their mean.
        rollout_rs: "token", "sequence" or "geometric", the ratio whose bounds reject; None to reject nothing.
        rollout_rs_threshold: the upper bound.
        rollout_rs_threshold_lower: the lower bound; defaults to 1 / upper bound.
        rollout_token_veto_threshold: a row with a token whose ratio is lower is rejected; None for no veto.

    Returns:
        Metrics under "rollout_corr/"; weights are 0 on tokens that are not trained on.

    Raises:
        DataError: no token is trained on.
        UsageError: an option or a threshold that verl rejects.

    Source:
        verl 0.7.0, verl/trainer/ppo/rollout_corr_helper.py
    """
    _require_tokens(tokens)
    metrics: dict[str, Tensor | float] = {}
    weights = None
    mask = tokens.mask
    if rollout_is is not None and rollout_is_threshold is not None:
        high = _positive("rollout_is_threshold", rollout_is_threshold)
        raw = _raw_weights(tokens, rollout_is)
        metrics |= _weight_metrics("rollout_is", tokens, rollout_is, (raw,) * 3, (1 / high, high), least=None)
        weights = raw.clamp(max=high)
        if rollout_is_batch_normalize:
            weights, metrics["rollout_is_batch_norm_factor"] = _normalised(tokens, weights, rollout_is)
    if rollout_rs is not None:
        high = _positive("rollout_rs_threshold", rollout_rs_threshold)
        low = 1 / high if rollout_rs_threshold_lower is None else rollout_rs_threshold_lower
        ratio = bounded_exp(_at("rollout_rs", tokens, rollout_rs, LEVELS))
        metrics |= _weight_metrics("rollout_rs", tokens, rollout_rs, (ratio,) * 3, (low, high), least=None)
        out = _flag(ratio, (ratio < low) | (ratio > high))
        metrics["rollout_rs_masked_fraction"] = tokens.mean(out)
        rows_out = tokens.row_sum(out) > 0
        if not low <= 1 <= high and rollout_rs != "token":
            # verl gives a row without a trained token the ratio 1.
            rows_out |= ~tokens.filled
        metrics["rollout_rs_seq_masked_fraction"] = _flag(ratio, rows_out).mean()
        mask = mask * (1 - out)
    mask, veto = _veto(tokens, mask, rollout_token_veto_threshold)
    return Correction(mask, numbers({**metrics, **veto, **divergences(tokens)}, PREFIX), weights)


def _require_tokens(tokens: LogProbs) -> None:
    if not tokens.trained.any():
        raise DataError("no token is trained on, so there is nothing to correct", hint="check --mask-col")


def _positive(name: str, value: float | str | None) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not number > 0:
        raise UsageError(f"{name} is {value}, expected a number above 0")
    return number


def _weight_bounds(threshold: float | str) -> tuple[float | None, float]:
    """The bounds of the weights; the lower one is None for truncation."""
    low, bar, high = str(threshold).strip().partition("_")
    if not bar:
        return None, _positive("rollout_is_threshold", low)
    bounds = _positive("rollout_is_threshold", low), _positive("rollout_is_threshold", high)
    if bounds[0] > bounds[1]:
        raise UsageError(f"rollout_is_threshold is {threshold}, expected LOW_HIGH with LOW below HIGH")
    return bounds


def _flag(like: Tensor, condition: Tensor) -> Tensor:
    """A condition as 0 and 1."""
    return condition.to(like.dtype)


def _at(name: str, tokens: LogProbs, level: str, levels: tuple[str, ...]) -> Tensor:
    if level not in levels:
        raise UsageError(f"{name} is '{level}'", hint=either(levels))
    return tokens.at_level(level)


def _raw_weights(tokens: LogProbs, level: str) -> Tensor:
    """[T] the importance weights, with only the log clamped to ±20; 0 on tokens that are not trained on."""
    log_ratio = _at("rollout_is", tokens, level, ("token", "sequence"))
    return torch.where(tokens.trained, bounded_exp(log_ratio), 0.0)


def _weight_metrics(
    name: str,
    tokens: LogProbs,
    level: str,
    weights: tuple[Tensor, ...],
    bounds: tuple[float, float],
    *,
    least: float | None,
) -> dict[str, Tensor | float]:
    """The metrics of importance weights.

    Args:
        name: prefix of each key.
        tokens: the two log-probabilities.
        level: level of the weights.
        weights: [T] each: the weights to describe, those for the low and high shares, and those for the row shares.
        bounds: a weight below or above these counts as low or high.
        least: for std and effective sample size, weights are clamped from here to the upper bound; None for the lower bound.
    """
    applied, raw, by_row = weights
    low, high = bounds
    log_low, log_high = torch.tensor(bounds, dtype=raw.dtype).log()
    result: dict[str, Tensor | float] = {"mean": tokens.mean(applied)}
    if level == "token":
        result |= {"max": applied[tokens.trained].max(), "min": applied[tokens.trained].min()}
        result["ratio_fraction_high"] = tokens.mean(_flag(raw, raw > high))
        result["ratio_fraction_low"] = tokens.mean(_flag(raw, raw < low))
    else:
        reduce = tokens.row_sum if level == "sequence" else tokens.row_mean
        per_row = reduce(tokens.log_ratio)
        result |= {"max": per_row.max().clamp(max=SAFETY_BOUND).exp(), "min": per_row.min().exp()}
        result["ratio_fraction_high"] = _flag(raw, per_row > log_high).mean()
        result["ratio_fraction_low"] = _flag(raw, per_row < log_low).mean()
    clamped = applied.clamp(low if least is None else least, high)
    result["std"] = _std(tokens, clamped)
    result["eff_sample_size"] = effective_share(tokens, clamped)
    result |= {f"seq_{key}": value for key, value in _of_rows(tokens.row_mean(applied), 1.0).items()}
    of_rows = tokens.row_mean(by_row)
    result["seq_fraction_high"] = _flag(raw, of_rows > high).mean()
    result["seq_fraction_low"] = _flag(raw, of_rows < low).mean()
    return {f"{name}_{key}": value for key, value in result.items()}


def _std(tokens: LogProbs, values: Tensor) -> Tensor | float:
    """The population standard deviation over trained tokens, from the mean of squares; 0 for one token."""
    if not tokens.mask.sum() > 1:
        return 0.0
    return (tokens.mean(values.square()) - tokens.mean(values).square()).clamp(min=0).sqrt()


def _of_rows(values: Tensor, ideal: float) -> dict[str, Tensor | float]:
    """Mean, std, extremes and the largest distance from `ideal` of [M] numbers, one per row; M is 1 or more."""
    return {
        "mean": values.mean(),
        "std": values.std() if len(values) > 1 else 0.0,
        "max": values.max(),
        "min": values.min(),
        "max_deviation": (values - ideal).abs().max(),
    }


def _normalised(tokens: LogProbs, weights: Tensor, level: str) -> tuple[Tensor, Tensor | float]:
    """Weights divided by their mean, and that mean; unchanged weights and 1 if the mean is 0."""
    mean = tokens.mean(weights) if level == "token" else tokens.row_mean(weights)[tokens.filled].mean()
    return (weights / mean, mean) if mean > 1e-8 else (weights, 1.0)


def _veto(
    tokens: LogProbs, mask: Tensor, threshold: float | None
) -> tuple[Tensor, dict[str, Tensor | float]]:
    """Reject rows that contain a token with a tiny ratio."""
    if threshold is None:
        zero = {"rollout_is_veto_fraction": 0.0, "rollout_is_catastrophic_token_fraction": 0.0}
        return mask, {**zero}
    bound = torch.tensor(_positive("rollout_token_veto_threshold", threshold), dtype=mask.dtype).log()
    below = _flag(mask, tokens.log_ratio < bound)
    vetoed = tokens.row_sum(below) > 0
    return mask * ~tokens.spread(vetoed), {
        "rollout_is_veto_fraction": _flag(mask, vetoed).mean(),
        "rollout_is_catastrophic_token_fraction": tokens.mean(below),
    }


def _reject(
    tokens: LogProbs, options: str, threshold: float | str | None
) -> tuple[Tensor, dict[str, Tensor | float]]:
    """The mask of tokens kept by every option, and the metrics of each."""
    named = list(dict.fromkeys(option.strip() for option in options.split(",") if option.strip()))
    for option in named:
        if option not in REJECTIONS:
            raise UsageError(f"rollout_rs is '{option}'", hint=either(REJECTIONS))
    if not named:
        raise UsageError("rollout_rs names no option", hint=either(REJECTIONS))
    metrics: dict[str, Tensor | float] = {}
    kept = torch.ones_like(tokens.trained)
    for option, (low, high) in _rejection_bounds(named, threshold).items():
        values, per_row = _statistic(tokens, option)
        inside = (values <= high) & (values >= low)
        kept &= inside
        metrics |= {
            f"rollout_rs_{option}_{key}": value
            for key, value in _rejection_metrics(tokens, (values, per_row), (low, high), inside).items()
        }
    rejected = _flag(tokens.mask, ~kept)
    metrics["rollout_rs_masked_fraction"] = tokens.mean(rejected)
    metrics["rollout_rs_seq_masked_fraction"] = _flag(rejected, tokens.row_sum(rejected) > 0).mean()
    return tokens.mask * kept, metrics


def _rejection_bounds(options: list[str], threshold: float | str | None) -> Mapping[str, tuple[float, float]]:
    """Bounds on each option's value; k1 is bounded in logs, k2 and k3 only from above."""
    given = [part.strip() for part in str("" if threshold is None else threshold).split(",") if part.strip()]
    if len(given) not in (1, len(options)):
        raise UsageError(f"rollout_rs_threshold is {threshold}, expected one for all options or one for each")
    result = {}
    for option, text in zip(options, given * len(options) if len(given) == 1 else given, strict=False):
        low, bar, high = text.rpartition("_")
        if not option.endswith("k1"):
            if bar:
                raise UsageError(f"rollout_rs_threshold of {option} is {text}, expected one number")
            result[option] = (-math.inf, _positive("rollout_rs_threshold", high))
            continue
        upper = _positive("rollout_rs_threshold", high)
        lower = _positive("rollout_rs_threshold", low) if bar else 1 / upper
        if lower > upper:
            raise UsageError(f"rollout_rs_threshold of {option} is {text}, expected LOW_HIGH or at least 1")
        result[option] = (math.log(lower), math.log(upper))
    return result


def _statistic(tokens: LogProbs, option: str) -> tuple[Tensor, Tensor | None]:
    """[T] the value of an option per token, and [N] per row if the option is row-level."""
    reduce, _, kind = option.rpartition("_")
    values = kl(tokens.log_ratio.clamp(-SAFETY_BOUND, SAFETY_BOUND), kind)
    if reduce == "token":
        return values, None
    per_row = {"seq_sum": tokens.row_sum, "seq_mean": tokens.row_mean, "seq_max": tokens.row_max}[reduce](
        values
    )
    return tokens.spread(per_row), per_row


def _rejection_metrics(
    tokens: LogProbs, statistic: tuple[Tensor, Tensor | None], bounds: tuple[float, float], inside: Tensor
) -> dict[str, Tensor | float]:
    """The metrics of one option."""
    values, of_rows = statistic
    low, high = bounds
    rows = (tokens.row_mean(values) if of_rows is None else of_rows)[tokens.filled]
    # Without a lower bound there is no share below it.
    bounded = math.isfinite(low)
    unit = values[tokens.trained] if of_rows is None else rows
    result: dict[str, Tensor | float] = {
        "mean": tokens.mean(values),
        "max": unit.max(),
        "min": unit.min(),
        "fraction_high": _flag(unit, unit > high).mean(),
        "fraction_low": _flag(unit, unit < low).mean() if bounded else 0.0,
        "std": _std(tokens, values.clamp(low if bounded else 0.0, high)),
    }
    result |= {f"seq_{key}": value for key, value in _of_rows(rows, 0.0).items()}
    result["seq_fraction_high"] = _flag(rows, rows > high).mean()
    if bounded:
        result["seq_fraction_low"] = _flag(rows, rows < low).mean()
    rejected = _flag(values, ~inside)
    result["masked_fraction"] = tokens.mean(rejected)
    result["seq_masked_fraction"] = _flag(values, tokens.row_sum(rejected)[tokens.filled] > 0).mean()
    return result
