"""Estimators of frameworks that --like cannot reproduce from a dump, and what they need. Nothing heavy is imported here."""

from collections.abc import Mapping
from types import MappingProxyType

_CRITIC = "the values of a critic, one per token"
_TEACHER = "the log-probabilities of a teacher, one per token"

# (framework, estimator) → what it needs and a dump does not have. A row of the catalog of the same name wins.
ABSENT: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        **dict.fromkeys(
            [
                ("easyr1", "gae"),
                ("trl", "ppo"),
                ("skyrl", "gae"),
                ("slime", "ppo"),
                ("areal", "ppo"),
                ("roll", "gae"),
                ("oat", "ppo"),
            ],
            _CRITIC,
        ),
        **dict.fromkeys(
            [("trl", "minillm"), ("nemo-rl", "opd"), ("prime-rl", "opd"), ("prime-rl", "opsd")], _TEACHER
        ),
        ("verl", "prime"): "implicit rewards of a process reward model, one per token",
        ("verl", "spo"): "the rewards that a prompt had in earlier steps",
        ("trl", "a2po"): "rewards of a reference policy for the same prompt",
        ("trl", "gfpo"): "the scores by which it chose the rows that it kept",
    }
)
