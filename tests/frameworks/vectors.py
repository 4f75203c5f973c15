"""Golden vectors of the frameworks, as literals: numbers that their own code gave, or that were noted from it.

Nothing here was computed by advcli. Small batches:

- `TOTALS`, `PARTS`: three groups of four rows with two rewards (a dead group in the middle, a row without any score in
  the third), as noted for TRL, ms-swift and OpenRLHF.
- `ONE_SUCCESS`: one prompt with the rewards 1, 0, 0, 0. `ALONE`: a group of one with the reward 0.7.
- `ROLLOUTS`: batches in which one rollout is several rows, through the functions of the frameworks.
- `RULES`: batches of other frameworks, dead groups and groups of one included, through their functions.
- `CODE`: `EVEN` and `RAGGED`, through the functions of the frameworks at the commit or release in `RAN`.
"""

from collections import Counter
from pathlib import Path

from frameworks.token_vectors import CRITIC, DISTILLED, DISTILLERS
from parity.golden import read
from parity.golden_calls import call_of

_GOLDEN = Path(__file__).parents[1] / "data" / "golden"
ROLLOUTS, RULES = _GOLDEN / "rollout_unit.jsonl", _GOLDEN / "more_rules.jsonl"

NAN = float("nan")
ACCURACY = [1, 0, 0, 1, 1, 1, 1, 1, 0, NAN, 1, 0]
FORMAT = [0.1, 0.1, 0, 0.1, 0.1, 0.1, 0.1, 0.1, NAN, NAN, 0.1, 0.1]
TOTAL = [1.1, 0.1, 0.0, 1.1, 1.1, 1.1, 1.1, 1.1, 0.0, NAN, 1.1, 0.1]
GROUPS = [0] * 4 + [1] * 4 + [2] * 4
LENGTHS = [10, 20, 30, 40, 10, 10, 10, 10, 50, 5, 5, 5]
DEAD = [0.0] * 4

SCALED = [0.863926, -0.781647, -0.946205, 0.863926]
CENTRED = [0.525, -0.475, -0.575, 0.525]
LOO = [0.7, -0.633333, -0.766667, 0.7]
THREE_ROWS = [-0.3, -0.3, 0.8, -0.2]
LOO_THREE = [-0.4, -0.4, 1.066667, -0.266667]
OLD_SCALED = [-0.560211, -0.560211, 1.493896, -0.373474]

# like, estimator, scale, group 1, group 2, group 3
TOTALS = [
    ("trl", "grpo", "group", SCALED, DEAD, [-0.657488, 0, 1.150604, -0.493116]),
    (
        "trl",
        "grpo",
        "batch",
        [0.989084, -0.894885, -1.083282, 0.989084],
        DEAD,
        [-0.753588, 0, 1.318779, -0.565191],
    ),
    ("trl", "grpo", "none", CENTRED, DEAD, [-0.4, 0, 0.7, -0.3]),
    ("trl", "rloo", None, LOO, DEAD, [-0.6, 0, 1.05, -0.45]),
    (
        "trl",
        "rloo",
        "batch",
        [1.161021, -1.050448, -1.271595, 1.161021],
        DEAD,
        [-0.995161, 0, 1.741532, -0.746371],
    ),
    ("trl@1.5", "rloo", None, LOO, DEAD, LOO_THREE),
    (
        "trl",
        "async_grpo",
        None,
        [0.997740, -0.902717, -1.092763, 0.997740],
        DEAD,
        [-0.805387, 0, 1.409428, -0.604040],
    ),
    ("trl@0.21", "grpo", "group", SCALED, DEAD, OLD_SCALED),
    ("trl@1.5", "grpo", "group", SCALED, DEAD, OLD_SCALED),
    ("trl@1.5", "grpo", "none", CENTRED, DEAD, THREE_ROWS),
    ("trl@0.22.1", "grpo", "group", CENTRED, DEAD, THREE_ROWS),
    ("trl@0.22.0", "grpo", "none", SCALED, DEAD, OLD_SCALED),
    ("trl@0.22.0", "grpo", "batch", SCALED, DEAD, OLD_SCALED),
    ("ms-swift", "grpo", "group", SCALED, DEAD, OLD_SCALED),
    ("ms-swift", "grpo", "none", CENTRED, DEAD, THREE_ROWS),
    (
        "ms-swift",
        "grpo",
        "batch",
        [0.959916, -0.868496, -1.051337, 0.959916],
        DEAD,
        [-0.548523, -0.548523, 1.462729, -0.365682],
    ),
    ("ms-swift", "rloo", None, LOO, DEAD, LOO_THREE),
    (
        "ms-swift",
        "rloo",
        "group",
        [1.151901, -1.042197, -1.261606, 1.151901],
        DEAD,
        [-0.746948, -0.746948, 1.991861, -0.497965],
    ),
    (
        "ms-swift",
        "reinforce_plus_plus",
        None,
        [1.241068, -1.122871, -1.359265, 1.241068],
        DEAD,
        [-0.709182, -0.709182, 1.891151, -0.472788],
    ),
    ("openrlhf", "rloo", None, LOO, DEAD, LOO_THREE),
    ("openrlhf", "dr_grpo", None, CENTRED, DEAD, THREE_ROWS),
    (
        "openrlhf",
        "group_norm",
        None,
        [0.864068, -0.781776, -0.946361, 0.864068],
        DEAD,
        [-0.560316, -0.560316, 1.494175, -0.373544],
    ),
    (
        "openrlhf",
        "reinforce_baseline",
        None,
        [1.423580, -0.975877, -1.215822, 1.423580],
        [0.163865] * 4,
        [-0.555972, -0.555972, 2.083431, -0.316026],
    ),
    (
        "openrlhf",
        "reinforce_baseline",
        "none",
        [0.593293, -0.406707, -0.506707, 0.593293],
        [0.068293] * 4,
        [-0.231707, -0.231707, 0.868293, -0.131707],
    ),
    (
        "openrlhf",
        "reinforce",
        None,
        [1.074303, -0.784195, -0.970045, 1.074303],
        [1.074303] * 4,
        [-0.970045, -0.970045, 1.074303, -0.784195],
    ),
]
# OpenRLHF has no missing rewards; the row without a score has the reward 0 there.
NO_MISSING = ("openrlhf",)

