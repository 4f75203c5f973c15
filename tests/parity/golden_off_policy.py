"""How an off-policy golden case is run: which correction, and which of its results has which name in the file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from advcli.common.registry import load
from advcli.off_policy.catalog import CORRECTIONS, Row, find
from advcli.off_policy.correction import Correction
from advcli.off_policy.tokens import LogProbs

# The golden files' name of a function → ours, where they differ.
FUNCTIONS = {
    ("nemo-rl", "clipped pg loss metrics"): "clipped_pg",
    ("prime-rl", "loss default"): "default",
    ("prime-rl", "loss ipo"): "ipo",
}

# Our field of a correction → the names that the frameworks, and so the golden files, give it.
NAMES = {
    "weights": ("weights", "rollout_is_weights", "tis_ratio"),
    "mask": ("mask", "response_mask", "loss_mask"),
}


@dataclass(frozen=True)
class OffPolicy:
    """One call of a correction; it has no groups and no rewards."""

    row: Row
    given: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    groups: Sequence[Any] = ()
    rewards: Sequence[Any] = ()

    def run(self) -> dict[str, Any]:
        """Everything that the correction gives, by its name in the files: a number, a list per row or one per token."""
        counts = [len(row["mask"]) for row in self.rows]
        rollout, train, mask = (
            torch.tensor([value for row in self.rows for value in row[name]], dtype=torch.float64)
            for name in ("rollout_logprobs", "train_logprobs", "mask")
        )
        tokens = LogProbs.of(rollout, train, torch.tensor(counts), mask, as_trained=True)
        signed = [torch.tensor([float(row["advantage"]) for row in self.rows])] if self.row.signed else []
        found: Correction = load(self.row.target)(tokens, *signed, **self.row.knobs, **self.given)
        lists = {**found.per_token, **dict.fromkeys(NAMES["mask"], found.mask)}
        if found.weights is not None:
            lists |= dict.fromkeys(NAMES["weights"], found.weights)
        return {
            **dict.fromkeys(NAMES["weights"]),
            **found.metrics,
            **{name: values.tolist() for name, values in found.per_row.items()},
            **{name: [part.tolist() for part in values.split(counts)] for name, values in lists.items()},
        }


def of(
    framework: str,
    version: str,
    estimator: str,
    settings: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> OffPolicy | None:
    """The call of a case; None if it is no off-policy case."""
    function = FUNCTIONS.get((framework, estimator), estimator)
    if not any((row.framework, row.function) == (framework, function) for row in CORRECTIONS):
        return None
    number = version if re.fullmatch(r"\d+(\.\d+)+", version) else ""
    return OffPolicy(find(framework, number, function), settings, rows)
