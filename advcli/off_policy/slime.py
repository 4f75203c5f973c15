"""slime's importance sampling: the two built-in functions, and the training-inference mismatch example."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.common.wording import either
from advcli.off_policy.correction import Correction, numbers
from advcli.off_policy.divergence import perplexity
from advcli.off_policy.tokens import LEVELS, SAFETY_BOUND, LogProbs, bounded_exp, kl

PREFIX = "mis_"


def vanilla_tis(tokens: LogProbs, *, tis_clip: float = 2.0, tis_clip_low: float = 0.0) -> Correction:
    """The ratio of each token, clamped.

    Args:
        tokens: the two log-probabilities.
        tis_clip: upper bound.
        tis_clip_low: lower bound.

    Returns:
        Metrics as means over rows of row means; weights of tokens that are not trained on are not zeroed.

    Source:
        slime 624b824a, slime/backends/megatron_utils/loss.py
    """
    ratio = tokens.log_ratio.exp()
    return _built_in(tokens, ratio, ratio.clamp(tis_clip_low, tis_clip))


def icepop(tokens: LogProbs, *, tis_clip: float = 2.0, tis_clip_low: float = 0.0) -> Correction:
    """The ratio of each token, 0 outside the bounds.

    Args:
        tokens: the two log-probabilities.
        tis_clip: upper bound.
        tis_clip_low: lower bound.

    Returns:
        As `vanilla_tis`.

    Source:
        slime 624b824a, slime/backends/megatron_utils/loss.py
    """
    ratio = tokens.log_ratio.exp()
    inside = (ratio >= tis_clip_low) & (ratio <= tis_clip)
    return _built_in(tokens, ratio, torch.where(inside, ratio, 0.0))


def _built_in(tokens: LogProbs, ratio: Tensor, weights: Tensor) -> Correction:
    values = {
        "tis": ratio,
        "tis_clipfrac": (weights != ratio).to(ratio.dtype),
        "tis_abs": (ratio - 1).abs(),
        "train_rollout_logprob_abs_diff": tokens.log_ratio.abs(),
    }
    metrics = {name: tokens.mean_of_rows(value) for name, value in values.items()}
    return Correction(tokens.mask, numbers(metrics), weights)


# Mode → (weights, kept tokens) of (ratio, low, high).
_MODES: Mapping[str, Callable[[Tensor, float, float], tuple[Tensor, Tensor | None]]] = {
    "truncate": lambda ratio, _, high: (ratio.clamp(0, high), None),
    "clip": lambda ratio, low, high: (ratio.clamp(low, high), None),
    "mask": lambda ratio, low, high: (ratio, (ratio >= low) & (ratio <= high)),
}
# Mode → metric names for the shares of tokens below and above the bounds.
_SHARES = {
    "truncate": (None, "truncate_fraction"),
    "clip": ("clip_fraction_low", "clip_fraction_high"),
    "mask": ("mask_fraction_low", "mask_fraction_high"),
}


def mis(  # noqa: PLR0913  the settings of slime
    tokens: LogProbs,
    *,
    use_tis: bool = True,
    use_rs: bool = True,
    tis_level: str = "token",
    rs_level: str = "token",
    tis_mode: str = "truncate",
    tis_lower_bound: float | None = 0.5,
    tis_upper_bound: float = 2.0,
    rs_lower_bound: float | None = None,
    rs_upper_bound: float | None = None,
    rs_veto_threshold: float | None = 1e-4,
    tis_batch_normalize: bool = True,
) -> Correction:
    """Slime's example for the training-inference mismatch; every metric is a mean over rows of a mean over tokens.

    Args:
        tokens: the two log-probabilities.
        use_tis: whether to weight; without it nothing is rejected either.
        use_rs: whether to reject too.
        tis_level: one of `tokens.LEVELS`.
        rs_level: one of `tokens.LEVELS`.
        tis_mode: "truncate" at the upper bound, "clip" to both, or "mask" the tokens outside.
        tis_lower_bound: None for 1 / upper bound.
        tis_upper_bound: largest weight.
        rs_lower_bound: None for the lower bound of the weights.
        rs_upper_bound: None for the upper bound of the weights.
        rs_veto_threshold: a row with a token whose ratio is lower is rejected; None for no veto.
        tis_batch_normalize: divide the weights by their mean.

    Returns:
        Metrics under "mis_"; weights are 0 on tokens that are not trained on.

    Raises:
        UsageError: a level, a mode or bounds that slime rejects; geometric weights with `tis_batch_normalize`.

    Source:
        slime 624b824a, examples/train_infer_mismatch_helper/mis.py
    """
    values = _divergences(tokens)
    if not use_tis:
        return Correction(tokens.mask, _means(tokens, values))
    low = 1 / tis_upper_bound if tis_lower_bound is None else tis_lower_bound
    ratio = bounded_exp(_at("tis_level", tokens, tis_level))
    values["tis_weight_before_bound"] = ratio
    if tis_mode not in _MODES:
        raise UsageError(f"tis_mode is '{tis_mode}'", hint=either(list(_MODES)))
    values |= _outside("tis_{}", tis_mode, ratio, low, tis_upper_bound)
    weights, inside = _MODES[tis_mode](ratio, low, tis_upper_bound)
    weights = torch.where(tokens.trained, weights, 0.0)
    mask = tokens.mask if inside is None else tokens.mask * inside
    values["tis_weight_after_bound"] = weights
    if use_rs:
        bounds = (
            low if rs_lower_bound is None else rs_lower_bound,
            tis_upper_bound if rs_upper_bound is None else rs_upper_bound,
        )
        kept, more = _reject(tokens, rs_level, bounds, rs_veto_threshold)
        mask, values = mask * kept, {**values, **more}
    values["is_ratio_mean_after_tis_rs"] = weights
    if tis_batch_normalize:
        weights, factor = _normalised(tokens, weights, tis_level)
        values["batch_norm_factor"] = torch.full_like(weights, factor)
    per_row = {
        "mean": tokens.row_mean(weights),
        "min": -tokens.row_max(-weights),
        "max": tokens.row_max(weights),
    }
    values |= {f"is_ratio_{name}_final": tokens.spread(value) for name, value in per_row.items()}
    return Correction(mask, _means(tokens, values), weights)


def _means(tokens: LogProbs, values: Mapping[str, Tensor]) -> dict[str, float]:
    return numbers({name: tokens.mean_of_rows(value) for name, value in values.items()}, PREFIX)


def _at(name: str, tokens: LogProbs, level: str) -> Tensor:
    if level not in LEVELS:
        raise UsageError(f"{name} is '{level}'", hint=either(LEVELS))
    return tokens.at_level(level)


def _divergences(tokens: LogProbs) -> dict[str, Tensor]:
    """[T] each: the metrics of the two policies."""
    log_ratio = tokens.log_ratio
    per_row = perplexity(tokens)
    per_row["log_ppl_abs_diff"] = per_row["log_ppl_diff"].abs()
    per_row["chi2_token"] = tokens.row_mean(bounded_exp(log_ratio).square()) - 1
    product = tokens.row_sum(log_ratio).clamp(-SAFETY_BOUND, SAFETY_BOUND)
    per_row["chi2_seq"] = (2 * product).exp() - 1
    return {
        **{name: tokens.spread(value) for name, value in per_row.items()},
        "kl": kl(log_ratio, "k1"),
        "k3_kl": kl(log_ratio, "k3"),
    }


def _outside(name: str, mode: str, ratio: Tensor, low: float, high: float) -> dict[str, Tensor]:
    """[T] each: which ratios are below and above the bounds, under the mode's metric names."""
    below, above = _SHARES[mode]
    result = {name.format(above): (ratio > high).to(ratio.dtype)}
    if below is not None:
        if not low < high:
            raise UsageError(f"the bounds are {low:g} and {high:g}, expected the lower one first")
        result[name.format(below)] = (ratio < low).to(ratio.dtype)
    return result


