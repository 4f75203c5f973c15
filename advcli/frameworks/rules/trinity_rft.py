"""Trinity-RFT."""

from advcli.frameworks.rule import GROUP, GROUPED, Rule, Unit

_TRINITY = "trinity/algorithm/advantage_fn/multi_step_grpo_advantage.py"

# The last in the file does, whatever its turn.
_LAST = Unit(by_turn=False)

ROWS = [
    Rule(
        "trinity-rft",
        "step_wise_grpo",
        "A_i = (r_i − mean_g) / (std + 1e-6) of the runs, ddof 1; step_norm=1 divides it by the rows of the run",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"eps": 1e-6, "single": "raw-eps"},
        scales={**GROUP, "batch": {"divide": "batch"}},
        options={"step_norm": 0.0},
        unit=_LAST,
        lost=("std_threshold",),
        source=_TRINITY,
        proof="code",
    ),
]
