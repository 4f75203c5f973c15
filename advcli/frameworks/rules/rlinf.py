"""RLinf."""

from advcli.frameworks.rule import HERE, KL, TOKENS, Rule, grpo, turn_rule

_RLINF = "rlinf/algorithms/advantages.py"

# Scale batch is its normalize_advantages.
_RAW = {"none": {"divide": False, "shift": False}, "batch": {}}

ROWS = [
    grpo("rlinf", eps=1e-6, knobs={"single": "nan"}, positional=True, source=_RLINF, proof="package"),
    Rule(
        "rlinf",
        "reinpp",
        "r whitened over tokens: (r_i − m) / sqrt(max(v, 1e-8)), ddof 0",
        f"{HERE}:whitened",
        TOKENS,
        {"ddof": 0, "eps": 0.0, "floor": 1e-8, "variance": "two-pass by token"},
        lost=(KL,),
        source=_RLINF,
        proof="package",
        scope="step",
    ),
    Rule(
        "rlinf",
        "raw",
        "A_i = r_i; scale batch (r_i − m) / (sqrt(v) + 1e-5) over tokens, ddof 1",
        f"{HERE}:whitened",
        TOKENS,
        {"eps": 0.0, "outer": 1e-5, "variance": "flat by token"},
        scales=_RAW,
        source=_RLINF,
        proof="package",
    ),
    turn_rule(
        "rlinf",
        "grpo_dynamic",
        "A = (x − mean) / (std + 1e-6), ddof 1; x the reward of a turn, or with by=trajectory the mean of a rollout",
        "turn_baselines:dynamic",
        ("rewards", "group", "rollout"),
        options={"by": "turn"},
        source="rlinf/algorithms/advantages.py",
    ),
]
