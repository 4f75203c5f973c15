"""An estimator that runs on parts, and asks for sums over all of them, gives what it gives on the whole."""

import math

import pandas as pd
import pytest
import torch

from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.estimators.catalog import ESTIMATORS
from advcli.records.settings import Settings
from advcli.tensors.partial import NeedsOrder, NeedsReduction, Reduction, merged, run_part
from advcli.tensors.segments import Segments

ROWS = 120


def columns() -> dict[str, torch.Tensor]:
    pick = torch.Generator().manual_seed(1)
    group = (torch.arange(ROWS) // 5)[torch.randperm(ROWS, generator=pick)]
    rewards = torch.rand(ROWS, generator=pick, dtype=torch.float64)
    rewards[group % 7 == 0] = 1.0
    rewards[5] = math.nan
    return {
        "rewards": rewards,
        "group": torch.from_numpy(pd.factorize(group.numpy())[0]),
        "step": torch.zeros(ROWS, dtype=torch.int64),
        "lengths": torch.randint(1, 50, (ROWS,), generator=pick).double(),
        "baselines": torch.rand(ROWS, generator=pick, dtype=torch.float64),
        "parts": torch.stack([rewards, rewards.flip(0)], dim=1),
        "weights": torch.tensor([1.0, 0.5], dtype=torch.float64),
    }


def places(whole: dict[str, torch.Tensor], many: int) -> list[tuple[torch.Tensor, dict[str, torch.Tensor]]]:
    """The rows of every third group, and so on; whole groups, numbered anew."""
    found = []
    for place in range(many):
        here = whole["group"] % many == place
        part = {name: column if name == "weights" else column[here] for name, column in whole.items()}
        part["group"] = torch.from_numpy(pd.factorize(part["group"].numpy())[0])
        found.append((here, part))
    return found


def spread_out(plan: Plan, whole: dict[str, torch.Tensor], many: int) -> tuple[torch.Tensor, int]:
    known: tuple[Reduction, ...] = ()
    for rounds in range(30):
        asked, found = [], torch.full((ROWS,), math.nan, dtype=torch.float64)
        for here, part in places(whole, many):
            try:
                found[here] = run_part(lambda part=part: run(plan, part), known, 1).processed
            except NeedsReduction as wanted:
                asked.append(wanted.asked)
        if not asked:
            return found, rounds
        known += merged(asked)
    raise AssertionError("it never ends")


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize("many", [1, 3])
@pytest.mark.parametrize(
    "name",
    [
        row.name
        for row in ESTIMATORS
        if row.level == "row" and not row.whole_steps and row.scope != "order" and "values" not in row.needs
    ],
)
def test_parts_give_what_the_whole_gives(name: str, scale: str, many: int):
    entry = ESTIMATORS[name]
    if entry.level == "token" or "log_probs" in entry.needs:
        return
    plan = Plan.of(Settings(estimator=name, scale=scale if entry.default_scale else None))
    whole = columns()
    expected = run(plan, whole).processed
    found, rounds = spread_out(plan, whole, many)
    assert (found.isnan() == expected.isnan()).all()
    assert (found - expected).abs().nan_to_num(0).max() <= 1e-12
    # A statistic of the step takes a round for each of its sums; within groups there is nothing to ask.
    crosses = "step" in entry.needs and plan.knobs.get("scale", "batch") == "batch"
    assert bool(rounds) == crosses


def test_an_order_within_a_step_is_known_nowhere():
    plan, whole = Plan.of(Settings(estimator="shrinkage")), columns()
    assert ESTIMATORS["shrinkage"].whole_steps
    with pytest.raises(NeedsOrder):
        spread_out(plan, whole, 3)


def test_a_mean_by_hand():
    step = torch.zeros(2, dtype=torch.int64)

    def mean() -> torch.Tensor:
        return Segments.batch(step).mean(torch.tensor([1.0, 3.0]))

    with pytest.raises(NeedsReduction) as wanted:
        run_part(mean, (), 1)
    # The sum of its own two rows first; those of the other place are 5 and 7.
    other = Reduction("sum", wanted.value.asked[0].values.new_tensor([2]))
    assert [one.how for one in wanted.value.asked] == ["sum"]
    assert merged([wanted.value.asked, [other]])[0].values.tolist() == [4]
    answers = [
        Reduction("sum", torch.tensor([4])),
        Reduction("sum", torch.tensor([16.0])),
        Reduction("sum", torch.tensor([0.0])),
    ]
    assert run_part(mean, answers, 1).tolist() == [4.0]


def test_largest_of_all_places():
    parts = [[Reduction("max", torch.tensor([1.0, 9.0]))], [Reduction("max", torch.tensor([4.0, 2.0]))]]
    assert merged(parts)[0].values.tolist() == [4.0, 9.0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda steps: steps.position(),
        lambda steps: steps.parent(torch.zeros(2)),
        lambda steps: steps.rank(torch.zeros(2)),
    ],
)
def test_no_place_knows_how_a_step_is_ordered(ask):
    with pytest.raises(NeedsOrder):
        run_part(lambda: ask(Segments.batch(torch.zeros(2, dtype=torch.int64))), [], 1)
