"""Estimators that depend on the order of rows or steps."""

from advcli.estimators.entry import Estimator, Worked

ROWS = [
    Estimator(
        name="krpo",
        target="advcli.estimators.in_order:krpo",
        needs=("rewards", "group"),
        formula="A_i = (r_i − x) / √P, x and P of a Kalman filter over the rows of the group, after row i",
        summary="reward minus the estimate of a Kalman filter, over its standard deviation; depends on the row order",
        source="Kalman Filter Enhanced GRPO, arXiv:2505.07527",
        whole_steps=True,
        worked=Worked({"rewards": (1, 0, 0, 0)}, (0.0995, -7.0481, -5.7514, -4.9725)),
    ),
    Estimator(
        name="spo",
        target="advcli.estimators.in_order:spo",
        needs=("rewards", "group", "step"),
        formula="A_i = (c_i − mean_B c) / std_B c, c_i = r_i − α/(α+β); then α ← ρα + r, β ← ρβ + 1 − r",
        summary="reward minus what the prompt's earlier steps let expect, normalised over the step",
        scope="order",
        source="Single-stream Policy Optimization, arXiv:2509.13232",
        alone=True,
        worked=Worked({"rewards": (1, 0, 0, 0), "group": (0, 1, 2, 3)}, (1.5, -0.5, -0.5, -0.5)),
    ),
]
