"""Dumps of verl and EasyR1."""

from advcli.io.format import Format
from advcli.records.layout import Derived

_SWITCH = "trainer.rollout_data_dir=DIR (validation: trainer.validation_data_dir)"
_OVERLONG = (
    "with reward_manager=dapo the score can stand before the overlong penalty: add overlong_reward "
    "(--reward score --reward overlong_reward)"
)
_RESUME = "a resumed run overwrites the files of the steps that it does again"

ROWS = (
    Format(
        name="verl",
        requires=("input", "output", "score", "step"),
        # verl v1 writes a uid per row, which is no prompt id.
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
                "no prompt id: prompts of equal text are one group, also where they differ in an image, or were drawn "
                "twice (--n)"
            ),
            _OVERLONG,
            "of the DAPO recipe the reward extras (acc, pred, at times score) can belong to other rows",
            "from 0.8 on, values that JSON does not know are strings: 'tensor(-0.25)'",
            _RESUME,
        ),
    ),
    Format(
        name="verl-v1",
        framework="verl",
        requires=("input", "output", "score", "step", "uid:text"),
        prompt=("uid.prompt",),
        step=("step",),
        reward=("score",),
        derived=(
            Derived("uid.prompt", ("uid",), "advcli.io.derive:verl_prompt", "text"),
            Derived("uid.session", ("uid",), "advcli.io.derive:verl_session", "text"),
            Derived("uid.index", ("uid",), "advcli.io.derive:verl_index"),
            Derived("uid.padding", ("uid",), "advcli.io.derive:verl_padding"),
        ),
        filler="uid.padding",
        last_of=("uid.session", "uid.index"),
        checks=("overlong_penalty",),
        files=("[0-9]*.jsonl",),
        summary="verl v1 (0.9 or later): uid = <uuid>_<session>_<index>",
        source="verl/trainer/ppo/v1/trainer_base.py, _write_generations",
        switch=_SWITCH,
        traps=(
            "the uid is unique per row: its last two parts are taken off to find the prompt",
            "rows whose uid begins with 'pad' only fill up the batch: left out",
            "outputs before the last of a session carry the final reward: only the last one counts",
            "with parameter_sync_step above 1 a file holds several batches: batch-level estimators differ",
            _RESUME,
        ),
    ),
    Format(
        name="easyr1",
        requires=("step:number", "reward:object", "critic:object"),
        files=("experiment_log.jsonl",),
        summary="EasyR1 experiment_log.jsonl: averages only (refused)",
        source="verl/utils/logger/logger.py (EasyR1)",
        switch="trainer.logger=['file']",
        traps=(
            "EasyR1 saves no rollouts of training; generations.log has a few of validation, without a step",
        ),
        refusal="this is EasyR1's experiment_log.jsonl: averages per step, no rewards of single responses; EasyR1 "
        "saves none, so a reward function that appends uid, reward and step to a JSON Lines file is needed",
    ),
)
