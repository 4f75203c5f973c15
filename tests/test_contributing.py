"""The recipes of docs/contributing.md, carried out on a copy of the package as they are written there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^(?:New file `(?P<new>[^`]+)`|In `(?P<old>[^`]+)`, (?P<where>at the end|before the last|after the line)"
    r"(?: `(?P<line>[^`]+)`)?):\n\n```python\n(?P<code>.*?)```",
    re.MULTILINE | re.DOTALL,
)
ROWS = [("a", 1.0), ("a", 0.0), ("a", 0.0), ("a", 0.0)]


@pytest.fixture
def package(tmp_path):
    shutil.copytree(ROOT / "advcli", tmp_path / "advcli", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def carry_out(title: str, folder: Path) -> set[str]:
    """Change the copy as the section says; returns the files that were changed."""
    section = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]
    changed = set()
    for block in BLOCK.finditer(section):
        file, code = block["new"] or block["old"], block["code"]
        changed.add(file)
        path = folder / file
        if block["new"]:
            assert not path.exists()
            path.write_text(code, encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        line = f"{block['line']}\n"
        at = {
            "at the end": len(text),
            "before the last": text.rfind(line),
            "after the line": text.find(line) + len(line),
        }[block["where"]]
        assert block["where"] == "at the end" or line in text, f"{file} has no line {line}"
        gap = "\n\n" if block["where"] == "at the end" else ""
        path.write_text(text[:at] + gap + code + text[at:], encoding="utf-8")
    return changed


def run(folder: Path, *args: str) -> dict:
    rows = "".join(
        json.dumps({"example_prompt": p, "prompt_id": p, "example_score": r, "reward": r}) + "\n"
        for p, r in ROWS
    )
    (folder / "a.jsonl").write_text(rows)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "advcli", *args],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if "--json" in args else {"text": done.stdout}


def test_an_estimator(package):
    assert len(carry_out("Add an estimator", package)) == 2
    found = run(package, "compare", "a.jsonl", "--format", "generic", "--estimator", "deviation", "--json")
    # Mean 0.25, mean absolute deviation (0.75 + 3 · 0.25) / 4 = 0.375.
    assert found["columns"]["original"]["max"] == pytest.approx(0.75 / 0.375)
    assert "0.6667" in run(package, "estimators", "deviation")["text"]


def test_a_rule_of_a_framework(package):
    assert len(carry_out("Add a framework's rule", package)) == 1
    flags = ("--format", "generic", "--like", "areal", "--estimator", "example")
    found = run(package, "compare", "a.jsonl", *flags, "--json")
    assert found["columns"]["original"]["max"] == pytest.approx(0.75)


def test_a_dump_format(package):
    assert len(carry_out("Add a dump format", package)) == 2
    found = run(package, "compute", "a.jsonl", "--out", "b.jsonl", "--json")
    assert (found["settings"]["format"], found["settings"]["reward"]) == ("example", {"example_score": 1.0})


def test_a_filter(package):
    assert len(carry_out("Add a filter", package)) == 2
    flags = ("--format", "generic", "--before", "above:least=0.5")
    assert run(package, "compare", "a.jsonl", *flags, "--json")["kept_rows"] == 0


def test_a_figure_of_compare(package):
    assert len(carry_out("Add a figure of `compare`", package)) == 2
    assert "share of rows kept" in run(package, "compare", "a.jsonl", "--format", "generic")["text"]
