"""Estimators that compare a row with its group by another baseline or divisor."""

from advcli.estimators.entry import Estimator, Worked

ROWS = [
    Estimator(
        name="opmd",
        target="advcli.estimators.baselines:opmd",
        needs=("rewards", "group"),
        formula="A_i = r_i − τ · ln mean_g e^{r_j/τ}",
        summary="reward minus a soft maximum of its group, between its mean (large τ) and its highest (τ = 0)",
        source="Kimi k1.5, arXiv:2501.12599; trinity/algorithm/advantage_fn/opmd_advantage.py",
        worked=Worked({"rewards": (1, 0, 0, 0)}, (0.6426, -0.3574, -0.3574, -0.3574)),
    ),
    Estimator(
        name="asymre",
        target="advcli.estimators.baselines:asymre",
        needs=("rewards", "group"),
        formula="A_i = r_i − (mean_g + δ), δ = −0.1",
        summary="reward minus the mean of its group and a constant, which pushes all rows up",
        source="Asymmetric REINFORCE, arXiv:2506.20520",
        worked=Worked({"rewards": (1, 0, 0, 0)}, (0.85, -0.15, -0.15, -0.15)),
    ),
    Estimator(
        name="rec",
        target="advcli.estimators.baselines:rec",
        needs=("rewards", "group", "step"),
        formula="A_i = r_i − mean_g",
        summary="reward minus the mean of its group, divided by the population's standard deviation if at all",
        source="Group-Relative REINFORCE, arXiv:2509.24203; trinity/algorithm/advantage_fn/rec_advantage.py",
        default_scale="none",
        worked=Worked({"rewards": (1, 0, 0, 0)}, (0.75, -0.25, -0.25, -0.25)),
    ),
    Estimator(
        name="cpgd",
        target="advcli.estimators.baselines:cpgd",
        needs=("rewards", "group", "step"),
        formula="A_i = (r_i − mean_g) · min(3, rows of the step / live groups of the step)",
        summary="reward minus the mean of its group, made larger where few groups of the step are live",
        scope="step",
        source="CPGD, arXiv:2505.12504; siirl/dag_worker/core_algos.py",
        worked=Worked({"rewards": (1, 0, 0, 0)}, (2.25, -0.75, -0.75, -0.75)),
    ),
    Estimator(
        name="batch_mean_group_std",
        target="advcli.estimators.baselines:batch_mean_group_std",
        needs=("rewards", "group", "step"),
        formula="A_i = (r_i − mean_B) / std_g",
        summary="reward minus the mean of the step, over the standard deviation of its group",
        scope="step",
        source="Tricks or Traps, arXiv:2508.08221",
        worked=Worked(
            {"rewards": (1, 0, 1, 1), "group": (0, 0, 1, 1)},
            (0.3536, -1.0607, 0.0, 0.0),
        ),
    ),
]
