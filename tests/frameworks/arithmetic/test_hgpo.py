"""HGPO in three versions, by hand; the slip of the paper's code."""

import math

import pytest

from advcli import compute_advantages

# Three rollouts of one prompt; the second turns of the first two share two states.
ROWS = {
    "rewards": [0, 4, 0, 2, 3],
    "groups": [0] * 5,
    "rollouts": list("aabbc"),
    "anchors": ["s", "t", "s", "t", "s"],
    "like": "hgpo",
    "gamma": 1.0,
    "scale": "none",
}


def compute(estimator, **given):
    return compute_advantages(**{**ROWS, **given}, estimator=estimator).original.tolist()


def test_longer_histories_weigh_more():
    """k = 1: s has returns 4, 2, 3 and t has 4, 2; k = 2: the turns at t share (s, t)."""
    assert compute("hgpo") == pytest.approx([1, 1, -1, -1, 0], abs=1e-6)
    # Two items of ±1 have the mean ±1; with one state more the second turns weigh 2 : 3.
    assert compute("hgpo", history=0) == pytest.approx([1, 1, -1, -1, 0], abs=1e-6)


def test_the_weights_of_the_versions():
    """At the second turn of a: k = 1 gives 4 − (4 + 2 + 6)/3 = 0, k = 2 gives 4 − 3 = 1."""
    given = {
        "rewards": [0, 4, 0, 2, 0, 6],
        "rollouts": list("aabbcc"),
        "groups": [0] * 6,
        "anchors": list("ststut"),
    }
    assert compute("hgpo", **given)[1] == pytest.approx(3 / 5, abs=1e-6)
    assert compute("hgpo", **given, alpha=0)[1] == pytest.approx(1 / 2, abs=1e-6)
    # An item of exactly 0 is left out.
    assert compute("hgpo_nonzero", **given)[1] == pytest.approx(1, abs=1e-6)


def test_a_history_is_no_longer_than_asked_for():
    """At v with one state before: 4 − (4 + 2 + 9)/3 = −1 weighs 2, and 4 − (4 + 2)/2 = 1 weighs 3."""
    given = {
        "rewards": [0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 9],
        "rollouts": list("aaaabbbbcccc"),
        "groups": [0] * 12,
        "anchors": list("stuvstuvxywv"),
    }
    assert compute("hgpo", **given, history=1)[3] == pytest.approx(1 / 5, abs=1e-6)
    # Two states before: 1 weighs 4 too.
    assert compute("hgpo", **given, history=2)[3] == pytest.approx(5 / 9, abs=1e-6)


def test_the_base_item_is_the_episode_over_turn_rows():
    """Episodes 4, 4, 2, 2, 3 with mean 3: the base item weighs 1 beside 2 and 3."""
    assert compute("hgpo", base=1)[0] == pytest.approx((1 * 1 + 2 * 1) / 3, abs=1e-6)


def test_the_slip_of_the_paper():
    """A state met once sets the row that was handled last before to 0: the last row of the last shared state."""
    given = {"rewards": [0, 4, 0, 2, 3], "anchors": ["s", "t", "s", "t", "u"]}
    assert compute("hgpo_paper", **given) == pytest.approx([1, 1, -1, 0, 0], abs=1e-6)
    assert compute("hgpo_nonzero", **given, alpha=1) == pytest.approx([1, 1, -1, -1, 0], abs=1e-6)


def test_float32_leaves_a_residue_of_eight_equal_rewards():
    found = compute_advantages(
        [0.1] * 8, [0] * 8, rollouts=range(8), anchors=["s"] * 8, like="hgpo", estimator="hgpo"
    ).original
    assert found.tolist() == pytest.approx([-0.007395] * 8, abs=1e-6)
    assert not math.isnan(found[0])
