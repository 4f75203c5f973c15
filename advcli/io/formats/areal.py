"""Dumps of AReaL."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="areal",
        requires=("task_id", "sample_idx", "seqlen", "completion", "reward"),
        # task_id restarts at 0 in every process, and files are appended to.
        prompt=("@file+prompt",),
        step=("@folder",),
        # With gconfig.reward_normalization 'reward' is normalised and 'original_reward' is raw.
        reward=("original_reward", "reward"),
        files=("[0-9]*.jsonl",),
        summary="AReaL <policy version>/<task>.jsonl: one file per prompt",
        source="areal/infra/workflow_executor.py",
        switch="rollout.dump_to_file: true",
        traps=(
            "the reward is raw: before bias, scale, clip and the overlong penalty",
            "with gconfig.reward_normalization 'reward' is the normalised value: 'original_reward' is read",
            "rejected trajectories are in the file, unmarked",
            "task_id starts again in every process: file and prompt are the key",
        ),
    ),
)
