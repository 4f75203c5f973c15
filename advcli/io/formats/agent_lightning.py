"""Dumps of agent-lightning."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="agent-lightning",
        requires=("rollout_id", "reward", "prompt", "response"),
        only=True,
        prompt=("prompt",),
        step=("@step",),
        reward=("reward",),
        files=("*_trajectories.jsonl.zip",),
        summary="agent-lightning <split>_trajectories.jsonl.zip",
        source="agentlightning/verl/rollout_adapter.py",
        switch="with an active W&B run: the artifact step_<N>/",
        traps=(
            "no prompt id: prompts of equal text are one group, which fails where a rollout has several model calls",
            "at most 24 rollouts of a training step are kept",
            "a missing reward is reward_fillna_value (0.0), unmarked",
        ),
    ),
)
