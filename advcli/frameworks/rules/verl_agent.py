"""verl-agent."""

from advcli.frameworks.rule import (
    CENTRE,
    COUNT_ROWS,
    GIGPO,
    GROUP,
    NONE,
    RLOO,
    Z_SCORE,
    centred,
    grpo,
    turn_rule,
)

_VERL_AGENT = "gigpo/core_gigpo.py; verl/trainer/ppo/core_algos.py"

_AS_VERL = {"single": "raw-eps", "variance": "whole"}

ROWS = [
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
    turn_rule(
        "verl-agent",
        "gigpo",
        GIGPO.format(z="z over the turn rows of the prompt", state="state of that prompt"),
        "turns:gigpo",
        ("rewards", "group", "rollout", "anchor", "episode", "valid", "env_step", "agent"),
        knobs={"eps": 1e-6},
        scales=CENTRE | Z_SCORE,
        options={"gamma": 1.0, "weight": 1.0, "penalty": 0.1, "count": "rows", "similarity": 0.0},
        lost=("random copies of rows that fill a batch",),
        source=_VERL_AGENT,
    ),
    turn_rule(
        "verl-agent",
        "step_discounted_returns",
        "R_t = r_t + γ R_{t+1} over the rows of a rollout, as it is",
        "turn_baselines:turn_returns",
        ("rewards", "rollout"),
        options={"gamma": 1.0},
        source=_VERL_AGENT,
    ),
]
