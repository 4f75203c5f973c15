"""Dumps of SkyRL."""

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

ROWS = (
    Format(
        name="skyrl",
        requires=("input_prompt", "output_response", "score"),
        prompt=("input_prompt",),
        step=("@step",),
        reward=("score.sum",),
        derived=(Derived("score.sum", ("score",), "advcli.io.formats.derived:total"),),
        files=("*.jsonl",),
        summary="SkyRL evaluation: global_step_<N>_evals/<source>.jsonl",
        source="skyrl/train/utils/trainer_utils.py, dump_per_dataset_eval_results",
        switch="trainer.dump_eval_results=true (trainer.export_path)",
        traps=(
            "a score can be a list of token rewards: they are summed",
            "aggregated_results.jsonl next to it has averages and is skipped",
            "training batches are pickles without rewards: nothing can be read from them",
        ),
    ),
)
