"""PipelineRL."""

from advcli.frameworks.rule import CENTRE, Z_SCORE, turn_rule

ROWS = [
    turn_rule(
        "pipelinerl",
        "loo_per_step",
        "A = (r − mean of the others of its group at the same turn) / (std of all of them + 1e-4), ddof 1",
        "turn_baselines:others_at_turn",
        ("rewards", "group", "turn"),
        scales=Z_SCORE | CENTRE,
        biased=True,
        source="pipelinerl/finetune/rl/__init__.py",
    ),
]
