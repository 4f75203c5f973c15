"""Writes data/twinkle.json: the advantages of the real twinkle-kit package.

pip install --no-deps twinkle-kit==0.5.1
python tests/frameworks/make_twinkle.py
"""

import importlib.metadata
import importlib.util
import itertools
import json
import random
import sys
import types
import warnings
from contextlib import contextmanager
from pathlib import Path

import torch

FILE = Path(__file__).parent / "data" / "twinkle.json"
PACKAGE = "twinkle-kit"
VERSION = "0.5.1"
CLASSES = ("GRPOAdvantage", "RLOOAdvantage")
SCALES = ("group", "batch", "none")
SIZES = (1, 2, 4, 8)


@contextmanager
def twinkle_advantage():
    """The module `twinkle.advantage`, without running twinkle's `__init__`, which needs more packages."""
    spec = importlib.util.find_spec("twinkle")
    if spec is None:
        raise ModuleNotFoundError(f"pip install --no-deps {PACKAGE}=={VERSION}", name="twinkle")
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_twinkle(name)}
    bare = types.ModuleType("twinkle")
    bare.__path__ = list(spec.submodule_search_locations)
    sys.modules["twinkle"] = bare
    try:
        yield importlib.import_module("twinkle.advantage")
    finally:
        for name in list(sys.modules):
            if _is_twinkle(name):
                del sys.modules[name]
        sys.modules.update(before)


def _is_twinkle(name):
    return name == "twinkle" or name.startswith("twinkle.")


def inputs():
    """Name → the rewards, and the dtype of a tensor or None for a list.

    No group is constant at a value that is inexact in binary: there float32 gives phantom advantages
    that depend on the order in which a CPU sums.
    """
    draw = random.Random(20260213)
    page = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    uniform = [draw.uniform(-1, 2) for _ in range(16)]
    graded = [draw.choice([0.0, 0.1, 0.5, 1.0]) for _ in range(12)] + [0.1, 0.5, 0.1, 1.0]
    offset = [1000 + draw.randrange(4) for _ in range(8)]
    parts = [[draw.uniform(0, 1), draw.choice([0.0, 0.25]), draw.uniform(-1, 0)] for _ in range(8)]
    return {
        "page": (page, None),
        "page, tensor": (page, "float32"),
        "page, float64": (page, "float64"),
        "uniform": (uniform, None),
        "uniform, tensor": (uniform, "float32"),
        "uniform, float64": (uniform, "float64"),
        "graded": (graded, None),
        "graded, float64": (graded, "float64"),
        "integers": (offset, None),
        "constant, exact in binary": ([0.5] * 8, None),
        "one group apart": ([1.0, 0.0, 10.0, 10.0], None),
        "one row": ([0.7], None),
        "parts": (parts, None),
        "parts, tensor": (parts, "float32"),
        "parts, float64": (parts, "float64"),
    }


def compute(module, name, rewards, dtype, size, scale):
    """What a class gives: the advantages and their dtype, or the type of the error."""
    given = rewards if dtype is None else torch.tensor(rewards, dtype=getattr(torch, dtype))
    try:
        found = getattr(module, name)()(given, num_generations=size, scale=scale)
    except ValueError:
        return {"error": "ValueError"}
    return {"advantages": found.tolist(), "dtype": str(found.dtype).removeprefix("torch.")}


def cases(module):
    """Every input with every class, size and scale, and the sizes that make no sense."""
    grid = itertools.product(inputs().items(), CLASSES, SIZES, SCALES)
    calls = [(label, name, size, scale) for (label, _), name, size, scale in grid]
    calls += [("page", name, size, "group") for name in CLASSES for size in (-2, 0, 3, 5, 16)]
    for label, name, size, scale in calls:
        rewards, dtype = inputs()[label]
        yield {
            "input": label,
            "class": name,
            "num_generations": size,
            "scale": scale,
            **compute(module, name, rewards, dtype, size, scale),
        }


def main():
    version = importlib.metadata.version(PACKAGE)
    if version != VERSION:
        raise SystemExit(f"{PACKAGE} {version} is installed, expected {VERSION}")
    with twinkle_advantage() as module, warnings.catch_warnings():
        warnings.simplefilter("error")
        lines = [json.dumps(case) for case in cases(module)]
    rewards = {label: {"rewards": given, "dtype": dtype} for label, (given, dtype) in inputs().items()}
    head = {"package": PACKAGE, "version": version, "torch": torch.__version__, "inputs": rewards}
    body = ",\n".join(lines)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(f'{json.dumps(head)[:-1]},\n"cases": [\n{body}\n]}}\n')


if __name__ == "__main__":
    main()
