"""Estimators with an advantage per token."""

from advcli.estimators.entry import Estimator, Worked

ROWS = [
    Estimator(
        name="gae",
        target="advcli.estimators.tokens:gae",
        needs=("rewards", "values", "row", "step"),
        formula="A_t = Σ_k (γλ)^k δ_{t+k}, δ_t = r_t + γ V_{t+1} − V_t",
        summary="generalised advantage estimation with a critic; λ = 1 is return minus value (A2C, A3C)",
        source="GAE, arXiv:1506.02438",
        default_scale="none",
        alone=True,
        level="token",
        worked=Worked({"rewards": (1,), "values": ((0.25, 0.5, 0.75),)}, ((0.75, 0.5, 0.25),)),
    ),
    Estimator(
        name="bi_level_gae",
        target="advcli.estimators.tokens:bi_level_gae",
        needs=("token_rewards", "values", "row"),
        formula="U_j = Σ_k (γ_h λ)^k δ_{j+k} over turns, then gae in each turn with U_j + V_j as its reward",
        summary="gae over the turns of a row, and over the tokens of each turn with what that gives as reward",
        source="RAGEN, arXiv:2504.20073; ragen/trainer/core_algos.py",
        alone=True,
        level="token",
        worked=Worked(
            {
                "rewards": (2,),
                "token_rewards": ((0, 1, 0, 1),),
                "values": ((0.5, 0.5, 0.5, 0.5),),
            },
            ((1.45, 1.45, 0.5, 0.5),),
        ),
    ),
    Estimator(
        name="optimal_token_baseline",
        target="advcli.estimators.tokens:optimal_token_baseline",
        needs=("rewards", "log_probs", "sum_pi_squared", "row", "group"),
        formula="A_t = R_t − Σ_g C_t R_t / Σ_g C_t, C_t = Σ_{u≤t} (1 − 2 π_u + Σ_v π_u(v)²)",
        summary="return minus the group's mean return at that position, weighted by the norm of the gradient",
        source="verl/trainer/ppo/core_algos.py",
        level="token",
        worked=Worked(
            {
                "rewards": (1, 0),
                "log_probs": ((-0.6931,), (-1.3863,)),
                "sum_pi_squared": ((0.5,), (0.25,)),
            },
            ((0.6,), (-0.4,)),
        ),
    ),
]
