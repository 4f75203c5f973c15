"""Multi-Turn-RL-Agent, the repository of the MT-GRPO paper."""

from advcli.frameworks.rule import TOKENS_OF_TURNS, Rule

ROWS = [
    Rule(
        "multi-turn-rl-agent",
        "mt_grpo",
        "A_t = z_outcome + weight · z_turn before the result of a tool, z_outcome after it, z_combined without one",
        f"{TOKENS_OF_TURNS}:mt_grpo",
        ("parts", "group", "row", "place", "counted", "segment"),
        {},
        options={"weight": 1.0},
        level="token",
        masked=True,
        source="verifiers/trainers/mt_grpo_env_trainer.py",
        proof="code",
    ),
]
