"""Methods that change the loss but not the advantage, so that there is nothing to compute for them."""

from collections.abc import Mapping
from types import MappingProxyType

from advcli.common.errors import UsageError

# Name → what it changes.
LOSS_SIDE: Mapping[str, str] = MappingProxyType(
    {
        "gspo": "the importance ratio (one per sequence)",
        "gmpo": "the mean over tokens (a geometric one)",
        "cispo": "the clipping (of the importance weight)",
        "sapo": "the clipping (a soft gate)",
        "luspo": "the weight of a sequence in the loss",
        "dapo": "the clipping and the mean over tokens",
        "dppo": "which tokens are masked",
        "gvpo": "the loss",
        "disco": "the loss",
        "clip_cov": "which tokens are clipped",
        "kl_cov": "which tokens have a KL penalty",
        "tis": "the weight of a token (truncated importance sampling)",
        "icepop": "which tokens are masked",
    }
)


def refusal(name: str, usual: str = "grpo") -> UsageError | None:
    """The error for a loss-side method; None for any other name.

    Args:
        name: the requested name.
        usual: the estimator whose advantage the method uses.

    Example:
        >>> print(refusal("GSPO"))
        GSPO changes the importance ratio (one per sequence), not the advantage, which is that of grpo; try --estimator grpo
        >>> refusal("rloo")
    """
    what = LOSS_SIDE.get(name.lower().replace("-", "_"))
    if what is None:
        return None
    return UsageError(
        f"{name} changes {what}, not the advantage, which is that of {usual}",
        hint=f"--estimator {usual}",
        about="estimator",
    )
