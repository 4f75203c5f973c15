"""tinker-cookbook."""

from advcli.frameworks.rule import KL, centred

ROWS = [
    centred(
        "tinker-cookbook",
        "grpo",
        lost=(KL,),
        source="tinker_cookbook/rl/data_processing.py",
        proof="package",
    ),
]
