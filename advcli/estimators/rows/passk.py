"""Estimators of pass@k."""

from advcli.estimators.entry import Estimator, Worked

ROWS = [
    Estimator(
        name="grpo_passk",
        target="advcli.estimators.passk:grpo_passk",
        needs=("rewards", "group"),
        formula="A_best = (r_best − r_second) / std_g, 0 for the other rows",
        summary="the best row of a group has its lead over the second best, over the standard deviation",
        source="Inference Time Objectives, arXiv:2503.19595",
        worked=Worked({"rewards": (1, 0, 0, 0)}, (2.0, 0.0, 0.0, 0.0)),
    ),
    Estimator(
        name="passk",
        target="advcli.estimators.passk:passk",
        needs=("rewards", "group"),
        formula="A_right = √((1−R)/R), A_wrong = −c/(n−c) · A_right, R = 1 − C(n−c,k)/C(n,k)",
        summary="a row's mean advantage over all sets of k rows, a set being right if one of its rows is",
        source="Pass@k Training, arXiv:2508.10751",
        worked=Worked({"rewards": (1, 0, 0, 0)}, (1.0, -0.3333, -0.3333, -0.3333)),
    ),
    Estimator(
        name="pkpo",
        target="advcli.estimators.passk:pkpo",
        needs=("rewards", "group"),
        formula="A_i = Σ_{I∋i, |I|=k} (max_I r − max_{I∖i} r) / C(n,k)",
        summary="what a row adds to the best reward of k, over all sets of k rows",
        source="PKPO, arXiv:2505.15201",
        worked=Worked({"rewards": (1, 0, 0, 0)}, (0.5, 0.0, 0.0, 0.0)),
    ),
]
