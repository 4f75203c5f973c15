"""atropos, its environment for MT-GRPO."""

from advcli.frameworks.rule import turn_rule

ROWS = [
    turn_rule(
        "atropos",
        "mt_grpo",
        "A = z of the turn over all rollouts, 0 for those that ended before, + weight · z of the outcome; ddof 0",
        "turn_baselines:turn_level_z",
        ("rewards", "group", "rollout", "turn", "episode"),
        options={"weight": 1.0},
        biased=True,
        source="environments/tool_use_turnlevel_advantage_server.py",
    ),
]
