"""Device and dtype, knobs, and the call of an estimator on some of the rows."""

import math

import pytest
import torch

from advcli import compute_advantages
from advcli.common.errors import DataError, UsageError
from advcli.engine import dispatch
from advcli.engine.plan import Plan
from advcli.estimators.catalog import ESTIMATORS
from advcli.records.settings import Settings

GRPO, RLOO, GAE, REMAX, PKPO, OPO, GDPO = (
    ESTIMATORS[name] for name in ("grpo", "rloo", "gae", "remax", "pkpo", "opo", "gdpo")
)
REINFORCE = ESTIMATORS["reinforce_plus_plus"]


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


SCALED = ", ".join(row.name for row in ESTIMATORS if row.default_scale)


@pytest.mark.parametrize(
    ("entry", "scale", "given", "said", "about"),
    [
        (GRPO, "std", {}, "unknown scale 'std'; try group, batch or none", "scale"),
        (GAE, "group", {}, "gae has no scale 'group'; try --scale none or batch", "scale"),
        (REMAX, "group", {}, f"remax takes no scale; try no --scale, or one of {SCALED}", None),
        # Without a scale to choose it is no knob either.
        (REMAX, None, {"eps": 1.0}, "remax has no knob 'eps'", None),
        *(
            (RLOO, None, {name: 1.0}, f"rloo has no knob '{name}'; try ddof, eps or scale", None)
            for name in ("epsilon", "scale", "rewards", "group")
        ),
        (GRPO, None, {"eps": "tiny"}, "grpo: eps is 'tiny', expected a number", None),
        (GRPO, None, {"eps": True}, "grpo: eps is True, expected a number", None),
        (GRPO, None, {"eps": math.nan}, "grpo: eps is nan, expected a number", None),
        (GRPO, None, {"eps": -1.0}, "grpo: eps is -1, expected 0 or more", None),
        (GAE, None, {"lam": 1.5}, "gae: lam is 1.5, expected a number from 0 to 1", None),
        (GAE, None, {"lam": -0.5}, "gae: lam is -0.5, expected a number from 0 to 1", None),
        (PKPO, None, {"k": 1.5}, "pkpo: k is 1.5, expected a whole number", None),
        (PKPO, None, {"k": 2.0**31 + 1}, "pkpo: k is 2.14748e+09, expected at most 2,147,483,648", None),
    ],
)
def test_what_no_estimator_takes(entry, scale, given, said, about):
    with pytest.raises(UsageError) as caught:
        dispatch.knobs(entry, scale, given)
    assert str(caught.value) == said
    assert caught.value.about == about


@pytest.mark.parametrize("lam", [0, 1])
def test_the_ends_of_a_range_are_in_it(lam):
    assert dispatch.knobs(GAE, "none", {"lam": lam})["lam"] == lam
    assert dispatch.knobs(PKPO, None, {"k": 2.0**31})["k"] == 2**31
    assert dispatch.knobs(GRPO, None, {"eps": 0})["eps"] == 0


@pytest.mark.parametrize(
    ("name", "target", "given", "said"),
    [
        ("truncated", "truncated:truncated", {}, "truncated needs max; try truncated:max=…"),
        ("pods", "pods:pods", {"m": 0}, "pods: m is 0, expected 1 or more"),
        ("cppo", "cppo:cppo", {"x": 1}, "cppo has no knob 'x'; try keep or over"),
        ("cppo", "cppo:cppo", {"over": "row"}, "cppo: over is 'row'; try batch or group"),
    ],
)
def test_knobs_of_a_filter(name, target, given, said):
    with pytest.raises(UsageError) as caught:
        dispatch.fitted(name, f"advcli.filters.{target}", given)
    assert str(caught.value) == said


def test_knobs_get_the_types_that_the_function_declares():
    assert dispatch.fitted("pods", "advcli.filters.pods:pods", {"m": "1"}) == {"m": 1}
    assert dispatch.fitted("cppo", "advcli.filters.cppo:cppo", {"over": "group"}) == {"over": "group"}


