"""Dumps of rllm."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="rllm",
        requires=("trajectories:list", "task_hash"),
        layout="nested",
        path="trajectories",
        prompt=("task_hash+name?",),
        step=("training_step", "@step"),
        reward=("reward",),
        files=("episode_*.json",),
        summary="rllm: one JSON file per episode, a reward per trajectory",
        source="rllm/utils/episode_logger.py",
        switch="rllm.episode_logging.enable=true (log_dir)",
        traps=("batch_summary.json next to the episodes is skipped", "no advantage is written"),
    ),
)
