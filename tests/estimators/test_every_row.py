"""Every row of the table, through the door: small and dead groups, missing rewards, steps, order, names, dtype."""

import dataclasses
import math
import random

import pytest
import torch
from columns import columns as columns_of
from repeated import over

from advcli import compute_advantages
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.estimators.catalog import ESTIMATORS
from advcli.records.roles import FREE, ROLES, TOKEN_COLUMNS
from advcli.records.settings import Settings

ROWS = list(ESTIMATORS)
OUTCOME = [entry for entry in ROWS if entry.level == "row"]
by_name = pytest.mark.parametrize("entry", ROWS, ids=lambda entry: entry.name)

# Not 0 in a dead group: the row has a baseline of its own or none, or one from outside of the group.
LIFTED = {
    "asymre",
    "batch_norm",
    "krpo",
    "negative_only",
    "ngrpo",
    "positive_only",
    "reinforce",
    "reinforce_plus_plus",
    "reinforce_plus_plus_baseline",
    "reinforce_plus_plus_rows",
    "remax",
    "shrinkage",
    "spo",
    "w_reinforce",
}
# The order of the rows is part of the estimator, so that equal rewards have several advantages.
ORDERED = {"krpo"}
# What crosses the groups of a step is at its largest value where groups have three rows or more.
CAPPED = {"cpgd"}
# Undefined although every group has two rows: too few or too equal groups in the step.
PICKY = {"bnpo", "shrinkage"}


def dump(seed=0, sizes=(8, 5, 2, 1, 8, 3, 8, 2, 1, 6, 8, 4), dead=(4, 6), steps=2, missing=0.1):
    """Columns for every need. Rewards are 0, 1 or in between, and the weighted sum of their parts.

    Groups `dead` have one and the same in every part, and lie in step 0 like every `steps`-th group.
    """
    draw = random.Random(seed)
    rows = []
    for group, size in enumerate(sizes):
        constant, greedy = (
            draw.choice([(0.1, 0.2), (0.9, 0.0), (0.0, 0.0), (1.0, 0.0)]),
            draw.choice([0.0, 0.4]),
        )
        for _ in range(size):
            parts = draw.choice([(0.0, 0.0), (1.0, 0.0), (0.3, 1.0), (0.5, 0.7), (0.05, 0.1)])
            parts = constant if group in dead else parts
            parts = (math.nan, parts[1]) if draw.random() < missing else parts
            rows.append((parts, group, group % steps, draw.randint(1, 500), greedy))
    draw.shuffle(rows)
    columns = columns_of(rows)
    tokens = [draw.randint(1, 5) for _ in rows]
    columns |= {
        "tokens": torch.tensor(tokens),
        "kl": torch.tensor([draw.random() for _ in rows], dtype=torch.float64),
        "values": torch.tensor([draw.random() for _ in range(sum(tokens))], dtype=torch.float64),
        "log_probs": torch.tensor([-draw.random() for _ in range(sum(tokens))], dtype=torch.float64),
        "sum_pi_squared": torch.tensor([draw.random() for _ in range(sum(tokens))], dtype=torch.float64),
        "token_rewards": torch.tensor([draw.random() for _ in range(sum(tokens))], dtype=torch.float64),
        # Each rollout has one turn, so that what holds for rows holds for turns.
        "rollout": torch.arange(len(rows)),
        "turn": torch.zeros(len(rows), dtype=torch.float64),
        "anchor": columns["group"].clone(),
        **{
            name: torch.tensor([-draw.random() for _ in range(sum(tokens))], dtype=torch.float64)
            for name in ("rollout_log_probs", "teacher_log_probs")
        },
    }
    # Entropies are for shaping only, versions for figures; the mask is part of what counts.
    made = {"rewards", "row", "place", "counted", "token_kl", "entropies", "mask", "version", *FREE}
    assert set(columns) | made == set(ROLES.names()) | {"tokens"}
    return columns


def compute(entry, columns, dtype=torch.float64, **settings):
    plan = dataclasses.replace(Plan.of(Settings(estimator=entry.name, **settings)), dtype=dtype)
    result = run(plan, columns).original
    assert result.dtype == dtype
    assert not result.isinf().any()
    return result


def taken(columns, index):
    """Some of the rows, in this order."""
    lists = {name: list(columns[name].split(columns["tokens"].tolist())) for name in TOKEN_COLUMNS}
    return {
        name: column
        if name == "weights"
        else torch.cat([lists[name][row] for row in torch.arange(len(columns["tokens"]))[index].tolist()])
        if name in TOKEN_COLUMNS
        else column[index]
        for name, column in columns.items()
    }