def test_several_knobs_that_are_missing():
    with pytest.raises(UsageError) as caught:
        dispatch.fitted("x", f"{__name__}:two_knobs", {})
    assert str(caught.value) == "x needs a, b; try x:a=…"


def two_knobs(*, a: float, b: float) -> None:
    """For the test above: nothing in the catalogs lacks two."""


def test_options_are_numbers_but_for_knobs():
    given = {"form": "plain", "k": "2", "other": "0.5"}
    found = dispatch.options("x", PKPO.target, given)
    assert found == {"form": "plain", "k": 2, "other": 0.5}
    with pytest.raises(UsageError) as caught:
        dispatch.options("x", PKPO.target, {"other": "y"})
    assert str(caught.value) == "x: other is 'y', expected a number"


@pytest.mark.parametrize(
    ("given", "entry", "left"),
    [
        ({}, REINFORCE, {}),
        ({"gamma": 1}, REINFORCE, {}),
        ({"gamma": 1, "eps": 2}, REINFORCE, {"eps": 2}),
        ({"gamma": 0.5, "eps": 2}, REINFORCE.per_token, {"gamma": 0.5, "eps": 2}),
    ],
)
def test_a_discount_asks_for_the_form_with_tokens(given, entry, left):
    assert dispatch.form(REINFORCE, given) == (entry, left)
    assert dispatch.form(GRPO, {"gamma": 1}) == (GRPO, {"gamma": 1})


@pytest.mark.parametrize(
    ("entry", "columns", "said"),
    [
        (
            REMAX,
            ("rewards",),
            (
                "remax needs the greedy reward of each prompt, but there is no such column; "
                "try --baseline-col COL (in Python: baselines)"
            ),
        ),
        (
            GAE,
            ("rewards", "values", "step"),
            (
                "gae needs the tokens of each row, but there is no such column; "
                "try --length-col COL, or --values-col COL with a list per row (in Python: lengths)"
            ),
        ),
    ],
)
def test_a_column_that_is_not_there(entry, columns, said):
    with pytest.raises(DataError) as caught:
        dispatch.require(entry, dict.fromkeys(columns, torch.zeros(1)))
    assert str(caught.value) == said


def test_tokens_may_be_lists_or_lengths():
    for made in ("tokens", "lengths"):
        dispatch.require(GAE, dict.fromkeys(("rewards", "values", "step", made), torch.zeros(1)))


NAN = math.nan
GROUPED = {"group": torch.tensor([0, 0, -1, 1]), "rewards": torch.tensor([1.0, NAN, 1.0, 2.0])}