PARTS = [
    (
        "trl",
        [1.275807, -0.342932, -2.208683, 1.275807],
        [-0.539580, 0, 1.079159, -0.539580],
    ),
    ("trl@1.5", [1.338072, -0.359668, -2.316476, 1.338072], [-0.565913, 0, 1.131827, -0.565913]),
    ("ms-swift", [1.338089, -0.358540, -2.317638, 1.338089], [-0.565543, 0, 1.131086, -0.565543]),
]

# like, estimator, scale, [1, 0, 0, 0] → first, rest
ONE_SUCCESS = [
    ("nemo-rl", "grpo", None, 1.0, -0.577349),
    ("nemo-rl", "grpo_no_loo", None, 1.499997, -0.499999),
    ("skyrl", "grpo", None, 1.499997, -0.499999),
    ("skyrl", "grpo", "none", 0.75, -0.25),
    ("skyrl", "rloo", None, 1, -1 / 3),
    ("skyrl", "maxrl", None, 2.999988, -0.999996),
    ("slime", "grpo", None, 1.499997, -0.499999),
    ("prime-rl", "grpo", None, 0.75, -0.25),
    ("tinker-cookbook", "grpo", None, 0.75, -0.25),
    ("prime-rl", "max_rl", None, 3, -1),
    ("roll", "agentic_grpo", None, 1.499997, -0.499999),
    ("open-instruct", "centered", None, 0.75, -0.25),
    ("open-instruct", "standard", None, 1.7320508, -0.5773503),
    ("areal", "grpo", None, 1.49997, -0.49999),
    ("rllm", "grpo", None, 1.732047, -0.577349),
    ("rllm", "rloo", None, 1, -1 / 3),
    ("art", "grpo", None, 1.732047, -0.577349),
    ("oat", "grpo", None, 1.5, -0.5),
    ("oat", "drgrpo", None, 0.75, -0.25),
    ("verl", "grpo", None, 1.499997, -0.499999),
    ("verl@0.3", "grpo", None, 1.499997, -0.499999),
    ("nemo-rl@0.3.1", "grpo_no_loo", None, 1.5, -0.5),
    ("areal@1.0.4", "rloo", "group", 1.499977, -0.499992),
    ("areal@0.3.3", "grpo", None, 1.732011, -0.577337),
    ("roll", "grpo", None, 1.5, -0.5),
    ("verl", "gpg", None, 3, -1),
    ("easyr1", "grpo", None, 1.499997, -0.499999),
    ("easyr1", "rloo", None, 1, -1 / 3),
    ("twinkle", "grpo", None, 1.5, -0.5),
    ("twinkle", "rloo", None, 2, -2 / 3),
]

