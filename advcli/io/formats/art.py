"""Dumps of OpenPipe ART."""

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

ROWS = (
    Format(
        name="art",
        requires=("group_index", "reward", "messages:list"),
        forbids=("trajectory_json",),
        prompt=("@file+group_index",),
        step=("@step",),
        reward=("reward",),
        files=("[0-9]*.parquet",),
        summary="OpenPipe ART <step>.parquet: a trajectory per row",
        source="src/art/utils/trajectory_logging.py",
        switch="on by default: .art/{project}/models/{name}/trajectories/{train,val}/",
        traps=("trajectories of advantage 0 are not trained on",),
    ),
    Format(
        name="art-v2",
        framework="art",
        requires=("group_index", "reward", "trajectory_index", "trajectory_json"),
        prompt=("@file+group_index",),
        step=("@step",),
        reward=("reward",),
        derived=(Derived("empty group", ("trajectory_json",), "advcli.io.formats.derived:is_null"),),
        filler="empty group",
        files=("[0-9]*.parquet",),
        summary="OpenPipe ART (newer): a trajectory per row as JSON text",
        source="src/art/utils/trajectory_logging.py",
        switch="on by default: .art/{project}/models/{name}/trajectories/{train,val}/",
        traps=("a group without trajectories is one row of nulls: left out",),
    ),
    Format(
        name="art-jsonl",
        framework="art",
        requires=("trajectories:list",),
        forbids=("task_hash", "episode_id"),
        layout="nested",
        path="trajectories",
        prompt=("@file+@line",),
        step=("@step",),
        reward=("reward",),
        files=("[0-9]*.jsonl",),
        summary="OpenPipe ART (older) <step>.jsonl: a group per line",
        source="src/art/utils/trajectory_logging.py",
        switch="on by default: .art/{project}/models/{name}/trajectories/{train,val}/",
        traps=("still older runs wrote YAML, which is not read",),
    ),
)
