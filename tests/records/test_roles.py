"""Every role can be named on the command line and from Python, by the option that it says."""

import dataclasses
import inspect

import pytest

from advcli import compute_advantages
from advcli.cli.shared import Shared
from advcli.records.roles import FREE, ROLES


@pytest.mark.parametrize("role", ROLES, ids=ROLES.names())
def test_the_option_exists(role):
    assert role.option in {field.name.rstrip("_") for field in dataclasses.fields(Shared)} | {"prompt_col"}


@pytest.mark.parametrize("role", [one for one in ROLES if one.argument], ids=lambda one: one.name)
def test_the_argument_exists(role):
    known = {*inspect.signature(compute_advantages).parameters, "groups", "steps"}
    assert {word for word in role.argument.split("=")[0].split() if word not in ("of", "shape")} & known


def test_those_without_an_option_of_their_own_are_named_in_their_flag():
    assert [ROLES[name].flag for name in FREE] == [f"--role {name}=COL" for name in FREE]
