"""Every estimator of the catalog against a plain loop of tests/references*.py, which somebody else wrote.

The loops import nothing of the package. Other knobs, missing rewards and odd sizes: the test file of each module.
"""

import ast
import inspect
import math
import random

import pytest
import references
import references_batch
import references_group
import references_tokens
import references_turns
from repeated import over

from advcli import compute_advantages
from advcli.estimators.catalog import ESTIMATORS

ROW = ("rewards", "groups")
STEP = (*ROW, "steps")
PARTS = ("parts", "weights", "groups")
TURN = (*ROW, "rollouts", "turns")
# Estimator → its loop, and the columns that it reads.
LOOPS = {
    "grpo": (references.grpo, STEP),
    "rloo": (references.rloo, STEP),
    "loo_norm": (references_group.loo_norm, ROW),
    "maxrl": (references_group.maxrl, ROW),
    "gpg": (references_group.gpg, STEP),
    "opo": (references_group.opo, (*ROW, "lengths")),
    "ngrpo": (references_group.ngrpo, ROW),
    "opmd": (references_group.opmd, ROW),
    "asymre": (references_group.asymre, ROW),
    "rec": (references_group.rec, ROW),
    "cpgd": (references_group.cpgd, STEP),
    "batch_mean_group_std": (references_group.batch_mean_group_std, STEP),
    "grpo_passk": (references_group.grpo_passk, ROW),
    "passk": (references_group.passk, ROW),
    "pkpo": (references_group.pkpo, ROW),
    "quantile": (references_batch.quantile, ROW),
    "median": (references_batch.median, ROW),
    "bnpo": (references_batch.bnpo, STEP),
    "shrinkage": (references_batch.shrinkage, STEP),
    "krpo": (references_group.krpo, ROW),
    "spo": (references_batch.spo, ("rewards", "groups", "visits")),
    "reinforce": (references_batch.reinforce, ("rewards",)),
    "batch_norm": (references_batch.batch_norm, ("rewards", "steps")),
    "reinforce_plus_plus": (references_batch.reinforce_plus_plus, ("rewards", "steps", "lengths")),
    "reinforce_plus_plus_rows": (references_batch.reinforce_plus_plus_rows, ("rewards", "steps")),
    "reinforce_plus_plus_baseline": (references_batch.reinforce_plus_plus_baseline, (*STEP, "lengths")),
    "reinforce_plus_plus_baseline_rows": (references_batch.reinforce_plus_plus_baseline_rows, STEP),
    "remax": (references_batch.remax, ("rewards", "baselines")),
    "positive_only": (references_batch.positive_only, ("rewards",)),
    "negative_only": (references_batch.negative_only, ("rewards",)),
    "w_reinforce": (references_batch.w_reinforce, ("rewards",)),
    "gdpo": (references_batch.gdpo, (*PARTS, "steps")),
    "gdpo_sum": (references_batch.gdpo_sum, PARTS),
    "papo": (references_batch.papo, PARTS),
    "gae": (references_tokens.gae, ("last", "values")),
    "bi_level_gae": (references_tokens.bi_level_gae, ("token_rewards", "values")),
    "optimal_token_baseline": (
        references_tokens.optimal_token_baseline,
        ("last", "log_probs", "sum_pi_squared", "groups"),
    ),
    "turn_return": (references_turns.turn_return, TURN),
    "turn_loo": (references_turns.turn_loo, TURN),
    "gigpo": (references_turns.gigpo, (*TURN, "anchors")),
    "hgpo": (references_turns.hgpo, (*TURN, "anchors")),
    "mt_grpo": (references_turns.mt_grpo, TURN),
    "turn_credit": (references_turns.turn_credit, (*TURN, "episodes")),
}
# How compute_advantages is given a column; the others by their own names.
GIVEN = {
    "visits": lambda column: {"steps": column},
    "episodes": lambda column: {"roles": {"episode": column}},
    "last": lambda _: {},
}


def drawn(seed):
    """Ragged groups of two rollouts or more in two steps, one of them dead; a row is a turn, with a few tokens."""
    draw = random.Random(seed)
    rows = []
    for group in range(7):
        visit = 0
        for rollout in range(draw.choice([2, 3, 5])):
            episode = draw.choice([0.0, 1.0])
            for turn in range(draw.choice([1, 1, 2, 4])):
                tokens = draw.randint(1, 5)
                outcome = 0.7 if group == 3 else draw.choice([0.0, 0.25, 0.5, 1.0])
                log_probs = [-draw.uniform(0.01, 3) for _ in range(tokens)]
                rows.append(
                    {
                        "rewards": outcome,
                        "parts": [outcome, draw.choice([0.0, 0.1, 0.9])],
                        "groups": group,
                        "steps": group % 2,
                        "visits": visit,
                        "lengths": tokens,
                        "baselines": draw.choice([0.0, 0.5]),
                        "rollouts": f"{group}-{rollout}",
                        "turns": turn,
                        "anchors": f"s{draw.randrange(3)}",
                        "episodes": episode,
                        "values": [draw.random() for _ in range(tokens)],
                        "token_rewards": [draw.choice([0.0, 0.0, 0.5, -1.0]) for _ in range(tokens)],
                        "log_probs": log_probs,
                        "sum_pi_squared": [math.exp(2 * x) + draw.uniform(0, 0.1) for x in log_probs],
                    }
                )
                visit += 1
    draw.shuffle(rows)
    # Steps are taken in the order in which they are met.
    rows.sort(key=lambda row: row["visits"])
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    last = references_tokens.on_the_last(columns["rewards"], columns["values"])
    return columns | {"weights": [1.0, 0.5], "last": last}


def test_every_estimator_has_a_loop():
    assert set(LOOPS) == {entry.name for entry in ESTIMATORS}


def test_no_loop_looks_at_the_package():
    modules = {inspect.getmodule(loop) for loop, _ in LOOPS.values()}
    for module in modules:
        tree = ast.walk(ast.parse(inspect.getsource(module)))
        imports = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
        assert "advcli" not in " ".join(map(ast.unparse, imports))


@pytest.mark.parametrize("name", LOOPS)
@over(seed=range(4))
def test_an_estimator_gives_what_its_loop_gives(name, seed):
    columns = drawn(seed)
    loop, names = LOOPS[name]
    expected = loop(*(columns[column] for column in names))
    given = {
        keyword: value
        for column in names
        if column not in ("rewards", "parts", "groups")
        for keyword, value in GIVEN.get(column, lambda own, column=column: {column: own})(
            columns[column]
        ).items()
    }
    rewards = columns["parts" if "parts" in names else "rewards"]
    result = compute_advantages(rewards, columns["groups"], estimator=name, **given)
    if result.tokens is None:
        found = result.original
    else:
        found, expected = result.tokens, [advantage for own in expected for advantage in own]
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)
