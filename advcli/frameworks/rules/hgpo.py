"""HGPO: the repository of the paper, and two copies of its recipe that differ."""

from typing import Any

from advcli.frameworks.rule import CENTRE, Z_SCORE, Rule, turn_rule

_RECIPE = {"gamma": 0.95, "history": 2.0, "alpha": 1.0, "base": 0.0}


def _hgpo(estimator: str, weights: str, source: str, **row: Any) -> Rule:  # noqa: ANN401
    return turn_rule(
        "hgpo",
        estimator,
        f"A = Σ_k w_k (R − m_k) / (s_k + 1e-6) over turns of the prompt with the last k states equal, ddof 0, {weights}",
        "hgpo:hgpo",
        ("rewards", "group", "rollout", "anchor", "episode"),
        source=source,
        **row,
    )


_TWO = "recipe/hgpo/core_hgpo.py"
ROWS = [
    _hgpo(
        "hgpo",
        "w_k = (k+1)^α / Σ",
        _TWO,
        knobs={"zeros": True},
        scales=Z_SCORE | CENTRE,
        options=_RECIPE,
    ),
    _hgpo(
        "hgpo_nonzero",
        "w_k = (k+1)^α / Σ, without items of exactly 0",
        _TWO,
        knobs={"zeros": False},
        scales=Z_SCORE | CENTRE,
        options=_RECIPE,
    ),
    _hgpo(
        "hgpo_paper",
        "w_k = k / Σ k, without items of exactly 0",
        "hgpo/core_hgpo.py",
        knobs={"zeros": False, "shift": 0.0, "slip": True},
        scales=CENTRE | Z_SCORE,
        options={"gamma": 0.95, "history": 2.0},
        lost=(
            "the order of ids, by which one row of a prompt with a state met once gets 0: that of the file",
        ),
    ),
]
