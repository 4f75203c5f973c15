"""Dumps of OpenRLHF."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="openrlhf",
        requires=("input", "output", "reward:number"),
        forbids=("step", "score", "uid"),
        prompt=("input",),
        ids=True,
        reward=("reward",),
        files=("*.jsonl",),
        summary="OpenRLHF batch inference (up to 0.9.5): a row per line",
        source="openrlhf/cli/batch_inference.py",
        switch="--eval_task rm --output_path FILE",
        traps=(
            "the files of the ranks (FILE0, FILE1, ...) stay next to the merged one: reading both counts rows twice",
            "best-of-n rows are ordered by sample, not by prompt",
            "with --normalize_reward (csft) the rewards are already z-scores",
        ),
    ),
)