@pytest.mark.parametrize(
    ("entry", "more", "expected"),
    [
        (GRPO, {}, [1, 0, 0, 1]),
        # A column that it does not need may lack anything.
        (
            GRPO,
            {"lengths": torch.tensor([NAN, 1, 1, NAN]), "baselines": torch.tensor([NAN] * 4)},
            [1, 0, 0, 1],
        ),
        (OPO, {"lengths": torch.tensor([NAN, 1.0, 1.0, 3.0])}, [0, 0, 0, 1]),
        (REMAX, {"baselines": torch.tensor([1.0, 1.0, 1.0, NAN])}, [1, 0, 0, 0]),
        # One part of the reward is enough, and the sum is not looked at.
        (GDPO, {"parts": torch.tensor([[NAN, NAN], [NAN, 1.0], [1.0, 1.0], [1.0, NAN]])}, [0, 1, 0, 1]),
    ],
)
def test_rows_that_can_be_used(entry, more, expected):
    assert dispatch.usable(entry, {**GROUPED, **more}).tolist() == [bool(one) for one in expected]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, [1, 1, 1, 1, 1]),
        # Row 0 has no token, row 1 none that counts, row 2 an undefined value, row 3 one on a token that does not count.
        ({"tokens": torch.tensor([0, 1, 1, 2, 1])}, [0, 1, 1, 1, 1]),
        ({"mask": torch.tensor([1.0, 0.0, 1.0, 1.0, NAN])}, [1, 0, 1, 1, 0]),
        ({"values": torch.tensor([1.0, 1.0, NAN, 1.0, 1.0])}, [1, 1, 0, 1, 1]),
        (
            {
                "values": torch.tensor([1.0, NAN, 1.0, 1.0, 1.0]),
                "mask": torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0]),
            },
            [1, 0, 1, 1, 1],
        ),
        ({"token_kl": torch.tensor([1.0, NAN, 1.0, 1.0, NAN])}, [1, 0, 1, 1, 0]),
        (
            {
                "values": torch.tensor([NAN, 1.0, 1.0, 1.0, 1.0]),
                "token_kl": torch.tensor([1.0, 1.0, 1.0, 1.0, NAN]),
            },
            [0, 1, 1, 1, 0],
        ),
        # Not needed here.
        ({"log_probs": torch.tensor([NAN] * 5)}, [1, 1, 1, 1, 1]),
        ({"rewards": torch.tensor([1.0, 1.0, NAN, 1.0, 1.0])}, [1, 1, 0, 1, 1]),
        ({"group": torch.tensor([0, 0, 0, 0, -1])}, [1, 1, 1, 1, 0]),
    ],
)
def test_rows_that_can_be_used_with_their_tokens(more, expected):
    columns = {
        "group": torch.tensor([0, 0, 0, 0, 1]),
        "rewards": torch.ones(5),
        "tokens": torch.tensor([1, 1, 1, 1, 1]),
        "values": torch.ones(5),
        **more,
    }
    assert dispatch.usable(GAE, columns).tolist() == [bool(one) for one in expected]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        # The reward of the last turn is that of the whole rollout.
        ({}, [1, 1, 0, 0, 0]),
        ({"episode": torch.tensor([1.0, NAN, 1.0, NAN, 1.0])}, [1, 0, 1, 0, 0]),
    ],
)
def test_turns_that_can_be_used(more, expected):
    columns = {
        "group": torch.tensor([0, 0, 0, 0, -1]),
        "rollout": torch.tensor([3, 3, 4, 4, 5]),
        "rewards": torch.tensor([NAN, 1.0, NAN, NAN, 1.0]),
        **more,
    }
    entry = ESTIMATORS["mt_grpo"] if more else ESTIMATORS["turn_return"]
    assert dispatch.usable(entry, columns).tolist() == [bool(one) for one in expected]


@pytest.mark.parametrize(
    ("columns", "row", "counted"),
    [
        ({"lengths": torch.tensor([2.0, NAN, -1.0, 1.0])}, [0, 0, 3], [1, 1, 1]),
        # Lists go before lengths.
        ({"tokens": torch.tensor([0, 2]), "lengths": torch.tensor([5.0, 5.0])}, [1, 1], [1, 1]),
        ({"tokens": torch.tensor([3]), "mask": torch.tensor([1.0, 0.0, NAN])}, [0, 0, 0], [1, 0, 0]),
        ({"tokens": torch.tensor([2]), "mask": torch.tensor([0.5, -1.0])}, [0, 0], [1, 1]),
    ],
)
def test_the_tokens_of_all_rows(columns, row, counted):
    found = dispatch.token_rows(columns)
    assert [one.tolist() for one in found] == [row, [bool(one) for one in counted]]


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


@pytest.mark.parametrize(
    ("free", "why"),
    [
        (80e9, None),
        (1e9, "12,000,000 rows need more memory than the GPU has free"),
    ],
)
def test_why_the_cpu_is_taken_for_many_rows(monkeypatch, free, why):
    monkeypatch.setitem(dispatch._AVAILABLE, "cuda", lambda: True)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free, free))
    assert dispatch.on_cpu(rows_of(12_000_000)) == why
    # 0.3 s there, 0.496 s with CUDA.
    few = dispatch.on_cpu(rows_of(8_000_000), in_blocks=True)
    assert few == "it should finish first (0.2 s; CUDA takes 0.5 s including its start)"
