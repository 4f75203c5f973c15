"""Dumps of oat."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="oat",
        requires=("output", "scores:number", "reference", "generator"),
        prompt=("problem", "question", "input", "prompt"),
        step=("@step",),
        reward=("scores",),
        files=("eval_results/*.json",),
        summary="oat evaluation eval_results/<step>.json: a JSON array",
        source="oat/learners/base.py",
        switch="--eval_steps N (on by default)",
        traps=("training buffers are pickles: nothing can be read from them",),
    ),
)
