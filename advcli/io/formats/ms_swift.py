"""Dumps of ms-swift."""

from advcli.io.formats.format import Format

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
)
