"""Dumps of open-instruct."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="open-instruct",
        requires=("step", "prompt_idx", "sample_idx", "reward", "advantage"),
        prompt=("prompt_idx",),
        step=("step",),
        reward=("reward",),
        logged=("advantage",),
        same=("prompt_tokens",),
        files=("*_rollouts_[0-9]*.jsonl",),
        summary="open-instruct <run>_rollouts_<shard>.jsonl: a row per line",
        source="open_instruct/rl_utils.py, save_rollouts_to_disk",
        switch="--save_traces --rollouts_save_path DIR",
        traps=(
            "with mask_truncated_completions prompt_idx shifts across prompts: prompt_tokens must be equal in a group",
            "a resumed run appends its rows to shard 000000 again (--dedup)",
            "only kept groups are written, so few are dead; rewards are scaled by verification_reward (10)",
            "an empty response has a bare NaN among its logprobs, which strict JSON parsers refuse",
        ),
    ),
)