def _reject(
    tokens: LogProbs, level: str, bounds: tuple[float, float], veto: float | None
) -> tuple[Tensor, dict[str, Tensor]]:
    """[T] bool, the tokens not rejected, and metrics."""
    low, high = bounds
    ratio = bounded_exp(_at("rs_level", tokens, level))
    values = _outside("rs_{}", "mask", ratio, low, high)
    kept = (ratio >= low) & (ratio <= high)
    if veto is not None:
        below = (tokens.log_ratio < torch.tensor(veto, dtype=ratio.dtype).log()).to(ratio.dtype)
        vetoed = tokens.row_sum(below) > 0
        values["rs_catastrophic_token_fraction"] = below
        values["rs_catastrophic_seq_fraction"] = tokens.spread(vetoed.to(ratio.dtype))
        kept &= ~tokens.spread(vetoed)
    return kept, values


# Level → the mean of the weights; slime has none for the geometric mean.
_MEANS: Mapping[str, Callable[[LogProbs, Tensor], Tensor]] = {
    "token": LogProbs.mean,
    "sequence": LogProbs.mean_of_rows,
}


def _normalised(tokens: LogProbs, weights: Tensor, level: str) -> tuple[Tensor, float]:
    """Weights divided by their mean, and that mean; unchanged weights and 1 if the mean is 0."""
    if level not in _MEANS:
        raise UsageError(
            f"slime cannot normalise weights at the level '{level}'", hint="tis_batch_normalize=false"
        )
    mean = float(_MEANS[level](tokens, weights))
    return (weights / mean, mean) if mean > 1e-8 else (weights, 1.0)
