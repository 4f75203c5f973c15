"""Every row of the catalog of frameworks is found again on advantages that it made."""

import random

import numpy as np
import pytest
from logged_tables import table

from advcli import compute_advantages
from advcli.frameworks.catalog import RULES
from advcli.matching.match import match
from advcli.records.settings import Settings

GROUPS, SIZE = 10, 4
BY_ROW = [rule for rule in RULES if rule.level == "row" and rule.target]


def data(seed):
    """Rewards in [0, 1], two parts each, in blocks of four; no row is missing and no group dead."""
    draw = random.Random(seed)
    parts = np.array([[round(draw.random(), 3) for _ in range(2)] for _ in range(GROUPS * SIZE)])
    group = np.repeat(np.arange(GROUPS), SIZE)
    return parts, group, group % 2, np.array([float(draw.randint(5, 80)) for _ in group])


@pytest.mark.parametrize("rule", BY_ROW, ids=lambda rule: rule.name)
def test_a_rule_is_found_again(rule):
    parts, group, step, lengths = data(7)
    if "parts" not in rule.needs:
        parts = parts[:, :1]
    version = next((v for v in VERSIONS if rule is found(rule, v)), None)
    assert version is not None, "no version of this rule is tried"
    like = rule.framework + (f"@{version}" if version else "")
    made = compute_advantages(
        parts,
        group,
        like=like,
        estimator=rule.estimator,
        lengths=lengths,
        steps=step,
        baselines=np.full(len(parts), 0.25),
    )
    outcome = match(
        table(parts, group, step, made.original.double().numpy(), lengths, np.full(len(parts), 0.25)),
        n=None,
        only=Settings(),
        tell=lambda text: None,
    )
    assert outcome.found
    named = {(fit.framework, fit.estimator) for fit in (outcome.best, *outcome.indistinguishable)}
    assert (rule.framework, rule.estimator) in named


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
