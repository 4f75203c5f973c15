"""The ways to shape a reward, in the order in which they are applied. Nothing heavy is imported here.

Trainers agree on this order as far as they have the steps: the parts are summed with their weights, the
penalty for long rows is added, the sum is scaled and shifted, clipped, and the KL is taken off last.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from advcli.errors import UsageError
from advcli.registry import Registry
from advcli.wording import either, one_line


@dataclass(frozen=True)
class Shaping:
    """One way to shape a reward.

    Attributes:
        name: the word for it.
        flag: the option that switches it on.
        target: "module:function", rewards first, the other columns of `needs` after them.
        needs: columns beside the rewards, named in `estimators.catalog.COLUMNS`; "kl" is that of `--kl-col`.
        required: knobs that the user has to give.
        optional: other knobs and their defaults.
        formula: one line, with the knobs in braces.
        source: paper or file.
    """

    name: str
    flag: str
    target: str
    needs: tuple[str, ...]
    required: tuple[str, ...]
    formula: str
    source: str
    optional: Mapping[str, float] = field(default_factory=dict)

    def read(self, given: Mapping[str, str | float]) -> dict[str, float]:
        """Check the knobs that were given and fill in the others.

        Raises:
            UsageError: a knob is unknown, missing or no number.
        """
        known = (*self.required, *self.optional)
        for name in given:
            if name not in known:
                raise UsageError(f"{self.flag} has no '{name}'", hint=either(known))
        absent = [name for name in self.required if name not in given]
        if absent:
            example = ",".join(f"{name}=…" for name in self.required)
            raise UsageError(f"{self.flag} lacks {', '.join(absent)}", hint=f"{self.flag} {example}")
        knobs = {**self.optional, **{name: _number(self.flag, name, value) for name, value in given.items()}}
        if knobs.get("buffer", 1) <= 0:
            raise UsageError(f"{self.flag}: buffer is {knobs['buffer']:g}, expected more than 0")
        if "min" in knobs and knobs["min"] > knobs["max"]:
            raise UsageError(
                f"{self.flag}: min is {knobs['min']:g} and max is {knobs['max']:g}, expected min ≤ max"
            )
        return knobs


SHAPINGS: Registry[Shaping] = Registry(
    "shaping",
    [
        Shaping(
            name="overlong",
            flag="--overlong",
            target="advcli.shaping.rewards:overlong",
            needs=("lengths",),
            required=("max", "buffer"),
            optional={"factor": 1.0, "cap": 0.0},
            formula="r + min(0, ({max:g} − {buffer:g} − L) / {buffer:g} · {factor:g})",
            source="DAPO, arXiv:2503.14476, equation 13; without the cap as in verl and NeMo RL, with it as in OpenRLHF",
        ),
        Shaping(
            name="affine",
            flag="--affine",
            target="advcli.shaping.rewards:affine",
            needs=(),
            required=(),
            optional={"scale": 1.0, "shift": 0.0},
            formula="{scale:g} · (r {shift:+g})",
            source="AReaL reward_scaling and reward_bias, areal/trainer/ppo/actor.py",
        ),
        Shaping(
            name="clip",
            flag="--clip-reward",
            target="advcli.shaping.rewards:clip",
            needs=(),
            required=("min", "max"),
            formula="clip(r, {min:g}, {max:g})",
            source="TRL reward_clip_range, trl/trainer/rloo_trainer.py",
        ),
        Shaping(
            name="kl",
            flag="--kl-coef",
            target="advcli.shaping.rewards:less_kl",
            needs=("kl",),
            required=("coef",),
            formula="r − {coef:g} · KL",
            source="InstructGPT, arXiv:2203.02155, equation 2; use_kl_in_reward of verl",
        ),
    ],
)


def parse(row: Shaping, text: str) -> dict[str, float]:
    """Read the value of a shaping flag, `KEY=NUMBER,...`.

    Example:
        >>> parse(SHAPINGS["overlong"], "max=4096,buffer=512")
        {'factor': 1.0, 'cap': 0.0, 'max': 4096.0, 'buffer': 512.0}

    Raises:
        UsageError: it cannot be read.
    """
    given: dict[str, str | float] = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"{row.flag} {text}: '{pair}' is not KEY=NUMBER", hint=_example(row))
        given[name.strip()] = value
    return row.read(given)


def described(shaping: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float | str]]:
    """What is done to the reward, in the order in which it is done: each step's formula and knobs.

    Example:
        >>> described({"clip": {"min": -1.0, "max": 1.0}})
        {'clip': {'formula': 'clip(r, -1, 1)', 'min': -1.0, 'max': 1.0}}
    """
    return {
        row.name: {"formula": _formula(row, shaping[row.name]), **shaping[row.name]}
        for row in SHAPINGS
        if row.name in shaping
    }


def _formula(row: Shaping, knobs: Mapping[str, float]) -> str:
    text = row.formula.format(**knobs).replace("(r -", "(r − ").replace("(r +", "(r + ")
    return f"{text}, at least −{knobs['factor']:g}" if knobs.get("cap") else text


def _example(row: Shaping) -> str:
    names = (*row.required, *row.optional)
    return f"{row.flag} {','.join(f'{name}=…' for name in names)}"


def _number(flag: str, name: str, value: str | float) -> float:
    words = {"true": 1.0, "false": 0.0}
    try:
        number = words.get(str(value).lower())
        number = float(value) if number is None else number
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{flag}: {name} is {one_line(value)}, expected a number")
    return number
