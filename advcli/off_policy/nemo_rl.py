"""NeMo-RL's importance sampling correction, and the metrics of its clipped policy gradient loss."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.common.wording import either
from advcli.off_policy.correction import Correction, numbers
from advcli.off_policy.tokens import LogProbs, kl


def clipped_pg_metrics(
    tokens: LogProbs,
    *,
    truncated_importance_sampling_type: str | None = None,
    truncated_importance_sampling_ratio: float | None = None,
    truncated_importance_sampling_ratio_min: float | None = None,
    reference_policy_kl_type: str = "k3",
    sequence_level_importance_ratios: bool = False,
) -> Correction:
    """NeMo-RL's weights, and its metrics of the mismatch between generation engine and trainer.

    Args:
        tokens: the two log-probabilities.
        truncated_importance_sampling_type: "tis" clamps, "icepop" zeroes tokens outside the bounds, "seq-mask-tis" zeroes
            rows whose geometric mean is outside; None for no truncation.
        truncated_importance_sampling_ratio: the upper bound; None for no truncation.
        truncated_importance_sampling_ratio_min: the lower bound; defaults to 0 for "tis".
        reference_policy_kl_type: "k1", "k2" or "k3", for the KL metrics.
        sequence_level_importance_ratios: whether a token's weight is the product over its row.

    Returns:
        Metrics under NeMo-RL's names; "approx_entropy" is that of the policy before its first update. With
        `sequence_level_importance_ratios`, "sampling_importance_ratio" is the mean weight times the number of rows, as
        NeMo-RL logs it (the loss is not affected).

    Raises:
        UsageError: unknown type or KL, a missing lower bound, or "seq-mask-tis" with sequence-level weights.

    Source:
        NeMo-RL 7ea279ab, nemo_rl/algorithms/loss/loss_functions.py
    """
    if reference_policy_kl_type not in ("k1", "k2", "k3"):
        raise UsageError(f"reference_policy_kl_type is '{reference_policy_kl_type}'", hint="k1, k2 or k3")
    log_ratio = tokens.log_ratio
    mixture = (0.5 * tokens.train.exp() + 0.5 * tokens.rollout.exp()).log()
    js = kl(tokens.train - mixture, "k3") + kl(tokens.rollout - mixture, "k3")
    metrics: dict[str, Tensor | float] = {
        "token_mult_prob_error": tokens.mean(log_ratio.abs().exp()),
        "gen_kl_error": tokens.mean(kl(log_ratio, reference_policy_kl_type)),
        "policy_kl_error": tokens.mean(kl(-log_ratio, reference_policy_kl_type)),
        "js_divergence_error": tokens.mean(0.5 * js),
        "approx_entropy": -tokens.mean(log_ratio.exp() * tokens.train),
    }
    weights = _Weights.of(tokens, of_rows=sequence_level_importance_ratios)
    if truncated_importance_sampling_ratio is not None and truncated_importance_sampling_type is not None:
        bounds = (truncated_importance_sampling_ratio_min, truncated_importance_sampling_ratio)
        weights, metrics["is_oob_ratio"] = _truncated(weights, truncated_importance_sampling_type, bounds)
    metrics["sampling_importance_ratio"] = weights.logged()
    return Correction(tokens.mask, numbers(metrics), weights.of_tokens())


@dataclass(frozen=True)
class _Weights:
    """Weights per token or per row.

    Attributes:
        tokens: the tokens they belong to.
        values: [T] or [N].
        of_rows: whether there is one per row.
    """

    tokens: LogProbs
    values: Tensor
    of_rows: bool

    @classmethod
    def of(cls, tokens: LogProbs, *, of_rows: bool) -> "_Weights":
        log = tokens.row_sum(tokens.log_ratio) if of_rows else tokens.log_ratio
        return cls(tokens, _finite(log.exp()), of_rows)

    def spread(self, values: Tensor) -> Tensor:
        """[T] values per weight, broadcast to tokens."""
        return self.tokens.spread(values) if self.of_rows else values

    def of_tokens(self) -> Tensor:
        """[T] the weights."""
        return self.spread(self.values)

    def logged(self) -> Tensor:
        """The mean as the framework logs it; row weights are summed, because NeMo-RL broadcasts [N, 1] × [N]."""
        return self.values.sum() if self.of_rows else self.tokens.mean(self.values)


def _finite(values: Tensor) -> Tensor:
    return torch.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)


def _truncated(weights: _Weights, kind: str, bounds: tuple[float | None, float]) -> tuple[_Weights, Tensor]:
    """The truncated weights, and the share outside the bounds."""
    if kind not in _KINDS:
        raise UsageError(f"truncated_importance_sampling_type is '{kind}'", hint=either(list(_KINDS)))
    low, high = bounds
    if low is None and kind != "tis":
        raise UsageError(
            f"{kind} needs two bounds, but one was given", hint="truncated_importance_sampling_ratio_min"
        )
    if kind == "seq-mask-tis" and weights.of_rows:
        raise UsageError(f"{kind} has weights of tokens", hint="sequence_level_importance_ratios=0")
    values, share = _KINDS[kind](weights, 0.0 if low is None else low, high)
    return replace(weights, values=values), share


def _tis(weights: _Weights, low: float, high: float) -> tuple[Tensor, Tensor]:
    outside = (weights.values > high) | (weights.values < low)
    return weights.values.clamp(low, high), _share(weights, outside)


def _icepop(weights: _Weights, low: float, high: float) -> tuple[Tensor, Tensor]:
    inside = (weights.values >= low) & (weights.values <= high)
    return torch.where(inside, weights.values, 0.0), _share(weights, ~inside)


def _share(weights: _Weights, outside: Tensor) -> Tensor:
    return weights.tokens.mean(weights.spread(outside).to(weights.values.dtype))


def _seq_mask(weights: _Weights, low: float, high: float) -> tuple[Tensor, Tensor]:
    tokens = weights.tokens
    mean = tokens.row_mean(_finite(tokens.log_ratio)).exp()
    inside = ((mean >= low) & (mean <= high)).to(mean.dtype)
    return weights.values * tokens.spread(inside), 1 - inside.mean()


_KINDS: Mapping[str, Callable[[_Weights, float, float], tuple[Tensor, Tensor]]] = {
    "tis": _tis,
    "icepop": _icepop,
    "seq-mask-tis": _seq_mask,
}
