"""Dumps of Trinity-RFT: JSON Lines, or the SQLite database that is the default."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from advcli.io.formats.format import Contents, Format, Opener
from advcli.records.layout import Derived

_HERE = "advcli.io.formats.trinity_rft"
_COLUMNS = ("task_id", "run_id", "msg_id", "model_version", "reward")
_SWITCH = "on by default: {checkpoint_job_dir}/buffer/"
_SOURCE = "trinity/buffer/pipelines/experience_pipeline.py"
_TRAPS = (
    "written before operators and advantages: no advantage, and what was filtered later is in it",
    "a workflow that repeats a task itself and forgets 'run' leaves 0 everywhere: then every row is a rollout",
)

ROWS = (
    Format(
        name="trinity-rft",
        requires=("eid:object", "info:object", "reward", "prompt_length"),
        prompt=("eid.batch+eid.task",),
        step=("eid.batch",),
        step_in_key=False,
        rollout=("rollout",),
        turn=("eid.step",),
        reward=("reward",),
        lengths=("response_length",),
        derived=(Derived("rollout", ("eid",), f"{_HERE}:rollout", "text"),),
        files=("explorer_output.jsonl",),
        appended=True,
        summary="Trinity-RFT explorer_output.jsonl: an experience per line",
        source=_SOURCE,
        switch="data_processor.experience_pipeline.input_save_path=FILE.jsonl",
        traps=("eid.task counts from 0 in each batch: batch and task are the group", *_TRAPS),
    ),
    Format(
        name="trinity-rft-db",
        requires=_COLUMNS,
        prompt=("task_id",),
        step=("model_version",),
        rollout=("rollout",),
        turn=("id",),
        reward=("reward",),
        derived=(
            Derived(
                "rollout", ("task_id", "run_id", "model_version"), f"{_HERE}:rollout_of_database", "text"
            ),
        ),
        files=("explorer_output.db", "experiences.db"),
        opener=Opener("SQLite format 3", f"{_HERE}:opened"),
        summary="Trinity-RFT explorer_output.db: SQLite, an experience per row",
        source=_SOURCE,
        switch=_SWITCH,
        traps=(
            "there is no batch number: task and model version are the key, which can join two batches",
            "the texts are in blobs that are not read",
            *_TRAPS,
        ),
    ),
)


def rollout(eid: object) -> str | None:
    """The name of a rollout.

    Example:
        >>> rollout({"batch": 5, "task": 0, "run": 1, "step": 0})
        '5/0/1'
    """
    return (
        "/".join(str(eid.get(key)) for key in ("batch", "task", "run")) if isinstance(eid, Mapping) else None
    )


def rollout_of_database(task: object, run: object, version: object) -> str:
    """The name of a rollout in the database, which has no batch number.

    Example:
        >>> rollout_of_database("0", 1, 4)
        '4/0/1'
    """
    return f"{version}/{task}/{run}"


def opened(path: Path, name: str) -> Contents | None:
    """The experiences in a Trinity-RFT database, without their blobs; None if it is another database.

    Raises:
        DataError: several tables hold experiences.
    """
    from advcli.io.sources import sqlite

    with closing(sqlite.opened(path)) as database:
        tables = [
            table for table, columns in sqlite.tables(database).items() if set(_COLUMNS) <= set(columns)
        ]
        table = sqlite.only(tables, name)
        return Contents(sqlite.rows(database, table)) if table else None
