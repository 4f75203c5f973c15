"""Trainers of agents, in which one rollout can be several rows: verl-agent, agent-lightning, RAGEN, miles, labs-molt, Trinity-RFT, XTuner."""

from advcli.frameworks.rule import COUNT_ROWS, GROUP, GROUPED, NONE, RLOO, Rule, Unit, centred, grpo

_VERL_AGENT = "gigpo/core_gigpo.py; verl/trainer/ppo/core_algos.py"
_LIGHTNING = "agentlightning/verl/rollout_level_advantage.py"
_RAGEN = "ragen/trainer/core_algos.py"
_MILES = "miles/ray/rollout/train_data_conversion.py"
_MOLT = "experience_maker.py"
_TRINITY = "trinity/algorithm/advantage_fn/multi_step_grpo_advantage.py"
_XTUNER = "xtuner/v1/train/rl_trainer.py"

# The first row that is met stands for its rollout, whatever its turn.
_FIRST = Unit(reward="first", by_turn=False)
# The last in the file does, whatever its turn.
_LAST = Unit(by_turn=False)
_EQUAL = Unit(by_turn=False, differ=0.0)
_AS_VERL = {"single": "raw-eps", "variance": "whole"}

_BY_ROW = [
    grpo(
        "verl-agent",
        eps=1e-6,
        knobs=_AS_VERL,
        scales=GROUP | NONE,
        unit=COUNT_ROWS,
        source=_VERL_AGENT,
        proof="code",
    ),
    centred(
        "verl-agent",
        "rloo",
        knobs={"centre": "others", "single": "raw"},
        formula=RLOO,
        unit=COUNT_ROWS,
        source=_VERL_AGENT,
        proof="code",
    ),
]

_BY_ROLLOUT = [
    grpo(
        "agent-lightning",
        eps=1e-6,
        knobs={**_AS_VERL, "dtype": "bfloat16"},
        scales=GROUP | NONE,
        unit=_EQUAL,
        lost=("rows dropped to fill whole mini-batches",),
        source=_LIGHTNING,
        proof="code",
    ),
    grpo("ragen", eps=1e-6, knobs=_AS_VERL, scales=GROUP | NONE, unit=_FIRST, source=_RAGEN, proof="code"),
    grpo(
        "miles", eps=1e-6, scales=GROUP | NONE, knobs={"dead": 0.0}, unit=_EQUAL, source=_MILES, proof="code"
    ),
    centred("miles", "reinforce_plus_plus_baseline", unit=_EQUAL, source=_MILES, proof="code"),
    grpo("labs-molt", eps=1e-9, unit=_FIRST, source=_MOLT, proof="code"),
    centred("labs-molt", "dr_grpo", unit=_FIRST, source=_MOLT, proof="code"),
    centred(
        "labs-molt",
        "rloo",
        knobs={"centre": "others-sum", "single": "raw"},
        formula=RLOO,
        unit=_FIRST,
        source=_MOLT,
        proof="code",
    ),
    Rule(
        "trinity-rft",
        "step_wise_grpo",
        "A_i = (r_i − mean_g) / (std + 1e-6) of the runs, ddof 1; step_norm=1 divides it by the rows of the run",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"eps": 1e-6, "single": "raw-eps"},
        scales={**GROUP, "batch": {"divide": "batch"}},
        options={"step_norm": 0.0},
        unit=_LAST,
        lost=("std_threshold",),
        source=_TRINITY,
        proof="code",
    ),
    grpo("xtuner", eps=1e-8, knobs={"single": "nan"}, unit=_FIRST, source=_XTUNER, proof="code"),
    centred(
        "xtuner",
        "rloo",
        knobs={"centre": "others", "single": "raw"},
        formula=RLOO,
        unit=_FIRST,
        source=_XTUNER,
        proof="code",
    ),
]

ROWS = [*_BY_ROW, *_BY_ROLLOUT]
