"""Converts the inputs of estimators of turns to tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.common.wording import either, one_line
from advcli.engine.turns import alike
from advcli.io.collect.keys import key_text
from advcli.records.roles import FREE


def turn_columns(
    group: Tensor,
    similarity: float,
    anchors: Any,  # noqa: ANN401  whatever the caller has
    turn_rewards: Sequence[Any] | None,
    roles: Mapping[str, Any],
) -> dict[str, Tensor]:
    """The columns for estimators of turns.

    Args:
        group: [N] int64, the group of each row.
        similarity: minimum similarity ratio at which two states count as the same; 0 for exact equality.
        anchors: [N] values, or N sequences with `turn_rewards`, or None.
        turn_rewards: N sequences of rewards, or None.
        roles: role → [N] values.

    Raises:
        UsageError: an argument makes no sense.
    """
    rows = len(group)
    result = {role: _role(role, values, rows) for role, values in roles.items()}
    of = group
    if turn_rewards is not None:
        lists = [_numbers("turn_rewards", values) for values in turn_rewards]
        _sized("turn_rewards", lists, rows)
        counts = torch.tensor([len(values) for values in lists], dtype=torch.int64)
        result |= {"turn_rewards": torch.cat(lists) if lists else torch.zeros(0), "turn_counts": counts}
        of = torch.repeat_interleave(group, counts)
        if anchors is not None:
            anchors = [state for states in _listed(anchors) for state in _listed(states)]
    if anchors is not None:
        states = [_state(state) for state in _listed(anchors)]
        _sized("anchors", states, len(of))
        result["anchor"] = alike(states, of.tolist(), similarity) if similarity else _codes(states)
    return result


def _role(role: str, values: Any, rows: int) -> Tensor:  # noqa: ANN401  whatever the caller has
    if role not in FREE:
        raise UsageError(f"there is no role '{role}'", hint=either(list(FREE)))
    listed = _listed(values)
    _sized(f"roles['{role}']", listed, rows)
    return _codes([_state(value) for value in listed]) if role == "agent" else _numbers(role, listed)


def _listed(values: Any) -> list[Any]:  # noqa: ANN401  whatever the caller has
    return list(values.unbind()) if isinstance(values, Tensor) else list(values)


def _state(value: Any) -> str | None:  # noqa: ANN401  whatever the caller has
    """A state as text, equal for equal content; None for a missing state."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, tuple | set | frozenset):
        value = sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value)
    return key_text(value.tolist() if hasattr(value, "tolist") else value)


def _codes(states: Sequence[str | None]) -> Tensor:
    codes: dict[str, int] = {}
    return torch.tensor(
        [-1 if state is None else codes.setdefault(state, len(codes)) for state in states], dtype=torch.int64
    )


def _sized(name: str, values: Sequence[Any], rows: int) -> None:
    if len(values) != rows:
        raise UsageError(f"{name} has {len(values)} values, expected {rows}")


def _numbers(name: str, values: Any) -> Tensor:  # noqa: ANN401  whatever the caller has
    """Convert to [n] float64; None becomes NaN."""
    try:
        listed = [torch.nan if value is None else float(value) for value in _listed(values)]
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} is {one_line(values)}, expected numbers") from error
    return torch.tensor(listed, dtype=torch.float64)
