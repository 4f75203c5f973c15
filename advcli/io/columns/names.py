"""Classifies columns by the words in their names, so that similar names never seen before are recognized too."""

import re
from collections.abc import Sequence

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_REWARD = frozenset({"reward", "rewards", "score", "scores"})
# Combined with a word for the reward, these mean the total reward.
_WHOLE = frozenset(
    [
        "total",
        "final",
        "sum",
        "summed",
        "scalar",
        "overall",
        "combined",
        "aggregate",
        "aggregated",
        "episode",
        "episodic",
        "cumulative",
    ]
)
_OUTCOME = frozenset(
    ["correct", "correctness", "pass", "passed", "success", "resolved", "solved", "graded", "acc", "accuracy"]
)
# A column with one of these is never the reward of a row, whatever else its name says.
_STATISTIC = frozenset(
    [
        "mean",
        "std",
        "stdev",
        "min",
        "max",
        "avg",
        "average",
        "median",
        "var",
        "variance",
        "quantile",
        "percentile",
    ]
)
_LABEL = frozenset(
    [
        "id",
        "ids",
        "idx",
        "index",
        "uid",
        "uuid",
        "guid",
        "hash",
        "key",
        "num",
        "count",
        "counts",
        "nth",
        "rank",
    ]
)
# In some dumps the sum of an episode's rewards, in others the critic's target; only suggested, never chosen.
_RETURN = frozenset({"return", "returns"})
_CLOCK = frozenset(
    ["timestamp", "ts", "ms", "msec", "sec", "secs", "seconds", "ns", "us", "duration", "latency", "elapsed"]
)
_ASIDE = frozenset(
    [
        "advantage",
        "advantages",
        "adv",
        "weight",
        "weights",
        "valid",
        "invalid",
        "mask",
        "masked",
        "error",
        "errors",
        "threshold",
        "baseline",
        "logprob",
        "logprobs",
        "kl",
        "entropy",
        "temperature",
        "loss",
        "version",
        "seed",
    ]
)
# No rewards either, unless the name also has a word for a reward: `length_reward`, `time_score`.
_MEASURE = frozenset(
    [
        "n",
        "step",
        "steps",
        "epoch",
        "iteration",
        "iter",
        "update",
        "attempt",
        "turn",
        "turns",
        "round",
        "len",
        "length",
        "lengths",
        "tokens",
        "token",
        "chars",
        "size",
        "time",
        "times",
        "date",
        "created",
        "at",
        "start",
        "end",
        "value",
        "values",
        "lr",
        "ratio",
        "truncated",
        "difficulty",
    ]
)

_ASKED = frozenset(
    [
        "prompt",
        "group",
        "question",
        "problem",
        "example",
        "query",
        "queries",
        "instance",
        "qid",
        "puzzle",
        "instruction",
    ]
)
_ANSWER = frozenset(
    [
        "rollout",
        "sample",
        "response",
        "completion",
        "answer",
        "output",
        "trace",
        "trajectory",
        "traj",
        "request",
        "attempt",
        "generation",
        "gen",
        "rank",
        "worker",
    ]
)
_TEXT = frozenset(["answer", "response", "completion", "output"])
_COUNT = frozenset(["num", "count", "counts", "nth"])

_STEP = frozenset(["step", "iteration", "iter", "update", "checkpoint", "ckpt"])
_OF_STEP = frozenset(
    [
        "global",
        "training",
        "train",
        "trainer",
        "optimizer",
        "optim",
        "policy",
        "gradient",
        "grad",
        "learner",
        "rl",
        "weight",
        "weights",
        "model",
        "index",
        "idx",
        "id",
        "number",
        "no",
        "current",
        "cur",
        "rollout",
        "gen",
        "generation",
        "outer",
        "actor",
    ]
)
_OF_STEPS = frozenset({"global", "training", "train"})
# Rows with different values of these rarely belong to one group.
_SOURCE = frozenset(
    ["run", "model", "policy", "checkpoint", "ckpt", "epoch", "experiment", "exp", "version", "snapshot"]
)
# The two answers of a preference pair.
_SIDES = frozenset(["chosen", "rejected", "win", "winner", "lose", "loser", "preferred", "dispreferred"])


def words(name: str) -> frozenset[str]:
    """The words in a name, lowercased.

    Example:
        >>> sorted(words("numOutput_tokens.max2"))
        ['2', 'max', 'num', 'output', 'tokens']
    """
    return frozenset(word.lower() for word in _WORDS.findall(name))


def in_words(name: str) -> str:
    """A name as its words in order, in lower case and with an underscore between them.

    Example:
        >>> in_words("promptId"), in_words("Prompt ID"), in_words("prompt_id")
        ('prompt_id', 'prompt_id', 'prompt_id')
    """
    return "_".join(word.lower() for word in _WORDS.findall(name))


def is_total(name: str) -> bool:
    """Whether a name means the total reward of a row.

    Example:
        >>> is_total("final_reward"), is_total("reward"), is_total("reward_format"), is_total("reward_mean")
        (True, True, False, False)
    """
    result = words(name)
    return bool(result & _REWARD) and result <= _REWARD | _WHOLE


def says_reward(name: str) -> bool:
    """Whether a name has a word for a reward."""
    return bool(words(name) & _REWARD)


