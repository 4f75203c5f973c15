"""Derived columns: the position of a row, and functions that formats apply to their own columns."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from advcli.common.registry import load
from advcli.io.collect.batch import Batch
from advcli.io.collect.cells import Cells
from advcli.io.collect.duplicates import ROW
from advcli.io.collect.values import values
from advcli.records.table import Choice

PLACES = ("@line", "@file", "@folder", "@step")
"""Columns with the position of a row: its line, its file, the file's folder, and the step in the file's name."""

CHARACTERS = "characters of "
"""Prefix of the name of a column with the number of characters of another one."""

_MODELS = ("assistant", "model", "gpt")
_VERL_UID = re.compile(r"(.+)_(\d+)_(\d+)", re.DOTALL)
_PADDING = re.compile(r"pad[0-9a-f]{32}_\d+_\d+")
# A word for the step and its number in a path: step_3, step=3, global_step3, rollouts_step_00003, iter-7.
_STEPS = tuple(
    re.compile(rf"(?:^|[^a-z]|(?<=global)|(?<=train)){word}s?[ _=./\-]{{0,2}}(\d+)(?![a-z\d])", re.IGNORECASE)
    for word in ("step", "(?:iteration|iter)", "update", "(?:checkpoint|ckpt)")
)
_LAST_NUMBER = re.compile(r"(\d+)$")


def inputs(choice: Choice) -> tuple[str, ...]:
    """The columns to read from the files for a choice."""
    derived = {column.name: column for column in choice.derived}
    needed: list[str] = []
    for name in choice.columns():
        if name in derived:
            needed += derived[name].columns()
        elif name not in PLACES:
            needed.append(name)
    return tuple(dict.fromkeys([*needed, *([ROW] if choice.dedup else [])]))


def completed(batch: Batch, choice: Choice) -> Batch:
    """A batch with the derived columns of a choice added."""
    derived = {column.name: column for column in choice.derived}
    columns: dict[str, Cells] = dict(batch.columns)
    for name in choice.columns():
        if name in derived:
            cells = [_values(batch.columns[column]) for column in derived[name].columns()]
            function = load(derived[name].target)
            columns[name] = [function(*row) for row in zip(*cells, strict=True)]
        elif name in PLACES and name not in columns:
            columns[name] = _position_column(name, batch)
    return replace(batch, columns=columns)


def named_step(name: str) -> str | None:
    """The step that a path names explicitly; None if it names none.

    Example:
        >>> [
        ...     named_step(name)
        ...     for name in ("run/step=3/part-0", "a/global_step_40/x", "0007.jsonl", "timestep_3/x")
        ... ]
        ['3', '40', None, None]
    """
    result = next(filter(None, (word.findall(name) for word in _STEPS)), None)
    return str(int(result[-1])) if result else None


def step_of(name: str) -> str | None:
    """The step in the name of a file: the one named explicitly, else the number at its end.

    Example:
        >>> (
        ...     step_of("run/step_12/train/all/traces.jsonl"),
        ...     step_of("trajectories/0007.jsonl"),
        ...     step_of("<stdin>"),
        ... )
        ('12', '7', None)
    """
    result = _LAST_NUMBER.findall(PurePath(name).name.partition(".")[0])
    return named_step(name) or (str(int(result[-1])) if result else None)


def verl_prompt(uid: object, text: object = None) -> object:
    """The part of a verl v1 uid, `<uuid>_<session>_<index>`, that identifies the prompt; the prompt text without a uid.

    Example:
        >>> verl_prompt("0f6c2b1e_3_0"), verl_prompt("plain"), verl_prompt(None, "2+2?")
        ('0f6c2b1e', 'plain', '2+2?')
    """
    if uid is None:
        return text
    match = _VERL_UID.fullmatch(uid) if isinstance(uid, str) else None
    return match.group(1) if match else uid


def verl_session(uid: object) -> object:
    """The session of a verl v1 uid, which the outputs of one agent loop share; null for another kind of uid.

    Example:
        >>> verl_session("0f6c2b1e_3_0"), verl_session("plain")
        ('0f6c2b1e_3', None)
    """
    match = _VERL_UID.fullmatch(uid) if isinstance(uid, str) else None
    return f"{match.group(1)}_{match.group(2)}" if match else None


def verl_index(uid: object) -> int:
    """The output's index within its session in a verl v1 uid.

    Example:
        >>> verl_index("0f6c2b1e_3_2")
        2
    """
    match = _VERL_UID.fullmatch(uid) if isinstance(uid, str) else None
    return int(match.group(3)) if match else 0


def verl_padding(uid: object) -> bool:
    """Whether a row of verl v1 is padding.

    Example:
        >>> verl_padding("pad5d1f0c3b9a7e4c0f8d2b6a1e93c47f05_0_0")
        True
    """
    return isinstance(uid, str) and _PADDING.fullmatch(uid) is not None


def weighted_total(rewards: object) -> float | None:
    """The total of verifiers' rewards, {name: {score, weight} or null or a number}; null if there is none.

    Example:
        >>> weighted_total({"correct": {"score": 1.0, "weight": 2.0}, "format": None, "extra": 0.5})
        2.5
    """
    if not isinstance(rewards, Mapping):
        return None
    terms = []
    for part in rewards.values():
        score, weight = (part.get("score"), part.get("weight")) if isinstance(part, Mapping) else (part, 1.0)
        if isinstance(score, int | float):
            terms.append(score * (weight if isinstance(weight, int | float) else 1.0))
    return float(sum(terms)) if terms else None


def total(score: object) -> object:
    """A score, or the sum of a list of token scores.

    Example:
        >>> total(0.5), total([0, 0, 1.0]), total(None), total("?")
        (0.5, 1.0, None, '?')
    """
    if isinstance(score, list) and score and all(isinstance(item, int | float) for item in score):
        return sum(score)
    return None if score == [] else score


def earned(rewards: object) -> object:
    """The sum of the rewards of a rollout's turns; a turn without one earned nothing, and without any there is none.

    Example:
        >>> earned([0, None, 1.0]), earned([None]), earned([]), earned("?")
        (1.0, None, None, '?')
    """
    return total([item for item in rewards if item is not None]) if isinstance(rewards, list) else rewards


def before_training(tokens: object, mask: object) -> object:
    """The tokens of the prompt: all before the first trained token.

    Example:
        >>> before_training([5, 6, 7, 0], [0, 0, 1, 0])
        [5, 6]
    """
    if not isinstance(tokens, list) or not isinstance(mask, list):
        return tokens
    return tokens[: mask.index(1)] if 1 in mask else tokens


def first_trained(values: object, mask: object) -> object:
    """The value of the first trained token; a scalar unchanged.

    Example:
        >>> first_trained([0.0, 0.0, 0.75, 0.75], [0, 0, 1, 1]), first_trained([0.5], [0])
        (0.75, None)
    """
    if not isinstance(values, list) or not isinstance(mask, list):
        return values
    position = mask.index(1) if 1 in mask else len(values)
    return values[position] if position < len(values) else None


def true_count(mask: object) -> object:
    """The number of trained tokens.

    Example:
        >>> true_count([0, 1, 1, 0])
        2
    """
    return sum(map(bool, mask)) if isinstance(mask, list) else None


def before_answer(messages: object) -> object:
    """A chat up to the first answer of the model; its first message where it has none.

    Example:
        >>> before_answer([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}])
        [{'role': 'user', 'content': '2+2?'}]
        >>> before_answer([{"from": "human", "value": "2+2?"}, {"from": "gpt", "value": "4"}])
        [{'from': 'human', 'value': '2+2?'}]
    """
    if not isinstance(messages, list):
        return messages
    said = (position for position, message in enumerate(messages) if is_answer(message))
    return messages[: next(said, 1)]


def before_last_answer(messages: object) -> object:
    """A chat without the model's final answer; the whole chat if it doesn't end with one.

    Example:
        >>> before_last_answer([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}])
        [{'role': 'user', 'content': '2+2?'}]
    """
    if not isinstance(messages, list) or not messages:
        return messages
    return messages[:-1] if is_answer(messages[-1]) else messages


def is_answer(message: object) -> bool:
    """Whether a message of a chat is the model's, in the words of OpenAI, Gemini or ShareGPT.

    Example:
        >>> is_answer({"role": "assistant", "content": "4"}), is_answer({"from": "gpt", "value": "4"})
        (True, True)
        >>> is_answer({"role": "tool", "content": "4"}), is_answer("4")
        (False, False)
    """
    return isinstance(message, Mapping) and message.get("role", message.get("from")) in _MODELS


def action_tokens(steps: object) -> object:
    """The number of tokens that the model wrote in all steps of a tinker-cookbook summary.

    Example:
        >>> action_tokens([{"ac_len": 3}, {"ac_len": 4}])
        7
    """
    if not isinstance(steps, list):
        return None
    lengths = [step.get("ac_len") for step in steps if isinstance(step, Mapping)]
    return sum(length for length in lengths if isinstance(length, int)) if lengths else None


def sampled_tokens(nodes: object) -> object:
    """The number of tokens that the model wrote in all nodes of a verifiers trace.

    Example:
        >>> sampled_tokens([{"mask": [False, False]}, {"mask": [True, True]}])
        2
    """
    if not isinstance(nodes, list):
        return None
    masks = [node.get("mask") for node in nodes if isinstance(node, Mapping)]
    return sum(sum(map(bool, mask)) for mask in masks if isinstance(mask, list)) if masks else None


def not_trained(agent: object) -> bool:
    """Whether a verifiers agent is not trained: a judge, a simulated user.

    Example:
        >>> not_trained({"name": "judge", "trainable": False}), not_trained({"name": "agent"})
        (True, False)
    """
    return isinstance(agent, Mapping) and agent.get("trainable") is False


def answer_tokens(mask: object) -> object:
    """The number of trained tokens in an atropos mask, which has -100 for the others.

    Example:
        >>> answer_tokens([-100, -100, 17, 4])
        2
    """
    return sum(item != -100 for item in mask) if isinstance(mask, list) else None


def first_answered(values: object, mask: object) -> object:
    """The value of the first trained token, given an atropos mask; a scalar unchanged.

    Example:
        >>> first_answered([0.0, 0.0, 0.5], [-100, -100, 17])
        0.5
    """
    trained = [int(item != -100) for item in mask] if isinstance(mask, list) else mask
    return first_trained(values, trained)


def reward_value(reward: object) -> object:
    """A reward, or the score in a slime reward object.

    Example:
        >>> reward_value(1.0), reward_value({"score": 0.5, "acc": 1}), reward_value({"acc": 1})
        (1.0, 0.5, None)
    """
    return reward.get("score", reward.get("reward")) if isinstance(reward, Mapping) else reward


def characters(response: object) -> int | None:
    """The number of characters of a response; for a chat, of the last message if the policy wrote it.

    Example:
        >>> characters("né"), characters([{"role": "assistant", "content": "four"}]), characters(None)
        (2, 4, None)
        >>> characters([{"role": "user", "content": "2+2?"}])
    """
    if isinstance(response, list) and response and isinstance(response[-1], Mapping):
        last = response[-1]
        response = last.get("content", last.get("value")) if is_answer(last) else None
    return len(response) if isinstance(response, str) else None


def is_null(value: object) -> bool:
    """Whether there is no value.

    Example:
        >>> is_null(None), is_null(0)
        (True, False)
    """
    return value is None


def _values(cells: Cells) -> Sequence[Any]:
    return cells if isinstance(cells, list) else values(cells)


def _position_column(name: str, batch: Batch) -> list[Any]:
    path = PurePath(batch.name)
    if name == "@line":
        return [str(line) for line in batch.lines]
    value = {"@file": batch.name, "@folder": path.parent.name, "@step": step_of(batch.name)}[name]
    return [value] * len(batch.lines)
