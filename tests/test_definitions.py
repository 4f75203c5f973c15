"""docs/definitions.md has every key of the JSON and every heading of a screen."""

import json
import re
import shutil
import typing
from pathlib import Path

import in_process
import rich.table

from advcli.io.sources import sample
from advcli.records.results.report import Column, Figures, Shown

DOCS = Path(__file__).parents[1] / "docs"
DEFINITIONS = (DOCS / "definitions.md").read_text(encoding="utf-8")


def shown_figures():
    """What the records of `compare` say about their headings."""
    for record in (Figures, Column):
        for hint in typing.get_type_hints(record, include_extras=True).values():
            yield from (one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Shown))


def dump(step, prompt, reward, **more):
    """A line of a dump."""
    return json.dumps({"prompt_id": prompt, "step": step, "reward": reward, **more}) + "\n"


def schema_keys(node):
    """The names of all properties in a schema."""
    if isinstance(node, list):
        return {key for item in node for key in schema_keys(item)}
    if not isinstance(node, dict):
        return set()
    properties = node.get("properties", {})
    return {*(properties if isinstance(properties, dict) else ()), *schema_keys(list(node.values()))}


def test_every_key_of_the_json_is_defined():
    for path in (DOCS / "schemas").glob("*.json"):
        keys = schema_keys(json.loads(path.read_text(encoding="utf-8")))
        assert keys
        missing = {key for key in keys if f"| `{key}` |" not in DEFINITIONS}
        assert not missing, "run: cog -r docs/definitions.md"


SCREENS = (
    "inspect rewards.parquet --reward accuracy_reward --reward format_reward --by step",
    "inspect rewards.parquet --step 1",
    "inspect rewards.parquet --top 2",
    "inspect turns.jsonl",
    "compare rewards.parquet --keep-pos 0.5",
    "compare runs runs --between --runs path",
    "sweep rewards.parquet --estimator grpo,rloo --keep-pos 0.5,1 --keep-neg 0.5,1 --compute-new-adv both",
    "sweep rewards.parquet --estimator grpo,rloo,maxrl",
    "match trl",
    "match trl --like verl",
    "prompts rewards.jsonl --pass-at 1",
    "prompts run.jsonl",
    "verify rewards.jsonl --reward accuracy_reward --vs-reward format_reward --vs-pass-at 0.2",
)


def test_every_heading_on_a_screen_is_defined(tmp_path, monkeypatch):
    """The headings of all tables, and the labels of the rows of `compare`."""
    for file, name in sample.files():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    Path("run.jsonl").write_text("".join(dump(s, p, i % 2) for s in (1, 2) for p in "ab" for i in range(4)))
    Path("turns.jsonl").write_text(dump(1, "a", 1, rollout_id=0) * 2 + dump(1, "a", 0, rollout_id=1))
    for run in ("runs/a", "runs/b"):
        Path(run).mkdir(parents=True)
        shutil.copy("rewards.jsonl", run)
    headings = set()
    add_column = rich.table.Table.add_column

    def watched(table, header="", *args, **kwargs):
        headings.add(str(header).strip())
        add_column(table, header, *args, **kwargs)

    monkeypatch.setattr(rich.table.Table, "add_column", watched)
    for line in SCREENS:
        assert in_process.run(line.split())[0] in (0, 1), line
    labels = {shown.heading.format(unit="row") for shown in shown_figures()}
    defined = {
        span.replace("\\", "")
        for line in DEFINITIONS.splitlines()
        if line.startswith("| ")
        for span in re.findall(r"`([^`]+)`", line.split(" | ")[0])
    }
    # Numbers of rows per group, and the column of --by.
    names = {heading for heading in headings | labels if heading and not heading.isdigit()}
    assert len(names) > 90
    assert names <= defined, sorted(names - defined)
