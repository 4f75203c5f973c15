"""rllm."""

from advcli.frameworks.rule import GROUP, GROUPED, NONE, RLOO, Rule, centred, grpo

_RLLM = "rllm/trainer/algorithms/rl_algo.py"

_RLLM_BATCH = "rllm/trainer/algorithms/advantage.py"

_DOUBLE = {"dtype": "float64"}

_ROLES = ("the role of an agent: --group-by",)

ROWS = [
    grpo(
        "rllm",
        eps=1e-6,
        ddof=0,
        knobs={"single": "raw-eps", **_DOUBLE},
        scales=GROUP | NONE,
        lost=_ROLES,
        source=_RLLM,
        proof="code",
    ),
    grpo(
        "rllm",
        eps=1e-6,
        estimator="verl_grpo",
        formula="A_i = (r_i − mean_g) / (std_g + 1e-6), ddof 1, in the older trainer on verl; step_norm=1: over its steps",
        knobs={"single": "raw-eps", "variance": "whole"},
        scales=GROUP | NONE,
        options={"step_norm": 0.0},
        lost=_ROLES,
        source="rllm/trainer/verl/agent_workflow_trainer.py",
        proof="code",
    ),
    centred(
        "rllm",
        "rloo",
        knobs={"centre": "others", "single": "raw", **_DOUBLE},
        formula=RLOO,
        lost=_ROLES,
        source=_RLLM,
        proof="code",
    ),
    centred(
        "rllm",
        "reinforce",
        knobs={"centre": "raw", **_DOUBLE},
        formula="A_i = r_i",
        lost=_ROLES,
        source=_RLLM_BATCH,
        proof="code",
    ),
    Rule(
        "rllm",
        "reinforce_plus_plus_baseline",
        "A_i = (r_i − mean_g) / (std of the centred rewards of the batch + 1e-6), ddof 0",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"divide": "batch-centred", "ddof": 0, "eps": 1e-6, **_DOUBLE},
        lost=_ROLES,
        source=_RLLM_BATCH,
        proof="code",
        scope="step",
    ),
    Rule(
        "rllm",
        "prpo",
        "A_i = (r_i − mean of the batch) / (std of the batch + 1e-6), ddof 0",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"centre": "batch", "divide": "batch", "ddof": 0, "eps": 1e-6, **_DOUBLE},
        lost=_ROLES,
        source=_RLLM_BATCH,
        proof="code",
        scope="step",
    ),
]
