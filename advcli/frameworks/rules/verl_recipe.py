"""verl's recipes, which are in a separate repository."""

from advcli.frameworks.rule import IN_ORDER, Rule

_SPO = "spo/spo_ray_trainer.py"

_LOST = (
    "rewards of earlier steps unless --group-by names the prompt alone",
    "rho_type=kl (needs two policies)",
)

_FORMULA = "c = r − α/(α+β) of the prompt, A = (c − mean_B) / (std_B + 1e-8); then α ← ρα + r, β ← ρβ + 1 − r"

ROWS = [
    Rule(
        "verl-recipe",
        "spo",
        _FORMULA,
        f"{IN_ORDER}:posterior",
        ("rewards", "group", "step"),
        {},
        options={"rho": 0.875, "alpha0": 0.5, "beta0": 0.5},
        scope="order",
        lost=_LOST,
        source=_SPO,
        proof="notes",
    ),
    Rule(
        "verl-recipe",
        "spo_offline",
        f"{_FORMULA}; α and β start from earlier scores of the prompt",
        f"{IN_ORDER}:posterior_from_scores",
        ("rewards", "baselines", "group", "step"),
        {},
        options={"rho": 0.875, "scores": 8.0, "clip_lower": 0.875},
        scope="order",
        lost=(*_LOST, "the random draw from more than offline_N scores"),
        source=_SPO,
        proof="notes",
    ),
]
