"""What flags and texts say about a row by their words."""

import pytest

from advcli.io.columns import row_flags


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("is_pad", "`is_pad` != true"),
        ("padding", "`padding` != true"),
        ("is_dummy_sample", "`is_dummy_sample` != true"),
        ("sample_masked", "`sample_masked` != true"),
        ("excluded", "`excluded` != true"),
        ("score_is_valid", "`score_is_valid` != false"),
        ("reward_failed", "`reward_failed` != true"),
        ("valid", None),
        ("is_truncated", None),
        ("response_mask", None),
        ("correct", None),
    ],
)
def test_a_flag(name, condition):
    assert row_flags.condition_of_flag(name) == condition


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("is_eval", True),
        ("isValidation", True),
        ("is_test", True),
        # Whether an answer is valid, or passed a test.
        ("is_valid", False),
        ("test", False),
        ("eval_passed", False),
    ],
)
def test_a_flag_of_an_evaluation(name, told):
    assert row_flags.is_evaluation(name) == told


@pytest.mark.parametrize(
    ("text", "training", "evaluation"),
    [
        ("train", True, False),
        ("Training", True, False),
        ("math-test", False, True),
        ("val", False, True),
        ("train_eval", False, True),
        ("gsm8k", False, False),
    ],
)
def test_a_text_that_names_a_split(text, training, evaluation):
    assert (row_flags.says_training(text), row_flags.says_evaluation(text)) == (training, evaluation)
