"""On-policy distillation: the advantage of a token is the difference of two log-probabilities."""

import math

import pytest
from frameworks.token_vectors import DISTILLED, DISTILLERS, TEACHER, TRAINER

from advcli import DataError, compute_advantages


@pytest.mark.parametrize(("like", "estimator"), DISTILLERS)
def test_teacher_minus_trainer(like, estimator):
    found = compute_advantages(
        [1.0, 0.0],
        [0, 0],
        like=like,
        estimator=estimator,
        teacher_log_probs=TEACHER,
        log_probs=TRAINER,
        mask=[[1, 1, 0], [1]],
    )
    tokens = found.tokens.tolist()
    assert tokens[:2] + tokens[3:] == [*DISTILLED[:2], DISTILLED[3]]
    assert math.isnan(tokens[2])
    assert found.original.tolist() == [-0.125, -0.375]


def test_without_a_teacher():
    with pytest.raises(DataError, match="--teacher-log-probs-col"):
        compute_advantages([1.0], [0], like="nemo-rl", estimator="opd", log_probs=[[-0.5]])
