"""Dumps of XTuner."""

import json

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

ROWS = (
    Format(
        name="xtuner",
        requires=("rollout_id", "group_id", "reward", "reward_payload", "response"),
        prompt=("group",),
        step=("@step",),
        reward=("reward",),
        no_rewards=("reward_mean", "reward_std", "reward_max", "reward_min"),
        lengths=("response_len",),
        derived=(
            Derived(
                "group", ("group_id", "prompt?", "rollout_id?"), "advcli.io.formats.xtuner:group", "text"
            ),
            Derived("summary", ("rollout_id",), "advcli.io.formats.derived:is_null"),
        ),
        filler="summary",
        rollout=("session_id",),
        files=("train_rollout_[0-9]*.jsonl", "eval_rollout_[0-9]*.jsonl"),
        summary="XTuner v1 train_rollout_<step>.jsonl: a summary, then rows",
        source="xtuner/v1/train/rl_trainer.py",
        switch="on by default: {exp_dir}/train_rollout/, {exp_dir}/eval_rollout/",
        traps=(
            "the first line is a summary of the others: left out",
            "group_id can be null: then the prompt is the key",
            "invalid groups are not written",
            "in an evaluation a missing score is 0.0",
        ),
    ),
)


def group(group_id: object, prompt: object, rollout_id: object) -> object:
    """The key of a row's group: the group id, or the prompt if it is null; a fixed text for the summary line.

    Example:
        >>> group(40, [], 7), group(None, [{"role": "user"}], 7), group(None, None, None)
        (40, '[{"role": "user"}]', 'summary')
    """
    if group_id is not None:
        return group_id
    return "summary" if rollout_id is None else json.dumps(prompt, sort_keys=True, ensure_ascii=False)
