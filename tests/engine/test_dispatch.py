"""Device and dtype, knobs, and the call of an estimator on some of the rows."""

import pytest
import torch

from advcli import compute_advantages
from advcli.common.errors import UsageError
from advcli.engine import dispatch
from advcli.engine.plan import Plan
from advcli.estimators.catalog import ESTIMATORS
from advcli.records.settings import Settings

GRPO, RLOO = ESTIMATORS["grpo"], ESTIMATORS["rloo"]


def present(monkeypatch, **devices):
    monkeypatch.setattr(
        dispatch, "_AVAILABLE", {name: lambda there=there: there for name, there in devices.items()}
    )


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_auto_is_the_cpu_in_float64(monkeypatch, device):
    present(monkeypatch, cpu=True, cuda=True, mps=True)
    assert dispatch.pick(device) == (torch.device("cpu"), torch.float64)


@pytest.mark.parametrize(("device", "dtype"), [("cuda", torch.float64), ("mps", torch.float32)])
def test_a_device_that_is_there(monkeypatch, device, dtype):
    present(monkeypatch, cpu=True, cuda=True, mps=True)
    assert dispatch.pick(device) == (torch.device(device), dtype)


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there(monkeypatch, device):
    present(monkeypatch, cpu=True, cuda=False, mps=False)
    with pytest.raises(
        UsageError, match=f"device '{device}' is not available on this machine; try --device cpu"
    ):
        dispatch.pick(device)


def test_no_such_device():
    with pytest.raises(UsageError, match="unknown device 'gpu'; try auto, cpu, cuda or mps"):
        dispatch.pick("gpu")


@pytest.mark.parametrize(
    ("entry", "scale", "given", "expected"),
    [
        (GRPO, None, {}, {"scale": "group"}),
        (RLOO, None, {}, {"scale": "none"}),
        (RLOO, "batch", {"eps": 0.5}, {"scale": "batch", "eps": 0.5}),
        (GRPO, "none", {"ddof": 0, "eps": 1e-6}, {"scale": "none", "ddof": 0, "eps": 1e-6}),
        (ESTIMATORS["pkpo"], None, {"k": 3.0, "form": "plain"}, {"k": 3, "form": "plain"}),
    ],
)
def test_knobs(entry, scale, given, expected):
    assert dispatch.knobs(entry, scale, given) == expected


def test_no_such_scale():
    with pytest.raises(UsageError, match="unknown scale 'std'; try group, batch or none"):
        dispatch.knobs(GRPO, "std", {})


@pytest.mark.parametrize("name", ["epsilon", "scale", "rewards", "group"])
def test_no_such_knob(name):
    with pytest.raises(UsageError, match=f"rloo has no knob '{name}'; try ddof, eps or scale"):
        dispatch.knobs(RLOO, None, {name: 1.0})


def test_rows_that_take_no_part_do_not_count_and_are_undefined():
    columns = {
        "step": torch.tensor([0, 0, 0, 0, 0]),
        "group": torch.tensor([5, 5, 5, -1, 5]),
        "rewards": torch.tensor([0.0, 2.0, torch.nan, 9.0, 4.0], dtype=torch.float64),
        "unused": torch.tensor([0.0]),
    }
    rows = torch.tensor([True, True, False, False, True])
    found = dispatch.estimate(GRPO, columns, rows, scale="none")
    assert found.dtype == torch.float64
    torch.testing.assert_close(
        found, torch.tensor([-2.0, 0.0, torch.nan, torch.nan, 2.0], dtype=torch.float64), equal_nan=True
    )


def test_all_rows_and_knobs_are_passed_on():
    columns = {name: torch.tensor([0, 0, 0, 0]) for name in ("group", "step")}
    columns["rewards"] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    everyone = torch.ones(4, dtype=torch.bool)
    found = dispatch.estimate(GRPO, columns, everyone, scale="group", ddof=0)
    assert found.tolist() == pytest.approx([3**0.5, *[-(3**-0.5)] * 3], rel=1e-6)
    assert found.dtype == torch.float32


