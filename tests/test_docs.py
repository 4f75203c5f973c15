"""The documentation is output, or it is tested."""

import ast
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from advcli.cli import _commands
from advcli.io.sources import sample

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
PAGES = {"README.md": README, **DOCS}


def blocks(language):
    """(page, block) of every block of code in a language; each is typed after `advcli sample`."""
    return [
        (name, block)
        for name, text in PAGES.items()
        for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    ]


@pytest.fixture
def with_sample(tmp_path, monkeypatch):
    for file, name in sample.files():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SHELL = [(name, block) for name, block in blocks("sh") if not block.startswith("python3 -m venv")]


def test_the_pages_show_commands():
    assert {"README.md", "tour.md", "guide.md", "recipes.md", "dumps.md", "json.md"} <= {
        name for name, _ in SHELL
    }
    assert len(SHELL) > 20


@pytest.mark.parametrize(("name", "block"), SHELL)
def test_commands_run_as_written(name, block, with_sample):
    lacking = [tool for tool in ("jq", "duckdb") if f"\n{tool} " in block and not shutil.which(tool)]
    lines = [line for line in block.splitlines() if line.split()[0] not in lacking]
    script = f'advcli() {{ {shlex.quote(sys.executable)} -m advcli "$@"; }}\n' + "\n".join(lines)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    made = {path.name for path in with_sample.iterdir()} - {name.split("/")[0] for _, name in sample.files()}
    assert done.stdout.strip() or made or "is there already" in done.stderr
    if lacking:
        pytest.skip(f"{' and '.join(lacking)} is not installed; the lines of advcli were run")


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
def test_rows_for_fine_tuning_have_texts(with_sample):
    (block,) = [block for _, block in SHELL if "{prompt, response}" in block]
    script = f'advcli() {{ {shlex.quote(sys.executable)} -m advcli "$@"; }}\n{block}'
    subprocess.run(["bash", "-e", "-c", script], check=True, capture_output=True)
    rows = [json.loads(line) for line in Path("sft.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 55
    assert all(row["prompt"] and row["response"] for row in rows)


def shown_value(line):
    """The value in the comment at the end of a line of Python, in a tuple; None without."""
    _, comment, value = line.rpartition("  # ")
    is_value = comment and re.match(r"[\[({'\d-]|True|False", value)
    return (ast.literal_eval(value),) if is_value else None


# The blocks of contributing.md are parts of files: tests/test_contributing.py puts them there.
@pytest.mark.parametrize("page", sorted({name for name, _ in blocks("python")} - {"contributing.md"}))
def test_python_runs_as_written_and_gives_what_is_shown(page, with_sample):
    scope: dict = {}
    checked = 0
    for name, block in blocks("python"):
        if name != page:
            continue
        for node in ast.parse(block).body:
            shown = shown_value("\n".join(block.splitlines()[node.lineno - 1 : node.end_lineno]))
            if shown is None:
                exec(compile(ast.Module([node], []), page, "exec"), scope)
                continue
            got = eval(compile(ast.Expression(node.value), page, "eval"), scope)
            if hasattr(got, "tolist"):
                got = [round(value, 3) + 0.0 if isinstance(value, float) else value for value in got.tolist()]
            assert got == shown[0], ast.unparse(node)
            checked += 1
    assert checked >= 2


def module(name):
    """A script of the folder docs/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def test_the_notebook_shows_what_its_cells_give():
    notebook = module("notebook")
    kept = json.loads(notebook.NOTEBOOK.read_text(encoding="utf-8"))
    for fresh, cell in zip(notebook.executed(kept)["cells"], kept["cells"], strict=True):
        assert fresh == cell, "run: python docs/notebook.py"


def test_exactly_two_commands_set_up():
    assert len(re.findall(r"^python3 -m venv .venv", README, re.MULTILINE)) == 2


def test_every_command_and_option_is_documented():
    sections = dict(
        re.findall(r"^## advcli (\w+)\n(.*?)(?=^## |\Z)", DOCS["cli.md"], re.DOTALL | re.MULTILINE)
    )
    assert list(sections) == list(_commands.COMMANDS)
    seen = 0
    for name, section in sections.items():
        command = _commands.whole(name)
        assert command.help
        for option in command.params:
            assert option.help, f"{name} {option.name} has no help"
            shown = option.opts if option.param_type_name == "option" else [option.metavar or option.name]
            assert all(re.search(rf"(?<![\w-]){re.escape(flag)}\b", section) for flag in shown), (
                name,
                option.opts,
            )
            seen += 1
    assert seen > 150


def slug(heading):
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_lead_somewhere(page):
    folder = ROOT if page == "README.md" else ROOT / "docs"
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
        path, _, anchor = target.partition("#")
        if target.startswith("http"):
            continue
        assert not path or (folder / path).exists(), target
        if anchor:
            text = PAGES[Path(path).name if path else page]
            assert anchor in {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}, (
                target
            )


def test_pictures_are_up_to_date(tmp_path):
    module("pictures").main(tmp_path)
    for name in ("compare.svg", "inspect.svg"):
        drawn, kept = (folder / name for folder in (tmp_path, ROOT / "docs"))
        assert drawn.read_text() == kept.read_text(), "run: python docs/pictures.py"
    # Pixels differ from one browser to the next, so of the page's picture it is only known that it is one.
    assert (ROOT / "docs" / "report.png").read_bytes().startswith(b"\x89PNG")


def test_fidelity_is_up_to_date():
    """The page is what is measured here; a number may be up to twice as large, for another processor's last bits."""
    fidelity = module("fidelity")
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
        == len(fidelity.measured())
        + sum(rule.proof != "package" for rule in fidelity.RULES)
        + len(fidelity.rollouts())
        + len(list(fidelity._ranges()))
        + len(fidelity.same_batch())
        + len(fidelity.upstream())
        + 14
    )


def test_no_page_or_picture_names_a_place_on_a_machine():
    places = re.compile(rb"/(?:tmp|home|root|work|Users)/[\w.-]+/")
    for path in (ROOT / "docs").iterdir():
        if path.suffix in (".md", ".svg") and path.is_file():
            found = places.search(path.read_bytes())
            assert found is None, f"{path.name}: {found[0].decode()}"
