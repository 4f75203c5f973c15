"""The roles of columns: one row per role. Imports nothing heavy."""

from dataclasses import dataclass

from advcli.common.registry import Registry


@dataclass(frozen=True)
class Role:
    """A role that a column may have.

    Attributes:
        name: its name in `Estimator.needs`, and of the tensor that an estimator gets.
        what: what it contains, for messages.
        flag: how to name it on the command line.
        argument: how to pass it to `compute_advantages`.
        holds: the values of a column in `RewardTable.roles` or `RewardTable.tokens`: a "number" per row; a "label", which is
            only compared for equality; or a "list" with a number per token. "" for roles with their own field, or that
            are computed from others.
    """

    name: str
    what: str
    flag: str
    argument: str
    holds: str = ""

    @property
    def option(self) -> str:
        """The name of the option in Python, such as "kl_col"; "role" for roles that share `--role`."""
        return self.flag.split()[0].removeprefix("--").replace("-", "_")


def _list(name: str, what: str, option: str) -> Role:
    return Role(name, f"{what} of each token", f"{option} COL with a list per row", name, "list")


def _of_turns(name: str, what: str, holds: str = "number") -> Role:
    """A role that only a few rules use."""
    return Role(name, what, f"--role {name}=COL", f"roles={{'{name}': ...}}", holds)


_LENGTHS = "--length-col COL, or --values-col COL with a list per row"

ROLES: Registry[Role] = Registry(
    "role",
    [
        Role("rewards", "the reward of each row", "--reward COL", "rewards"),
        Role("group", "the group of each row", "--prompt-col COL", "groups"),
        Role("step", "the step of each row", "--step-col COL", "steps"),
        Role("lengths", "the tokens of each row", "--length-col COL", "lengths"),
        Role("baselines", "the greedy reward of each prompt", "--baseline-col COL", "baselines", "number"),
        Role("parts", "several rewards for each row", "--reward A --reward B", "rewards of shape [N, K]"),
        Role("weights", "the weight of each reward", "--reward A=1 --reward B=0.5", "weights"),
        Role("row", "the tokens of each row", _LENGTHS, "lengths"),
        Role("place", "the tokens of each row", _LENGTHS, "lengths"),
        Role("counted", "the tokens of each row", _LENGTHS, "lengths"),
        Role("token_kl", "the KL of each token", "--kl-col COL with a list per row", "kl"),
        Role("kl", "the KL of each row, or a list with that of each token", "--kl-col COL", "kl", "number"),
        _list("values", "the critic's value", "--values-col"),
        _list("log_probs", "the log-probability", "--log-probs-col"),
        Role(
            "rollout_log_probs",
            "the log-probability of each token under the policy that sampled it",
            "--rollout-log-probs-col COL with a list per row",
            "rollout_log_probs",
            "list",
        ),
        Role(
            "teacher_log_probs",
            "the log-probability of each token under the teacher",
            "--teacher-log-probs-col COL with a list per row",
            "teacher_log_probs",
            "list",
        ),
        Role(
            "sum_pi_squared",
            "the sum of the squared probabilities of the vocabulary at each token",
            "--sum-pi-squared-col COL with a list per row",
            "sum_pi_squared",
            "list",
        ),
        _list("token_rewards", "the reward", "--token-rewards-col"),
        Role(
            "mask",
            "which tokens of each row the policy wrote",
            "--mask-col COL with a list per row",
            "mask",
            "list",
        ),
        _list("entropies", "the entropy", "--entropy-col"),
        Role("version", "the version of the policy that sampled each row", "--version-col COL", "", "number"),
        Role("rollout", "the rollout of each row", "--rollout-col COL", "rollouts"),
        Role("turn", "the number of each turn", "--turn-col COL", "turns"),
        Role("anchor", "the state before each turn", "--anchor-col COL", "anchors", "label"),
        _of_turns("episode", "the reward of the whole rollout"),
        _of_turns("valid", "whether the action of each turn was valid"),
        _of_turns("env_step", "the step of the environment, where several turns share one"),
        _of_turns("agent", "the agent of each turn", "label"),
        _of_turns("input_tokens", "the tokens of each turn that the policy did not write"),
        _of_turns("macro", "the advantage of the whole rollout"),
        _of_turns("segment", "which segment of the row is the result of a tool"),
    ],
)

LABELS = frozenset(role.name for role in ROLES if role.holds == "label")
"""Roles whose values are only compared for equality."""

FREE = tuple(role.name for role in ROLES if role.option == "role")
"""Roles that share the option `--role`."""

TOKEN_COLUMNS = (
    "values",
    "log_probs",
    "rollout_log_probs",
    "teacher_log_probs",
    "sum_pi_squared",
    "token_rewards",
)
"""Roles with a list per row that an estimator may need."""