# like, estimator, scale, a group of one with the reward 0.7
ALONE = [
    ("nemo-rl", "grpo", None, 0),
    ("nemo-rl", "grpo_no_loo", None, 0),
    ("skyrl", "grpo", None, 0.699999),
    ("skyrl", "grpo", "none", 0.7),
    ("skyrl", "rloo", None, 0),
    ("skyrl", "maxrl", None, 0.7),
    ("prime-rl", "grpo", None, 0),
    ("prime-rl", "max_rl", None, 0),
    ("tinker-cookbook", "grpo", None, 0),
    ("roll", "agentic_grpo", None, 0),
    ("roll", "grpo", None, NAN),
    ("rllm", "grpo", "none", 0.7),
    ("open-instruct", "standard", None, 0),
    ("areal", "grpo", None, 0),
    ("rllm", "grpo", None, 0.699999),
    ("rllm", "rloo", None, 0.7),
    ("art", "grpo", None, 0),
    ("oat", "grpo", None, NAN),
    ("verl", "grpo", None, 0.6999993),
    ("verl", "grpo", "none", 0.7),
    ("verl", "rloo", None, 0.7),
    ("verl", "rloo_vectorized", None, 0),
    ("twinkle", "grpo", None, 0.7),
    ("trl", "grpo", None, 0),
    ("ms-swift", "grpo", None, 0),
    ("openrlhf", "group_norm", None, NAN),
]

# like, estimator, scale, reward, group size, largest |A| that rounding leaves where all rewards are equal; the sign is
# that of the residue, its digits hang on the order in which a processor sums
PHANTOMS = [
    ("verl", "grpo", None, 0.1, 8, 0.01, -1),
    ("slime", "grpo", None, 0.1, 8, 0.01, -1),
    ("slime", "grpo", None, 0.3, 8, 0.04, 1),
    ("skyrl", "grpo", None, 0.1, 8, 0.01, -1),
    ("skyrl", "grpo", "none", 0.1, 8, 1e-8, -1),
    ("skyrl", "rloo", None, 0.1, 8, 1e-8, -1),
    ("skyrl", "maxrl", None, 0.1, 8, 1e-7, -1),
    ("prime-rl", "grpo", None, 0.1, 8, 1e-8, -1),
    ("prime-rl", "max_rl", None, 0.1, 8, 1e-7, -1),
    ("tinker-cookbook", "grpo", None, 0.1, 8, 1e-8, -1),
    ("twinkle", "grpo", None, 0.1, 8, 1, -1),
    ("oat", "grpo", None, 0.1, 8, 1, -1),
    ("art", "grpo", None, 0.1, 8, 2e-11, 1),
    ("areal", "grpo", None, 0.1, 8, 0, 0),
    ("roll", "grpo", None, 0.1, 8, 0, 0),
    ("roll", "agentic_grpo", None, 0.1, 8, 0, 0),
    ("nemo-rl@0.7.0", "grpo_no_loo", None, 0.1, 8, 0, 0),
]

# What gave the numbers of CODE: the function alone, taken out of its file, on one thread.
RAN = {
    "nemo-rl": "v0.7.0; gdpo with weights and raw_reward at 7ea279ab; below 0.4 the division of v0.3.1",
    "slime": "624b824a",
    "skyrl": "a9564572",
    "trl": "v0.23.0",
    "roll": "8eb27cc2",
    "areal": "1.0.4 with std_unbiased=False; ppo at 4aef98d8d",
    "prime-rl": "559b4477",
    "rllm": "9beb6e0f",
    "oat": "c1a074c3",
    "easyr1": "b44b311b; remax and gae v0.3.2",
    "openrlhf": "v0.8.4",
    "verl-agent": "d0b9724",
    "agent-lightning": "1.0.2",
    "ragen": "20daedc",
    "miles": "31f1ca961",
    "labs-molt": "2d62608",
    "trinity-rft": "0.6.0",
    "xtuner": "b934f4620",
    "pipelinerl": "58d3934",
    "marti": "a2fe2c7",
    "krpo": "df1ae2b",
}
# Where the numbers of rules are from that no code was run for.
NOTED = {
    "verl": "release notes: the same code without a switch",
    "nemo-rl": "what v0.7.0 and 7ea279ab gave; where they spike, the undivided difference",
    "areal": "what 1.0.4 gave on even groups; by hand on uneven ones",
    "prime-rl": "a difference of two columns",
    "open-instruct": "its lines at e6c3044a, typed again",
    "marti": "by hand: a clipped GAE, whitened",
    "miles": "by hand: the reward itself",
    "verl-recipe": "its formulas at 48ea0a7, worked out",
}