def valid(entry, columns):
    """Rows with a reward. Parts of its own need no total: any one will do, and to papo only the first."""
    if entry.name == "papo":
        return columns["parts"][:, 0].isfinite()
    return columns["parts"].isfinite().any(dim=1) if "parts" in entry.needs else columns["rewards"].isfinite()


def company(entry, columns):
    """How many valid rows the group of each row has."""
    counts = torch.zeros(int(columns["group"].max()) + 1).index_add_(
        0, columns["group"], valid(entry, columns).float()
    )
    return counts[columns["group"]]


def close(found, expected, tolerance=1e-11):
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


@by_name
@over(seed=range(4))
def test_undefined_are_missing_rewards_and_groups_of_one_and_nothing_else(entry, seed):
    columns = dump(seed)
    undefined = ~valid(entry, columns)
    if not entry.alone:
        undefined |= company(entry, columns) < 2
    if entry.name.startswith("gdpo"):
        undefined |= compute(entry, columns).isnan() & ~columns["parts"].isfinite().all(dim=1)
    assert torch.equal(compute(entry, columns).isnan(), undefined)


@pytest.mark.parametrize("entry", OUTCOME, ids=lambda entry: entry.name)
@over(seed=range(4))
def test_a_dead_group_has_one_advantage_and_mostly_0(entry, seed):
    columns = dump(seed, missing=0)
    found = compute(entry, columns)
    dead = [found[columns["group"] == group] for group in (4, 6)]
    assert all((own == own[0]).all() for own in dead) or entry.name in ORDERED
    assert all((own == 0).all() for own in dead) or entry.name in LIFTED
    assert found.nan_to_num().any()


def test_nobody_is_called_lifted_for_nothing():
    lifted = set()
    for seed in range(4):
        columns = dump(seed, missing=0)
        dead = (columns["group"] == 4) | (columns["group"] == 6)
        lifted |= {entry.name for entry in OUTCOME if compute(entry, columns)[dead].any()}
    assert lifted == LIFTED


@by_name
@over(size=[1, 2])
@over(groups=[1, 2, 5])
def test_nothing_but_groups_of_one_or_two(entry, groups, size):
    for seed in range(6):
        columns = dump(seed, sizes=[size] * groups, dead=(), steps=1, missing=0)
        undefined = compute(entry, columns).isnan()
        if size == 1 and not entry.alone:
            assert undefined.all()
        elif entry.name not in PICKY and size * groups > 1:
            assert not undefined.any()


@by_name
@over(size=[2, 3, 8])
def test_one_group_only(entry, size):
    for seed in range(6):
        found = compute(entry, dump(seed, sizes=[size], dead=(), steps=1, missing=0))
        assert found.isnan().all() if entry.name == "shrinkage" else found.isfinite().all()


@by_name
@over(part=[0.0, 0.1, 0.9, 1.0])
def test_a_dead_batch(entry, part):
    columns = dump(sizes=[8, 3, 7, 2], dead=(), steps=1, missing=0)
    columns["parts"] = torch.full_like(columns["parts"], part) * torch.tensor([1.0, 0.0])
    columns["rewards"] = columns["parts"][:, 0].clone()
    found = compute(entry, columns)
    own = {"reinforce", "remax", "positive_only", "negative_only", "ngrpo", "gae", "optimal_token_baseline"}
    own |= {"asymre", "bi_level_gae", "krpo", "w_reinforce"}
    assert (found == 0).all() or (entry.name in own and found.isfinite().all())


@by_name
def test_no_reward_at_all(entry):
    columns = dump(sizes=[4, 2, 3], dead=(), steps=2, missing=0)
    columns["parts"] = torch.full_like(columns["parts"], math.nan)
    columns["rewards"] = columns["parts"].sum(dim=1)
    assert compute(entry, columns).isnan().all()


@by_name
def test_a_row_without_a_group_takes_no_part(entry):
    columns = dump(3)
    inside = columns["group"] != 0
    outside = columns | {"group": torch.where(inside, columns["group"], -1)}
    found = compute(entry, outside)
    assert found[~inside].isnan().all()
    close(found[inside], compute(entry, taken(columns, inside)))


