"""Off-policy figures under verl's names: of all rows, per step, per policy version and per row."""

from collections.abc import Sequence

import torch
from torch import Tensor

from advcli.off_policy.divergence import divergences, effective_share, perplexity
from advcli.off_policy.tokens import SAFETY_BOUND, LogProbs, bounded_exp, kl
from advcli.records.off_policy import Figures, OffPolicyPart


def figures(tokens: LogProbs) -> Figures:
    """The figures of all rows.

    Args:
        tokens: the two log-probabilities; at least one row has a trained token.
    """
    ratio = bounded_exp(tokens.log_ratio)
    trained = tokens.log_ratio[tokens.trained]
    result = {name: float(value) for name, value in divergences(tokens.take(_filled(tokens))).items()}
    return Figures(
        rows=int(tokens.filled.sum()),
        tokens=int(tokens.mask.sum()),
        **result,
        k2_kl=float(tokens.mean(kl(tokens.log_ratio, "k2"))),
        eff_sample_size=float(effective_share(tokens, ratio)),
        ratio_mean=float(tokens.mean(ratio)),
        ratio_min=float(trained.min().exp()),
        ratio_max=float(trained.max().clamp(max=SAFETY_BOUND).exp()),
    )


def _filled(tokens: LogProbs) -> Tensor:
    """The rows with a trained token; in verl's means the others would count as 0."""
    return torch.nonzero(tokens.filled).squeeze(1)


def parts(tokens: LogProbs, code: Tensor, names: Sequence[str]) -> tuple[OffPolicyPart, ...]:
    """The figures for each value of a column.

    Args:
        tokens: the two log-probabilities.
        code: [N] int64, the code of each row's value; -1 for rows without one.
        names: the value of each code.

    Returns:
        A part for each value with a trained token, in the order of the codes.
    """
    order = torch.argsort(code, stable=True)
    counts = torch.bincount(code[code >= 0], minlength=len(names)).tolist()
    stacks = order[int((code < 0).sum()) :].split(counts)
    slices = ((name, tokens.take(rows)) for name, rows in zip(names, stacks, strict=True) if len(rows))
    return tuple(OffPolicyPart(name, figures(part)) for name, part in slices if part.trained.any())


def by_row(tokens: LogProbs) -> dict[str, Tensor]:
    """The figures of each row.

    Returns:
        name → [N], NaN for a row without a trained token: "log_ratio" (the mean over its tokens), "kl" (k1), "k2_kl",
        "k3_kl", "chi2_token", "eff_sample_size", and "training_ppl", "rollout_ppl" and "ppl_ratio".
    """
    ratio = bounded_exp(tokens.log_ratio)
    second = tokens.row_mean(ratio.square())
    of_policies = perplexity(tokens)
    result = {
        "log_ratio": tokens.row_mean(tokens.log_ratio),
        "kl": tokens.row_mean(kl(tokens.log_ratio, "k1")),
        "k2_kl": tokens.row_mean(kl(tokens.log_ratio, "k2")),
        "k3_kl": tokens.row_mean(kl(tokens.log_ratio, "k3")),
        "chi2_token": second - 1,
        "eff_sample_size": tokens.row_mean(ratio).square() / second,
        **{name: of_policies[name] for name in ("training_ppl", "rollout_ppl", "ppl_ratio")},
    }
    return {name: torch.where(tokens.filled, values, torch.nan) for name, values in result.items()}
