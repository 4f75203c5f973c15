"""Every row of the catalog of frameworks is found again on advantages that it made.

Each rule has one log of its own, and the logs differ: sizes, seeds, order in the file, float32 or float64, groups of one size or of
several. With ADVCLI_FULL=1 in the environment every rule meets every kind of log (an hour).
"""

import os
from itertools import product

import numpy as np
import pytest
from logged_tables import table
from simulated_logs import KINDS, judged

from advcli import compute_advantages
from advcli.errors import AdvcliError
from advcli.frameworks.catalog import RULES
from advcli.matching.match import match

BY_ROW = [rule for rule in RULES if rule.level == "row" and rule.target]
# Groups and rows of each, seed, order, dtype, one size or several.
LOGS = [
    (*shape, *rest)
    for shape, *rest in product(
        ((10, 4), (24, 2), (6, 9)), (7, 8), ("file", "shuffled"), (np.float64, np.float32), ("even", "ragged")
    )
]
# The stride has no factor in common with the number of logs, so that neighbours differ in everything.
OWN = [(rule, LOGS[7 * place % len(LOGS)]) for place, rule in enumerate(BY_ROW)]
CASES = list(product(BY_ROW, LOGS)) if os.environ.get("ADVCLI_FULL") else OWN


def data(groups, size, seed, order, sizes):
    """Rewards in [0, 1], two parts each; no row is missing and no group dead."""
    draw = np.random.default_rng(seed)
    many = [size + (g % 3 if sizes == "ragged" else 0) for g in range(groups)]
    group = np.repeat(np.arange(groups), many)
    parts, step = draw.random((len(group), 2)).round(3), group % 2
    lengths = draw.integers(5, 80, len(group)).astype(float)
    rows = draw.permutation(len(group)) if order == "shuffled" else np.arange(len(group))
    return parts[rows], group[rows], step[rows], lengths[rows]


@pytest.mark.parametrize(("rule", "log"), CASES, ids=lambda value: getattr(value, "name", None))
def test_a_rule_is_found_again(rule, log):
    groups, size, seed, order, dtype, sizes = log
    version = next((v for v in VERSIONS if rule is found(rule, v)), None)
    assert version is not None, "no version of this rule is tried"
    like = rule.framework + (f"@{version}" if version else "")

    def made(sizes):
        parts, group, step, lengths = data(groups, size, seed, order, sizes)
        parts = parts if "parts" in rule.needs else parts[:, :1]
        baselines = np.full(len(parts), 0.25)
        more = {"lengths": lengths, "steps": step, "baselines": baselines}
        advantages = compute_advantages(parts, group, like=like, estimator=rule.estimator, **more)
        logged = advantages.original.double().numpy().astype(dtype).astype(np.float64)
        return table(parts, group, step, logged, lengths, baselines)

    try:
        given = made(sizes)
    except AdvcliError:
        # A trainer that refuses groups of several sizes.
        given = made("even")
    outcome = match(given)
    assert outcome.found, outcome.sentence
    named = {(fit.framework, fit.estimator) for fit in (outcome.best, *outcome.indistinguishable)}
    assert (rule.framework, rule.estimator) in named


@pytest.mark.parametrize("seed", range(len(KINDS)))
def test_a_log_of_each_kind(seed):
    """One of each kind of `simulated_logs`, which tries as many as one likes by hand."""
    made, outcome, how = judged(seed)
    assert how in ("right", "tie"), f"{made.kind}, {made.words}, {made.truth}: {outcome.sentence}"


# Logs that once came out wrong.
ONCE_WRONG = {
    34: "dead groups that carry a number",
    37: "a range of 1 taken for filtered rows",
    52: "binary ranks, which are half of a centred reward",
    87: "one changed row in a dead group",
    91: "5 decimals that are 6 digits too",
    96: "squares taken for rounded rewards",
    97: "an eps fitted to one std",
    121: "3 decimals that are 4 digits too",
    126: "a factor and a clamp fitted to tanh",
    144: "a weight of 0",
}


@pytest.mark.parametrize("seed", ONCE_WRONG, ids=ONCE_WRONG.values())
def test_logs_that_once_came_out_wrong(seed):
    made, outcome, how = judged(seed)
    assert how in ("right", "tie"), f"{made.kind}, {made.words}, {made.truth}: {outcome.sentence}"


VERSIONS = (
    "",
    "0.1",
    "0.2",
    "0.3",
    "0.4",
    "0.5",
    "0.6",
    "0.7",
    "0.7.1",
    "0.8",
    "0.8.0",
    "0.8.5",
    "0.9",
    "0.10",
    "0.11",
    "0.12",
    "0.16",
    "0.21",
    "0.22.0",
    "0.22.2",
    "0.27",
    "1.0",
    "1.0.3",
    "1.0.4",
    "1.1",
    "1.5",
    "1.6",
    "2.0",
    "3.0",
    "3.5",
    "4.0",
    "4.6",
)


def found(rule, version):
    """The rule that a version of its framework has under its name, or None."""
    from advcli import UsageError
    from advcli.frameworks.catalog import find

    try:
        return find(rule.framework + (f"@{version}" if version else ""), rule.estimator)
    except UsageError:
        return None
