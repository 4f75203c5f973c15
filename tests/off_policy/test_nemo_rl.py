"""Every kind of NeMo-RL's truncation, by hand: ratios 2 and ½ in the first row, 4 and 1 in the second."""

import pytest
from off_policy.ratios import TWO

from advcli import UsageError
from advcli.off_policy.nemo_rl import clipped_pg_metrics

KIND, HIGH, LOW = (f"truncated_importance_sampling_{name}" for name in ("type", "ratio", "ratio_min"))
ROWS = "sequence_level_importance_ratios"


@pytest.mark.parametrize(
    ("given", "weights", "outside", "logged"),
    [
        ({}, [2, 0.5, 4, 1], None, 7.5 / 4),
        ({HIGH: 3.0}, [2, 0.5, 4, 1], None, 7.5 / 4),
        ({KIND: "tis", HIGH: 3.0}, [2, 0.5, 3, 1], 0.25, 6.5 / 4),
        ({KIND: "tis", HIGH: 3.0, LOW: 0.6}, [2, 0.6, 3, 1], 0.5, 6.6 / 4),
        ({KIND: "icepop", HIGH: 3.0, LOW: 0.6}, [2, 0, 0, 1], 0.5, 3 / 4),
        ({KIND: "seq-mask-tis", HIGH: 1.5, LOW: 0.9}, [2, 0.5, 0, 0], 0.5, 2.5 / 4),
        # Products 1 and 4; what is logged of rows is their sum.
        ({ROWS: True}, [1, 1, 4, 4], None, 5),
        ({ROWS: True, KIND: "tis", HIGH: 3.0}, [1, 1, 3, 3], 0.5, 4),
        ({ROWS: True, KIND: "icepop", HIGH: 3.0, LOW: 0.6}, [1, 1, 0, 0], 0.5, 1),
    ],
)
def test_weights(given, weights, outside, logged):
    found = clipped_pg_metrics(TWO, **given)
    assert found.weights.tolist() == pytest.approx(weights)
    assert found.metrics.get("is_oob_ratio") == (None if outside is None else pytest.approx(outside))
    assert found.metrics["sampling_importance_ratio"] == pytest.approx(logged)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reference_policy_kl_type": "k4"}, "reference_policy_kl_type is 'k4'"),
        ({KIND: "mask", HIGH: 3.0}, f"{KIND} is 'mask'"),
        ({KIND: "icepop", HIGH: 3.0}, "icepop needs two bounds, but one was given"),
        ({KIND: "seq-mask-tis", HIGH: 3.0, LOW: 0.5, ROWS: True}, "seq-mask-tis has weights of tokens"),
    ],
)
def test_what_nemo_rl_refuses(given, said):
    with pytest.raises(UsageError, match=said):
        clipped_pg_metrics(TWO, **given)
