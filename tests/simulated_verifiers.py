"""How often the intervals of `advcli verify` hold the rate that was planted, over whole data sets.

    python -m tests.simulated_verifiers [DATA SETS]

Each data set has 60 groups of 8 rows, half of them truly all right, half all wrong, and a verifier with its own rates of
false negatives and positives, 1 to 20 % each. B is the truth. In a second series both rates are one, which the live groups
of A alone have to tell. Printed: the share of data sets whose 95 % interval holds the planted rate.
"""

import sys

import numpy as np
import pandas as pd

import advcli

GROUPS, ROWS = 60, 8


def main() -> None:
    """Print the shares."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    draw = np.random.default_rng(0)
    inside = {"false negatives": 0, "false positives": 0, "noise": 0}
    for _ in range(many):
        lost, found = draw.uniform(0.01, 0.2, 2)
        both = judged(draw, lost, found).verify("truth")
        inside["false negatives"] += holds(both.false_negative, lost)
        inside["false positives"] += holds(both.false_positive, found)
        inside["noise"] += holds(judged(draw, lost, lost).verify().noise, lost)
    for name, hits in inside.items():
        print(f"{name}: {hits / many:.1%} of {many:,} data sets")


def holds(rate, planted: float) -> bool:
    """Whether a rate's interval holds what was planted."""
    return rate.low <= planted <= rate.high


def judged(draw: np.random.Generator, lost: float, found: float) -> advcli.Dump:
    """A dump with the truth and what a verifier says."""
    truth = np.repeat(draw.random(GROUPS) < 0.5, ROWS)
    wrong = draw.random(len(truth)) < np.where(truth, lost, found)
    frame = pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{one}" for one in range(GROUPS)], ROWS),
            "reward": (truth ^ wrong).astype(float),
            "truth": truth.astype(float),
            "response": [f"#### {one}" for one in range(len(truth))],
        }
    )
    return advcli.from_frame(frame, reward="reward")


if __name__ == "__main__":
    main()
