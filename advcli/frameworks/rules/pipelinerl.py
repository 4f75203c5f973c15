"""PipelineRL."""

from advcli.frameworks.rule import GROUP, GROUPED, NONE, Rule

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
]
