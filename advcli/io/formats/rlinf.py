"""Dumps of RLinf."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="rlinf",
        requires=("timestamp", "stored_at", "data:object", "data.accepted"),
        prompt=("data.prompt",),
        reward=("data.accepted",),
        files=("training_data_*.jsonl",),
        appended=True,
        summary="RLinf online training_data_<time>.jsonl: all within 'data'",
        source="rlinf/workers/rollout/server/server_rollout_worker.py",
        switch="on by default in the online coding recipe: ./training_data/",
        traps=(
            "no step and no prompt id: prompts of equal text are one group",
            "the trainer takes 0.0 for a missing reward; here it is missing (--missing zero)",
            "with compress: true the name ends in .gz, but the content is plain text: read anyway",
        ),
    ),
)
