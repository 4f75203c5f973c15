"""Dumps of miles."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="miles",
        requires=("sample_index", "group_index", "status", "reward", "messages:list"),
        prompt=("group_index",),
        step=("@step",),
        rollout=("sample_index",),
        turn=("sample_occurrence",),
        reward=("reward",),
        files=("[0-9]*.jsonl", "eval_[0-9]*.jsonl"),
        summary="miles trajectory/<step>.jsonl: a sample per line",
        source="miles/ray/rollout/debug_data.py",
        switch="--dump-details DIR (set in the quick start): DIR/trajectory/",
        traps=(
            "only samples that recorded a conversation are in it, so groups can be smaller than n",
            "a reward that is a dictionary is written as null",
            "the segments of a rollout share sample_index",
            "rollout_data/ and train_data/ next to it have pickles, which are never opened",
        ),
    ),
)
