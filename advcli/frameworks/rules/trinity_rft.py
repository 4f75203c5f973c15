"""Trinity-RFT."""

from advcli.frameworks.rule import CENTRE, GIGPO, GROUP, Z_SCORE, Rule, Unit, turn_rule

_TRINITY = "trinity/algorithm/advantage_fn/multi_step_grpo_advantage.py"

# The last in the file does, whatever its turn.
_LAST = Unit(by_turn=False)

ROWS = [
    Rule(
        "trinity-rft",
        "step_wise_grpo",
        "A_i = (r_i − mean_g) / (std + 1e-6) of the runs, ddof 1; step_norm=1 divides it by the rows of the run",
        "advcli.frameworks.turn_baselines:over_threshold",
        ("rewards", "group", "step"),
        {"eps": 1e-6, "single": "raw-eps"},
        scales={**GROUP, "batch": {"divide": "batch"}},
        options={"step_norm": 0.0, "std_threshold": -1.0},
        unit=_LAST,
        source=_TRINITY,
        proof="code",
    ),
    turn_rule(
        "trinity-rft",
        "gigpo",
        GIGPO.format(z="z over the runs of the task", state="state of the batch"),
        "turns:trinity_gigpo",
        ("rewards", "group", "step", "rollout", "turn", "anchor"),
        knobs={"eps": 1e-6},
        scales=CENTRE | Z_SCORE,
        options={"gamma": 1.0, "weight": 1.0},
        scope="step",
        source="trinity/algorithm/advantage_fn/gigpo_advantage.py",
    ),
]
