"""DrMAS, several agents in one environment."""

from advcli.frameworks.rule import CENTRE, GIGPO, Z_SCORE, turn_rule

ROWS = [
    turn_rule(
        "drmas",
        "gigpo",
        GIGPO.format(z="z over the rollouts of the prompt", state="state of that prompt"),
        "turns:gigpo",
        ("rewards", "group", "rollout", "anchor", "episode", "valid", "env_step", "agent"),
        knobs={"eps": 1e-6},
        scales=CENTRE | Z_SCORE,
        options={"gamma": 1.0, "weight": 1.0, "penalty": 0.0, "count": "rollouts"},
        lost=("random copies of rows that fill a batch",),
        source="verl/trainer/ppo/core_algos.py",
    ),
]
