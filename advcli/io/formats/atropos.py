"""Dumps of atropos."""

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

ROWS = (
    Format(
        name="atropos",
        requires=("scores:list", "tokens:list", "masks:list"),
        layout="lists",
        path="scores",
        prompt=("@file+@line",),
        reward=("scores",),
        derived=(
            Derived("masks.tokens", ("masks",), "advcli.io.formats.derived:answer_tokens"),
            Derived("first advantage", ("advantages", "masks"), "advcli.io.formats.derived:first_answered"),
        ),
        lengths=("masks.tokens",),
        logged=("first advantage",),
        files=("*.jsonl",),
        summary="atropos: a group per line",
        source="atroposlib/envs/base.py, BaseEnv.handle_send_to_api",
        switch="data_path_to_save_groups=FILE",
        traps=(
            "masks hold token ids, and -100 where a token is not trained on",
            "with ensure_scores_are_not_same the groups of equal scores are not in the file",
            "no prompt id and no step: a line is a group",
        ),
    ),
)