@by_name
@over(seed=range(4))
def test_the_order_of_the_rows_does_not_matter(entry, seed):
    columns = dump(seed)
    order = torch.randperm(len(columns["group"]), generator=torch.Generator().manual_seed(seed))
    found, before = compute(entry, taken(columns, order)), compute(entry, columns)[order]
    if entry.name in ORDERED:
        assert not torch.allclose(found, before, equal_nan=True)
    else:
        close(found, before)


@by_name
@over(seed=range(4))
def test_the_names_of_groups_and_steps_do_not_matter(entry, seed):
    columns = dump(seed)
    renamed = columns | {"group": 90 - 7 * columns["group"], "step": 2 - 2 * columns["step"]}
    close(compute(entry, renamed), compute(entry, columns))


@by_name
@over(seed=range(4))
def test_every_step_is_on_its_own(entry, seed):
    columns = dump(seed)
    found = compute(entry, columns)
    for step in (0, 1):
        rows = columns["step"] == step
        close(found[rows], compute(entry, taken(columns, rows)))


@by_name
def test_blocks_and_scattered_rows_agree(entry):
    # Blocks of one size take another path through the sums.
    columns = dump(sizes=[8] * 6, missing=0)
    blocks = torch.argsort(columns["group"] + 100 * columns["step"], stable=True)
    labels = torch.arange(48) // 8
    close(compute(entry, taken(columns, blocks) | {"group": labels}), compute(entry, columns)[blocks])


@by_name
@over(missing=[0, 0.1])
def test_inputs_are_not_written_to(entry, missing):
    columns = dump(2, missing=missing)
    before = {name: column.clone() for name, column in columns.items()}
    keep = {"keep_pos": 0.5, "keep_neg": 0.5} if entry in OUTCOME else {}
    scales = ("group", "batch", "none") if entry in OUTCOME else ("batch", "none")
    for scale in scales if entry.default_scale else (None,):
        compute(entry, columns, scale=scale, singleton="raw", missing="zero", **keep)
    for name, column in columns.items():
        close(column, before[name], 0)


@by_name
@over(seed=range(4))
def test_float32_is_close_to_float64(entry, seed):
    columns = dump(seed)
    half, full = (compute(entry, columns, dtype) for dtype in (torch.float32, torch.float64))
    largest = float(full.nan_to_num().abs().max())
    torch.testing.assert_close(half.double(), full, rtol=1e-3, atol=2e-5 * largest, equal_nan=True)


@by_name
def test_the_public_function_gives_the_same(entry):
    columns = dump(5, missing=0)
    given = {"lengths": columns["lengths"], "baselines": columns["baselines"], "weights": [1.0, 0.5]}
    given |= {name: columns[name].split(columns["tokens"].tolist()) for name in TOKEN_COLUMNS}
    if entry.level == "turn":
        given |= {
            "rollouts": columns["rollout"].tolist(),
            "turns": columns["turn"],
            "anchors": columns["anchor"],
        }
    result = compute_advantages(
        columns["parts"].numpy(),
        [f"prompt {label}" for label in columns["group"].tolist()],
        steps=columns["step"],
        estimator=entry.name,
        **given,
    )
    close(result.original, compute(entry, columns))
    assert torch.equal(result.kept, ~result.original.isnan())


@pytest.mark.gpu
@by_name
def test_cuda_equals_the_cpu(entry):
    columns = dump(6)
    close(compute(entry, columns, device="cuda"), compute(entry, columns))


@pytest.mark.parametrize("entry", OUTCOME, ids=lambda entry: entry.name)
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_the_scope_is_how_far_a_reward_is_felt(entry, scale):
    if entry.default_scale is None and scale != "none":
        pytest.skip("no scale to choose")
    scale = scale if entry.default_scale else None
    felt = set()
    for seed in range(4):
        columns = dump(seed, sizes=(4,) * 8, dead=(), missing=0)
        rows = columns["group"] == 0
        parts = columns["parts"].clone()
        parts[rows] = (parts[rows] == 0).double()
        other = columns | {"parts": parts, "rewards": parts @ columns["weights"]}
        moved = compute(entry, columns, scale=scale) != compute(entry, other, scale=scale)
        same = columns["step"] == columns["step"][rows][0]
        felt |= {"step"} if bool(moved[same & ~rows].any()) else set()
        assert not moved[~same].any()
    # What carries over from step to step does so where a group comes back, and none does here.
    crosses = entry.scope_at(scale) in ("step", "order") and entry.name not in CAPPED
    assert felt == ({"step"} if crosses else set())
