"""The public function: golden cases, worked examples, rules, laws, and what it refuses."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import references
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from advcli import DataError, UsageError, compute_advantages
from advcli.engine import run as engine
from advcli.filters.catalog import filter_spec
from advcli.records.settings import Settings

GOLDEN_FILE = Path(__file__).parents[1] / "data" / "golden" / "keep_ratio.jsonl"
GOLDEN = [json.loads(line) for line in GOLDEN_FILE.read_text().splitlines()]
NAN, INF = math.nan, math.inf
FIVE = [0.1, 0.5, 0.9, 1.3, 1.7]
ONE = [0] * 5


def close(tensor, expected, tolerance=1e-12):
    torch.testing.assert_close(
        tensor, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=tolerance, equal_nan=True
    )


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['case']}-{case['kind']}")
def test_golden_file(case):
    result = compute_advantages(
        case["reward"],
        case["prompt_id"],
        keep_pos=case["keep_pos"],
        keep_neg=case["keep_neg"],
        compute_new_adv=case["compute_new_adv"],
    )
    close(result.original, case["original"], 1e-5)
    close(result.processed, case["processed"], 1e-5)
    assert result.kept.tolist() == case["kept"]


def test_golden_file_is_whole():
    assert [case["case"] for case in GOLDEN] == list(range(150))


def test_worked_example():
    close(compute_advantages(FIVE, ONE).original, [-1.265, -0.632, 0.0, 0.632, 1.265], 5e-4)
    result = compute_advantages(FIVE, ONE, keep_neg=0, compute_new_adv=True)
    close(result.processed, [0, 0, -1, 0, 1])
    assert result.kept.tolist() == [False, False, True, True, True]
    assert not result.warnings


@pytest.mark.parametrize(
    ("estimator", "scale", "expected"),
    [
        ("grpo", "none", [-0.5, 0.5, -0.5, 0.5, 0.75, -0.25, -0.25, -0.25]),
        ("rloo", None, [-2 / 3, 2 / 3, -2 / 3, 2 / 3, 1, -1 / 3, -1 / 3, -1 / 3]),
        ("grpo", None, [-(0.75**0.5), 0.75**0.5, -(0.75**0.5), 0.75**0.5, 1.5, -0.5, -0.5, -0.5]),
    ],
)
def test_two_groups_of_four(estimator, scale, expected):
    rewards, groups = [0, 1, 0, 1, 1, 0, 0, 0], ["a"] * 4 + ["b"] * 4
    close(compute_advantages(rewards, groups, estimator=estimator, scale=scale).original, expected)


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize("estimator", ["grpo", "rloo"])
def test_dead_groups_are_exactly_zero_and_kept(estimator, scale):
    result = compute_advantages(
        [0.1] * 8 + [0.9] * 8, [0] * 8 + [1] * 8, estimator=estimator, scale=scale, keep_pos=0, keep_neg=0
    )
    assert result.original.tolist() == result.processed.tolist() == [0.0] * 16
    assert result.kept.all()


def test_result_is_float64_on_the_cpu():
    result = compute_advantages(torch.tensor([0, 1], dtype=torch.int32), torch.tensor([3, 3]))
    assert (result.original.dtype, result.processed.dtype) == (torch.float64, torch.float64)
    assert (result.kept.dtype, result.kept.device.type) == (torch.bool, "cpu")


# --- rows without a reward, groups of one -------------------------------------------------------------


@pytest.mark.parametrize("hole", [None, NAN, INF, -INF])
@pytest.mark.parametrize(("rule", "fill", "kept"), [("null", NAN, False), ("zero", 0.0, True)])
def test_missing(hole, rule, fill, kept):
    result = compute_advantages(
        [0, hole, 2, 4, 7], [0] * 4 + [1], missing=rule, singleton="raw", scale="none"
    )
    close(result.original, [-2, fill, 0, 2, 7])
    close(result.processed, [-2, fill, 0, 2, 7])
    assert result.kept.tolist() == [True, kept, True, True, True]


def test_missing_is_out_of_the_batch_too():
    close(
        compute_advantages([0, 2, NAN, INF], [0, 0, 0, 1], scale="batch").original,
        [-(0.5**0.5), 0.5**0.5, NAN, NAN],
    )


def test_missing_is_an_error_if_asked():
    message = r"2 rewards are missing \(first: row 2\), expected a finite number; try --missing null or zero"
    with pytest.raises(DataError, match=message):
        compute_advantages([0, None, 2, INF], [0] * 4, missing="error")
    assert compute_advantages([0, 1], [0, 0], missing="error").kept.all()


def test_missing_rows_kept_as_zero_stay_out_of_the_recomputation():
    result = compute_advantages([0, NAN, 2, 4], [0] * 4, missing="zero", keep_neg=0, compute_new_adv=True)
    close(result.processed, [0, 0, -(0.5**0.5), 0.5**0.5])
    assert result.kept.tolist() == [False, True, True, True]


@pytest.mark.parametrize("estimator", ["grpo", "rloo"])
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize(
    ("rule", "fill", "kept"), [("null", NAN, False), ("zero", 0.0, True), ("raw", 0.7, True)]
)
def test_singleton(estimator, scale, rule, fill, kept):
    # The second group has two rows, but only one of them is valid.
    rewards, groups = [0, 0.7, 1, 0.7, None], ["a", "b", "a", "c", "c"]
    result = compute_advantages(rewards, groups, estimator=estimator, scale=scale, singleton=rule)
    assert result.original[0] < 0 < result.original[2]
    close(result.original[[1, 3, 4]], [fill, fill, NAN])
    close(result.processed[[1, 3, 4]], [fill, fill, NAN])
    assert result.kept.tolist() == [True, kept, True, kept, False]


def test_singleton_is_an_error_if_asked():
    message = (
        r"2 groups have one valid row \(first: row 2\), expected two or more; try --singleton null, zero"
    )
    with pytest.raises(DataError, match=message):
        compute_advantages([0, 0.7, 1, 0.7, None], ["a", "b", "a", "c", "c"], singleton="error")
    assert compute_advantages([0, 1], [0, 0], singleton="error").kept.all()


def test_nothing_valid():
    result = compute_advantages([None, NAN], [0, 0])
    assert result.original.isnan().all()
    assert result.processed.isnan().all()
    assert not result.kept.any()


def test_no_rows():
    result = compute_advantages([], [])
    assert [len(part) for part in (result.original, result.processed, result.kept)] == [0, 0, 0]


# --- keep ratios and recomputation --------------------------------------------------------------------


def test_filtered_rows_are_zero_and_kept_rows_unchanged():
    rewards, groups = [1, 2, 3, 10, 0, 9, 4, 4], [0, 0, 0, 0, 1, 1, 1, 1]
    plain = compute_advantages(rewards, groups)
    result = compute_advantages(rewards, groups, keep_pos=0.5, keep_neg=0.34)
    assert result.kept.tolist() == [True, False, False, True, True, True, False, False]
    assert torch.equal(result.original, plain.original)
    close(
        result.processed,
        [a if k else 0.0 for a, k in zip(plain.original.tolist(), result.kept, strict=True)],
        0,
    )


@pytest.mark.parametrize(
    ("scale", "divisors"), [("none", (1, 1)), ("group", (19**0.5, 37**0.5)), ("batch", (25.1**0.5,) * 2)]
)
def test_recompute_by_hand(scale, divisors):
    # Means 5.2 and 7.8. Half of the positives is one row, int(3 * 0.7) of the negatives two.
    # Kept are 2 3 10 (mean 5, squares 9 4 25) and 4 5 15 (mean 8, squares 16 9 49); together they have
    # mean 6.5 and squares 20.25 12.25 12.25 6.25 2.25 72.25, in sum 125.5.
    rewards, groups = [2, 4, 3, 7, 10, 4, 5, 9, 6, 15], [0] * 5 + [1] * 5
    result = compute_advantages(
        rewards, groups, scale=scale, keep_pos=0.5, keep_neg=0.7, compute_new_adv=True
    )
    first, second = divisors
    expected = [-3 / first, 0, -2 / first, 0, 5 / first, -4 / second, -3 / second, 0, 0, 7 / second]
    close(result.processed, expected)
    assert result.kept.tolist() == [part != 0 for part in expected]
    assert not result.warnings


@pytest.mark.parametrize("scale", ["group", "batch"])
def test_recompute_leaves_a_raw_singleton_but_counts_it_in_the_batch(scale):
    result = compute_advantages(
        [0, 1, 3, 8], [0, 0, 0, 1], scale=scale, keep_pos=0, compute_new_adv=True, singleton="raw"
    )
    assert result.kept.tolist() == [True, True, False, False]
    close(result.processed, [-0.5 / 0.5**0.5, 0.5 / 0.5**0.5, 0, 0])
    result = compute_advantages(
        [0, 1, 3, 8], [0, 0, 0, 1], scale=scale, keep_neg=0.5, compute_new_adv=True, singleton="raw"
    )
    divisor = references.std([0, 3]) if scale == "group" else references.std([0, 3, 8])
    close(result.processed, [-1.5 / divisor, 0, 1.5 / divisor, 8])


def test_recompute_with_fewer_than_two_kept_keeps_the_original():
    rewards, groups = [0, 1, 0, 0, 1, 1], ["a", "a", "b", "b", "b", "b"]
    result = compute_advantages(rewards, groups, keep_pos=0.5, keep_neg=0, compute_new_adv=True)
    root = 0.5**0.5
    assert result.kept.tolist() == [False, True, False, False, True, False]
    close(result.processed, [0, root, 0, 0, 0.75**0.5, 0])
    assert result.warnings == ("Not enough samples to compute std: 2 groups",)


def test_recompute_counts_groups_that_lost_every_row_but_no_singletons():
    rewards, groups = [0, 1, 5, None, 0, 1, 2], ["a", "a", "b", "b", "c", "c", "c"]
    result = compute_advantages(
        rewards, groups, keep_pos=0, keep_neg=0, compute_new_adv=True, singleton="zero", missing="zero"
    )
    assert result.kept.tolist() == [False, False, True, True, False, True, False]
    assert result.processed.tolist() == [0.0] * 7
    assert result.warnings == ("Not enough samples to compute std: 2 groups",)


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_recompute_gives_zero_where_all_kept_are_equal(scale):
    result = compute_advantages(
        [0.1, 0.7, 0.7, 0.7, 0.2], [0] * 5, scale=scale, keep_neg=0, compute_new_adv=True
    )
    assert result.kept.tolist() == [False, True, True, True, False]
    assert result.processed.tolist() == [0.0] * 5
    assert not result.warnings


def test_recompute_has_no_effect_with_both_ratios_one():
    plain = compute_advantages(FIVE, ONE)
    result = compute_advantages(FIVE, ONE, compute_new_adv=True)
    assert torch.equal(result.processed, plain.original)
    assert result.warnings == ("--compute-new-adv has no effect: both keep ratios are 1",)
    assert plain.warnings == ()


def test_recompute_with_one_ratio_one_has_an_effect():
    result = compute_advantages([0, 1, 2, 9], [0] * 4, keep_neg=0.5, compute_new_adv=True)
    close(result.processed, [-(0.5**0.5), 0, 0, 0.5**0.5])
    assert not result.warnings


def test_recompute_follows_the_knobs():
    result = compute_advantages([0, 1, 2, 9], [0] * 4, keep_neg=0.5, compute_new_adv=True, ddof=0, eps=1.5)
    close(result.processed, [-4.5 / 6, 0, 0, 4.5 / 6])


# --- what may be passed -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "groups",
    [
        ["a", "b", "a", "b"],
        ("a", "b", "a", "b"),
        "abab",
        [("p", 1), ("p", 2), ("p", 1), ("p", 2)],
        [("p",), ("p", 2), ("p",), ("p", 2)],
        [1, "1", 1, "1"],
        [0.2, 0.9, 0.2, 0.9],
        [7**40, 7**40 + 1, 7**40, 7**40 + 1],
        ["00000000000000000000000000000000003", "0000000000000000000000000000000013"] * 2,
        [frozenset([1]), frozenset([2])] * 2,
        np.array(["a", "b", "a", "b"]),
        np.array([2**63 + 1, 2**63 + 2, 2**63 + 1, 2**63 + 2], dtype=np.uint64),
        np.array([-1, -2, -1, -2]),
        pd.Series(["a", "b", "a", "b"], index=[9, 9, 2, 1]),
        pd.Series(["a", "b", "a", "b"], dtype="category"),
        torch.tensor([2**53, 2**53 + 1, 2**53, 2**53 + 1]),
        torch.tensor([True, False, True, False]),
    ],
    ids=lambda groups: type(groups).__name__,
)
def test_groups_may_be_any_hashable(groups):
    close(compute_advantages([1, 30, 3, 10], groups, scale="none").original, [-1, 10, 1, -10])


@pytest.mark.parametrize(
    "rewards",
    [
        [1, None, 3.0, 8],
        (1.0, NAN, 3, 8),
        ["1", "nan", "3.0", "8e0"],
        np.array([1, NAN, 3, 8], dtype=np.float32),
        pd.Series([1, None, 3, 8], index=[3, 1, 2, 0]),
        pd.Series([1, None, 3, 8], dtype="Int64"),
        torch.tensor([1, NAN, 3, 8], dtype=torch.bfloat16),
        torch.tensor([1, NAN, 3, 8], requires_grad=True),
        np.array([[1], [None], [3], [8]]),
        pd.DataFrame({"a": [1, None, 3, 8]}),
        torch.tensor([[1, 0, 0], [0, NAN, 0], [1, 1, 1], [9, -2, 1]]),
    ],
    ids=lambda rewards: type(rewards).__name__,
)
def test_rewards_may_be_any_numbers(rewards):
    close(compute_advantages(rewards, [0] * 4, scale="none").original, [-3, NAN, -1, 4])


@pytest.mark.parametrize(
    ("weights", "totals"),
    [(None, [11, 20, 2]), ([1, 1], [11, 20, 2]), ([2, 0.5], [7, 10, 4]), ([0, -1], [-10, -20, 0])],
)
def test_parts_are_summed_with_weights(weights, totals):
    parts = np.array([[1, 10], [0, 20], [2, 0]])
    expected = references.grpo(totals, [0] * 3)
    close(compute_advantages(parts, [0] * 3, weights=weights).original, expected)
    if weights is not None:
        # The weights say that each row has that many parts.
        close(compute_advantages(parts.tolist(), [0] * 3, weights=weights).original, expected)


def test_a_row_that_lacks_a_part_is_missing():
    result = compute_advantages(np.array([[1, NAN], [0, 1], [3, 0]]), [0] * 3, scale="none")
    close(result.original, [NAN, -1, 1])


@pytest.mark.parametrize("steps", [["x", "x", "y", "y"], np.array([5, 5, 1, 1]), torch.tensor([5, 5, 1, 1])])
def test_the_batch_is_a_step(steps):
    rewards, groups, root = [0, 2, 0, 20], [0, 0, 1, 1], 0.5**0.5
    close(compute_advantages(rewards, groups, scale="batch", steps=steps).original, [-root, root] * 2)
    whole = references.std(rewards)
    close(
        compute_advantages(rewards, groups, scale="batch").original,
        [-1 / whole, 1 / whole, -10 / whole, 10 / whole],
    )


COLUMNS = {"prompt": ["a", "a", "b", "b", "a"], "epoch": [1, 1, 1, 2, 2]}


@pytest.mark.parametrize(
    "groups",
    [
        pd.DataFrame(COLUMNS),
        pa.table(COLUMNS),
        list(zip(*COLUMNS.values(), strict=True)),
        np.array([[0, 1], [0, 1], [1, 1], [1, 2], [0, 2]]),
        torch.tensor([[0, 1], [0, 1], [1, 1], [1, 2], [0, 2]]),
    ],
    ids=lambda groups: type(groups).__name__,
)
def test_groups_may_be_several_columns(groups):
    found = compute_advantages([0, 2, 5, 6, 7], groups, scale="none").original
    close(found, [-1, 1, NAN, NAN, NAN])


def test_steps_do_not_part_groups():
    close(compute_advantages([0, 2], ["a", "a"], steps=[1, 2], scale="none").original, [-1, 1])


def test_knobs_reach_the_estimator():
    close(compute_advantages([0, 2], [0, 0], ddof=0, eps=1.0).original, [-0.5, 0.5])


def test_writes_to_no_input():
    rewards = torch.tensor([1.0, NAN, 3.0, 8.0, 5.0], dtype=torch.float64)
    groups, steps = torch.tensor([0, 0, 0, 0, 1]), np.array([1, 1, 1, 1, 1])
    weights = [1.0]
    before = rewards.clone(), groups.clone(), steps.copy()
    compute_advantages(
        rewards.unsqueeze(1),
        groups,
        steps=steps,
        weights=weights,
        scale="batch",
        keep_pos=0.5,
        keep_neg=0.5,
        compute_new_adv=True,
        missing="zero",
        singleton="raw",
    )
    assert torch.equal(rewards.nan_to_num(-1), before[0].nan_to_num(-1))
    assert torch.equal(groups, before[1])
    assert (steps == before[2]).all()
    assert weights == [1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": "grop"}, "unknown estimator 'grop'; try grpo"),
        ({"scale": "std"}, "unknown scale 'std'; try group, batch or none"),
        ({"keep_pos": 1.5}, "keep_pos is 1.5, expected a share between 0 and 1"),
        ({"keep_neg": -0.1}, "keep_neg is -0.1, expected a share between 0 and 1"),
        ({"keep_neg": NAN}, "keep_neg is nan, expected a share between 0 and 1"),
        ({"missing": "drop"}, "unknown missing rule 'drop'; try null, zero or error"),
        ({"singleton": "drop"}, "unknown singleton rule 'drop'; try null, zero, raw or error"),
        ({"device": "tpu"}, "unknown device 'tpu'"),
        ({"epsilon": 1e-6}, "grpo has no knob 'epsilon'; try ddof, eps or scale"),
        (
            {"estimator": "rloo", "compute_new_adv": True},
            "compute_new_adv is defined for grpo only, not for rloo",
        ),
        ({"weights": [1, 2]}, "2 weights for 1 reward parts"),
        ({"rewards": ["x", 1]}, r"rewards are not numbers of shape \[N\] or \[N, K\]"),
        ({"rewards": [[1, 2], [3]]}, "rewards is a list of lists"),
        ({"rewards": [[1, 0], [0, 1]]}, "rewards is a list of lists"),
        ({"rewards": (0, [1])}, "rewards is a list of lists"),
        ({"rewards": [torch.zeros(2), torch.ones(2)]}, "rewards is a list of lists"),
        (
            {"rewards": [[1, 2], [3]], "weights": [1, 1]},
            r"rewards are not numbers of shape \[N\] or \[N, K\]",
        ),
        ({"rewards": 1.0}, "rewards have 0 dimensions"),
        ({"rewards": np.zeros((2, 1, 1))}, r"rewards have 3 dimensions, expected \[N\] or \[N, K\]"),
        ({"groups": ["a"]}, r"groups have shape \[1\], expected one per reward: \[2\]"),
        ({"groups": np.zeros((3, 2))}, r"groups have shape \[3\], expected one per reward: \[2\]"),
        ({"groups": np.zeros((2, 0))}, "groups has no column"),
        ({"groups": ["a", None]}, r"groups\[1\] is None, expected a value that names a group"),
        ({"groups": [NAN, 1.0]}, r"groups\[0\] is nan, expected a value that names a group"),
        ({"steps": [1, 2, 3]}, r"steps have shape \[3\], expected one per reward: \[2\]"),
        ({"steps": [1, None]}, r"steps\[1\] is None, expected a value that names a step"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(UsageError, match=message) as caught:
        compute_advantages(**{"rewards": [0, 1], "groups": [0, 0], **arguments})
    assert isinstance(caught.value, ValueError)


# --- laws ---------------------------------------------------------------------------------------------

laws = settings(deadline=None, max_examples=80, derandomize=True)
numbers = st.integers(-40, 40).map(lambda k: k / 8)  # exact in binary, with many ties
batches = st.lists(st.tuples(numbers, st.integers(0, 4)), min_size=1, max_size=24)
ratios = st.sampled_from([0.0, 0.1, 0.29, 0.5, 0.7, 0.99, 1.0])
scales = st.sampled_from(["group", "batch", "none"])
estimators = st.sampled_from(["grpo", "rloo"])


def split(batch):
    return [reward for reward, _ in batch], [group for _, group in batch]


@laws
@given(batches, scales, st.sampled_from([0.0, 0.25, 1e-4]), estimators)
def test_original_equals_a_plain_loop(batch, scale, eps, estimator):
    rewards, groups = split(batch)
    steps = [group % 2 for group in groups]
    result = compute_advantages(rewards, groups, steps=steps, estimator=estimator, scale=scale, eps=eps)
    loop = getattr(references, estimator)
    close(result.original, loop(rewards, groups, steps, scale=scale, eps=eps))


@laws
@given(batches, scales, ratios, ratios, st.booleans())
def test_processed_equals_a_plain_loop(batch, scale, keep_pos, keep_neg, compute_new_adv):
    rewards, groups = split(batch)
    steps = [group % 2 for group in groups]
    how = {"scale": scale, "keep_pos": keep_pos, "keep_neg": keep_neg, "compute_new_adv": compute_new_adv}
    result = compute_advantages(rewards, groups, steps=steps, **how)
    original, processed, kept, few = references.process(rewards, groups, steps, **how)
    close(result.original, original)
    close(result.processed, processed)
    assert result.kept.tolist() == kept
    counted = compute_new_adv and (keep_pos, keep_neg) != (1, 1) and few
    said = [text for text in result.warnings if "no effect" not in text]
    counting = f"{few} group{'s' * (few != 1)}"
    assert said == ([f"Not enough samples to compute std: {counting}"] if counted else [])


@laws
@given(batches, scales, estimators, st.integers(-1000, 1000))
def test_shift_law(batch, scale, estimator, shift):
    rewards, groups = split(batch)
    first = compute_advantages(rewards, groups, estimator=estimator, scale=scale)
    second = compute_advantages([r + shift for r in rewards], groups, estimator=estimator, scale=scale)
    close(second.original, first.original.tolist(), 1e-11)


@laws
@given(batches, scales, estimators, st.sampled_from([1e-200, 1e-9, 0.3, 7.0, 1e150]))
def test_positive_scale_law(batch, scale, estimator, factor):
    rewards, groups = split(batch)
    first = compute_advantages(rewards, groups, estimator=estimator, scale=scale).original
    second = compute_advantages(
        [r * factor for r in rewards], groups, estimator=estimator, scale=scale
    ).original
    expected = first * factor if scale == "none" else first
    largest = float(expected.abs().nan_to_num(0).max())
    close(second, expected.tolist(), 1e-12 * largest)  # exactly 0 where all groups are dead


@laws
@given(batches, scales, estimators, st.randoms(use_true_random=False))
def test_permutation_law(batch, scale, estimator, random):
    rewards, groups = split(batch)
    order = list(range(len(batch)))
    random.shuffle(order)
    first = compute_advantages(rewards, groups, estimator=estimator, scale=scale)
    second = compute_advantages(
        [rewards[row] for row in order], [groups[row] for row in order], estimator=estimator, scale=scale
    )
    close(second.original, first.original[order].tolist())
    assert torch.equal(second.kept, first.kept[order])


@laws
@given(batches, ratios, ratios, st.booleans(), st.permutations(range(5)))
def test_relabelling_law(batch, keep_pos, keep_neg, compute_new_adv, names):
    rewards, groups = split(batch)
    how = {"keep_pos": keep_pos, "keep_neg": keep_neg, "compute_new_adv": compute_new_adv}
    first = compute_advantages(rewards, groups, **how)
    second = compute_advantages(rewards, [f"prompt {names[group]}" for group in groups], **how)
    for name in ("original", "processed"):
        close(getattr(second, name), getattr(first, name).tolist())
    assert torch.equal(second.kept, first.kept)
    assert second.warnings == first.warnings


@laws
@given(batches, scales, estimators)
def test_groups_sum_to_zero(batch, scale, estimator):
    rewards, groups = split(batch)
    original = compute_advantages(rewards, groups, estimator=estimator, scale=scale).original
    for rows in references.members(groups).values():
        total = float(original[rows].sum())
        assert math.isnan(total) if len(rows) == 1 else abs(total) < 1e-11


@laws
@given(batches)
def test_group_scale_gives_groups_of_unit_variance(batch):
    rewards, groups = split(batch)
    original = compute_advantages(rewards, groups).original
    for rows in references.members(groups).values():
        if len({rewards[row] for row in rows}) > 1:
            assert references.std(original[rows].tolist()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-100, 1e100, 1e150, 1e300])
@pytest.mark.parametrize("scale", ["group", "batch"])
def test_extreme_magnitudes(scale, size):
    rewards = [size * part for part in FIVE]
    result = compute_advantages(rewards, ONE, scale=scale, keep_neg=0, compute_new_adv=True)
    close(result.original, references.grpo(FIVE, ONE))
    close(result.processed, [0, 0, -1, 0, 1])


def test_groups_of_very_different_magnitude_do_not_disturb_each_other():
    rewards, groups = [0, 1e-200, 0, 1e150, 5, 6], [0, 0, 1, 1, 2, 2]
    root = 0.5**0.5
    close(compute_advantages(rewards, groups).original, [-root, root] * 3)


def test_the_two_columns_are_not_one_for_whoever_writes_into_them():
    found = compute_advantages([0.0, 1.0, 1.0, 0.0], [0, 0, 1, 1])
    found.processed[0] = 7.0
    assert found.original[0] != 7.0


@pytest.mark.parametrize("estimator", ["rloo", "grpo:scale=none"])
def test_what_no_float_holds_is_undefined_and_counted(estimator):
    name, _, knob = estimator.partition(":")
    columns = {
        "rewards": torch.tensor([1.7e308, -1.7e308, 0.0, 1.0, 0.0], dtype=torch.float64),
        "group": torch.tensor([0, 0, 0, 1, 1]),
        "step": torch.zeros(5, dtype=torch.int64),
    }
    result = engine.run(
        engine.Plan.of(Settings(estimator=name, **({"scale": "none"} if knob else {}))), columns
    )
    assert not torch.isinf(result.original).any()
    assert not torch.isinf(result.processed).any()
    assert result.kept.tolist() == (~result.original.isnan()).tolist()
    lost = int(result.original.isnan().sum())
    assert lost > 0
    assert result.warnings == (f"{lost} advantages are too large for a float: null",)


def test_what_no_float_holds_is_counted_once_where_it_is_computed_again():
    columns = {
        "rewards": torch.tensor([1.7e308, -1.7e308, 0, 1, 0, 0], dtype=torch.float64),
        "group": torch.tensor([0, 0, 0, 1, 1, 1]),
        "step": torch.zeros(6, dtype=torch.int64),
    }
    found = engine.run(engine.Plan.of(Settings(scale="none", keep_neg=0.5, compute_new_adv=True)), columns)
    close(found.processed, [NAN, NAN, NAN, 0.5, -0.5, 0])
    assert found.warnings == (
        "3 advantages are too large for a float: null",
        "Not enough samples to compute std: 1 group",
    )


def test_the_bonus_of_uncertain_tokens():
    # λ = 1: A is the reward minus the value; plus 0.4 · H, at most |A| / 2.
    found = compute_advantages(
        [1, 0],
        [0, 1],
        estimator="gae",
        values=[[0.5, 0.75], [0.25]],
        entropies=[[0.1, 2.0], [9.0]],
        shaping=["affine:scale=2,shift=0", "entropy"],
    )
    expected = [1.5 + 0.04, 1.25 + 0.625, -0.25 + 0.125]
    assert found.tokens.tolist() == pytest.approx(expected)
    assert found.original.tolist() == pytest.approx([sum(expected[:2]) / 2, expected[2]])


def test_an_advantage_per_row_becomes_one_per_token_where_tokens_are_shaped():
    # ±½, plus 0.4 · H, at most |A| / 2.
    given = {"scale": "none", "shaping": "entropy", "entropies": [[0.1, 2.0], [0.25]]}
    found = compute_advantages([1, 0], [0, 0], **given)
    assert found.tokens.tolist() == pytest.approx([0.54, 0.75, -0.4])
    assert found.original.tolist() == pytest.approx([0.645, -0.4])
    assert (found.token_counts.tolist(), found.warnings) == ([2, 1], ())
    said = compute_advantages([1, 0], [0, 0], **given, like="trl@99").warnings
    assert said[0].startswith("like trl 99: its releases")


def test_a_rule_with_returns_gives_them_at_every_token():
    # λ 1 and no whitening: the reward less the value; behind the last token of the policy a return is the value.
    given = {"like": "nemo-rl", "estimator": "gae", "values": [[0.5, 0.25]], "mask": [[1, 0]]}
    found = compute_advantages([1], [0], **given, lam=1.0, whiten=0)
    assert found.tokens.tolist() == [0.5, 0]
    assert found.returns.tolist() == [1, 0.25]


def test_nothing_is_behind_the_last_token_of_the_policy():
    # λ 1 and no whitening: the reward less the value; the tool's token between counts as one of value 0.
    given = {"like": "slime", "estimator": "ppo", "values": [[0.5, 9.0, 0.25, 9.0]], "mask": [[1, 0, 1, 0]]}
    found = compute_advantages([1], [0], **given)
    assert found.tokens.tolist() == pytest.approx([0.5, NAN, 0.75, NAN], nan_ok=True)


def test_a_row_without_tokens_has_no_advantage_where_tokens_are_shaped():
    found = compute_advantages([1, 0], [0, 0], scale="none", shaping="entropy", entropies=[[0.0], []])
    assert found.original.tolist() == pytest.approx([0.5, NAN], nan_ok=True)


def test_a_missing_reward_may_count_as_0_where_tokens_have_advantages():
    given = {"estimator": "gae", "values": [[0.5, 0.25], [0.5]]}
    found = compute_advantages([None, 1], [0, 0], missing="zero", **given)
    assert found.tokens.tolist() == [0, 0, 0.5]
    assert compute_advantages([None, 1], [0, 0], **given).tokens.isnan().tolist() == [True, True, False]


def test_no_rows_are_computed_again():
    assert compute_advantages([], [], keep_neg=0.5, compute_new_adv=True).processed.tolist() == []


def test_what_a_filter_needs():
    columns = {"rewards": torch.zeros(1), "group": torch.tensor([0]), "step": torch.tensor([0])}
    plan = engine.Plan.of(Settings(filters=(filter_spec("after", "truncated:max=4"),)))
    with pytest.raises(
        DataError, match=r"^truncated needs the tokens of each row, but there is no such column"
    ):
        engine.run(plan, columns)


def left(*filters, rewards=(0, 1, 5, 1), groups=(0, 0, 0, 1), **settings):
    columns = {
        "rewards": torch.tensor(rewards, dtype=torch.float64),
        "group": torch.tensor(groups),
        "step": torch.zeros(4, dtype=torch.int64),
        "lengths": torch.tensor([1.0, 2.0, 9.0, 8.0], dtype=torch.float64),
    }
    return engine.run(engine.Plan.of(Settings(filters=filters, scale="none", **settings)), columns)


def test_a_filter_before_the_statistics():
    found = left(filter_spec("before", "truncated:max=8"))
    close(found.original, [-0.5, 0.5, NAN, NAN])
    assert found.kept.tolist() == [True, True, False, False]
    one = found.left_out[0]
    # Two rows of 17 tokens, all of the second group.
    assert (str(one.spec), one.rows, one.groups, one.tokens) == ("truncated:max=8", 2, 1, 17)


def test_a_filter_after_the_statistics_and_what_is_computed_again():
    found = left(filter_spec("after", "truncated:max=8"))
    close(found.original, [-2, -1, 3, NAN])
    close(found.processed, [-2, -1, 0, NAN])
    found = left(filter_spec("after", "truncated:max=8"), compute_new_adv=True)
    close(found.processed, [-0.5, 0.5, 0, NAN])
    assert found.warnings == ()


NEVER = (
    "spo: no prompt occurs in two steps, so there is no history to use; name the prompt alone in --group-by"
)


@pytest.mark.parametrize(
    ("estimator", "groups", "steps", "said"),
    [
        ("spo", [0, 0, 1, 1], [0, 0, 1, 1], (NEVER,)),
        ("spo", [0, 0, 0, 1], [0, 0, 1, 1], ()),
        ("spo", [0, 0, 1, 1], [0, 0, 0, 0], ()),
        ("grpo", [0, 0, 1, 1], [0, 0, 1, 1], ()),
    ],
)
def test_prompts_that_never_come_back(estimator, groups, steps, said):
    columns = {
        "rewards": torch.tensor([0, 1, 0, 1], dtype=torch.float64),
        "group": torch.tensor(groups),
        "step": torch.tensor(steps),
    }
    assert engine.run(engine.Plan.of(Settings(estimator)), columns).warnings == said


def test_shaped_rewards_of_which_none_is_there():
    given = {"lengths": [1, 2], "shaping": "affine:scale=2,shift=1"}
    assert compute_advantages([None, None], [0, 0], **given).original.isnan().all()
