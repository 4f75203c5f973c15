"""What the reference modules share: token tensors from rewards, and the record of one case."""

import importlib.util
import math
import sys
import types

from parity.batches import Batch


def case(estimator: str, knobs: dict, batch: Batch, advantages: list, **extra) -> dict:
    """One call of a framework's function: its inputs, and what it gave."""
    return {
        "estimator": estimator,
        "knobs": knobs,
        "batch": batch.name,
        "rewards": batch.rewards,
        "groups": batch.groups,
        "lengths": batch.lengths,
        **extra,
        "advantages": numbers(advantages),
    }


def numbers(value):
    """Lists of floats with null for what is not a number (JSON has no NaN), and no minus zero."""
    if isinstance(value, list):
        return [numbers(item) for item in value]
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return None if math.isnan(value) else float(value) + 0.0


def response(rewards: list[float], lengths: list[int]):
    """Response mask, and token-level rewards with the reward on the last token (float32, as verl's reward loop)."""
    import torch

    mask = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    scores = torch.zeros(len(lengths), max(lengths), dtype=torch.float32)
    for row, (reward, length) in enumerate(zip(rewards, lengths, strict=True)):
        mask[row, :length] = 1
        scores[row, length - 1] = reward
    return mask, scores


def padded(rows: list[list[float]], like):
    """Ragged rows as a float32 tensor of the shape of `like`, 0 behind the end."""
    import torch

    out = torch.zeros(like.shape, dtype=torch.float32)
    for index, row in enumerate(rows):
        out[index, : len(row)] = torch.tensor(row, dtype=torch.float32)
    return out


def per_token(advantages, lengths: list[int]) -> list[list[float]]:
    """The numbers of the response tokens."""
    return [row[:length] for row, length in zip(advantages.tolist(), lengths, strict=True)]


def per_row(advantages, lengths: list[int]) -> list[float]:
    """The number that every response token of a row has; an error if they differ."""
    return one_each(per_token(advantages, lengths))


def one_each(rows: list[list[float]]) -> list[float]:
    """The number that all items of a row are; an error if they differ."""
    for row in rows:
        if any(value != row[0] and not math.isnan(value) for value in row):
            raise ValueError(f"not constant over the tokens of a row: {row}")
    return [row[0] for row in rows]


def namespace(name: str):
    """A package without what its `__init__` runs: its modules load, the rest of it does not."""
    module = types.ModuleType(name)
    module.__path__ = list(importlib.util.find_spec(name).submodule_search_locations)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, module)
    return module


def stub(name: str, **attributes):
    """A module that is not installed, with the names that an import asks for."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
    for key, value in attributes.items():
        setattr(sys.modules[name], key, value)


def mocked(*names: str) -> None:
    """Modules that an import asks for and no formula uses: any name is in them."""
    from unittest.mock import MagicMock

    for name in names:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:end]), MagicMock())
