"""Some whole groups at a time: what is computed is what all rows at once give, wherever the cuts fall."""

import gc
import random
import threading

import pytest
import torch
from repeated import over

from advcli.engine import run
from advcli.engine.plan import Plan
from advcli.records.settings import AdvantageTable, Settings
from advcli.records.table import Rows
from advcli.stats import comparison
from advcli.stats.comparison import Measured
from advcli.stats.health import health
from advcli.tensors import group_ranges
from advcli.tensors.group_ranges import Ranges


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Ranges of a few rows, for any number of rows."""
    monkeypatch.setattr(group_ranges, "_MANY", 1)
    monkeypatch.setattr(group_ranges, "_ROWS", 7)
    monkeypatch.setattr(group_ranges, "_latest", None)


def rows_of(seed, *, shuffled):
    """Groups of 1 to 9 rows, with missing and equal rewards."""
    chance = random.Random(seed)
    sizes = [8] * 12 if seed % 3 == 0 else [chance.randint(1, 9) for _ in range(15)]
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    rewards = [chance.choice([0.0, 1.0, 0.25, chance.random(), float("nan")]) for _ in group]
    if shuffled:
        chance.shuffle(group)
    return torch.tensor(rewards, dtype=torch.float64), torch.tensor(group)


@pytest.mark.parametrize("shuffled", [False, True])
@over(seed=range(20))
def test_every_range_is_of_whole_groups_and_every_row_in_one(seed, shuffled):
    rewards, group = rows_of(seed, shuffled=shuffled)
    cut = Ranges.of(group)
    laid, numbers = cut.gather(rewards), cut.gather(group)
    seen = cut.map(lambda place, part: (place, part))
    assert [place.start for place, _ in seen] == [0, *(place.stop for place, _ in seen[:-1])]
    assert seen[-1][0].stop == len(group)
    owners = [set(numbers[place].tolist()) for place, _ in seen]
    assert sum(map(len, owners)) == len(set(group.tolist()))
    for place, part in seen:
        assert part.tolist() == (numbers[place] - numbers[place][0]).tolist()
        assert part.tolist()[0] == 0
    torch.testing.assert_close(cut.scatter(laid), rewards, rtol=0, atol=0, equal_nan=True)
    # The rows of a group keep their order.
    for number in set(group.tolist()):
        expected = rewards[group == number]
        torch.testing.assert_close(laid[numbers == number], expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("shuffled", [False, True])
@over(seed=range(12))
def test_statistics_are_those_of_all_rows_at_once(seed, shuffled, monkeypatch):
    rewards, group = rows_of(seed, shuffled=shuffled)
    lengths = torch.arange(len(group)).double() if seed % 2 else None
    rows = Rows(rewards, group, int(group.max()) + 1, torch.zeros_like(group), lengths)
    result = run._run(
        Plan.of(Settings(keep_pos=0.5, keep_neg=0.5)),
        {"rewards": rewards, "group": group, "step": rows.step},
    )
    cause = (rewards.isnan() * 2).to(torch.int8)

    def told():
        tables = (
            result,
            result.unprocessed(),
            AdvantageTable(result.original, -result.original, result.kept),
        )
        columns = [comparison.measured(rows, result.original, table) for table in tables]
        return columns, health(rows, cause, {1: 1})

    cut, cut_health = told()
    monkeypatch.setattr(group_ranges, "_MANY", 1 << 60)
    whole, whole_health = told()
    assert cut_health == whole_health
    for one, other in zip(cut, whole, strict=True):
        assert isinstance(one, Measured)
        assert flat(one) == pytest.approx(flat(other), rel=1e-12, nan_ok=True)


def flat(measured):
    """All numbers of what was measured."""
    tally = measured.tally
    moments = [*vars(tally.moments).values(), *(vars(tally.tokens).values() if tally.tokens else [])]
    others = [value for name, value in vars(measured).items() if name not in ("tally", "together")]
    return [
        *moments,
        *vars(measured.together).values(),
        tally.sum_abs,
        tally.positive,
        tally.zero,
        tally.negative,
        *others,
    ]


def test_rows_without_a_group_come_first_and_keep_having_none(monkeypatch):
    monkeypatch.setattr(group_ranges, "_ROWS", 2)
    cut = Ranges.of(torch.tensor([1, -1, 0, 0, 1, -1]))
    assert cut.order.tolist() == [1, 5, 2, 3, 0, 4]
    assert cut.map(lambda place, group: group.tolist()) == [[-1, -1], [0, 0], [0, 0]]


def test_few_rows_are_not_cut(monkeypatch):
    monkeypatch.setattr(group_ranges, "_MANY", 4)
    assert Ranges.of(torch.tensor([0, 0, 1])) is None


def test_the_same_groups_are_cut_once_and_let_go_with_them():
    group = torch.tensor([1, 0, 1, 0])
    first = Ranges.of(group)
    assert Ranges.of(group) is first
    assert Ranges.of(group.clone()) is not first
    group = torch.tensor([0, 0, 1])
    Ranges.of(group)
    del group
    gc.collect()
    assert group_ranges._latest is None


@pytest.mark.parametrize("fails", [False, True])
def test_each_range_is_one_thread_s_and_torch_keeps_its_threads(fails):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    cut = Ranges.of(torch.arange(200) // 2)

    def work(place, group):
        if fails and place.start:
            raise ValueError(place)
        return threading.get_ident(), torch.get_num_threads()

    try:
        if fails:
            with pytest.raises(ValueError, match="slice"):
                cut.map(work)
        else:
            assert {threads for _, threads in cut.map(work)} == {1}
            assert threading.get_ident() not in {ident for ident, _ in cut.map(work)}
        later = threading.Thread(target=lambda: told.append(torch.get_num_threads()))
        told = [torch.get_num_threads()]
        later.start()
        later.join()
        assert told == [3, 3]
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("far", [0, 1 << 31, 1 << 40])
def test_rows_are_ordered_by_group_whatever_the_numbers(far):
    chance = random.Random(far)
    numbers = [chance.choice([-1, 0, 3, 5, far, far + 1]) for _ in range(200)]
    cut = Ranges.of(torch.tensor(numbers))
    assert cut.order.tolist() == sorted(range(200), key=lambda row: (numbers[row], row))
    laid = [number for place, part in cut.map(lambda place, part: (place, part)) for number in part.tolist()]
    assert [number < 0 for number in laid] == [number < 0 for number in sorted(numbers)]


def test_what_is_kept_everywhere_is_kept_wherever_rows_lie():
    rewards, group = rows_of(1, shuffled=True)
    rewards = torch.where(rewards.isnan(), 0.5, rewards)
    for left_out in (False, True):
        rewards = rewards.clone()
        rewards[3] = torch.nan if left_out else 0.5
        columns = {"rewards": rewards, "group": group, "step": torch.zeros_like(group)}
        plan = Plan.of(Settings(singleton="zero"))
        found = run.run(plan, columns)
        plain = run._run(plan, columns)
        assert found.kept.tolist() == plain.kept.tolist()
        assert found.kept.all().item() is not left_out
        torch.testing.assert_close(found.original, plain.original, rtol=0, atol=1e-15, equal_nan=True)
