"""Estimators with another baseline or spread than mean and standard deviation."""

from advcli.estimators.entry import Estimator, Worked

ROWS = [
    Estimator(
        name="quantile",
        target="advcli.estimators.robust:quantile",
        needs=("rewards", "group"),
        formula="A_i = (r_i − Q_K) / std_g, Q_K = inf {x: F_g(x) ≥ K}",
        summary="reward minus the K-quantile of its group, over the standard deviation of the group",
        source="QAE, arXiv:2509.22611",
        worked=Worked({"rewards": (1, 0, 0, 0)}, (2.0, 0.0, 0.0, 0.0)),
    ),
    Estimator(
        name="median",
        target="advcli.estimators.robust:median",
        needs=("rewards", "group"),
        formula="A_i = (r_i − med_g) / (MAD_g + eps) · n / #{j: r_j ≠ med_g}",
        summary="reward minus the median of its group, over the median distance from it",
        source="MC-GRPO, arXiv:2601.22582",
        worked=Worked({"rewards": (0.9, 0.2, 0.4, 0.1, 0.5)}, (3.1095, -1.2438, 0.0, -1.8657, 0.6219)),
    ),
    Estimator(
        name="bnpo",
        target="advcli.estimators.robust:bnpo",
        needs=("rewards", "group", "step"),
        formula="A_i = (r_i − p_g) / f(p_g; α, β), p_g = mean_g, f a Beta density fitted to the p of the step",
        summary="reward minus the mean of its group, over the density of that mean among the step's groups",
        scope="step",
        source="BNPO, arXiv:2506.02864",
        worked=Worked(
            {"rewards": (1, 0, 0, 0, 1, 1, 0, 0), "group": (0, 0, 0, 0, 1, 1, 1, 1)},
            (0.5185, -0.1728, -0.1728, -0.1728, 0.3409, 0.3409, -0.3409, -0.3409),
        ),
    ),
    Estimator(
        name="shrinkage",
        target="advcli.estimators.robust:shrinkage",
        needs=("rewards", "group", "step"),
        formula="A_i = r_i − (1 − λ_g) · mean_{j≠i} r_j − λ_g · mean_{h≠g} mean_h, λ_g = v_g / (v_g + s_g)",
        summary="reward minus the mean of the other rows, drawn towards the mean of the step's other groups",
        scope="step",
        source="Shrinking the Variance (JSPO), arXiv:2511.03710",
        whole_steps=True,
        worked=Worked(
            {
                "rewards": (1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0),
                "group": (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2),
            },
            (0.9, -0.3, -0.3, -0.3, 0.8056, 0.8056, -0.3056, -0.3056, -0.3088, -0.3088, -0.3088, -0.3088),
        ),
    ),
]
