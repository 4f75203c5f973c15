"""verifiers, two proposals for rewards of turns: pull requests 1554 (open) and 536 (closed)."""

from advcli.frameworks.rule import turn_rule

_ORDER = ("rewards", "group", "rollout")

ROWS = [
    turn_rule(
        "verifiers",
        "step_reward",
        "A = (R − mean) / (std + 1e-8), R = Σ γ^k r_{t+k}, over all turns of the group, ddof 0",
        "turn_baselines:step_reward",
        _ORDER,
        options={"gamma": 1.0},
        source="verifiers/utils/step_reward_utils.py",
    ),
    turn_rule(
        "verifiers",
        "stepwise_returns",
        "A = (R − mean) / (std + 1e-8) over all turns of the group, ddof 0; R the sum or the max of γ^k r_{t+k}",
        "turn_baselines:step_reward",
        _ORDER,
        options={"gamma": 0.4, "how": "sum", "normalise": 1.0},
        source="verifiers/rl/trainer/generator.py",
    ),
]
