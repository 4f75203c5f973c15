"""The catalog of known dump formats. Nothing heavy is imported here.

A format is detected by its columns, not by its file name. Where the format doesn't name a column, and for unknown
files, columns are found by the ranked lists below: ids before texts, a total before parts.
"""

from advcli.common.registry import Registry
from advcli.io.formats import (
    agent_lightning,
    areal,
    art,
    atropos,
    datasets,
    easyr1,
    generic,
    harbor,
    inspect_ai,
    lm_eval,
    miles,
    ms_swift,
    nemo_gym,
    nemo_rl,
    oat,
    open_instruct,
    openrlhf,
    prime_rl,
    rlinf,
    rllm,
    roll,
    siirl,
    skyrl,
    slime,
    tinker,
    trackio,
    trinity_rft,
    trl,
    tunix,
    verifiers,
    verl,
    wandb,
    xtuner,
)
from advcli.io.formats.format import Format

PROMPT_IDS = ("prompt_id", "uid", "group_id", "example_id", "problem_id")
PROMPT_TEXTS = ("prompt", "input")
REWARD_TOTALS = ("reward", "score", "total_reward", "scalar_reward")
STEPS = ("step", "global_step", "training_step", "train_step", "iteration")
ROLLOUTS = (
    "rollout_id",
    "trajectory_id",
    "traj_id",
    "traj_uid",
    "episode_id",
    "rollout",
    "trajectory",
    "episode",
    "session_id",
    "conversation_id",
)
TURNS = ("turn", "turn_index", "turn_idx", "turn_id", "turn_number", "step_idx", "step_num", "segment")
# The observation before a turn, or a hash of it.
ANCHORS = ("anchor", "anchor_obs", "state_hash", "env_state_hash", "anchor_hash", "observation_hash")
# Lists with the reward of each turn, in files with a row per rollout.
TURN_LISTS = ("turn_rewards", "turn_scores", "step_rewards", "step_scores")
# Columns that are true for padding rows.
FILLERS = ("_balance_is_pad", "is_pad", "is_padding")
LENGTHS = (
    "response_length",
    "completion_length",
    "response_tokens",
    "completion_tokens",
    "num_tokens",
    "length",
)
# Usual columns of a response, and of a chat with prompt and response.
RESPONSES = ("response", "completion", "output", "output_response", "responses", "completions")
CHATS = ("messages", "messages_and_choices", "conversations")
# Reward columns in lists with one value per row.
REWARD_LISTS = ("rewards", "scores")
# With a prompt text as the key, rows of the same text can still differ in these.
IMAGES = ("images", "image", "image_path", "image_paths", "videos", "multi_modal_data")
# Raw outcomes that are often logged in addition to the reward.
OUTCOMES = ("acc", "accuracy", "correct", "is_correct", "passed", "outcome")
LOGGED = ("advantage", "advantages")
# Masks of the tokens whose advantages count.
MASKS = ("response_mask", "mask", "loss_mask", "completion_mask", "action_mask")

# A token's two log-probabilities, and the version of the policy that sampled the row.
ROLLOUT_LOG_PROBS = (
    "rollout_log_probs",
    "rollout_logprobs",
    "generation_logprobs",
    "inference_logprobs",
    "sampling_logprobs",
    "behavior_log_probs",
)
LOG_PROBS = (
    "old_log_probs",
    "old_logprobs",
    "prev_logprobs",
    "trainer_logprobs",
    "train_log_probs",
    "log_probs",
    "logprobs",
)
TOKEN_MASKS = ("token_loss_mask", *MASKS)
VERSIONS = ("policy_version", "weight_version", "param_version", "model_version")

# Columns that advcli adds, with the default prefix; never rewards when its output is read again.
OWN = ("adv_original", "adv_processed", "adv_kept", "adv_group", "adv_rollout", "adv_source")

# Searched in this order; the most general formats come last.
_MODULES = (
    trl,
    ms_swift,
    openrlhf,
    verl,
    easyr1,
    prime_rl,
    verifiers,
    rllm,
    art,
    atropos,
    tinker,
    nemo_rl,
    nemo_gym,
    skyrl,
    roll,
    open_instruct,
    areal,
    oat,
    slime,
    miles,
    trinity_rft,
    agent_lightning,
    rlinf,
    siirl,
    xtuner,
    tunix,
    harbor,
    inspect_ai,
    lm_eval,
    datasets,
    wandb,
    trackio,
    generic,
)

FORMATS: Registry[Format] = Registry(
    "format",
    [row for module in _MODULES for row in module.ROWS],
)
_FRAMEWORKS = {row.name: module.__name__.rpartition(".")[2] for module in _MODULES for row in module.ROWS}


def framework_of(name: str) -> str:
    """The framework that writes a format.

    Example:
        >>> framework_of("prime-rl-stream"), framework_of("verl-v1")
        ('prime-rl', 'verl')
    """
    return FORMATS[name].framework or _FRAMEWORKS[name].replace("_", "-")
