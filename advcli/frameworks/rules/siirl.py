"""siiRL."""

from typing import Any

from advcli.frameworks.rule import GROUP, NONE, WEIGHTED, Rule, grpo

_SIIRL = "siirl/dag_worker/core_algos.py"

_AS_VERL = {"single": "raw-eps", "variance": "whole"}

# Its weight_factor_in_cpgd: STD_weight, naive, clip_filter_like_weight.
_WEIGHTS: dict[str, Any] = {
    "group": {"divide": "group"},
    "none": {"divide": "none", "single": "raw"},
    "batch": {"divide": "none", "single": "raw", "weighted": True},
}

ROWS = [
    grpo("siirl", eps=1e-6, knobs=_AS_VERL, scales=GROUP | NONE, source=_SIIRL, proof="package"),
    Rule(
        "siirl",
        "cpgd",
        "A_i = (r_i − mean_g) / (std_g + 1e-6), ddof 1; scale batch (r_i − mean_g) · min(3, rows / live groups of the batch)",
        f"{WEIGHTED}:live_weighted",
        ("rewards", "group", "step"),
        {},
        scales=_WEIGHTS,
        lost=("a run of 0.2.0 (which stops before it gets here)",),
        source=_SIIRL,
        proof="package",
    ),
]
