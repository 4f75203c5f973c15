"""The dumps we know: one row per shape of file. Nothing heavy is imported here.

A format is recognised by its columns, not by its file name. Within a format, and for files that no row
names, a column is found by the ranked lists below: ids before texts, a total before parts.
"""

from dataclasses import dataclass

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
# Raw outcomes that are often written beside the reward.
OUTCOMES = ("acc", "accuracy", "correct", "is_correct", "passed", "outcome")
LOGGED = ("advantage", "advantages")

# Names that a reward part usually has. Parts are used unasked only where a format says how they add up.
PART_PREFIXES = ("reward_", "reward/", "rewards/", "reward.", "rewards.")
PART_SUFFIXES = ("_reward", "_score")


@dataclass(frozen=True)
class Format:
    """One shape of dump.

    Attributes:
        name: the word that the user types.
        requires: columns that must all be there for the format to be recognised.
        forbids: columns of which none may be there.
        prompt: the text that identifies the prompt where no id does; empty to look in the ranked list.
        reward: the total reward; "" to look in the ranked lists.
        parts: columns that are no reward parts; every other numeric column is one, they are summed, and
            a missing part is skipped. None if the format has no parts.
        length: whether a column of lengths may be looked for.
        files: names to look for in a folder.
        summary: where the file comes from.
        source: the writer, in the framework's own code.
    """

    name: str
    requires: tuple[str, ...]
    forbids: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()
    reward: str = ""
    parts: tuple[str, ...] | None = None
    length: bool = True
    files: tuple[str, ...] = ()
    summary: str = ""
    source: str = ""


FORMATS: Registry[Format] = Registry(
    "format",
    [
        Format(
            name="trl",
            requires=("step", "prompt", "completion", "advantage"),
            parts=("step", "prompt", "completion", "advantage"),
            # A reward function may well be called "length".
            length=False,
            files=("completions_*.parquet",),
            summary="TRL GRPOTrainer, log_completions=True: one column per reward function",
            source="trl/trainer/grpo_trainer.py, GRPOTrainer.log",
        ),
        Format(
            name="verl",
            requires=("input", "output", "score", "step"),
            # verl v1 writes a uid per row, which is no prompt id.
            forbids=("uid",),
            prompt=("input",),
            reward="score",
            files=("[0-9]*.jsonl",),
            summary="verl trainer.rollout_data_dir: <step>.jsonl, no prompt id, rows of a prompt scattered",
            source="verl/trainer/ppo/ray_trainer.py, RayPPOTrainer._dump_generations",
        ),
        Format(
            name="generic",
            requires=(),
            files=("*.parquet", "*.jsonl", "*.ndjson"),
            summary="one row per response: a prompt id or text, a reward, perhaps a step",
            source="any writer",
        ),
    ],
)