def is_part(name: str) -> bool:
    """Whether a name says that it is a part of the reward, and not the whole of it.

    Example:
        >>> (
        ...     is_part("format_reward_func"),
        ...     is_part("rewards/accuracy"),
        ...     is_part("total_reward"),
        ...     is_part("reward_std"),
        ... )
        (True, True, False, False)
    """
    return says_reward(name) and not is_total(name) and not never_reward(name)


def says_whole(name: str) -> bool:
    """Whether the name of a key in an object of rewards says that it is the whole of them.

    Example:
        >>> says_whole("total"), says_whole("final_score"), says_whole("value"), says_whole("format")
        (True, True, True, False)
    """
    return words(name) <= _WHOLE | _REWARD | {"value"}


def says_outcome(name: str) -> bool:
    """Whether a name has a word for correctness.

    Example:
        >>> [says_outcome(name) for name in ("correctness_math_verify", "gpt_pass_sequence", "is_complete")]
        [True, True, False]
    """
    return bool(words(name) & _OUTCOME)


def says_return(name: str) -> bool:
    """Whether a name has a word for the return of an episode."""
    return bool(words(name) & _RETURN)


def never_reward(name: str) -> bool:
    """Whether a name excludes the reward of a row, whatever the values: an id, a time, an average.

    Example:
        >>> [never_reward(name) for name in ("sample_id", "reward_std", "scoring_ms", "length_reward", "acc")]
        [True, True, True, False, False]
    """
    return bool(words(name) & (_STATISTIC | _LABEL | _CLOCK | _ASIDE))


def is_measure(name: str) -> bool:
    """Whether a name means a length or a counter, and not a reward for one; the caller checks for whole numbers.

    Example:
        >>> [is_measure(name) for name in ("completion_len", "turn", "length_reward")]
        [True, True, False]
    """
    result = words(name)
    return bool(result & _MEASURE) and not result & _REWARD


def could_be_prompt(name: str) -> bool:
    """Whether a name can mean the prompt: an id or a question, but not an answer or a run.

    Example:
        >>> [could_be_prompt(name) for name in ("question_id", "problems", "sample_id", "task", "task_id")]
        [True, True, False, False, True]
    """
    result = {word.removesuffix("s") for word in words(name)} | words(name)
    other = _ANSWER | _SOURCE | _REWARD | _STEP | _COUNT | _MEASURE | _STATISTIC
    # A hash of anything else distinguishes rows, not prompts.
    fits = result & _ASKED or (result & _LABEL and "hash" not in result)
    return bool(fits) and not result & other


def says_prompt(name: str) -> bool:
    """Whether a name has a word for a prompt."""
    return bool(words(name) & _ASKED)


def says_answer(name: str) -> bool:
    """Whether a name has a word for the policy's output, or for one of several attempts.

    Example:
        >>> [says_answer(name) for name in ("response", "sample_idx", "task")]
        [True, True, False]
    """
    return bool(words(name) & (_ANSWER | _TEXT))


def of_several_answers(names: Sequence[str]) -> bool:
    """Whether names differ only by a number or a side, so that each belongs to a different answer.

    Example:
        >>> (
        ...     of_several_answers(["reward_0", "reward_1"]),
        ...     of_several_answers(["chosen_reward", "rejected_reward"]),
        ... )
        (True, True)
        >>> of_several_answers(["reward_format", "reward_2"]), of_several_answers(["reward"])
        (False, False)
    """
    common = frozenset.intersection(*(words(name) for name in names))
    rests = [words(name) - common for name in names]
    numbered = all(len(rest) == 1 and next(iter(rest)).isdigit() for rest in rests)
    return len(names) > 1 and (numbered or all(rest and rest <= _SIDES for rest in rests))


def of_turns(name: str) -> bool:
    """Whether a name says that a list has a reward for each turn or step of an answer."""
    return says_reward(name) and bool(words(name) & {"step", "steps", "turn", "turns"})


def is_inner(name: str) -> bool:
    """Whether a name says that a list has a reward for each turn or token of one answer.

    Example:
        >>> is_inner("step_scores"), is_inner("token_level_rewards"), is_inner("rewards")
        (True, True, False)
    """
    return of_turns(name) or of_tokens(name)


def of_tokens(name: str) -> bool:
    """Whether a name means a list with a number per token.

    Example:
        >>> of_tokens("token_level_rewards"), of_tokens("rewards")
        (True, False)
    """
    return bool(words(name) & {"token", "tokens"})


def is_step(name: str) -> bool:
    """Whether a name means the training step.

    Example:
        >>> [is_step(name) for name in ("step_index", "checkpoint_step", "update", "num_steps", "env_step")]
        [True, True, True, False, False]
    """
    result = words(name)
    if "steps" in result:
        return bool(result & _OF_STEPS) and result <= {"steps", *_OF_STEP}
    return bool(result & _STEP) and result <= _STEP | _OF_STEP


def is_source(name: str) -> bool:
    """Whether a name means the run, model or epoch of a row.

    Example:
        >>> is_source("model_name"), is_source("epoch"), is_source("model_score"), is_source("model_answer")
        (True, True, False, False)
    """
    result = words(name)
    return bool(result & _SOURCE) and not result & (_REWARD | _TEXT)
