"""XTuner."""

from advcli.frameworks.rule import HERE, RLOO, WEIGHTED, Rule, Unit, centred, grpo

_FOLDER = "xtuner/v1/rl/advantage"

# The first row in the file represents its rollout, whatever its turn.
_FIRST = Unit(reward="first", by_turn=False)

ROWS = [
    # It loops over the groups, so the standard deviation is that of a flat tensor.
    grpo(
        "xtuner",
        eps=1e-8,
        knobs={"single": "nan", "variance": "whole"},
        options={"eps": 1e-8},
        unit=_FIRST,
        source=f"{_FOLDER}/grpo.py",
        proof="code",
    ),
    Rule(
        "xtuner",
        "drgrpo",
        "A_i = (r_i − mean_g) / (std_g + 1e-8) · tokens / max_length, ddof 1 (not Dr. GRPO of arXiv:2503.20783)",
        f"{WEIGHTED}:by_length",
        ("rewards", "group", "step", "lengths"),
        {},
        options={"max_length": 32768.0, "eps": 1e-8},
        unit=_FIRST,
        source=f"{_FOLDER}/grpo.py",
        proof="code",
    ),
    centred(
        "xtuner",
        "rloo",
        knobs={"centre": "others", "single": "raw"},
        formula=RLOO,
        unit=_FIRST,
        source=f"{_FOLDER}/rloo.py",
        proof="code",
    ),
    Rule(
        "xtuner",
        "opo",
        "A_i = r_i − Σ_g L_j r_j / (Σ_g L_j + 1e-8)",
        f"{HERE}:length_baseline",
        ("rewards", "group", "lengths"),
        {"single": "zero"},
        options={"eps": 1e-8},
        unit=_FIRST,
        source=f"{_FOLDER}/opo.py",
        proof="code",
    ),
    Rule(
        "xtuner",
        "passk",
        "A_right = (1 − ρ) / (σ + 1e-6), ρ = 1 − C(n−c,k)/C(n,k), σ = √(ρ(1−ρ)), k of 4; −1e6 where none is right",
        f"{WEIGHTED}:sets_of_k",
        ("rewards", "group"),
        {},
        options={"k": 4},
        unit=_FIRST,
        source=f"{_FOLDER}/passk.py",
        proof="code",
    ),
]
