import inspect
from importlib import import_module

import pytest
from typer.main import get_command

from advcli.cli import app, lazy

COMMANDS = lazy.COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_shows_the_first_sentence_of_the_help(name):
    doc = inspect.getdoc(import_module(f"advcli.cli.commands.{name}").command)
    assert COMMANDS[name][1] == " ".join(doc.split("\n\n")[0].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_resolved_with_its_options(name):
    group = get_command(app)
    listed = group.commands[name]
    found, command, rest = group.resolve_command(group.context_class(group), [name, "--x"])
    assert (found, command.name, rest) == (name, name, ["--x"])
    assert len(command.params) > len(listed.params)
