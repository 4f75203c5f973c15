"""krpo and spo: numbers of the authors' code and of the paper's formulas, and what the order does."""

import math

import pytest
import torch

from advcli import compute_advantages
from advcli.engine.plan import Plan
from advcli.records.settings import Settings


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        # What the repository of KRPO gave.
        ([1, 0, 0, 0], [0.0995, -7.0481, -5.7514, -4.9725]),
        ([0, 0, 0, 1], [0, 0, 0, 14.9873]),
        ([1, 1, 1, 1], [0.0995, 0.0705, 0.0575, 0.0497]),
    ],
)
def test_krpo_gives_the_noted_numbers(rewards, expected):
    assert compute_advantages(rewards, [0] * 4, estimator="krpo").original.tolist() == pytest.approx(
        expected, abs=5e-5
    )


def test_krpo_of_a_group_of_one_is_undefined():
    assert math.isnan(compute_advantages([1.0], [0], estimator="krpo").original[0])


def test_spo_follows_a_prompt_over_its_steps():
    # Step 1: baselines ½ and ½. Then p has α, β = 0.9·½ + 1, 0.9·½ and q the reverse: means 1.45/1.9 and 0.45/1.9.
    found = compute_advantages(
        [1, 0, 1, 1], ["p", "q", "p", "q"], steps=[1, 1, 2, 2], estimator="spo", rho=0.9
    ).original
    half = 0.5**0.5
    assert found.tolist() == pytest.approx([half, -half, -half, half])
    three = compute_advantages(
        [1, 0, 1, 1, 1, 0], list("pqrpqr"), steps=[1, 1, 1, 2, 2, 2], estimator="spo", rho=0.9
    ).original[3:]
    centred = torch.tensor([1 - 1.45 / 1.9, 1 - 0.45 / 1.9, -1.45 / 1.9], dtype=torch.float64)
    torch.testing.assert_close(three, (centred - centred.mean()) / centred.std())


def test_spo_needs_all_rows_at_once():
    assert Plan.of(Settings("spo")).reach() == "all"
    assert Plan.of(Settings("krpo")).reach() == "step"


def test_spo_of_one_row_and_of_equal_rows():
    assert compute_advantages([1.0], ["p"], estimator="spo").original.tolist() == [0]
    assert compute_advantages([1.0, 1.0], ["p", "q"], estimator="spo").original.tolist() == [0, 0]


@pytest.mark.parametrize("given", [{"estimator": "spo"}, {"like": "verl-recipe", "estimator": "spo"}])
def test_prompts_that_never_come_back_are_said(given):
    steps, message = [1, 1, 2, 2], "no prompt occurs in two steps"
    said = compute_advantages([1, 0, 1, 0], list("abcd"), steps=steps, **given).warnings
    assert len(said) == 1
    assert message in said[0]
    assert "name the prompt alone in --group-by" in said[0]
    assert not compute_advantages([1, 0, 1, 0], list("abac"), steps=steps, **given).warnings
    assert not compute_advantages([1, 0, 1, 0], list("abcd"), **given).warnings
