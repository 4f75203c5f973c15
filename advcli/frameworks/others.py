"""prime-rl, tinker-cookbook, open-instruct, rllm, ART and oat."""

from advcli.frameworks.rule import GROUP, GROUPED, HERE, KL, NONE, RLOO, Rule, centred, grpo

_PRIME = "src/prime_rl/orchestrator/algo"
_LOADER = "open_instruct/data_loader.py"
_RLLM = "rllm/trainer/algorithms/rl_algo.py"
_RLLM_BATCH = "rllm/trainer/algorithms/advantage.py"
_OAT = "oat/algorithms/ppo.py"

_SHAPED = ("length_penalty",)
_PRIME_ROWS = [
    centred("prime-rl", "grpo", lost=_SHAPED, source=f"{_PRIME}/grpo.py", proof="code"),
    centred("prime-rl", "echo", lost=_SHAPED, source=f"{_PRIME}/echo.py", proof="code"),
    centred(
        "prime-rl",
        "max_rl",
        knobs={"centre": "mean-ratio-0"},
        formula="A_i = (r_i − mean_g) / mean_g, 0 where mean_g ≤ 0",
        source=f"{_PRIME}/max_rl.py",
        proof="code",
    ),
    Rule(
        "prime-rl",
        "rae",
        "A_i = r_i − b, then b ← 0.95 b + 0.05 r_i, from b = 0, row after row",
        f"{HERE}:running_baseline",
        ("rewards",),
        {"dtype": "float64"},
        scope="order",
        lost=("the agent of a row: one baseline for all", "the order of arrival: that of the file"),
        source=f"{_PRIME}/rae.py",
        proof="code",
    ),
    centred(
        "prime-rl",
        "hierarchical_grpo",
        knobs={"centre": "mean-running", "dtype": "float64"},
        lost=("the agent and episode of a row: --group-by",),
        source=f"{_PRIME}/hierarchical_grpo.py",
        proof="code",
    ),
]

_DOUBLE = {"dtype": "float64"}
_ROLES = ("the role of an agent: --group-by",)
_OTHER_ROWS = [
    centred(
        "tinker-cookbook",
        "grpo",
        lost=(KL,),
        source="tinker_cookbook/rl/data_processing.py",
        proof="package",
    ),
    centred("open-instruct", "centered", knobs=_DOUBLE, positional=True, source=_LOADER),
    grpo(
        "open-instruct",
        eps=1e-8,
        ddof=0,
        estimator="standard",
        knobs=_DOUBLE,
        positional=True,
        source=_LOADER,
    ),
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
        formula="A_i = (r_i − mean_g) / (std_g + 1e-6), ddof 1, by the older trainer on verl; step_norm=1 divides it by its steps",
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
    grpo(
        "art",
        eps=1e-6,
        ddof=0,
        knobs={"centre": "mean-running", "variance": "about-0", **_DOUBLE},
        scales={"group": {"divide": "group-centred"}, **NONE},
        source="src/art/preprocessing/tokenize.py",
        proof="package",
    ),
    grpo("oat", eps=1e-8, knobs={"single": "nan"}, positional=True, source=_OAT, proof="code"),
    centred("oat", "drgrpo", positional=True, source=_OAT, proof="code"),
]

ROWS = [*_PRIME_ROWS, *_OTHER_ROWS]
