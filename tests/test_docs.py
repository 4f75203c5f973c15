"""The documentation is output, or it is tested."""

import ast
import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import doc_shell
import pytest

from advcli.cli import lazy
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


def sections(page):
    """(heading, text) of the parts of a page that a heading of the second level begins; its blocks run in order."""
    head, *rest = re.split(r"^## (.*)$", PAGES[page], flags=re.MULTILINE)
    return [("", head), *zip(rest[::2], rest[1::2], strict=True)]


def shell(text):
    """(block, what stands between it and the next heading or block) of every block of shell in a text."""
    return [
        (block, after)
        for block, after in re.findall(r"```sh\n(.*?)```(.*?)(?=^#|^```|\Z)", text, re.DOTALL | re.MULTILINE)
        if not block.startswith("python3 -m venv")
    ]


SECTIONS = [
    (page, heading, text) for page in sorted(PAGES) for heading, text in sections(page) if shell(text)
]


def flat(text):
    """A text with single spaces."""
    return " ".join(text.split())


def quoted(after):
    """What the sentences on the sample quote from the output: code spans, from *Sample* to the links."""
    sample = after.partition("*Sample*")[2].partition("More:")[0]
    return [flat(span) for span in re.findall(r"`([^`]+)`", sample)]


def test_the_pages_show_commands():
    pages = {page for page, _, _ in SECTIONS}
    assert {"README.md", "tour.md", "guide.md", "recipes.md", "frameworks.md", "json.md"} <= pages


@pytest.mark.parametrize(
    ("page", "heading", "text"), SECTIONS, ids=[f"{page}-{heading}" for page, heading, _ in SECTIONS]
)
def test_commands_run_as_written(page, heading, text, with_sample):
    lacking = set()
    for block, after in shell(text):
        before = set(with_sample.rglob("*"))
        ran = doc_shell.run(block)
        assert ran.code == 0, f"{block}{ran.output}"
        assert "Traceback" not in ran.output
        assert ran.output.strip() or set(with_sample.rglob("*")) - before
        lacking |= set(ran.lacking)
        if not ran.lacking:
            for span in quoted(after):
                assert span in flat(ran.output), f"{block}does not print: {span}"
    if lacking:
        pytest.skip(f"{' and '.join(sorted(lacking))} is not installed; the other lines were run")


def test_recipes_answer_a_question_each():
    """Every recipe has a question, a command, and a page to read on; the contents list them all, in order."""
    contents, _, recipes = DOCS["recipes.md"].partition("\n## ")
    found = re.findall(r"^### (.*?)\n(.*?)(?=^#{2,3} |\Z)", recipes, re.DOTALL | re.MULTILINE)
    assert len(found) >= 53
    for question, answer in found:
        assert question.endswith("?"), question
        assert "```sh\nadvcli" in answer or "\nadvcli" in answer, question
        assert re.search(r"More: \[[^]]+\]\([\w.]+\.md", answer), question
    assert [question for question, _ in found] == re.findall(r"\[([^]]+\?)\]\(#", contents)


@pytest.mark.parametrize(
    ("file", "keys"),
    [("sft.jsonl", ("prompt", "completion")), ("dpo.jsonl", ("prompt", "chosen", "rejected"))],
)
def test_rows_for_fine_tuning_have_texts(file, keys, with_sample):
    (block,) = (block for block, _ in shell(DOCS["recipes.md"]) if f"--out {file}" in block)
    assert doc_shell.run(block).code == 0
    rows = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    assert len(rows) > 30
    assert all(row[key] for row in rows for key in keys)


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
    assert list(sections) == list(lazy.COMMANDS)
    seen = 0
    for name, section in sections.items():
        command = lazy.load_command(name)
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


def test_troubleshooting_quotes_messages_that_exist():
    """What stands between the dots of a message in the first column is in the program's own text."""
    program = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "advcli").rglob("*.py"))
    joined = re.sub(r'"\s*\n\s*f?"', "", program)
    messages = re.findall(r"^\| `([^|]+)` \|", DOCS["troubleshooting.md"], re.MULTILINE)
    assert len(messages) > 25
    for message in messages:
        for part in re.split(r"\s*'?…'?\s*", message):
            assert part in joined, message
