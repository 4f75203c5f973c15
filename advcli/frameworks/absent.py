"""Estimators of frameworks that --like cannot reproduce from a dump, and what they need. Nothing heavy is imported here."""

from collections.abc import Mapping
from types import MappingProxyType

_CRITIC = "the values of a critic, one per token"

# (framework, estimator) → what it needs and a dump does not have. A row of the catalog of the same name wins.
ABSENT: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("nemo-rl", "gae"): _CRITIC,
        ("trl", "minillm"): "the probabilities that a teacher gives to the whole vocabulary at each token",
        ("verl", "prime"): "implicit rewards of a process reward model, one per token",
        ("verl", "spo"): "the rewards that a prompt had in earlier steps",
        ("trl", "a2po"): "rewards of a reference policy for the same prompt",
        ("trl", "gfpo"): "the scores by which it chose the rows that it kept",
        ("roll", "gigpo"): "the state and the reward of each step of an episode",
        ("roll", "step_reinforce"): "the reward of each step of an episode",
    }
)
