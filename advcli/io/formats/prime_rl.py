"""Dumps of prime-rl."""

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

_TOTAL = Derived("rewards.total", ("rewards",), "advcli.io.formats.derived:weighted_total")
_SAMPLED = Derived("nodes.tokens", ("nodes",), "advcli.io.formats.derived:sampled_tokens")
_TRACE_TRAPS = (
    "there is no reward as such: the total is the sum of score x weight over rewards that are not null",
    "a trace of which ok is false failed; its rewards may be missing",
)

ROWS = (
    Format(
        name="prime-rl",
        requires=("traces:list", "group.id"),
        layout="nested",
        path="traces",
        prompt=("group.id+agent.name?",),
        step=("@step", "run.work.step"),
        # A group is scored as a whole, and can lie across two folders of steps.
        step_in_key=False,
        reward=("rewards.total",),
        lengths=("nodes.tokens",),
        logged=("info.advantage",),
        derived=(_TOTAL, _SAMPLED),
        checks=("no_advantage_yet",),
        files=("traces.jsonl",),
        summary="prime-rl traces.jsonl: an episode with its traces per line",
        source="prime_rl/monitors/file.py; verifiers/v1/episode.py",
        switch="on by default: {output_dir}/{run}/rollouts/step_N/{train,eval}/{all,effective}/",
        traps=(
            (
                "'all' is written as episodes arrive, without advantages; 'effective' is what was trained on: of a folder "
                "with both, 'effective' is read"
            ),
            *_TRACE_TRAPS,
            "groups of 'effective' may be partial, those of 'all' may lie across two step folders",
        ),
    ),
    Format(
        name="prime-rl-rollouts",
        requires=("example_id", "reward", "advantage", "is_filtered"),
        prompt=("example_id+env_name?+task:text?",),
        step=("step", "@step"),
        reward=("reward",),
        logged=("advantage",),
        files=("train_rollouts.jsonl", "eval_rollouts_*.jsonl"),
        summary="prime-rl (spring to summer 2026): a rollout per line",
        source="prime_rl/orchestrator (before traces.jsonl)",
        switch="on by default: {output_dir}/rollouts/step_N/",
        traps=("rows of which is_filtered is true were not trained on",),
    ),
)
