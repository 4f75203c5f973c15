"""Literals per token: what the frameworks' own lines gave for two rows, on one thread; nothing was computed by advcli.

The functions and loops are those of the commits in `vectors.RAN`, taken out of their files; TRL's is of 0.23.0, oat's and
AReaL's are the lines inside a method.
"""

REWARDS = [1.0, 0.25]
VALUES = [[0.5, -0.25, 0.75, 0.5], [0.1, 0.3, -0.2]]
MASK = [[1, 0, 1, 1], [1, 1, 1]]
KNOBS = {"gamma": 0.9, "lam": 0.8}

_THROUGH = [-0.027896, None, 0.06, 0.5, 0.05768, -0.156, 0.45]
_WHITE = [-0.6580803, None, -0.3279157, 1.3248601, -0.3366303, -1.1392784, 1.1370447]

# like, estimator, scale, advantages of all tokens; None where a tool wrote the token
CRITIC = [
    ("skyrl", "gae", None, _WHITE),
    ("slime", "ppo", None, _THROUGH),
    ("slime", "ppo", "batch", _WHITE),
    ("roll", "gae", None, _THROUGH),
    ("roll", "gae", "batch", _WHITE),
    ("easyr1@0.3.2", "gae", None, _WHITE),
    ("trl", "ppo", None, _WHITE),
    ("oat", "ppo", None, [-0.6818, None, 0.06, 0.5, 0.05768, -0.156, 0.45]),
    ("areal", "ppo", None, [0.2182, None, 0.06, 0.5, 0.05768, -0.156, 0.45]),
]

# Differences of two numbers: nothing was run for them.
TEACHER = [[-0.25, -1.0, -4.0], [-0.5]]
TRAINER = [[-0.5, -0.5, -3.0], [-0.125]]
DISTILLED = [0.25, -0.5, -1.0, -0.375]
DISTILLERS = [("nemo-rl", "opd"), ("prime-rl", "opd"), ("prime-rl", "opsd")]
