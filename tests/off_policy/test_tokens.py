"""Two log-probabilities per token, ragged: sums, means and levels against plain loops."""

import math

import pytest
import torch

from advcli.off_policy.tokens import LogProbs, bounded_exp, kl

ROLLOUT = [[-0.1, -0.5, -2.0, -0.3], [], [-1.0, -0.2, -9.0], [-0.7]]
TRAIN = [[-0.12, -0.4, -3.5, -0.3], [], [-0.2, -0.25, math.nan], [-0.7]]
MASK = [[1, 1, 1, 1], [], [1, 1, 0], [0]]


def tokens(**options):
    flat = [
        torch.tensor([x for row in rows for x in row], dtype=torch.float64) for rows in (ROLLOUT, TRAIN, MASK)
    ]
    return LogProbs.of(flat[0], flat[1], torch.tensor([len(row) for row in MASK]), flat[2], **options)


def ratios():
    """The log ratios of the trained tokens of each row."""
    return [
        [p - q for q, p, m in zip(*rows, strict=True) if m] for rows in zip(ROLLOUT, TRAIN, MASK, strict=True)
    ]


@pytest.mark.parametrize("as_trained", [False, True])
def test_sums_means_and_extremes_of_rows(as_trained):
    two = tokens(as_trained=as_trained)
    rows = ratios()
    assert two.row_sum(two.log_ratio).tolist() == pytest.approx([sum(row) for row in rows], abs=1e-6)
    means = [sum(row) / len(row) if row else 0.0 for row in rows]
    assert two.row_mean(two.log_ratio).tolist() == pytest.approx(means, abs=1e-6)
    largest = [max(row) if row else 0.0 for row in rows]
    assert two.row_max(two.log_ratio).tolist() == pytest.approx(largest, abs=1e-6)
    every = [one for row in rows for one in row]
    assert float(two.mean(two.log_ratio)) == pytest.approx(sum(every) / len(every), abs=1e-6)
    assert float(two.mean_of_rows(two.log_ratio)) == pytest.approx(sum(means) / 4, abs=1e-6)
    assert two.rollout.dtype == (torch.float32 if as_trained else torch.float64)


def test_levels():
    two = tokens()
    assert two.at_level("token").tolist()[:2] == pytest.approx([-0.02, 0.1])
    first = ratios()[0]
    assert two.at_level("sequence")[:4].tolist() == pytest.approx([sum(first)] * 4)
    assert two.at_level("geometric")[:4].tolist() == pytest.approx([sum(first) / 4] * 4)


def test_some_rows_in_another_order():
    some = tokens().take(torch.tensor([2, 1, 0]))
    assert some.rollout.tolist() == [*ROLLOUT[2], *ROLLOUT[0]]
    assert some.rows.size().tolist() == [3, 0, 4]
    assert tokens().places(torch.tensor([3, 0])).tolist() == [7, 0, 1, 2, 3]


def test_padded_rows():
    laid = tokens().laid_out(torch.arange(8.0))
    assert laid.tolist() == [[0, 1, 2, 3], [0, 0, 0, 0], [4, 5, 6, 0], [7, 0, 0, 0]]


@pytest.mark.parametrize(("kind", "expected"), [("k1", 0.3), ("k2", 0.045), ("k3", math.exp(-0.3) - 1 + 0.3)])
def test_estimates_of_the_kl(kind, expected):
    assert float(kl(torch.tensor([-0.3], dtype=torch.float64), kind)) == pytest.approx(expected, abs=1e-8)


def test_a_log_ratio_is_clamped_before_it_is_exponentiated():
    assert bounded_exp(torch.tensor([-50.0, 0.0, 50.0]).double()).tolist() == pytest.approx(
        [math.exp(-20), 1, math.exp(20)]
    )


def test_rows_without_tokens_at_the_end():
    two = LogProbs.of(torch.tensor([-1.0]), torch.tensor([-0.5]), torch.tensor([1, 0, 0]))
    assert two.row_sum(two.log_ratio).tolist() == [0.5, 0, 0]
    assert two.take(torch.tensor([0, 2])).counts.tolist() == [1, 0]
