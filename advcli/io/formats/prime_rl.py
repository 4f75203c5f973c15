"""Dumps of prime-rl, and the join of its stream of traces with the updates written next to it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

_HERE = "advcli.io.formats.prime_rl"
_DERIVED = (
    Derived("rewards.total", ("rewards",), "advcli.io.formats.derived:weighted_total"),
    Derived("nodes.tokens", ("nodes",), "advcli.io.formats.derived:sampled_tokens"),
    Derived("another agent's trace", ("agent",), "advcli.io.formats.derived:not_trained"),
    Derived("evaluation", ("run?", "info?"), f"{_HERE}:is_evaluation"),
)
_TRACE_TRAPS = (
    "no total reward is stored: it is the sum of score x weight over the rewards that are not null",
    "a trace with ok=false failed; its rewards may be missing",
    "traces of an agent that is not trained (a judge, a simulated user) are not rollouts: left out",
)

ROWS = (
    Format(
        name="prime-rl-stream",
        requires=("traces:list", "group.id", "traces.0.info.dispatch"),
        layout="nested",
        path="traces",
        prompt=("group.id+agent.name?",),
        # Only shipped rollouts have a shipping step, and a group can span several steps.
        step=("info.dispatch.step", "run.work.step"),
        step_in_key=False,
        reward=("rewards.total",),
        lengths=("nodes.tokens",),
        logged=("info.advantage",),
        derived=_DERIVED,
        filler="another agent's trace",
        evaluation="evaluation",
        checks=("no_updates",),
        files=("stream.jsonl", "stream/[0-9]*.jsonl"),
        appended=True,
        join=f"{_HERE}:updates",
        summary="prime-rl (since September 2026): a stream of episodes",
        source="prime_rl/monitors/file/traces",
        switch="on by default: {run}/monitors/file/traces/",
        traps=(
            "the advantage is in annotations/ next to the stream: keep the folders together",
            "a rollout without an update was never shipped: it was filtered or left over, and has no advantage",
            "train and eval are mixed in one stream: rows of evaluation are left out",
            "a killed run leaves a truncated line, sometimes in the middle: skipped",
            "with asynchronous training the steps of dispatch, arrival and shipping differ: the dispatch step is read",
            *_TRACE_TRAPS,
        ),
    ),
    Format(
        name="prime-rl",
        requires=("traces:list", "group.id"),
        layout="nested",
        path="traces",
        prompt=("group.id+agent.name?",),
        step=("@step", "run.work.step"),
        # A group is scored as a whole and can span two step folders.
        step_in_key=False,
        reward=("rewards.total",),
        lengths=("nodes.tokens",),
        logged=("info.advantage",),
        derived=_DERIVED,
        filler="another agent's trace",
        evaluation="evaluation",
        checks=("no_advantage_yet",),
        files=("traces.jsonl",),
        summary="prime-rl traces.jsonl: an episode with its traces per line",
        source="prime_rl/monitors/file.py; verifiers/v1/episode.py",
        switch="up to August 2026, by default: {output_dir}/{run}/rollouts/step_N/{train,eval}/{all,effective}/",
        traps=(
            (
                "'all' is written as episodes arrive, without advantages; 'effective' is what was trained on: of a folder "
                "with both, 'effective' is read"
            ),
            *_TRACE_TRAPS,
            "groups of 'effective' may be partial, those of 'all' may be spread over two step folders",
        ),
    ),
    Format(
        name="prime-rl-rollouts",
        framework="prime-rl",
        requires=("example_id", "reward", "advantage", "is_filtered"),
        prompt=("example_id+env_name?+task:text?",),
        step=("step", "@step"),
        reward=("reward",),
        logged=("advantage",),
        files=("train_rollouts.jsonl", "eval_rollouts_*.jsonl"),
        summary="prime-rl (spring to summer 2026): a rollout per line",
        source="prime_rl/orchestrator (before traces.jsonl)",
        switch="on by default: {output_dir}/rollouts/step_N/",
        traps=("rows with is_filtered=true were not trained on",),
    ),
    Format(
        name="prime-rl-tokens",
        framework="prime-rl",
        requires=("inference_logprobs:list", "trainer_logprobs:list", "loss_mask:list", "micro_sequence_idx"),
        prompt=("@file+@line",),
        step=("step", "@step"),
        reward=("first advantage",),
        lengths=("trained tokens",),
        derived=(
            Derived("trained tokens", ("loss_mask",), "advcli.io.formats.derived:true_count"),
            Derived(
                "first advantage", ("advantages", "loss_mask"), "advcli.io.formats.derived:first_trained"
            ),
        ),
        files=("rank_*.jsonl",),
        alone=True,
        summary="prime-rl token_exports: a trained sequence per line",
        source="prime_rl/trainer/rl/token_export.py",
        switch="trainer.enable_token_export=true: {output_dir}/token_exports/step_N/",
        traps=(
            "no reward and no group: the advantage of the first trained token stands in for the reward",
            "a step without the file STABLE is incomplete",
        ),
    ),
)


def is_evaluation(run: object, info: object) -> bool:
    """Whether a trace belongs to an evaluation.

    Args:
        run: `run` of its episode, whose `type` is "train" for whatever a training run does.
        info: `info` of the trace.

    Example:
        >>> (
        ...     is_evaluation({"type": "train", "work": {"type": "eval"}}, {}),
        ...     is_evaluation({"type": "eval"}, {}),
        ... )
        (True, False)
    """
    kind = info.get("kind") if isinstance(info, Mapping) else None
    work = run.get("work") if isinstance(run, Mapping) else None
    return "eval" in (kind, work.get("type") if isinstance(work, Mapping) else None)


@dataclass
class Update:
    """What was added to a trace after it was written.

    Attributes:
        info: merged into the trace's `info`; the newest value wins.
        advantages: branch → sum and number of its tokens' newest non-zero advantages.
    """

    info: dict[str, Any] = field(default_factory=dict)
    advantages: dict[object, tuple[float, int]] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        """Merge the next update of the trace."""
        if isinstance(record.get("info"), Mapping):
            self.info = _merged(self.info, record["info"])
        branches = record.get("branches")
        for branch in branches if isinstance(branches, list) else ():
            values = branch.get("advantages") if isinstance(branch, Mapping) else None
            if isinstance(values, list):
                trained = [value for value in values if isinstance(value, int | float) and value]
                self.advantages[branch.get("index")] = (sum(trained), len(trained))

    def advantage(self) -> float:
        """The mean over all tokens with a non-zero advantage; 0 if there are none."""
        total, count = (sum(part) for part in zip(*self.advantages.values(), strict=True))
        return total / count if count else 0.0


class Updates:
    """Completes the traces of an episode with their updates.

    Args:
        updates: id of a trace → its updates.
    """

    def __init__(self, updates: Mapping[str, Update]) -> None:
        self._updates = updates

    def __call__(self, episode: dict[str, Any]) -> dict[str, Any]:
        """The episode with its traces updated."""
        traces = episode.get("traces")
        if not isinstance(traces, list) or not self._updates:
            return episode
        return {**episode, "traces": [self._completed(trace) for trace in traces]}

    def _completed(self, trace: Any) -> Any:  # noqa: ANN401  any JSON value
        update = self._updates.get(str(trace.get("id"))) if isinstance(trace, dict) else None
        if update is None:
            return trace
        own = trace.get("info")
        info = _merged(own if isinstance(own, Mapping) else {}, update.info)
        if update.advantages and info.get("advantage") is None:
            info["advantage"] = update.advantage()
        return {**trace, "info": info}


def updates(stream: Path) -> Updates | None:
    """The updates for the traces of a stream.

    Args:
        stream: `traces/stream.jsonl`, or a chunk in `traces/stream/`.

    Returns:
        A function that adds the updates to each episode; None if there are none next to the stream.
    """
    chunked = stream.parent.name == "stream"
    folder = (stream.parent.parent if chunked else stream.parent) / "annotations"
    files = _in_order(folder)
    stamps = tuple((file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return _folded(files, stamps) if files else None


@lru_cache(maxsize=1)
def _folded(files: tuple[Path, ...], stamps: tuple[tuple[int, int], ...]) -> Updates:
    """The updates of all producers in the order written; cached until a file changes."""
    del stamps
    result: dict[str, Update] = {}
    for file in files:
        for record in _records(file):
            result.setdefault(record["trace_id"], Update()).add(record)
    return Updates(result)


def _in_order(folder: Path) -> tuple[Path, ...]:
    """The files of updates: one per producer, or its chunks; for a chunk that is being compressed, the plain file."""
    files = [
        file
        for file in (*folder.glob("*.jsonl*"), *folder.glob("*/[0-9]*.jsonl*"))
        if file.suffix in (".jsonl", ".zst") and not file.name.endswith((".index.jsonl", ".index.jsonl.zst"))
    ]
    plain = set(files)
    return tuple(
        sorted(file for file in files if file.suffix == ".jsonl" or file.with_suffix("") not in plain)
    )


def _records(file: Path) -> Iterator[dict[str, Any]]:
    """The updates in a file; truncated lines are skipped."""
    import pyarrow as pa

    with pa.input_stream(str(file), compression="detect") as lines:
        for line in _lines(lines):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and isinstance(record.get("trace_id"), str):
                yield record


def _lines(stream: Any) -> Iterator[bytes]:  # noqa: ANN401  arrow's class
    """The lines of a stream."""
    rest = b""
    while piece := stream.read(1 << 20):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    yield rest


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Two objects merged recursively; where both have a value, the new one wins."""
    both = {
        key: _merged(old[key], value)
        if isinstance(value, Mapping) and isinstance(old.get(key), Mapping)
        else value
        for key, value in new.items()
    }
    return {**old, **both}
