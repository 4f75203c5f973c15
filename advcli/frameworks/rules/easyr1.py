"""EasyR1."""

from advcli.frameworks.critic import through_gaps
from advcli.frameworks.rule import (
    HERE,
    KL,
    RLOO,
    Rule,
    centred,
    grpo,
)
from advcli.frameworks.token_rows import OVERLONG_KL, RESET, plus_plus

_EASYR1 = "verl/trainer/core_algos.py"


_EASYR1_ROWS = [
    grpo(
        "easyr1",
        eps=1e-6,
        knobs={"single": "error", "variance": "whole"},
        shaped=OVERLONG_KL,
        lost=(KL,),
        source=_EASYR1,
        proof="code",
    ),
    Rule(
        "easyr1",
        "grpo_passk",
        "A_best = (r_(1) − r_(2)) / (std_g + 1e-6), the others 0",
        f"{HERE}:best_only",
        ("rewards", "group"),
        {"eps": 1e-6},
        versions=">0.3.2",
        shaped=OVERLONG_KL,
        lost=(KL,),
        source=_EASYR1,
        proof="code",
    ),
    centred(
        "easyr1",
        "rloo",
        knobs={"centre": "others-sum", "single": "error"},
        formula=RLOO,
        shaped=OVERLONG_KL,
        lost=(KL,),
        source=_EASYR1,
        proof="code",
    ),
    plus_plus("easyr1", _EASYR1, proof="code", **RESET),
    Rule(
        "easyr1",
        "remax",
        "A_i = r_i − r_greedy (broken after 0.3.2)",
        f"{HERE}:greedy_baseline",
        ("rewards", "baselines"),
        {},
        versions="<=0.3.2",
        shaped=OVERLONG_KL,
        lost=(KL,),
        source=_EASYR1,
        proof="code",
    ),
    # Later releases raise an error for more than one row.
    through_gaps(
        "easyr1", "gae", versions="<=0.3.2", shaped=OVERLONG_KL, lost=(KL,), source=_EASYR1, proof="code"
    ),
]

ROWS = _EASYR1_ROWS
