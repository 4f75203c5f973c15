"""The types of the shaping catalog, and the validation of knobs."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from advcli.common.errors import UsageError
from advcli.common.wording import either, one_line

# Knobs used as divisors.
_POSITIVE = ("buffer", "max", "bound", "kappa")


@dataclass(frozen=True)
class Input:
    """An input column of a shaping.

    Attributes:
        name: the knob that names it; its value is an expression over the columns of a row, in the syntax of `--where`.
        what: what it holds, for messages.
        role: the column of `records.roles.ROLES` used if the knob isn't given; "" for none.
        optional: whether it may be absent.
        weight: the knob whose value 0 makes it unnecessary; "" for none.
        wrap: an expression applied to the column, with braces as its placeholder; "" for the column itself.
        usual: column names that `match` looks for.
    """

    name: str
    what: str
    role: str = ""
    optional: bool = False
    weight: str = ""
    wrap: str = ""
    usual: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shaping:
    """One way to shape a reward, or an advantage.

    Attributes:
        name: its name.
        summary: a few words on what it does.
        flag: the option that enables it.
        target: "module:function": rewards or advantages first, then the columns of `needs` and of `inputs`.
        needs: columns named in `records.roles.ROLES`; "kl" is that of `--kl-col`.
        required: knobs that the user must give.
        optional: other knobs and their defaults.
        inputs: columns named by knobs.
        formula: one line, with the knobs in braces.
        source: paper or file.
        after: whether it is applied to the advantages instead of the rewards.
        of_trainer: whether it is a trainer step, available only with frameworks that have it; else it works with any.
        per_token: whether it gives an advantage per token.
    """

    name: str
    summary: str
    target: str
    needs: tuple[str, ...]
    formula: str
    source: str
    required: tuple[str, ...] = ()
    optional: Mapping[str, float] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()
    flag: str = "--shape"
    after: bool = False
    of_trainer: bool = False
    per_token: bool = False

    @property
    def said(self) -> str:
        """Its name in messages."""
        return self.flag if self.flag != "--shape" else f"--shape {self.name}"

    @property
    def pattern(self) -> str:
        """The formula with the names of the knobs."""
        return re.sub(r"\{(\w+)[^}]*\}", r"\1", self.formula)

    @property
    def knobs(self) -> tuple[str, ...]:
        """The names of all knobs and inputs."""
        return (*self.required, *self.optional, *(one.name for one in self.inputs))

    def read(self, given: Mapping[str, str | float]) -> dict[str, float]:
        """The validated knobs, with defaults filled in.

        Raises:
            UsageError: a knob is unknown, missing or not a number.
        """
        for name in given:
            if name not in (*self.required, *self.optional):
                raise UsageError(f"{self.said} has no '{name}'", hint=either(self.knobs) or None)
        absent = [name for name in self.required if name not in given]
        if absent:
            mark = ":" if self.flag == "--shape" else " "
            example = ",".join(f"{name}=…" for name in self.required)
            raise UsageError(f"{self.said} lacks {', '.join(absent)}", hint=f"{self.said}{mark}{example}")
        knobs = {**self.optional, **{name: _number(self.said, name, value) for name, value in given.items()}}
        for name in _POSITIVE:
            if knobs.get(name, 1) <= 0 and "min" not in knobs:
                raise UsageError(f"{self.said}: {name} is {knobs[name]:g}, expected more than 0")
        if "min" in knobs and knobs["min"] > knobs["max"]:
            raise UsageError(
                f"{self.said}: min is {knobs['min']:g} and max is {knobs['max']:g}, expected min ≤ max"
            )
        if not 0 <= knobs.get("quantile", 0) <= 1:
            raise UsageError(f"{self.said}: quantile is {knobs['quantile']:g}, expected 0 to 1")
        return knobs


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
