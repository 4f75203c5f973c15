"""A row as a training example: its prompt and its response, as text or as a chat."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import either, shortened
from advcli.io.formats.catalog import CHATS, RESPONSES

PROMPTS = ("prompt", "prompts", "question", "problem", "query", "instruction", "input")
"""Usual names of columns with the text of a prompt."""

Content = str | list[Mapping[str, Any]]


@dataclass(frozen=True)
class Example:
    """A prompt and its response; each is a text or a list of messages.

    Attributes:
        prompt: the prompt.
        response: the response; "" for none.
    """

    prompt: Content
    response: Content

    @property
    def is_chat(self) -> bool:
        """Whether one of them is a list of messages."""
        return not (isinstance(self.prompt, str) and isinstance(self.response, str))


def example(
    row: Mapping[str, Any],
    place: str,
    prompt: str | None = None,
    response: str | None = None,
    *,
    alone: bool = False,
) -> Example | None:
    """The training example of a row.

    Args:
        row: its columns.
        place: its location, as file:line.
        prompt: the column with the prompt; None for the first with a usual name.
        response: the column with the response, likewise.
        alone: whether only the prompt is needed.

    Returns:
        The example; None if the prompt or the response is null or empty.

    Raises:
        DataError: there is no such column, or its value is neither text nor a chat.

    Example:
        >>> example({"prompt": "6 × 7?", "completion": "42"}, "a:1")
        Example(prompt='6 × 7?', response='42')
    """
    names = (response,) if response else RESPONSES
    chat = next((name for name in CHATS if name in row), None)
    if chat and not response and not any(name in row for name in RESPONSES):
        question, answer = _split(_content(row[chat], place, chat))
    else:
        answer = "" if alone else _first(row, names, place, "--response COL")
        question = _first(row, (prompt,) if prompt else PROMPTS, place, "--prompt-text COL")
    return Example(question, answer) if question and (answer or alone) else None


def written(one: Example, style: str) -> Example:
    """Convert an example to text or to lists of messages.

    Raises:
        UsageError: the example is a chat, and text was requested.
    """
    if style == "text" and one.is_chat:
        raise UsageError(
            "--style text: the prompt or the response is a list of messages", hint="--style chat"
        )
    if style == "text":
        return one
    return Example(chat(one.prompt, "user"), chat(one.response, "assistant"))


def chat(content: Content, role: str) -> list[Mapping[str, Any]]:
    """Content as a list of messages."""
    return [{"role": role, "content": content}] if isinstance(content, str) else content


def _first(row: Mapping[str, Any], names: Sequence[str], place: str, hint: str) -> Content:
    name = next((name for name in names if name in row), None)
    if name is None:
        existing = shortened(list(row), 8)
        raise DataError(f"{place}: no column {either(names)}, only {existing}", hint=hint)
    return _content(row[name], place, name)


def _content(value: object, place: str, name: str) -> Content:
    """A cell as text or as a chat; "" if it is null."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(
        isinstance(message, Mapping) and "role" in message and "content" in message for message in value
    ):
        return [{key: part for key, part in message.items() if part is not None} for message in value]
    raise DataError(
        f"{place}: '{name}' is neither text nor a list of messages with role and content",
        hint="--prompt-text COL or --response COL",
    )


def _split(content: Content) -> tuple[Content, Content]:
    """Split a chat before its last message; both parts are "" unless that message is the assistant's."""
    if (
        isinstance(content, str)
        or not content
        or content[-1]["role"] != "assistant"
        or not content[-1].get("content")
    ):
        return "", ""
    return content[:-1], content[-1:]
