"""AReno, whose trainer and agents compute the standard deviation in two ways."""

from advcli.frameworks.rule import GRPO, Rule

_FORMULA = GRPO.format(eps="1e-8", ddof=0)


def _areno(estimator: str, formula: str, source: str, *, one_pass: bool) -> Rule:
    return Rule(
        "areno",
        estimator,
        formula,
        "advcli.frameworks.arithmetic.numpy_sums:standardised",
        ("rewards", "group"),
        {"one_pass": one_pass},
        options={"eps": 1e-8},
        source=source,
        proof="package",
    )


ROWS = [
    _areno("grpo", f"{_FORMULA}, in one pass", "areno/api/advantages.py", one_pass=True),
    _areno("agentic_grpo", _FORMULA, "areno/api/rewards.py", one_pass=False),
]
