"""Dumps of verifiers."""

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

_TOTAL = Derived("rewards.total", ("rewards",), "advcli.io.formats.derived:weighted_total")
_SAMPLED = Derived("nodes.tokens", ("nodes",), "advcli.io.formats.derived:sampled_tokens")
_JUDGE = Derived("another agent's trace", ("agent",), "advcli.io.formats.derived:not_trained")
_TRACE_TRAPS = (
    "no total reward is stored: it is the sum of score x weight over the rewards that are not null",
    "a trace with ok=false failed; its rewards may be missing",
    "traces of an agent that is not trained (a judge, a simulated user) are not rollouts: left out",
)

ROWS = (
    Format(
        name="verifiers",
        requires=("example_id", "reward", "completion"),
        forbids=("is_filtered", "traces", "turns"),
        # example_id is only unique within a file.
        prompt=("@file?+example_id",),
        reward=("reward",),
        counts=("error is null",),
        files=("results.jsonl",),
        summary="verifiers v0 results.jsonl: a rollout per line",
        source="verifiers/utils/save_utils.py",
        switch="vf-eval --save-results",
        traps=(
            "rows with an error failed: left out, whatever their reward",
            "example_id counts within one file",
            "each metric is copied to the top level: these are not reward functions",
            "'verifiers validate' and GEPA write other files of the same name",
        ),
    ),
    Format(
        name="verifiers-v1",
        requires=("traces:list", "task:object"),
        forbids=("group",),
        layout="nested",
        path="traces",
        prompt=("task.key+agent.name?", "record.task.key+agent.name?", "env.id?+task.data.idx+agent.name?"),
        reward=("rewards.total",),
        lengths=("nodes.tokens",),
        logged=("info.advantage",),
        derived=(_TOTAL, _SAMPLED, _JUDGE),
        filler="another agent's trace",
        files=("traces.jsonl",),
        appended=True,
        summary="verifiers v1 traces.jsonl: an episode per line",
        source="verifiers/v1/cli/output.py, episode.py",
        switch="vf eval (on by default)",
        traps=_TRACE_TRAPS,
    ),
)
