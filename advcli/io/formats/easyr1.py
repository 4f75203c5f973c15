"""Dumps of EasyR1."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="easyr1",
        requires=("step:number", "reward:object", "critic:object"),
        files=("experiment_log.jsonl",),
        summary="EasyR1 experiment_log.jsonl: averages only (refused)",
        source="verl/utils/logger/logger.py (EasyR1)",
        switch="trainer.logger=['file']",
        traps=(
            "EasyR1 saves no rollouts of training; generations.log has a few of validation, without a step",
        ),
        refusal="this is EasyR1's experiment_log.jsonl: averages per step, no rewards of single responses; EasyR1 "
        "saves none, so a reward function that appends uid, reward and step to a JSON Lines file is needed",
    ),
)
