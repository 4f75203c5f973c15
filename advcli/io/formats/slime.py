"""Dumps of slime."""

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

ROWS = (
    Format(
        name="slime",
        requires=("samples:list", "rollout_id"),
        layout="nested",
        path="samples",
        prompt=("group_index",),
        step=("record.rollout_id", "rollout_id"),
        reward=("reward.value",),
        lengths=("response_length",),
        derived=(Derived("reward.value", ("reward",), "advcli.io.formats.derived:reward_value"),),
        files=("*.jsonl",),
        summary="slime: a .pt file is refused (pickle); as JSON it is read",
        source="slime/observability/rollout_data_utils.py",
        switch="--dump-details DIR",
        traps=(
            "a .pt file is a pickle, which can run code when it is opened: convert it where you trust it",
            "train_data/<id>.pt holds rewards that are already normalised, and no group",
            "a reward can be an object: its 'score' is read",
            "rollout_id is the step in older files; where it names a rollout of several rows, use --rollout-col rollout_id",
        ),
    ),
)
