"""Estimators of frameworks that --like can't reproduce from a dump, and what they need. Imports nothing heavy."""

from collections.abc import Mapping
from types import MappingProxyType

_CRITIC = "the values of a critic, one per token"
_TEACHER = "the log-probabilities of a teacher, one per token"

# (framework, estimator) → what it needs that a dump doesn't have. A catalog row with the same name takes precedence.
ABSENT: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        **dict.fromkeys([("rlinf", "gae"), ("tunix", "ppo")], _CRITIC),
        **dict.fromkeys(
            [
                ("trinity-rft", "on_policy_distill"),
                ("trinity-rft", "jsd"),
                ("labs-molt", "on_policy_distill"),
            ],
            _TEACHER,
        ),
        **dict.fromkeys(
            [("trinity-rft", "clipb"), ("trinity-rft", "clipv")], "the entropies of the policy, one per token"
        ),
        ("trl", "minillm"): "the probabilities that a teacher gives to the whole vocabulary at each token",
        ("verl", "prime"): "implicit rewards of a process reward model, one per token",
        ("trl", "a2po"): "rewards of a reference policy for the same prompt",
        ("trl", "gfpo"): "the scores by which it chose the rows that it kept",
    }
)
