"""Logs of samples of lm-eval, the evaluation harness."""

from advcli.io.formats.format import Format

ROWS = (
    Format(
        name="lm-eval",
        requires=("doc_id", "resps:list", "filtered_resps:list", "filter", "metrics:list"),
        prompt=("@file+doc_id+filter",),
        parts=("doc_id", "target"),
        summed=False,
        length=False,
        alone=True,
        checks=("no_groups", "several_metrics"),
        files=("samples_*.jsonl",),
        appended=True,
        summary="lm-eval samples_<task>_<date>.jsonl: a document per line",
        source="lm_eval/loggers/evaluation_tracker.py",
        switch="--log_samples --output_path DIR",
        traps=(
            "no groups: repeats of a document share one line and one metric, so every row is its own group",
            "several metrics have no total: the first one is read (--reward for another)",
        ),
    ),
)