EVEN = {
    "rewards": [1, 0, 0, 0, 0.9, 0.1, 0.9, 0.3, 0.2, 0.2, 0.2, 0.2],
    "groups": [0] * 4 + [1] * 4 + [2] * 4,
    "lengths": [10, 20, 30, 40, 5, 5, 50, 7, 3, 9, 12, 21],
    "baselines": [0.5] * 4 + [0.25] * 4 + [0.2] * 4,
}
RAGGED = {
    "rewards": [1, 0, 0, 0, 0.5, 1, 0.25, 0.7],
    "groups": [0] * 4 + [1] * 3 + [2],
    "lengths": [10, 20, 30, 40, 5, 5, 50, 7],
}
RAGGED_WITHOUT_ALONE = {name: values[:7] for name, values in RAGGED.items()}
SHORT = {"rewards": [1, 0, 0, 0, 1, 0.5], "groups": [0] * 4 + [1] * 2}
SEVEN = {"rewards": [1, 0, 0, 0, 1, 1, 1], "groups": [0] * 4 + [1] * 3}
NARROW = {"rewards": [0.5, 0.5000005, 0.5, 0.5, 1, 0, 0, 1], "groups": [0] * 4 + [1] * 4}
EIGHT = {"rewards": [1, 0, 0, 0, 1, 1, 1, 0], "groups": [0] * 4 + [1] * 4}
SOLVED = {"rewards": [1, 0, 0, 0, 1, 1, 1, 1], "groups": [0] * 4 + [1] * 4}
SIGNED = {"rewards": [-1, 1, 0, -0.5], "groups": [0, 0, 1, 1]}
TENS = {"rewards": [10, 0, 0, 0], "groups": [0] * 4}
HALVES = {"rewards": [1, 1, 0, 0], "groups": [0] * 4}
PAIR = {"rewards": [1, 0], "groups": [0, 0]}
FLAT = {"rewards": [1, 0, 0, 0], "groups": [0] * 4, "lengths": [5] * 4}
# One token a row, with the critic's value of it.
VALUED = PAIR | {"lengths": [1, 1], "values": [[0.5], [0.25]]}
_TWO_PARTS = [[1, 0], [0, 0.1], [0, 0.1], [0, 0.1], [1, 0.5], [0, 0.1], [1, 0.4], [0, 0.3]] + [[1, 0.2]] * 4
TWO = {"rewards": _TWO_PARTS, "groups": [0] * 4 + [1] * 4 + [2] * 4, "weights": [1.0, 1.0]}
WEIGHED = TWO | {"weights": [1.0, 0.25]}

_CENTRED = [0.75, -0.25, -0.25, -0.25, 0.35, -0.45, 0.35, -0.25, *DEAD]
_SCALED = [
    1.499997,
    -0.49999899,
    -0.49999899,
    -0.49999899,
    0.8488726,
    -1.0914078,
    0.8488726,
    -0.60633767,
    *DEAD,
]
_SCALED_8 = [1.5, -0.5, -0.5, -0.5, 0.84887463, -1.0914104, 0.84887463, -0.6063391, *DEAD]
_DDOF_0 = [
    1.7320468,
    -0.57734894,
    -0.57734894,
    -0.57734894,
    0.98019331,
    -1.2602485,
    0.98019331,
    -0.70013808,
    *DEAD,
]
_OTHERS = [1, -1 / 3, -1 / 3, -1 / 3, 0.46666667, -0.6, 0.46666667, -1 / 3, *DEAD]
_TWO_GROUPS = [1.499997, -0.49999899, -0.49999899, -0.49999899, -0.21821724, 1.0910865, -0.87286907, 0]
_TWO_CENTRED = [0.75, -0.25, -0.25, -0.25, -0.083333333, 0.41666667, -0.33333333, 0]
_ONE_GROUP = [
    1.3123757,
    -0.99509799,
    -0.99509799,
    -0.99509799,
    0.15863879,
    1.3123757,
    -0.41822961,
    0.62013352,
]
_TOKENS_0 = [
    2.4730275,
    *[-0.82953519] * 3,
    1.1520022,
    -1.4900477,
    1.1520022,
    -0.82953519,
    *[-0.0038944951] * 4,
]
_RAW_TOKENS_0 = [
    1.6798648,
    *[-0.84768212] * 3,
    1.4271101,
    -0.59492743,
    1.4271101,
    -0.089417994,
    *[-0.34217271] * 4,
]
_RAW_TOKENS_1 = [
    1.675898,
    *[-0.84568036] * 3,
    1.42374,
    -0.59352255,
    1.42374,
    -0.089206845,
    *[-0.34136468] * 4,
]
_RAGGED_TOKENS_1 = [2.5876949, *[-0.68365294] * 3, 0.95202094, 2.5876949, 0.13418403, 1.6062905]
_ROLL_BATCH = [2.0001295, *[-0.66670978] * 3, 0.9333936, -1.2000777, 0.9333936, -0.66670978, *DEAD]
_ROLL_TWICE = [
    1.7778928,
    *[-0.88894635] * 3,
    1.5112089,
    -0.62226242,
    1.5112089,
    -0.088894553,
    *[-0.35557851] * 4,
]
_RAW = EVEN["rewards"]

