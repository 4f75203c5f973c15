"""The documentation is output, or it is tested."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from advcli.cli import app
from advcli.frameworks.catalog import find

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}


def shown_commands() -> list[str]:
    """Every `advcli …` line of a shell block of the README."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith(("advcli ", "cat "))]


def test_readme_shows_commands():
    assert len(shown_commands()) >= 6


@pytest.mark.parametrize("command", shown_commands())
def test_command_of_the_readme_runs(command, tmp_path):
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    for name in ("rewards.parquet", "rewards.jsonl"):
        shutil.copy(ROOT / "sample_data" / name, tmp_path / name)
    line = re.sub(r"\badvcli\b", f"{shlex.quote(sys.executable)} -m advcli", command)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stdout.strip()


def test_python_of_the_readme_runs():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    scope: dict = {}
    exec(code, scope)
    res = scope["res"]
    for name, shown in re.findall(r"^res\.(\w+)\s+# (\[.*\])$", code, re.MULTILINE):
        values = getattr(res, name).tolist()
        if name != "kept":
            values = [round(value, 3) + 0.0 for value in values]
        assert str(values) == shown


def test_exactly_two_commands_set_up():
    assert len(re.findall(r"^python3 -m venv", README, re.MULTILINE)) == 2


def test_every_command_and_option_is_documented():
    for name, command in get_command(app).commands.items():
        assert f"advcli {name}" in DOCS["cli.md"]
        assert command.help
        for option in command.params:
            assert option.help or option.name == "help", f"{name} {option.name} has no help"
            assert any(flag in DOCS["cli.md"] for flag in (*option.opts, "INPUT"))


@pytest.mark.parametrize("page", ["README.md", *sorted(DOCS)])
def test_links_lead_somewhere(page):
    folder = ROOT if page == "README.md" else ROOT / "docs"
    text = README if page == "README.md" else DOCS[page]
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert target.startswith("http") or (folder / target).exists(), target


def script(name: str):
    """A script of the documentation, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_pictures_are_up_to_date(tmp_path):
    script("pictures").main(tmp_path)
    drawn, kept = (folder / "compare.svg" for folder in (tmp_path, ROOT / "docs"))
    assert drawn.read_text() == kept.read_text(), "run: python docs/pictures.py"


def test_fidelity_is_up_to_date():
    fidelity = script("fidelity")
    assert fidelity.stale(DOCS["fidelity.md"], fidelity.page()) is None, "run: python docs/fidelity.py"


@pytest.mark.parametrize(
    ("fresh", "complaint"),
    [
        ("a ≤ 2e-7 b 7 c ≤ 3e-4", None),
        ("a ≤ 4e-7 b 7 c ≤ 1e-4", None),
        ("a ≤ 2e-6 b 7 c ≤ 3e-4", "2e-7 is now 2e-6"),
        ("a ≤ 2e-7 b 7 c ≤ 3e-5", "3e-4 is now 3e-5"),
        ("a ≤ 2e-7 b 8 c ≤ 3e-4", "the text is not that of the script"),
        ("a – b 7 c ≤ 3e-4", "the text is not that of the script"),
    ],
)
def test_a_page_is_stale_when_a_count_changes_or_a_number_by_much(fresh, complaint):
    assert script("fidelity").stale("a ≤ 2e-7 b 7 c ≤ 3e-4", fresh) == complaint


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.01e-4, "≤ 2e-4"),
        (2e-7, "≤ 2e-7"),
        (9.5e-6, "≤ 1e-5"),
        (3e-9, "≤ 1e-7"),
        (0.0, "≤ 1e-7"),
        (None, "–"),
    ],
)
def test_measured_numbers_are_rounded_up(value, shown):
    assert script("fidelity").number(value, find("verl")) == shown
