"""Dumps of NeMo-RL."""

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

_NEMO_FILES = "on by default: {logger.log_dir}/exp_NNN/"

ROWS = (
    Format(
        name="nemo-rl",
        requires=("rewards:list", "token_ids:list", "token_loss_mask:list", "idx"),
        layout="ones",
        path="rewards",
        prompt=("prompt tokens",),
        step=("@step",),
        reward=("filtered_rewards", "rewards"),
        lengths=("trained tokens",),
        logged=("first advantage",),
        derived=(
            Derived(
                "prompt tokens",
                ("token_ids", "token_loss_mask"),
                "advcli.io.formats.derived:before_training",
                "text",
            ),
            Derived("trained tokens", ("token_loss_mask",), "advcli.io.formats.derived:true_count"),
            Derived(
                "first advantage",
                ("advantages", "token_loss_mask"),
                "advcli.io.formats.derived:first_trained",
            ),
        ),
        checks=("rewards_of_other_rows",),
        files=("train_data_step*.jsonl",),
        summary="NeMo-RL train_data_step<N>.jsonl: values in lists of one",
        source="nemo_rl/utils/logger.py, log_batched_dict_as_jsonl",
        switch=f"{_NEMO_FILES} (not with env.should_log_nemo_gym_responses)",
        traps=(
            (
                "no prompt id: the tokens before the first trained one are the key; two rows of the data set with equal "
                "prompts in one batch are one group"
            ),
            "with dynamic sampling 'rewards' are the first unfiltered ones, of other rows: 'filtered_rewards' is read",
            "every token has an advantage, padding included: that of the first trained token is used",
        ),
    ),
    Format(
        name="nemo-rl-val",
        framework="nemo-rl",
        requires=("content:list", "rewards:list", "idx"),
        forbids=("token_ids", "token_loss_mask"),
        layout="ones",
        path="rewards",
        prompt=("content.prompt",),
        step=("@step",),
        reward=("rewards",),
        derived=(Derived("content.prompt", ("content",), "advcli.io.formats.derived:before_answer", "text"),),
        files=("val_data_step*.jsonl",),
        summary="NeMo-RL val_data_step<N>.jsonl: values in lists of one",
        source="nemo_rl/algorithms/grpo.py, validate",
        switch=_NEMO_FILES,
        traps=("no prompt id: the messages before the first answer are the key",),
    ),
    Format(
        name="nemo-rl-eval",
        framework="nemo-rl",
        requires=("evaluation_data:list",),
        layout="nested",
        path="evaluation_data",
        prompt=("prompt",),
        reward=("reward",),
        files=("evaluation_data.json",),
        summary="NeMo-RL evaluation_data.json: one object around a list",
        source="nemo_rl/evals/eval.py",
        switch="eval.save_path=DIR",
        traps=("message_log and extra_env_info are texts of Python, not JSON",),
    ),
)
