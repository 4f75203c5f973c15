"""`advcli help X` is `advcli X --help`."""

import pytest
from typer.testing import CliRunner

from advcli.cli import app


def shown(*args):
    return CliRunner().invoke(app, args, prog_name="advcli").output


@pytest.mark.parametrize("name", ["compute", "formats"])
def test_it_is_the_help_of_the_command(name):
    assert shown("help", name) == shown(name, "--help")
    assert f"Usage: advcli {name} " in shown("help", name)


def test_without_a_command_it_is_the_help_of_all():
    assert shown("help") == shown("--help")


def test_all_options():
    assert "--log-probs-col" in shown("help", "compute", "--all")
    assert "--log-probs-col" not in shown("help", "compute")
