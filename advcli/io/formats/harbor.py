"""Dumps of Harbor: a folder per trial, with its result and its trajectory."""

from collections.abc import Mapping

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

_HERE = "advcli.io.formats.harbor"
# Exceptions after which the reward is still valid: the agent used up its budget, or refused.
_VALID = frozenset(
    (
        "AgentTimeoutError",
        "ContextWindowExceededError",
        "OutputTokenExceededError",
        "ContextLengthExceededError",
        "OutputLengthExceededError",
        "AgentSafetyRefusalError",
        "ContentPolicyViolationError",
    )
)

ROWS = (
    Format(
        name="harbor",
        requires=("task_name", "trial_name", "agent_info:object", "verifier_result", "task_checksum"),
        prompt=("source?+task_name+agent",),
        reward=("valid reward",),
        no_rewards=("reward_valid",),
        derived=(
            Derived(
                "valid reward",
                ("verifier_result", "exception_info?", "step_results?", "reward_valid?"),
                f"{_HERE}:reward",
            ),
            Derived("agent", ("agent_info",), f"{_HERE}:agent", "text"),
        ),
        files=("result.json",),
        summary="Harbor jobs/<job>/<trial>/result.json: a trial per file",
        source="harbor/models/trial/result.py",
        switch="on by default: jobs/",
        traps=(
            "the reward is the one named 'reward', or the only one; several others have no total (--reward)",
            "the reward of a trial that failed through no fault of the agent is not valid: missing",
            "step rewards are not rollouts, and trajectory.json (ATIF) holds no reward",
        ),
    ),
    Format(
        name="atif",
        requires=("schema_version", "steps:list", "agent:object"),
        forbids=("reward", "verifier_result"),
        otherwise=("trajectory.json",),
        summary="an ATIF trajectory.json, which holds no reward (refused)",
        source="harbor/models/trajectories",
        switch="on by default: jobs/<job>/<trial>/agent/",
        refusal="this is an ATIF trajectory, which holds no reward: it is in result.json of the trial (Harbor)",
    ),
)


def reward(verifier: object, exception: object, steps: object, valid: object) -> object:
    """The reward of a trial by Harbor's own rule; null if there is no valid one.

    Args:
        verifier: `verifier_result`.
        exception: `exception_info` of the trial.
        steps: `step_results`, which have their own exceptions.
        valid: `reward_valid`, written since 0.26.

    Example:
        >>> reward({"rewards": {"reward": 1.0, "style": 0.5}}, None, None, None)
        1.0
        >>> reward(
        ...     {"rewards": {"tests": 1.0}}, {"exception_type": "VerifierTimeoutError"}, None, None
        ... ) is None
        True
    """
    rewards = verifier.get("rewards") if isinstance(verifier, Mapping) else None
    if not isinstance(rewards, Mapping) or not rewards:
        return None
    if not (valid if isinstance(valid, bool) else _no_fault(exception, steps)):
        return None
    return (
        rewards["reward"]
        if "reward" in rewards
        else next(iter(rewards.values()))
        if len(rewards) == 1
        else None
    )


def _no_fault(exception: object, steps: object) -> bool:
    """Whether the reward is still valid after all exceptions of the trial and its steps."""
    inner = (
        [step.get("exception_info") for step in steps if isinstance(step, Mapping)]
        if isinstance(steps, list)
        else []
    )
    exceptions = [error for error in (exception, *inner) if isinstance(error, Mapping)]
    return all(error.get("exception_type") in _VALID for error in exceptions)


def agent(info: object) -> str:
    """The agent and its model, which separate the trials of a task in a job with several.

    Example:
        >>> (
        ...     agent({"name": "mini", "model_info": {"name": "tiny"}}),
        ...     agent({"name": "oracle", "model_info": None}),
        ... )
        ('mini tiny', 'oracle')
    """
    info = info if isinstance(info, Mapping) else {}
    model = info.get("model_info")
    names = (info.get("name"), model.get("name") if isinstance(model, Mapping) else None)
    return " ".join(str(name) for name in names if name)
