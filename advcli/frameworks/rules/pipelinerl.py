"""PipelineRL."""

from advcli.frameworks.rule import CENTRE, GROUP, GROUPED, NONE, Z_SCORE, Rule, turn_rule

ROWS = [
    Rule(
        "pipelinerl",
        "loo",
        "A_i = (r_i − mean_{j≠i} r_j) / (std_g + 1e-4), ddof 1",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"centre": "others-sum", "eps": 1e-4, "dtype": "float64"},
        scales=GROUP | NONE,
        source="pipelinerl/finetune/rl/__init__.py",
        proof="code",
    ),
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
