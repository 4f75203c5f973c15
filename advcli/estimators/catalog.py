"""What there is to estimate with: one row per estimator. Nothing heavy is imported here."""

from collections.abc import Mapping
from dataclasses import dataclass

from advcli.common.loss_side import refusal
from advcli.common.registry import Registry
from advcli.estimators.entry import Estimator
from advcli.estimators.rows import baselines, batch, group, in_order, passk, robust, several, tokens, turns

__all__ = ["COLUMNS", "ESTIMATORS", "ROLES", "SCALES", "TOKEN_COLUMNS", "Column", "Estimator"]


@dataclass(frozen=True)
class Column:
    """A column that an estimator may need.

    Attributes:
        name: the word in `Estimator.needs`.
        what: what is in it, for messages.
        flag: how to name it on the command line.
        argument: how to pass it to `compute_advantages`.
    """

    name: str
    what: str
    flag: str
    argument: str


ROLES: Mapping[str, str] = {
    "episode": "the reward of the whole rollout",
    "valid": "whether the action of each turn was valid",
    "env_step": "the step of the environment, where several turns share one",
    "agent": "the agent of each turn",
    "input_tokens": "the tokens of each turn that the policy did not write",
    "macro": "the advantage of the whole rollout",
    "segment": "which segment of the row is the result of a tool",
}
"""What a column may be that only a few rules look at."""

_TOKENS = "--length-col COL, or --values-col COL with a list per row"

COLUMNS: Registry[Column] = Registry(
    "column",
    [
        Column("rewards", "the reward of each row", "--reward COL", "rewards"),
        Column("group", "the group of each row", "--prompt-col COL", "groups"),
        Column("step", "the step of each row", "--step-col COL", "steps"),
        Column("lengths", "the tokens of each row", "--length-col COL", "lengths"),
        Column("baselines", "the greedy reward of each prompt", "--baseline-col COL", "baselines"),
        Column("parts", "several rewards for each row", "--reward A --reward B", "rewards of shape [N, K]"),
        Column("weights", "the weight of each reward", "--reward A=1 --reward B=0.5", "weights"),
        Column("row", "the tokens of each row", _TOKENS, "lengths"),
        Column("place", "the tokens of each row", _TOKENS, "lengths"),
        Column("counted", "the tokens of each row", _TOKENS, "lengths"),
        Column("token_kl", "the KL of each token", "--kl-col COL with a list per row", "kl"),
        Column("kl", "the KL of each row, or a list with that of each token", "--kl-col COL", "kl"),
        Column(
            "values", "the critic's value of each token", "--values-col COL with a list per row", "values"
        ),
        Column(
            "log_probs",
            "the log-probability of each token",
            "--log-probs-col COL with a list per row",
            "log_probs",
        ),
        Column(
            "rollout_log_probs",
            "the log-probability of each token under the policy that sampled it",
            "--rollout-log-probs-col COL with a list per row",
            "rollout_log_probs",
        ),
        Column(
            "teacher_log_probs",
            "the log-probability of each token under the teacher",
            "--teacher-log-probs-col COL with a list per row",
            "teacher_log_probs",
        ),
        Column(
            "sum_pi_squared",
            "the sum of the squared probabilities of the vocabulary at each token",
            "--sum-pi-squared-col COL with a list per row",
            "sum_pi_squared",
        ),
        Column(
            "token_rewards",
            "the reward of each token",
            "--token-rewards-col COL with a list per row",
            "token_rewards",
        ),
        Column(
            "entropies",
            "the entropy of each token",
            "--entropy-col COL with a list per row",
            "entropies",
        ),
        Column("rollout", "the rollout of each row", "--rollout-col COL", "rollouts"),
        Column("turn", "the number of each turn", "--turn-col COL", "turns"),
        Column("anchor", "the state before each turn", "--anchor-col COL", "anchors"),
        *(
            Column(role, what, f"--role {role}=COL", f"roles={{'{role}': ...}}")
            for role, what in ROLES.items()
        ),
    ],
)

TOKEN_COLUMNS = (
    "values",
    "log_probs",
    "rollout_log_probs",
    "teacher_log_probs",
    "sum_pi_squared",
    "token_rewards",
)
"""Columns with a list per row, a number for each token."""

SCALES = ("group", "batch", "none")

# The order of `advcli estimators`.
_MODULES = (group, baselines, passk, robust, in_order, batch, several, tokens, turns)

ESTIMATORS: Registry[Estimator] = Registry(
    "estimator", [row for module in _MODULES for row in module.ROWS], refusal
)
