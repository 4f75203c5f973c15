"""AReno, whose trainer and agents compute the standard deviation in two ways."""

from advcli.frameworks.rule import grpo

ROWS = [
    grpo(
        "areno",
        eps=1e-8,
        ddof=0,
        knobs={"centre": "mean-running", "variance": "moments"},
        options={"eps": 1e-8},
        source="areno/api/advantages.py",
        proof="code",
    ),
    grpo(
        "areno",
        eps=1e-8,
        ddof=0,
        estimator="agentic_grpo",
        options={"eps": 1e-8},
        source="areno/api/rewards.py",
        proof="code",
    ),
]
