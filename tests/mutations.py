"""What the fuzzers do to a dump."""

import json
import random

ODD_VALUES = (
    None,
    True,
    -1,
    0.1,
    1e308,
    10**30,
    float("nan"),
    float("-inf"),
    "",
    "x",
    "0.5",
    "1" * 400,
    "\ud800",
    "a\u2028b\x00",
    '{"a": 1}',
    '[{"reward": 1}]',
    [],
    [1, 2],
    [None],
    [[0.5]],
    [{"reward": 1}, {}],
    {},
    {"score": 1, "weight": "x"},
    {"a": {"b": [1]}},
)
ODD_BYTES = (
    b"\0",
    b"\xff",
    b"\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"\\",
    b",",
    b"NaN",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
)


def bent(value: object, chance: random.Random) -> object:
    """A JSON value with something odd in one place."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        what = chance.randrange(5)
        if what == 0:
            return {name: item for name, item in value.items() if name != key}
        if what == 1:
            return {(f"{name}x" if name == key else name): item for name, item in value.items()}
        return {name: bent(item, chance) if name == key else item for name, item in value.items()}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        what = chance.randrange(4)
        if what == 0:
            return value[:place] + value[place + 1 :]
        if what == 1:
            return [*value, value[place]]
        return [bent(item, chance) if at == place else item for at, item in enumerate(value)]
    return chance.choice([*ODD_VALUES, [value], {"a": value}, json.dumps(value)])


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Some bytes with a few cuts, repeats and strange bytes."""
    for _ in range(chance.randint(1, 4)):
        at, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        what = chance.randrange(5)
        if what == 0:
            data = data[:at]
        elif what == 1:
            data = data[:at] + data[at : at + 50] * chance.randint(2, 4) + data[at:]
        elif what == 2:
            data = data[:at] + data[min(end, at + 200) :]
        elif what == 3:
            data = data[:at] + chance.choice(ODD_BYTES) + data[at:]
        else:
            data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    return data
