"""Advantages that are shaped after the estimator, against plain loops."""

import math

import pytest

from advcli import UsageError, compute_advantages

REWARDS = [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
GROUPS = [0] * 4 + [1] * 4
ENTROPIES = [[0.1, 2.0], [0.5], [1.0, 1.0, 0.0], [0.3], [0.2], [3.0], [0.0], [0.7]]


def plain():
    return compute_advantages(REWARDS, GROUPS, eps=1e-6).original.tolist()


def test_difficulty_weighs_right_answers_by_their_rarity_and_wrong_ones_by_their_share():
    found = compute_advantages(REWARDS, GROUPS, eps=1e-6, shaping=["difficulty"]).original.tolist()
    for row, advantage in enumerate(plain()):
        share = 0.75 if row < 4 else 0.25
        told = share if advantage > 0 else 1 - share
        assert found[row] == pytest.approx(advantage * (0.4 + 1.1 / (1 + math.exp(10 * (told - 0.75)))))
    # As the framework's code gives them.
    assert found[0] == pytest.approx(0.4750, abs=1e-4)
    assert found[3] == pytest.approx(-2.2390, abs=1e-4)


def test_entropy_adds_at_each_token_and_never_more_than_a_share_of_the_advantage():
    found = compute_advantages(REWARDS, GROUPS, eps=1e-6, shaping=["entropy:kappa=4"], entropies=ENTROPIES)
    expected = [
        [a + min(0.4 * h, abs(a) / 4) for h in row] for a, row in zip(plain(), ENTROPIES, strict=True)
    ]
    assert found.tokens.tolist() == pytest.approx([value for row in expected for value in row])
    assert found.original.tolist() == pytest.approx([sum(row) / len(row) for row in expected])
    assert found.token_counts.tolist() == [len(row) for row in ENTROPIES]


def test_entropy_of_tokens_that_the_policy_did_not_write_counts_nowhere():
    found = compute_advantages(
        [1.0, 0.0], [0, 0], shaping=["entropy"], entropies=[[9.0, 0.0], [0.0, 9.0]], mask=[[0, 1], [1, 0]]
    )
    assert found.original.tolist() == pytest.approx([0.5**0.5, -(0.5**0.5)])
    assert found.tokens.isnan().tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shaping": ["entropy"], "keep_pos": 0.5, "entropies": ENTROPIES}, "gives one advantage per token"),
        (
            {"shaping": ["entropy"], "compute_new_adv": True, "entropies": ENTROPIES},
            "gives one advantage per token",
        ),
        ({"shaping": ["entropy"]}, "entropy needs the entropy of each token"),
    ],
)
def test_what_does_not_go_together(given, message):
    with pytest.raises(ValueError, match=message) as caught:
        compute_advantages(REWARDS, GROUPS, **given)
    assert isinstance(caught.value, UsageError) or "needs" in message


def test_what_is_computed_again_is_weighed_again():
    given = {"keep_neg": 0.5, "compute_new_adv": True}
    before = compute_advantages(REWARDS, GROUPS, **given)
    found = compute_advantages(REWARDS, GROUPS, shaping=["difficulty"], **given)
    weight = (
        compute_advantages(REWARDS, GROUPS, shaping=["difficulty"]).original
        / compute_advantages(REWARDS, GROUPS).original
    )
    assert found.processed.tolist() == pytest.approx((before.processed * weight).tolist())
