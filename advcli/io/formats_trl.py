"""Dumps of TRL, ms-swift and OpenRLHF."""

from advcli.io.format import Format

_SWIFT_OTHERS = ("entropy", "num_turns", "step", "gen_step", "advantage", "advantages", "solution", "index")
_SWIFT_SWITCH = "log_completions: true"
_SWIFT_FILE = "completions.jsonl"
_BATCH_TRAPS = (
    (
        "a line is written at every logging step and holds the last generation batch: rows can come again under a later "
        "step (--dedup)"
    ),
    "evaluation rows go into the same file, with another number of rows per prompt",
)

ROWS = (
    Format(
        name="trl",
        requires=("step:number", "prompt", "completion", "advantage:number"),
        prompt=("prompt",),
        ids=True,
        parts=("step", "prompt", "completion", "advantage"),
        # A reward function may well be called "length".
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
            "an evaluation at the same step overwrites the file, and can mix train and evaluation rows",
            "rewards are raw: weights are not in the file (--config with reward_weights, or --reward COL=WEIGHT)",
            "numeric columns of log_extra look like reward functions (--reward names the true ones)",
            "two reward functions of one name share a column",
            "images are not in the file: prompts that differ in the image only are one group (--n)",
        ),
    ),
    Format(
        name="ms-swift",
        requires=("step:list", "prompt:list", "completion:list"),
        layout="lists",
        path="completion",
        prompt=("prompt",),
        step=("step",),
        parts=(*_SWIFT_OTHERS, "prompt", "completion"),
        length=False,
        logged=("advantages", "advantage"),
        checks=("same_rows_at_several_steps", "evaluation_rows"),
        files=(_SWIFT_FILE,),
        summary="ms-swift GRPO: a line of lists per logging step",
        source="swift/rlhf_trainers/grpo_trainer.py, GRPOTrainer.log",
        switch=_SWIFT_SWITCH,
        traps=(
            *_BATCH_TRAPS,
            "a reward function that returned nothing is a bare NaN, which strict JSON parsers refuse",
        ),
    ),
    Format(
        name="ms-swift-3.1",
        framework="ms-swift",
        requires=("step:list", "messages:list", "completion:list", "reward:list"),
        layout="lists",
        path="reward",
        prompt=("messages",),
        step=("step",),
        reward=("reward",),
        checks=("same_rows_at_several_steps",),
        files=(_SWIFT_FILE,),
        summary="ms-swift 3.1 and 3.2: the same with messages and the total",
        source="swift/trainers/rlhf_trainer/grpo_trainer.py (3.1, 3.2), GRPOTrainer.log",
        switch=_SWIFT_SWITCH,
        traps=(_BATCH_TRAPS[0], "no advantage is written"),
    ),
    Format(
        name="ms-swift-megatron",
        framework="ms-swift",
        requires=("gen_step:list", "prompt:list", "completion:list"),
        layout="lists",
        path="completion",
        prompt=("prompt",),
        step=("gen_step",),
        parts=(*_SWIFT_OTHERS, "prompt", "completion"),
        length=False,
        logged=("advantages", "advantage"),
        files=(_SWIFT_FILE,),
        summary="ms-swift on Megatron: a line of lists per rollout, gen_step",
        source="swift/megatron/trainers/rollout_mixin.py",
        switch=_SWIFT_SWITCH,
        traps=("written by the last rank, evaluation prompts left out",),
    ),
    Format(
        name="ms-swift-ray",
        framework="ms-swift",
        requires=("gen_step:number", "prompt:text", "completion:text", "reward:number"),
        prompt=("prompt",),
        step=("gen_step",),
        reward=("reward",),
        files=(_SWIFT_FILE,),
        summary="ms-swift on Ray (4.3 or later): a row per line, total only",
        source="swift/ray/megatron/base_trainer.py",
        switch=_SWIFT_SWITCH,
        traps=(
            "the reward is the plain sum, without weights: NaN as soon as one function returned nothing",
            "no advantage and no single reward functions",
        ),
    ),
    Format(
        name="openrlhf",
        requires=("input", "output", "reward:number"),
        forbids=("step", "score", "uid"),
        prompt=("input",),
        ids=True,
        reward=("reward",),
        files=("*.jsonl",),
        summary="OpenRLHF batch inference (up to 0.9.5): a row per line",
        source="openrlhf/cli/batch_inference.py",
        switch="--eval_task rm --output_path FILE",
        traps=(
            "the files of the ranks (FILE0, FILE1, ...) stay beside the merged one: reading both counts rows twice",
            "best-of-n rows lie sample by sample, not prompt by prompt",
            "with --normalize_reward (csft) the rewards are already z-scores",
        ),
    ),
)
