"""Dumps of TRL."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="trl",
        requires=("step:number", "prompt", "completion", "advantage:number"),
        # If there is a total, not every number is a reward function.
        forbids=("reward", "total_reward", "reward_total"),
        prompt=("prompt",),
        ids=True,
        parts=("step", "prompt", "completion", "advantage"),
        # A reward function may be called "length".
        length=False,
        checks=("same_rows_at_several_steps", "evaluation_rows", "numbers_from_log_extra"),
        files=("completions_*.parquet",),
        summary="TRL GRPOTrainer: one column per reward function",
        source="trl/trainer/grpo_trainer.py, GRPOTrainer.log",
        switch="log_completions=True (TRL 0.28 or later; RLOOTrainer writes no file)",
        traps=(
            (
                "a file is written at every log() and holds the last generation batch: with logging_steps below "
                "steps_per_generation the same rows come again under a later step (--dedup)"
            ),
            "an evaluation at the same step overwrites the file, which can mix training and evaluation rows",
            "rewards are raw: weights are not in the file (--config with reward_weights, or --reward COL=WEIGHT)",
            "numeric columns of log_extra look like reward functions (--reward names the true ones)",
            "two reward functions of one name share a column",
            "images are not in the file: prompts that differ only in the image are one group (--n)",
        ),
    ),
)
