"""The dumps we know: one row per shape of file. Nothing heavy is imported here.

A format is recognised by its columns, not by its file name. Within a format, and for files that no row
names, a column is found by the ranked lists below: ids before texts, a total before parts.
"""

from advcli.io.formats import agents, others, trl, verl
from advcli.io.formats.format import Format
from advcli.registry import Registry

PROMPT_IDS = ("prompt_id", "uid", "group_id", "example_id", "problem_id")
PROMPT_TEXTS = ("prompt", "input")
REWARD_TOTALS = ("reward", "score", "total_reward", "scalar_reward")
STEPS = ("step", "global_step", "training_step", "train_step", "iteration")
LENGTHS = (
    "response_length",
    "completion_length",
    "response_tokens",
    "completion_tokens",
    "num_tokens",
    "length",
)
# The same in lists with one value per row.
REWARD_LISTS = ("rewards", "scores")
# Where the prompt is a text, rows of one text can still differ in these.
IMAGES = ("images", "image", "image_path", "image_paths", "videos", "multi_modal_data")
# Raw outcomes that are often written beside the reward.
OUTCOMES = ("acc", "accuracy", "correct", "is_correct", "passed", "outcome")
LOGGED = ("advantage", "advantages")
# Which tokens of a list of advantages count.
MASKS = ("response_mask", "mask", "loss_mask", "completion_mask", "action_mask")

# What advcli adds, with its usual prefix: no reward, in a file that is read again.
OWN = ("adv_original", "adv_processed", "adv_kept", "adv_group", "adv_source")

# Names that a reward part usually has. Parts are used unasked only where a format says how they add up.
PART_PREFIXES = ("reward_", "reward/", "rewards/", "reward.", "rewards.")
PART_SUFFIXES = ("_reward", "_score")


FORMATS: Registry[Format] = Registry(
    "format",
    [
        *trl.ROWS,
        *verl.ROWS,
        *agents.ROWS,
        *others.ROWS,
        Format(
            name="nested",
            requires=(),
            layout="nested",
            files=("*.parquet", "*.jsonl", "*.ndjson"),
            summary="a prompt per line with a list of objects, a reward in each",
            source="any writer",
            switch="--explode COL names the list",
        ),
        Format(
            name="lists",
            requires=(),
            layout="lists",
            files=("*.parquet", "*.jsonl", "*.ndjson"),
            summary="a prompt or step per line: rewards, and lists as long",
            source="any writer",
            switch="--explode COL names the list of rewards",
        ),
        Format(
            name="generic",
            requires=(),
            files=("*.parquet", "*.jsonl", "*.ndjson"),
            summary="a row per response: a prompt id or text, a reward, a step",
            source="any writer",
        ),
    ],
)
