"""Dumps of siiRL."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="siirl",
        requires=("rank", "global_step", "input", "output", "score"),
        forbids=("step",),
        prompt=("input",),
        step=("global_step",),
        reward=("score",),
        files=("step_[0-9]*_rank_[0-9]*.json",),
        summary="siiRL step_<N>_rank_<R>.json: validation, an array per rank",
        source="siirl/dag_worker/dag_utils.py",
        switch="trainer.rollout_data_dir=DIR",
        traps=(
            "validation only",
            "the rows of a prompt are spread over the files of several ranks: read the whole folder",
            "extras of the reward function may overwrite the columns of the same name",
        ),
    ),
)
