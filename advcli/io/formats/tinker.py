"""Dumps of tinker-cookbook."""

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

ROWS = (
    Format(
        name="tinker",
        framework="tinker-cookbook",
        requires=("group_idx", "traj_idx", "total_reward", "iteration"),
        prompt=("@file?+split?+group_idx",),
        step=("iteration",),
        reward=("total_reward",),
        derived=(Derived("steps.tokens", ("steps",), "advcli.io.formats.derived:action_tokens"),),
        lengths=("steps.tokens",),
        checks=("several_splits",),
        files=("*_rollout_summaries.jsonl",),
        summary="tinker-cookbook rollout summaries: a trajectory per line",
        source="tinker_cookbook/rl/rollout_logging.py",
        switch="rollout_json_export=True (default)",
        traps=(
            "group_idx counts within one file only",
            "synchronous training writes the file before constant groups are removed, the other modes after",
        ),
    ),
    Format(
        name="tinker-bench",
        framework="tinker-cookbook",
        requires=("benchmark", "example_id", "turns:list", "reward"),
        prompt=("benchmark+example_id",),
        reward=("reward",),
        files=("trajectories.jsonl",),
        summary="tinker-cookbook benchmarks: a trajectory per line",
        source="tinker_cookbook/eval/benchmarks/_runner.py",
        switch="save_dir=DIR",
        traps=("one trajectory per example unless the benchmark samples several",),
    ),
)
