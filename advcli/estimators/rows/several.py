"""Estimators of several rewards per row."""

from advcli.estimators.entry import Estimator, Worked

ROWS = [
    Estimator(
        name="gdpo",
        target="advcli.estimators.several:gdpo",
        needs=("parts", "weights", "group", "step"),
        formula="A_i = s_i / std_B s, s_i = Σ_k w_k (r_ki − mean_g r_k) / std_g r_k",
        summary="each reward normalised in its group, summed with weights, normalised over the step",
        scope="step",
        source="GDPO, arXiv:2601.05242",
        worked=Worked({"parts": ((1, 0), (1, 1), (0, 0), (0, 1))}, (0.0, 1.2247, -1.2247, 0.0)),
    ),
    Estimator(
        name="gdpo_sum",
        target="advcli.estimators.several:gdpo_sum",
        needs=("parts", "weights", "group"),
        formula="A_i = Σ_k w_k (r_ki − mean_g r_k) / std_g r_k",
        summary="each reward normalised in its group, summed with weights: gdpo without the step",
        source="GDPO, arXiv:2601.05242",
        worked=Worked({"parts": ((1, 0), (1, 1), (0, 0), (0, 1))}, (0.0, 1.7321, -1.7321, 0.0)),
    ),
    Estimator(
        name="papo",
        target="advcli.estimators.several:papo",
        needs=("parts", "weights", "group"),
        formula="A_i = w_1 z_g(outcome_i) + w_2 z_right(process_i) for right rows",
        summary="the outcome normalised over the group, plus for right rows the process normalised among those",
        source="PAPO, arXiv:2603.26535",
        worked=Worked(
            {"parts": ((1, 0.9), (1, 0.1), (0, 0.8), (0, 0.2))}, (1.5731, 0.1589, -0.8660, -0.8660)
        ),
    ),
]
