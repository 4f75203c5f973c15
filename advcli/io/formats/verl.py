"""Dumps of verl."""

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

_SWITCH = "trainer.rollout_data_dir=DIR (validation: trainer.validation_data_dir)"
_OVERLONG = (
    "with reward_manager=dapo the score may not include the overlong penalty: add overlong_reward "
    "(--reward score --reward overlong_reward)"
)
_RESUME = "a resumed run overwrites the files of the steps that it repeats"

ROWS = (
    Format(
        name="verl",
        requires=("input", "output", "score", "step"),
        # In verl v1, the uid identifies the row, not the prompt.
        forbids=("uid",),
        prompt=("input",),
        ids=True,
        reward=("score",),
        checks=("overlong_penalty",),
        files=("[0-9]*.jsonl",),
        summary="verl, legacy trainer: <step>.jsonl, a prompt is its text",
        source="verl/trainer/ppo/ray_trainer.py, RayPPOTrainer._write_generations",
        switch=_SWITCH,
        traps=(
            (
                "no prompt id: prompts of equal text are one group, even if they differ in an image or were drawn "
                "twice (--n)"
            ),
            _OVERLONG,
            "in the DAPO recipe the reward extras (acc, pred, sometimes score) can belong to other rows",
            "from 0.8 on, values that JSON can't represent are strings: 'tensor(-0.25)'",
            _RESUME,
        ),
    ),
    Format(
        name="verl-v1",
        framework="verl",
        requires=("input", "output", "score", "step", "uid:text"),
        prompt=("uid.prompt",),
        # A run whose verl was upgraded between two steps has files of both formats.
        reads=("verl",),
        step=("step",),
        reward=("score",),
        derived=(
            Derived("uid.prompt", ("uid", "input"), "advcli.io.formats.derived:verl_prompt", "text"),
            Derived("uid.session", ("uid",), "advcli.io.formats.derived:verl_session", "text"),
            Derived("uid.index", ("uid",), "advcli.io.formats.derived:verl_index"),
            Derived("uid.padding", ("uid",), "advcli.io.formats.derived:verl_padding"),
        ),
        filler="uid.padding",
        rollout=("uid.session",),
        turn=("uid.index",),
        unique="uid",
        checks=("overlong_penalty",),
        files=("[0-9]*.jsonl",),
        summary="verl v1 (0.9 or later): uid = <uuid>_<session>_<index>",
        source="verl/trainer/ppo/v1/trainer_base.py, _write_generations",
        switch=_SWITCH,
        traps=(
            "the uid is unique per row: without its last two parts it identifies the prompt",
            "rows whose uid begins with 'pad' are padding: left out",
            "the outputs of a session share its final reward: they are one rollout",
            "with parameter_sync_step above 1 a file holds several batches: batch-level estimators differ",
            _RESUME,
        ),
    ),
)
