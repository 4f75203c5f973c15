"""The short help, the long one, and what is said of a command line that has a slip in it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advcli.cli import app, lazy
from advcli.cli.help_text import HELP
from advcli.common.errors import UsageError

SAMPLE = Path(__file__).parents[2] / "sample_data"


def shown(*args, width="80"):
    done = CliRunner().invoke(app, args, env={"COLUMNS": width, "TERM": "dumb"}, prog_name="advcli")
    assert done.exit_code == 0, done.output
    return done.output


def test_every_command_has_its_help():
    assert list(HELP) == list(lazy.COMMANDS)


def flags(text):
    """The options that a help has a line for."""
    return set(re.findall(r"^\W+(--[\w-]+)", text, re.MULTILINE)) - {"--help", "--help-all"}


@pytest.mark.parametrize("name", HELP)
def test_the_short_help_shows_ten_options_and_two_examples(name):
    short, long = flags(shown(name, "--help")), flags(shown("help", name, "--all"))
    assert len(short) == len(HELP[name].first) <= 10
    assert short <= long
    assert shown(name, "-h").count("$ advcli ") == 2
    if long > short:
        assert flags(shown(name, "--help-all")) == long


@pytest.mark.parametrize("name", ["", *HELP])
def test_no_type_is_named_that_tells_nothing(name):
    text = shown("help", *filter(None, [name]), *(["--all"] if name else []))
    assert not re.search(r"<(bool|str|list)", text)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("line", [line for part in HELP.values() for line in part.examples])
def test_an_example_runs(line, advcli, tmp_path):
    for name in ("rewards.parquet", "rewards.jsonl"):
        shutil.copy(SAMPLE / name, tmp_path)
    shutil.copytree(SAMPLE / "trl", tmp_path / "trl")
    name, *args = shlex.split(line)
    done = advcli(*args)
    assert (name, done.returncode) == ("advcli", 0), done.stderr


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        ("compute --keep-postive 1", "No such option: --keep-postive; try --keep-pos"),
        ("compute --keep-negative 1", "No such option: --keep-negative; try --keep-neg"),
        ("inspect --faili x", "No such option: --faili; try --fail-if"),
        ("compare --zzz", "No such option: --zzz"),
        ("comptue", "No such command 'comptue'; try advcli compute"),
        ("help insepct", "No such command 'insepct'; try advcli inspect"),
        (
            "schema inspekt",
            "'inspekt' prints no JSON; try compute, compare, between, inspect, match, sweep, prompts, verify or select",
        ),
    ],
)
def test_the_most_similar_word_is_suggested(slip, said, advcli):
    done = advcli(*slip.split())
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"advcli: {said}\n"


def test_no_escape_at_a_dumb_terminal():
    command = [sys.executable, "-m", "advcli", "compute", "--help"]
    for extra in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
        done = subprocess.run(command, capture_output=True, env={**os.environ, **extra}, check=True)
        assert b"\x1b" not in done.stdout


def test_completion(advcli, monkeypatch):
    # Typer asks which shell has started the program; none may have.
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    script = advcli("--show-completion").stdout.decode()
    assert "_ADVCLI_COMPLETE" in script or "COMPLETE" in script
    asked = {"_ADVCLI_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    code = "from advcli.__main__ import main; import sys; sys.argv = ['advcli']; main()"
    for words, found in (("advcli com", {"compute", "compare"}), ("advcli compute --keep-p", {"--keep-pos"})):
        env = {**os.environ, **asked, "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
        )
        assert set(done.stdout.split()) == found


def test_help_is_shown_without_markdown_which_stays_as_it_is():
    code = (
        "import sys; from advcli.cli.help_text import without_markdown; without_markdown(); without_markdown();"
        "assert 'typer.rich_utils' in sys.modules and 'markdown_it' not in sys.modules;"
        "from rich.markdown import Markdown; assert Markdown('*a*').markup == '*a*'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
@pytest.mark.parametrize(
    "command", ["select --as sft --out x.jsonl --min", "verify --vs-pass-at", "inspect --near-dead"]
)
def test_a_number_is_finite(command, value):
    flag = command.split()[-1]
    with pytest.raises(UsageError, match=f"{flag} is {float(value):g}, expected a number"):
        CliRunner().invoke(app, [*command.split(), value], catch_exceptions=False)
