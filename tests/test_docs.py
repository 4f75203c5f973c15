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
    assert done.stdout.strip() or b"wrote" in done.stderr


def shown_blocks() -> list[tuple[str, str]]:
    """Every shell block of the pages in docs/ that the user may type line by line."""
    pages = ("dumps.md", "prompts.md", "recipes.md", "report.md", "select.md", "tour.md", "verify.md")
    return [
        (name, block) for name in pages for block in re.findall(r"```sh\n(.*?)```", DOCS[name], re.DOTALL)
    ]


@pytest.mark.parametrize(("name", "block"), shown_blocks())
def test_commands_of_the_docs_run(name, block, tmp_path):
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    for sample in ("rewards.parquet", "rewards.jsonl"):
        shutil.copy(ROOT / "sample_data" / sample, tmp_path / sample)
    lacking = [tool for tool in ("jq", "duckdb") if f"\n{tool} " in block and not shutil.which(tool)]
    lines = [line for line in block.splitlines() if line.split()[0] not in lacking]
    script = re.sub(r"(?m)^advcli\b", f"{shlex.quote(sys.executable)} -m advcli", "\n".join(lines))
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.strip() or "wrote" in done.stderr or list(tmp_path.glob("*.jsonl"))
    if lacking:
        pytest.skip(f"{' and '.join(lacking)} is not installed; the lines of advcli were run")


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
        assert f"## advcli {name}\n" in DOCS["cli.md"]
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


def test_pictures_are_up_to_date(tmp_path):
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    pictures.main(tmp_path)
    for name in ("compare.svg", "inspect.svg"):
        drawn, kept = (folder / name for folder in (tmp_path, ROOT / "docs"))
        assert drawn.read_text() == kept.read_text(), "run: python docs/pictures.py"
    # Pixels differ from one browser to the next, so of the page's picture it is only known that it is one.
    assert (ROOT / "docs" / "report.png").read_bytes().startswith(b"\x89PNG")


def test_fidelity_is_up_to_date():
    """The page is what is measured here; a number may be up to twice as large, for another processor's last bits."""
    spec = importlib.util.spec_from_file_location("fidelity", ROOT / "docs" / "fidelity.py")
    fidelity = importlib.util.module_from_spec(spec)
    sys.modules["fidelity"] = fidelity
    spec.loader.exec_module(fidelity)
    distance = re.compile(r"(?<=\| )(?:\d+e-\d+|0)(?= \|)")
    fresh, kept = fidelity.page(fidelity.measured()), DOCS["fidelity.md"]
    assert distance.sub("#", fresh) == distance.sub("#", kept), "run: python docs/fidelity.py"
    for new, old in zip(distance.findall(fresh), distance.findall(kept), strict=True):
        steps = fidelity.STEPS
        assert steps.index(float(new)) <= steps.index(float(old)) + 1, "run: python docs/fidelity.py"
    assert "| verl | 0.9.1 | gae |" in kept
    compared = fidelity.compared_rules()
    for rule in fidelity.RULES:
        assert (rule.proof == "package") == (rule.name in compared), rule.name
    assert (
        kept.count("\n| ")
        == len(fidelity.measured()) + sum(rule.proof != "package" for rule in fidelity.RULES) + 6
    )


def test_no_page_or_picture_names_a_place_on_a_machine():
    places = re.compile(rb"/(?:tmp|home|root|work|Users)/[\w.-]+/")
    for path in (ROOT / "docs").iterdir():
        if path.suffix in (".md", ".svg") and path.is_file():
            found = places.search(path.read_bytes())
            assert found is None, f"{path.name}: {found[0].decode()}"