# like, estimator, scale, batch, advantages
CODE = [
    *(
        row
        for like in ("nemo-rl", "nemo-rl@0.7.0")
        for row in [
            (
                like,
                "grpo",
                None,
                EVEN,
                [1, *[-0.57734931] * 3, 1.1208943, -1.7320455, 1.1208943, -0.72168624, *DEAD],
            ),
            (like, "grpo", "none", EVEN, _OTHERS),
            (like, "grpo", None, RAGGED, [1, *[-0.57734931] * 3, -0.23570181, 3.5355141, -1.4142095, 0]),
            (like, "grpo", None, HALVES, [1.154698, 1.154698, -1.154698, -1.154698]),
            (like, "grpo", None, PAIR, [1, -1]),
            (like, "grpo_no_loo", None, EVEN, _SCALED),
            (like, "grpo_no_loo", "none", EVEN, _CENTRED),
            (like, "grpo_no_loo", None, RAGGED, _TWO_GROUPS),
            (like, "grpo_no_loo", None, PAIR, [0.707106, -0.707106]),
        ]
    ),
    (
        "nemo-rl@0.3.1",
        "grpo",
        None,
        EVEN,
        [1, *[-0.57735032] * 3, 1.1208971, -1.7320505, 1.1208971, -0.72168785, *DEAD],
    ),
    ("nemo-rl@0.3.1", "grpo", None, RAGGED, [1, *[-0.57735032] * 3, -0.23570228, 3.5355339, -1.4142135, 0]),
    (
        "nemo-rl@0.7.0",
        "gdpo",
        None,
        TWO,
        [
            0.55925757,
            *[0.01178595] * 3,
            *[1.6433705, -2.5154762, 1.0183358, -0.78801155],
            *[0.011791461] * 4,
        ],
    ),
    (
        "nemo-rl@0.7.0",
        "gdpo",
        None,
        TWO | {"weights": [1.0, 0.5]},  # which that version does not look at
        [
            0.55925757,
            *[0.01178595] * 3,
            *[1.6433705, -2.5154762, 1.0183358, -0.78801155],
            *[0.011791461] * 4,
        ],
    ),
    (
        "nemo-rl@0.7.0",
        "gdpo_no_loo",
        None,
        TWO,
        [2.683516e-05, *[-8.9912637e-06] * 3, 1.884654, -2.1764839, 1.3009939, -1.0091636, *DEAD],
    ),
    (
        "nemo-rl",
        "gdpo",
        None,
        WEIGHED,
        [
            1.0479227,
            *[-0.3907389] * 3,
            *[1.6217235, -1.8944492, 1.3592527, -1.1690351],
            *[0.051700477] * 4,
        ],
    ),
    (
        "nemo-rl",
        "gdpo_no_loo",
        None,
        WEIGHED,
        [1.5054632, *[-0.50182104] * 3, 1.5017052, -1.5996495, 1.3058162, -1.2078717, *DEAD],
    ),
    ("nemo-rl", "reinforce_plus_plus", None, EVEN, _TOKENS_0),
    (
        "nemo-rl",
        "reinforce_plus_plus",
        None,
        RAGGED,
        [3.4228172, *[-0.25905389] * 3, 0.35459134, 2.1955268, -0.56587636, 0.66141385],
    ),
    ("nemo-rl", "reinforce_plus_plus_raw", None, EVEN, _RAW_TOKENS_0),
    (
        "nemo-rl",
        "reinforce_plus_plus_raw",
        None,
        RAGGED,
        [2.5954778, *[-0.68570918] * 3, 0.95488435, 2.5954778, 0.13458757, 1.6111217],
    ),
    ("nemo-rl", "raw_reward", None, EVEN, _RAW),
    ("nemo-rl", "raw_reward", "batch", EVEN, _RAW_TOKENS_0),
    *(
        (like, name, None, EVEN, _SCALED)
        for like, name in [("slime", "grpo"), ("slime", "gspo"), ("slime", "cispo")]
    ),
    ("slime", "grpo", "none", EVEN, _CENTRED),
    ("slime", "grpo", None, RAGGED, _ONE_GROUP),
    ("slime", "grpo", "none", RAGGED, [0.56875, *[-0.43125] * 3, 0.06875, 0.56875, -0.18125, 0.26875]),
    ("slime", "grpo", None, SEVEN, [0.801782, *[-1.069043] * 3, *[0.801782] * 3]),
    (
        "slime",
        "reinforce_plus_plus_baseline",
        None,
        EVEN,
        [
            2.4671881,
            *[-0.82757646] * 3,
            *[1.1492821, -1.4865295, 1.1492821, -0.82757646],
            *[-0.0038852994] * 4,
        ],
    ),
    ("slime", "reinforce_plus_plus_baseline", None, RAGGED, _RAGGED_TOKENS_1),
    ("slime", "reinforce_plus_plus", None, EVEN, _RAW_TOKENS_1),
    ("slime", "reinforce_plus_plus", None, RAGGED, _RAGGED_TOKENS_1),
    (
        "areal@0.3.3",
        "grpo",
        None,
        EVEN,
        [1.7320108, *[-0.57733691] * 3, 0.98016852, -1.2602168, 0.98016852, -0.70012045, *DEAD],
    ),
    (
        "areal@0.3.3",
        "liteppo",
        None,
        EVEN,
        [2.3144789, *[-0.77149296] * 3, 1.08009, -1.3886874, 1.08009, -0.77149296, *DEAD],
    ),
    (
        "areal@0.3.3",
        "rloo",
        "group",
        EVEN,
        [1.7320209, *[-0.5773403] * 3, 0.98017544, -1.2602255, 0.98017544, -0.70012534, *DEAD],
    ),
    (
        "areal@0.3.3",
        "batch",
        None,
        EVEN,
        [1.8569016, *[-0.92845082] * 3, 1.5783664, -0.64991558, 1.5783664, -0.092845045, *[-0.37138033] * 4],
    ),
    ("areal@0.3.3", "grpo", None, SHORT, [1.7320108, *[-0.57733691] * 3, 100000, 50000]),
    ("areal@1.0.4", "grpo", None, SHORT, [1.49997, *[-0.49998999] * 3, 100000, 50000]),
    ("areal@1.0.4", "rloo", "group", SHORT, [1.4999775, *[-0.49999249] * 3, 100000, 50000]),
    ("areal@1.0.4", "drgrpo", None, SHORT, [0.75, *[-0.25] * 3, 1, 0.5]),
    ("areal@1.0.4", "liteppo", None, SHORT, [1.1858354, *[-0.39527845] * 3, 1.5811138, 0.79055691]),
    # By hand: with the fix the last two rows are a group, ±0.25 over its std 0.35355339 + 1e-5.
    ("areal", "grpo", None, SHORT, [1.49997, *[-0.49998999] * 3, 0.7070868, -0.7070868]),
    ("areal", "drgrpo", None, SHORT, [0.75, *[-0.25] * 3, 0.25, -0.25]),
    ("areal", "rloo", None, SHORT, [1, *[-1 / 3] * 3, 0.5, -0.5]),
    # By hand: squares 0.5625, 3 × 0.0625, 2 × 0.0625, in sum 0.875; over 5, root 0.41833; + 1e-5.
    ("areal", "liteppo", None, SHORT, [1.7927999, *[-0.5976] * 3, 0.5976, -0.5976]),
    ("areal", "batch", None, SHORT, [1.186587, *[-0.84756213] * 3, 1.186587, 0.16951242]),
    (
        "roll",
        "grpo",
        None,
        EVEN,
        [1.5, -0.5, -0.5, -0.5, 0.84912109, -1.0908203, 0.84912109, -0.60546875, *DEAD],
    ),
    (
        "roll",
        "lite_ppo",
        None,
        EVEN,
        [2, *[-0.66650391] * 3, 0.93359375, -1.1992188, 0.93359375, -0.66601562, *DEAD],
    ),
    ("roll", "lite_ppo", None, EIGHT, [1.40312, *[-0.46771] * 3, *[0.46771] * 3, -1.40312]),
    ("roll", "reinforce", "batch", EIGHT, [0.93541, *[-0.93541] * 3, *[0.93541] * 3, -0.93541]),
    (
        "roll",
        "reinforce",
        "batch",
        EVEN,
        [
            1.7783203,
            *[-0.88867188] * 3,
            *[1.5107422, -0.62207031, 1.5107422, -0.088562012],
            *[-0.35546875] * 4,
        ],
    ),
    ("roll", "reinforce", "group", EIGHT, [1.5, *[-0.5] * 3, *[0.5] * 3, -1.5]),
    ("roll", "reinforce", None, EVEN, _RAW),
    ("roll", "agentic_grpo", None, EVEN, _SCALED),
    ("roll", "agentic_grpo", "batch", EVEN, _ROLL_BATCH),
    ("roll", "agentic_grpo", "none", EVEN, _CENTRED),
    ("roll", "agentic_grpo", None, RAGGED, _TWO_GROUPS),
    (
        "roll",
        "agentic_grpo",
        "batch",
        RAGGED,
        [1.7306052, *[-0.57686841] * 3, -0.19228943, 0.96144736, -0.76915783, 0],
    ),
    ("roll", "agentic_grpo", "none", RAGGED, _TWO_CENTRED),
    ("roll", "agentic_grpo", None, NARROW, [*DEAD, 0.8660239, -0.8660239, -0.8660239, 0.8660239]),
    ("roll", "agentic_reinforce", None, EVEN, _RAW),
    ("roll", "agentic_reinforce", "batch", EVEN, _ROLL_TWICE),
    ("roll", "agentic_reinforce", "batch", RAGGED, [*_ONE_GROUP[:7], 0]),
    ("roll", "agentic_reinforce", "group", RAGGED, _TWO_GROUPS),
    ("prime-rl", "grpo", None, EVEN, _CENTRED),
    ("prime-rl", "grpo", None, RAGGED, _TWO_CENTRED),
    ("prime-rl", "echo", None, EVEN, _CENTRED),
    ("prime-rl", "hierarchical_grpo", None, EVEN, _CENTRED),
    ("prime-rl", "hierarchical_grpo", None, RAGGED, _TWO_CENTRED),
    (
        "prime-rl",
        "max_rl",
        None,
        EVEN,
        [3, -1, -1, -1, 0.63636357, -0.81818181, 0.63636357, -0.45454544, *DEAD],
    ),
    ("prime-rl", "max_rl", None, RAGGED, [3, -1, -1, -1, -0.14285712, 0.71428579, -0.57142854, 0]),
    ("prime-rl", "max_rl", None, SIGNED, [0, 0, 0, 0]),
    (
        "prime-rl",
        "rae",
        None,
        EVEN,
        [
            *[1, -0.05, -0.0475, -0.045125, 0.85713125, 0.014274687],
            *[0.81356095, 0.17288291, 0.06423876, 0.061026822, 0.057975481, 0.055076707],
        ],
    ),
    ("skyrl", "maxrl", None, SIGNED, [-1e6, 1e6, -1.000004, 1.000004]),
    ("rllm", "grpo", None, EVEN, _DDOF_0),
    ("rllm", "grpo", "none", EVEN, _CENTRED),
    (
        "rllm",
        "grpo",
        None,
        RAGGED,
        [1.7320468, *[-0.57734894] * 3, -0.26726038, 1.3363019, -1.0690415, 0.6999993],
    ),
    ("rllm", "grpo", "none", RAGGED, [*_TWO_CENTRED[:7], 0.7]),
    ("rllm", "rloo", None, EVEN, _OTHERS),
    ("rllm", "rloo", None, RAGGED, [1, *[-1 / 3] * 3, -0.125, 0.625, -0.5, 0.7]),
    ("rllm", "reinforce", None, RAGGED, RAGGED["rewards"]),
    (
        "rllm",
        "reinforce_plus_plus_baseline",
        None,
        EVEN,
        [2.3145431, *[-0.77151437] * 3, 1.0801201, -1.3887259, 1.0801201, -0.77151437, *DEAD],
    ),
    (
        "rllm",
        "reinforce_plus_plus_baseline",
        None,
        RAGGED,
        [2.0784552, *[-0.6928184] * 3, -0.23093947, 1.1546973, -0.92375787, 0],
    ),
    ("rllm", "reinforce_plus_plus_baseline", None, SOLVED, [2.449482, *[-0.816494] * 3, *DEAD]),
    (
        "rllm",
        "prpo",
        None,
        EVEN,
        [1.8569482, *[-0.9284741] * 3, 1.578406, -0.64993187, 1.578406, -0.09284741, *[-0.37138964] * 4],
    ),
    (
        "rllm",
        "prpo",
        None,
        RAGGED,
        [1.4029884, *[-1.0638044] * 3, 0.169592, 1.4029884, -0.44710618, 0.66295054],
    ),
    ("rllm", "prpo", None, SOLVED, [0.774595, *[-1.290992] * 3, *[0.774595] * 4]),
    ("oat", "grpo", None, EVEN, _SCALED_8),
    ("oat", "drgrpo", None, EVEN, _CENTRED),
    (
        "open-instruct",
        "standard",
        None,
        EVEN,
        [1.7320508, *[-0.57735026] * 3, 0.98019606, -1.260252, 0.98019606, -0.70014, *DEAD],
    ),
    ("open-instruct", "centered", None, EVEN, _CENTRED),
    ("open-instruct", "standard", None, TENS, [1.7320508, *[-0.5773503] * 3]),
    ("open-instruct", "centered", None, TENS, [7.5, -2.5, -2.5, -2.5]),
    ("easyr1", "grpo", None, EVEN, _SCALED),
    ("easyr1", "grpo", None, RAGGED_WITHOUT_ALONE, _TWO_GROUPS[:7]),
    ("easyr1", "grpo_passk", None, EVEN, [1.9999959, *[0] * 11]),
    ("easyr1", "grpo_passk", None, RAGGED_WITHOUT_ALONE, [1.9999959, *[0] * 4, 1.3093039, 0]),
    ("easyr1", "rloo", None, EVEN, _OTHERS),
    ("easyr1", "rloo", None, RAGGED_WITHOUT_ALONE, [1, *[-1 / 3] * 3, -0.125, 0.625, -0.5]),
    ("easyr1", "reinforce_plus_plus", None, EVEN, _RAW_TOKENS_1),
    (
        "easyr1",
        "reinforce_plus_plus",
        None,
        RAGGED_WITHOUT_ALONE,
        [2.7629342, *[-0.63760018] * 3, 1.062667, 2.7629342, 0.2125334],
    ),
    (
        "easyr1@0.3.2",
        "remax",
        None,
        EVEN,
        [0.5, -0.5, -0.5, -0.5, 0.65, -0.15, 0.65, 0.05, *DEAD],
    ),
    ("openrlhf@0.8.4", "rloo", None, EVEN, _TOKENS_0),
    (
        "openrlhf@0.8.4",
        "rloo",
        "none",
        EVEN,
        [
            0.99842769,
            *[-0.33490565] * 3,
            0.4650943,
            -0.60157233,
            0.4650943,
            -0.33490568,
            *[-0.0015723025] * 4,
        ],
    ),
    ("openrlhf@0.8.4", "reinforce_baseline", None, EVEN, _TOKENS_0),
    ("openrlhf@0.8.4", "group_norm", None, EVEN, _SCALED_8),
    ("openrlhf@0.8.4", "dr_grpo", None, EVEN, _CENTRED),
    ("openrlhf@0.8.4", "reinforce", None, EVEN, _RAW_TOKENS_0),
    (
        "openrlhf@0.8.4",
        "reinforce",
        "none",
        EVEN,
        [0.6646226, *[-0.3353774] * 3, 0.56462258, -0.2353774, 0.56462258, -0.035377383, *[-0.13537739] * 4],
    ),
    ("miles", "raw_reward", None, RAGGED, RAGGED["rewards"]),
    ("marti", "reinforce_baseline", None, FLAT, [1.732051, *[-0.577350] * 3]),
    # r − v is 0.5 and −0.25.
    ("marti", "gae", None, VALUED, [1, -1]),
]


def literals() -> Counter[tuple[str, str]]:
    """How many numbers there are per (like, estimator)."""
    found: Counter[tuple[str, str]] = Counter()
    for like, estimator, _, *groups in TOTALS:
        found[like, estimator] += sum(map(len, groups))
    for like, *groups in PARTS:
        found[like, "gdpo"] += sum(map(len, groups))
    for like, estimator, *_ in ONE_SUCCESS:
        found[like, estimator] += 4
    for like, estimator, *_ in ALONE:
        found[like, estimator] += 1
    for like, estimator, _, _, advantages in CODE:
        found[like, estimator] += len(advantages)
    for like, estimator, _, advantages in CRITIC:
        found[like, estimator] += len(advantages)
    for like, estimator in DISTILLERS:
        found[like, estimator] += len(DISTILLED)
    for case in (*read(ROLLOUTS), *read(RULES)):
        call = call_of(case.framework, case.version, case.estimator, case.settings, case.rows)
        found[call.given["like"], call.given["estimator"]] += len(case.rows)
    return found