@pytest.mark.gpu
@pytest.mark.parametrize("layout", ["blocks", "shuffled", "ragged"])
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize("estimator", ["grpo", "rloo"])
def test_cuda_equals_the_cpu(estimator, scale, layout):
    random = torch.Generator().manual_seed(7)
    rewards = torch.randint(0, 9, (4096,), generator=random) * 0.1 + 0.05
    rewards[::97] = torch.nan
    groups = torch.arange(4096) // 8
    if layout == "shuffled":
        groups = groups[torch.randperm(4096, generator=random)]
    if layout == "ragged":
        groups = torch.randint(0, 700, (4096,), generator=random)
    both = [
        compute_advantages(
            rewards,
            groups,
            steps=groups // 64,
            estimator=estimator,
            scale=scale,
            keep_pos=0.7,
            keep_neg=0.29,
            compute_new_adv=estimator == "grpo",
            device=device,
        )
        for device in ("cpu", "cuda")
    ]
    assert both[0].warnings == both[1].warnings
    assert torch.equal(both[0].kept, both[1].kept)
    for name in ("original", "processed"):
        cpu, cuda = (getattr(result, name) for result in both)
        assert cuda.device.type == "cpu"
        torch.testing.assert_close(cuda, cpu, rtol=1e-12, atol=1e-12, equal_nan=True)
    # Sums over scattered rows come in another order each time, so a row on the mean may be 0 or nearly; a dead group is 0.
    dead = torch.tensor(
        [rewards[groups == g].nan_to_num(nan=9.9).unique().numel() == 1 for g in groups.tolist()]
    )
    assert all((found.original[dead].nan_to_num() == 0).all() for found in both)


@pytest.mark.gpu
def test_cuda_tensors_are_taken_and_dead_groups_are_exactly_zero():
    rewards = torch.tensor([0.1] * 8 + [0.9] * 8 + [0.0, 1.0], dtype=torch.float64, device="cuda")
    groups = torch.tensor([0] * 8 + [1] * 8 + [2] * 2, device="cuda")
    result = compute_advantages(rewards, groups, device="cuda")
    assert result.original[:16].tolist() == [0.0] * 16
    assert result.original[16:].tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5], rel=1e-12)


def rows_of(many, *, shuffled=False):
    group = torch.arange(many) // 8
    return {"group": group.flip(0) if shuffled else group, "rewards": torch.zeros(many)}


@pytest.mark.parametrize(
    ("rows", "shuffled", "in_blocks", "threads", "free", "chosen"),
    [
        (1_000_000, True, False, 2, 80e9, "cpu"),  # 0.15 s there, and CUDA has not started by then
        (12_000_000, False, False, 2, 80e9, "cuda"),  # 0.72 s or 0.54 s
        (8_000_000, False, True, 2, 80e9, "cpu"),  # 0.17 s
        (8_000_000, False, False, 16, 80e9, "cpu"),  # 0.22 s
        (8_000_000, True, False, 16, 80e9, "cuda"),  # 1.07 s
        (8_000_000, True, False, 16, 1e9, "cpu"),  # needs 1.2 GB
        (8_000_000, True, True, 2, 80e9, "cuda"),  # 0.73 s or 0.5 s
        (30_000_000, False, True, 16, 80e9, "cpu"),  # 0.46 s or 0.76 s
    ],
)
def test_auto_takes_what_is_done_first(monkeypatch, rows, shuffled, in_blocks, threads, free, chosen):
    monkeypatch.setitem(dispatch._AVAILABLE, "cuda", lambda: True)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free, free))
    assert dispatch.quicker(rows_of(rows, shuffled=shuffled), in_blocks=in_blocks).type == chosen


def test_nobody_asks_for_cuda_where_the_cpu_is_done_first(monkeypatch):
    monkeypatch.setitem(dispatch._AVAILABLE, "cuda", lambda: pytest.fail("asked"))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert dispatch.quicker(rows_of(3_000_000, shuffled=True), in_blocks=True).type == "cpu"


def test_auto_without_cuda_is_the_cpu(monkeypatch):
    monkeypatch.setitem(dispatch._AVAILABLE, "cuda", lambda: False)
    assert dispatch.quicker(rows_of(8_000_000)).type == "cpu"


def test_a_framework_stays_on_the_cpu(monkeypatch):
    monkeypatch.setattr(dispatch, "quicker", lambda columns, in_blocks: torch.device("meta"))
    columns = rows_of(8)
    assert Plan.of(Settings()).at(columns).device.type == "meta"
    assert Plan.of(Settings(device="cpu")).at(columns).device.type == "cpu"
    assert Plan.of(Settings(like="verl", estimator="grpo")).at(columns).device.type == "cpu"
