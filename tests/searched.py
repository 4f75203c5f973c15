"""A search over a small log, made by hand or by a plain loop."""

import math

import numpy as np
import torch

from advcli.matching.candidates import candidates
from advcli.matching.logged import Logged
from advcli.matching.partitions import Kind, Partition
from advcli.matching.problem import Problem
from advcli.records.table import Grouping


def mean(values):
    return math.fsum(values) / len(values)


def std(values, ddof=1):
    middle = mean(values)
    return math.sqrt(math.fsum((v - middle) ** 2 for v in values) / (len(values) - ddof))


def by_group(rewards, group, rule):
    """Each group's rewards through a rule, in place."""
    rows = {}
    for row, own in enumerate(group):
        rows.setdefault(own, []).append(row)
    out = [math.nan] * len(rewards)
    for own in rows.values():
        for row, value in zip(own, rule([rewards[row] for row in own]), strict=True):
            out[row] = value
    return out


def partition(group, label="by hand"):
    index = np.array(group, dtype=np.int64)
    return Partition(label, Grouping(index, int(index.max()) + 1, ("p",), label), Kind.KEY)


def problem(rewards, group, logged, step=None, *, only=None, singletons=False, missing=False):
    """What `match` would search for; `only` keeps candidates."""
    columns = {
        "rewards": torch.tensor(rewards, dtype=torch.float64),
        "step": torch.zeros(len(rewards), dtype=torch.int64) if step is None else torch.tensor(step),
    }
    columns["parts"] = columns["rewards"][:, None]
    columns["weights"] = torch.ones(1, dtype=torch.float64)
    tried = [c for c in candidates(singletons=singletons, missing=missing) if only is None or only(c)]
    return Problem(columns, Logged.of(torch.tensor(logged, dtype=torch.float64)), [partition(group)], tried)


def named(found):
    """(framework, estimator, scale, ddof, eps) of candidates or trials."""
    of = [getattr(one, "candidate", one) for one in found]
    return [(c.framework, c.estimator, c.scale, c.ddof, c.eps) for c in of]
