"""RLinf."""

from advcli.frameworks.rule import turn_rule

ROWS = [
    turn_rule(
        "rlinf",
        "grpo_dynamic",
        "A = (x − mean) / (std + 1e-6), ddof 1; x the reward of a turn, or with by=trajectory the mean of a rollout",
        "turn_baselines:dynamic",
        ("rewards", "group", "rollout"),
        options={"by": "turn"},
        source="rlinf/algorithms/advantages.py",
    ),
]
