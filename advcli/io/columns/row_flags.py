"""What the name of a flag, or the text in a column, says about a row: filler, failed, of training or of an evaluation."""

from advcli.io.columns.names import says_reward, words

_PAD = frozenset(["pad", "padding", "padded", "filler", "dummy", "placeholder"])
_EXCLUDED = frozenset(["masked", "exclude", "excluded", "ignore", "ignored"])
_OF_ROW = frozenset(
    ["is", "row", "rows", "sample", "samples", "balance", "rollout", "for", "training", "train", "from"]
)
_FAILED = frozenset(["invalid", "failed", "error", "errors", "exception"])
_TRAINING = frozenset(["train", "training"])
_EVALUATION = frozenset(["eval", "evals", "evaluation", "val", "valid", "validation", "test", "dev"])


def condition_of_flag(name: str) -> str | None:
    """The condition that a column of true and false sets by its name alone; None if it sets none.

    Example:
        >>> (
        ...     condition_of_flag("_balance_is_pad"),
        ...     condition_of_flag("reward_valid"),
        ...     condition_of_flag("truncated"),
        ... )
        ('`_balance_is_pad` != true', '`reward_valid` != false', None)
    """
    result = words(name)
    of_row = result - _OF_ROW
    if of_row and (of_row <= _PAD or of_row <= _EXCLUDED or result == {"mask", "sample"}):
        return f"`{name}` != true"
    if says_reward(name) and "valid" in result:
        return f"`{name}` != false"
    if says_reward(name) and result & _FAILED:
        return f"`{name}` != true"
    return None


def is_evaluation(name: str) -> bool:
    """Whether a flag says by its name that a row belongs to an evaluation: a bare `test` may well be an outcome.

    Example:
        >>> [is_evaluation(name) for name in ("is_eval", "isValidation", "is_valid", "test", "eval_score")]
        [True, True, False, False, False]
    """
    rest = words(name) - {"is"}
    return bool(rest) and "is" in words(name) and rest <= _EVALUATION - {"valid"}


def says_training(text: str) -> bool:
    """Whether a text names the rows of training, and not those of an evaluation."""
    return bool(words(text) & _TRAINING) and not words(text) & _EVALUATION


def says_evaluation(text: str) -> bool:
    """Whether a text names the rows of an evaluation.

    Example:
        >>> says_evaluation("validation"), says_evaluation("math-test"), says_evaluation("train")
        (True, True, False)
    """
    return bool(words(text) & _EVALUATION)
