"""Dumps of NeMo-Gym."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="nemo-gym",
        framework="nemo-rl",
        requires=("responses_create_params", "reward"),
        prompt=("agent_ref.name?+_ng_task_index", "agent_ref.name?+responses_create_params.input"),
        reward=("reward",),
        counts=("mask_sample != true",),
        files=("*.jsonl",),
        summary="NeMo-Gym: collected rollouts, one per line",
        source="nemo_gym/rollout_collection.py; examples/nemo_gym/run_grpo_nemo_gym.py (NeMo-RL)",
        switch="ng_collect_rollouts +output_jsonl_fpath=FILE",
        traps=(
            "rows with mask_sample failed (no judge or no tool): left out, whatever their reward",
            "without _ng_task_index the input of the request is the key",
            "the file is appended to: a repeated run writes its rows twice (--dedup)",
        ),
    ),
)
