"""SkyRL's off-policy correction: outliers, token masks, truncated weights, sequence masks, in that order."""

import math

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.common.wording import either
from advcli.off_policy.correction import Correction, numbers
from advcli.off_policy.tokens import LogProbs, bounded_exp


def off_policy_correction(  # noqa: PLR0913  the settings of SkyRL
    tokens: LogProbs,
    *,
    tis_ratio_type: str | None = None,
    token_tis_ratio_clip_high: float = 2.0,
    sequence_tis_ratio_clip_high: float = 5.0,
    sequence_mask_metric: str | None = None,
    geo_mask_high: float = 1.01,
    geo_mask_low: float = 0.99,
    product_mask_high: float = 2.0,
    product_mask_low: float = 0.5,
    outlier_token_is_threshold_low: float | None = None,
    outlier_token_is_threshold_high: float | None = None,
    token_mask_is_threshold_low: float | None = None,
    token_mask_is_threshold_high: float | None = None,
) -> Correction:
    """SkyRL's correction; each step works on the tokens kept by the previous one.

    Args:
        tokens: the two log-probabilities.
        tis_ratio_type: "token" or "sequence" (the product over the row); None for no weights.
        token_tis_ratio_clip_high: largest weight of a token.
        sequence_tis_ratio_clip_high: largest weight of a sequence.
        sequence_mask_metric: "geometric" or "product", the row ratio whose bounds mask rows; None for no sequence mask.
        geo_mask_high: upper bound of the geometric mean.
        geo_mask_low: lower bound of the geometric mean.
        product_mask_high: upper bound of the product.
        product_mask_low: lower bound of the product.
        outlier_token_is_threshold_low: a row with a token whose ratio is lower is masked; None for no bound.
        outlier_token_is_threshold_high: a row with a token whose ratio is higher is masked; None for no bound.
        token_mask_is_threshold_low: a token whose ratio is lower is masked; None, like the next, for no token mask.
        token_mask_is_threshold_high: a token whose ratio is higher is masked.

    Returns:
        Metrics under SkyRL's names, none if nothing is enabled; std, max and min are over the padded batch, in which
        padding and tokens that are not trained on count as 0.

    Raises:
        UsageError: unknown ratio or metric.

    Source:
        SkyRL a9564572, skyrl/backends/skyrl_train/utils/off_policy_correction_utils.py
    """
    outlier_bounds = (outlier_token_is_threshold_low, outlier_token_is_threshold_high)
    token_bounds = (token_mask_is_threshold_low, token_mask_is_threshold_high)
    metrics: dict[str, Tensor | float] = {}
    kept, weights = tokens, None
    if outlier_bounds != (None, None):
        kept, more = _without_outliers(kept, *outlier_bounds)
        metrics |= more
    if None not in token_bounds:
        kept, more = _token_mask(kept, *token_bounds)  # type: ignore[arg-type]
        metrics |= more
    if tis_ratio_type is not None:
        caps = {"token": token_tis_ratio_clip_high, "sequence": sequence_tis_ratio_clip_high}
        weights, more = _weights(kept, tis_ratio_type, caps)
        metrics |= more
    if sequence_mask_metric is not None:
        bounds = {
            "geometric": (geo_mask_low, geo_mask_high),
            "product": (product_mask_low, product_mask_high),
        }
        kept, more = _sequence_mask(kept, sequence_mask_metric, bounds)
        metrics |= more
    if metrics:
        metrics |= _ratio(tokens)
    return Correction(kept.mask, numbers(metrics), weights)


def _ratio(tokens: LogProbs) -> dict[str, Tensor | float]:
    """Metrics of the ratio before any step."""
    ratio = bounded_exp(tokens.log_ratio)
    padded = tokens.laid_out(torch.where(tokens.trained, ratio, 0.0))
    return {
        "is_ratio_mean": tokens.mean(ratio),
        "is_ratio_std": padded.std() if padded.numel() > 1 else math.nan,
        "is_ratio_max": padded.max(),
        "is_ratio_min": padded.min(),
    }


def _share(tokens: LogProbs, rows: Tensor) -> Tensor:
    """The share of rows for which a condition holds."""
    return rows.to(tokens.mask.dtype).mean()


def _without_outliers(
    tokens: LogProbs, low: float | None, high: float | None
) -> tuple[LogProbs, dict[str, Tensor | float]]:
    ratio = bounded_exp(tokens.log_ratio)
    over, under = ratio > (math.inf if high is None else high), ratio < (-math.inf if low is None else low)
    any_over, any_under = (tokens.row_sum(out.to(ratio.dtype)) > 0 for out in (over, under))
    out = any_over | any_under
    return tokens.narrowed(~tokens.spread(out)), {
        "outlier_seq_masked_ratio": _share(tokens, out),
        "outlier_seq_over_high_ratio": _share(tokens, any_over),
        "outlier_seq_under_low_ratio": _share(tokens, any_under),
    }


def _token_mask(tokens: LogProbs, low: float, high: float) -> tuple[LogProbs, dict[str, Tensor | float]]:
    ratio = bounded_exp(tokens.log_ratio)
    inside = (ratio >= low) & (ratio <= high)
    return tokens.narrowed(inside), {"token_mask_ratio": tokens.mean((~inside).to(ratio.dtype))}


def _weights(
    tokens: LogProbs, level: str, caps: dict[str, float]
) -> tuple[Tensor, dict[str, Tensor | float]]:
    if level not in caps:
        raise UsageError(f"tis_ratio_type is '{level}'", hint=either(list(caps)))
    cap = caps[level]
    if level == "token":
        ratio = bounded_exp(tokens.log_ratio)
        return ratio.clamp(max=cap), {"tis_token_clip_high_ratio": tokens.mean((ratio > cap).to(ratio.dtype))}
    of_rows = bounded_exp(tokens.row_sum(tokens.log_ratio))
    capped = _share(tokens, of_rows > cap)
    return tokens.spread(of_rows.clamp(max=cap)), {"tis_seq_clip_high_ratio": capped}


def _sequence_mask(
    tokens: LogProbs, metric: str, bounds: dict[str, tuple[float, float]]
) -> tuple[LogProbs, dict[str, Tensor | float]]:
    if metric not in bounds:
        raise UsageError(f"sequence_mask_metric is '{metric}'", hint=either(list(bounds)))
    low, high = bounds[metric]
    reduce = {"geometric": tokens.row_mean, "product": tokens.row_sum}[metric]
    ratio = bounded_exp(reduce(tokens.log_ratio))
    over, under = ratio > high, ratio < low
    name = {"geometric": "geo", "product": "product"}[metric] + "_sequence_mask"
    return tokens.narrowed(~tokens.spread(over | under)), {
        f"{name}_masked_ratio": _share(tokens, over | under),
        f"{name}_over_high_ratio": _share(tokens, over),
        f"{name}_under_low_ratio": _share(tokens, under),
    }
