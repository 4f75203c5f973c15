"""Dumps of ROLL."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="roll",
        requires=("prompt:list", "responses:list", "scores:list"),
        layout="lists",
        path="scores",
        prompt=("prompt",),
        step=("global_step", "@step"),
        reward=("scores",),
        files=("rollout_dump_data.step_*.jsonl",),
        summary="ROLL RLVR rollout_dump_data: one line of columns",
        source="roll/pipeline/rlvr/utils.py, dump_rollout_to_specific_path",
        switch="rollout_dump_dir: /absolute/path",
        traps=(
            "scores are rounded to float16: 0.7 is 0.7001953125",
            "train and validation of one step write the same file: the last one wins",
            "the writer can be cut off when the run ends",
        ),
    ),
    Format(
        name="roll-agentic",
        framework="roll",
        requires=("trajectory_data:list",),
        layout="lists",
        path="trajectory_data",
        prompt=("exp_name?+trajectory_data.env_info.group_id",),
        step=("global_step", "@step"),
        reward=("trajectory_data.reward_info.episode_reward",),
        files=("rollout_dump_data.step_*.jsonl",),
        summary="ROLL agentic: one line of columns, JSON texts in them",
        source="roll/pipeline/agentic/utils.py, dump_rollout_trajectories",
        switch="rollout_dump_dir: /absolute/path",
        traps=("rows with any null are not written",),
    ),
    Format(
        name="roll-board",
        framework="roll",
        requires=("prompt", "response", "reward:number", "token_rewards:list"),
        prompt=("prompt",),
        reward=("reward",),
        checks=("already_normalised",),
        files=("data_*.jsonl",),
        summary="ROLL logging board data_<time>_<ms>.jsonl: a row per line",
        source="roll/pipeline/rlvr/rlvr_pipeline.py, save_metrics",
        switch="save_logging_board_dir: DIR/",
        traps=("the reward is already normalised; only the last domain's batch is saved",),
    ),
)
