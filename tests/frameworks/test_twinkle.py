"""The twinkle classes against the numbers of the real package.

The numbers lie in data/twinkle.json; with ADVCLI_PARITY=live the installed package computes them anew.
"""

import importlib.metadata
import json
import os
import sys

import pytest
import torch
from frameworks.make_twinkle import CLASSES, FILE, PACKAGE, SCALES, VERSION, cases, inputs, twinkle_advantage

import advcli
from advcli import GRPOAdvantage, RLOOAdvantage

LIVE = os.environ.get("ADVCLI_PARITY") == "live"
RECORD = json.loads(FILE.read_text())


def reference():
    if not LIVE:
        return RECORD["cases"]
    assert importlib.metadata.version(PACKAGE) == VERSION
    with twinkle_advantage() as module:
        return list(cases(module))


def label(case):
    return "-".join(str(case[key]) for key in ("input", "class", "num_generations", "scale"))


CASES = reference()
numbers = [case for case in CASES if "advantages" in case]
errors = [case for case in CASES if "error" in case]


def call(case):
    rewards, dtype = inputs()[case["input"]]
    given = rewards if dtype is None else torch.tensor(rewards, dtype=getattr(torch, dtype))
    found = getattr(advcli, case["class"])()(
        given, num_generations=case["num_generations"], scale=case["scale"]
    )
    return given, found


def test_the_record_is_of_the_pinned_version_and_of_these_inputs():
    assert (RECORD["package"], RECORD["version"]) == (PACKAGE, VERSION)
    recorded = {name: (entry["rewards"], entry["dtype"]) for name, entry in RECORD["inputs"].items()}
    assert recorded == inputs()
    assert len(numbers) > 200
    assert {(case["class"], case["scale"]) for case in numbers} == {(c, s) for c in CLASSES for s in SCALES}
    assert {case["num_generations"] for case in errors if case["input"] == "page"} >= {-2, 0, 1, 3, 5, 16}


@pytest.mark.parametrize("case", numbers, ids=label)
def test_equals_the_package(case):
    given, found = call(case)
    assert str(found.dtype) == f"torch.{case['dtype']}"
    assert found.shape == (len(given),)
    expected = torch.tensor(case["advantages"], dtype=found.dtype)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", errors, ids=label)
def test_refuses_what_the_package_refuses(case):
    with pytest.raises(ValueError, match=r"num_generations is|cannot be divided into groups of"):
        call(case)


def test_the_package_is_loaded_without_its_init_and_not_left_behind(monkeypatch, tmp_path):
    (tmp_path / "twinkle" / "advantage").mkdir(parents=True)
    (tmp_path / "twinkle" / "__init__.py").write_text("raise ImportError('needs more packages')")
    (tmp_path / "twinkle" / "advantage" / "__init__.py").write_text("here = True")
    monkeypatch.syspath_prepend(tmp_path)
    with twinkle_advantage() as module:
        assert module.here
    assert not [name for name in sys.modules if name.split(".")[0] == "twinkle"]


# --- by hand ------------------------------------------------------------------------------------------


def test_the_page_of_twinkle_shows_the_centred_numbers():
    page = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert GRPOAdvantage()(page, 4, "none").tolist() == [-0.5, 0.5, -0.5, 0.5, 0.75, -0.25, -0.25, -0.25]
    divided = GRPOAdvantage()(page, 4).tolist()
    assert divided == pytest.approx([-(0.75**0.5), 0.75**0.5] * 2 + [1.5, -0.5, -0.5, -0.5], abs=1e-6)
    loo = RLOOAdvantage()(page, 4, "none").tolist()
    assert loo == pytest.approx([-2 / 3, 2 / 3, -2 / 3, 2 / 3, 1, -1 / 3, -1 / 3, -1 / 3], abs=1e-6)
    assert RLOOAdvantage()(page, 4)[4].item() == pytest.approx(2.0, abs=1e-6)


def test_batch_divides_by_the_std_of_the_raw_rewards():
    rewards = [1.0, 0.0, 10.0, 10.0]  # std 5.5
    assert GRPOAdvantage()(rewards, 2, "batch").tolist() == pytest.approx([1 / 11, -1 / 11, 0, 0], abs=1e-7)
    assert RLOOAdvantage()(rewards, 2, "batch").tolist() == pytest.approx([2 / 11, -2 / 11, 0, 0], abs=1e-7)


@pytest.mark.parametrize(
    ("scale", "expected"), [("group", [1.0, 4.0]), ("none", [-1.5, 1.5]), ("batch", [-(0.5**0.5), 0.5**0.5])]
)
def test_one_generation(scale, expected):
    assert GRPOAdvantage()([1.0, 4.0], scale=scale).tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("scale", "expected"), [("group", 0.5), ("none", 0.0), ("batch", 0.0)])
def test_one_generation_of_one_prompt(scale, expected):
    assert GRPOAdvantage()([0.5], scale=scale).tolist() == [expected]


def test_eps_is_1e_8_outside_the_root():
    rewards = torch.tensor([0.0, 2e-8], dtype=torch.float64)  # std is the root of 2 times 1e-8
    expected = pytest.approx([-1 / (2**0.5 + 1), 1 / (2**0.5 + 1)], rel=1e-9)
    assert GRPOAdvantage()(rewards, 2).tolist() == expected


@pytest.mark.parametrize("constant", [0.1, 0.9, 0.35])
@pytest.mark.parametrize("size", [7, 8])
def test_no_dead_group_is_looked_for(constant, size):
    # twinkle/advantage/grpo.py:57-63 line by line. Whether float32 gives a phantom depends on the CPU.
    grouped = torch.full((2, size), constant)
    expected = (grouped - grouped.mean(dim=1, keepdim=True)) / (grouped.std(dim=1, keepdim=True) + 1e-8)
    found = GRPOAdvantage()([constant] * (2 * size), size)
    torch.testing.assert_close(found, expected.view(-1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("cls", [GRPOAdvantage, RLOOAdvantage])
def test_takes_what_the_package_ignores_and_writes_to_no_input(cls):
    rewards = torch.tensor([[1.0, 2.0], [0.0, 1.0]])
    before = rewards.clone()
    cls()(rewards, num_generations=2, scale="group", trainer="any")
    assert torch.equal(rewards, before)


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        (GRPOAdvantage, {"num_generations": 0}, "num_generations is 0, expected 1 or more"),
        (RLOOAdvantage, {"num_generations": 1}, "num_generations is 1, expected 2 or more"),
        (RLOOAdvantage, {}, "num_generations is 1, expected 2 or more"),
        (GRPOAdvantage, {"num_generations": 3}, "4 rewards cannot be divided into groups of 3"),
        (RLOOAdvantage, {"num_generations": 8}, "4 rewards cannot be divided into groups of 8"),
        (
            GRPOAdvantage,
            {"num_generations": 2, "scale": "std"},
            "scale is 'std', expected one of group, batch, none",
        ),
    ],
)
def test_errors_say_what_was_expected(cls, arguments, message):
    with pytest.raises(ValueError, match=message):
        cls()([1.0, 0.0, 1.0, 0.0], **arguments)
