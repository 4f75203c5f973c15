"""A table with reward parts and a logged advantage, as the reader would give it."""

import numpy as np

from advcli.records.table import Choice, RewardTable


def table(parts, group, step, logged, lengths=None, baselines=None):
    """Rows of one file; `parts` is [N, K], the others are [N]."""
    choice = Choice(
        format="generic",
        prompt=("p",),
        step="s",
        rewards=tuple((f"r{k}", 1.0) for k in range(parts.shape[1])),
        length=None if lengths is None else "l",
        roles=() if baselines is None else (("baselines", "b"),),
        logged="a",
    )
    return RewardTable(
        rewards=parts.sum(axis=1),
        cause=np.zeros(len(parts), dtype=np.int8),
        key=group,
        step=step,
        step_names=tuple(str(s) for s in range(int(step.max()) + 1)),
        length=lengths,
        roles={} if baselines is None else {"baselines": baselines},
        logged=logged,
        rows=(len(parts),),
        choice=choice,
        dropped=(frozenset(),),
        lines=np.arange(1, len(parts) + 1),
        names=("f",),
        parts=parts if parts.shape[1] > 1 else None,
    )
