"""The schemas are made from the records, hold for what is printed, and stay as they were published."""

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.records.results.schema import RESULTS, schema

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "docs" / "schemas"
SAMPLE = str(ROOT / "sample_data" / "rewards.parquet")
LOGGED = str(ROOT / "sample_data" / "trl")
TOKENS = str(ROOT / "sample_data" / "tokens.jsonl")
LINES = {
    "compute": [
        f"compute {SAMPLE} --out $OUT/a.parquet --after cppo:keep=0.5 --metrics $OUT/m.jsonl",
        f"compute {TOKENS} --out $OUT/a.jsonl --estimator gae --values-col values --overlong max=4,buffer=2",
    ],
    "compare": [f"compare {SAMPLE} --vs rloo --like verl", f"compare {LOGGED}"],
    "between": [f"compare {SAMPLE} {SAMPLE} --between", f"compare {SAMPLE} {LOGGED} --between"],
    "inspect": [f"inspect {SAMPLE} --by step --top 3", f"inspect {LOGGED} --step 1 --fail-if dead>2"],
    "match": [f"match {LOGGED}", f"match {LOGGED} --like oat"],
    "prompts": [f"prompts {SAMPLE} --pass-at 1", f"prompts {LOGGED}"],
    "verify": [
        f"verify {SAMPLE} --reward accuracy_reward",
        f"verify {SAMPLE} {SAMPLE} --reward accuracy_reward --b reward=reward --vs-pass-at 1",
    ],
    "select": [f"select {SAMPLE} --as sft --out $OUT/s.jsonl"],
    "sweep": [f"sweep {SAMPLE} --estimator grpo,rloo --like verl,trl", f"sweep {LOGGED}"],
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in LINES.items() for line in lines])
def test_what_is_printed_follows_its_schema(name, line, tmp_path):
    done = CliRunner().invoke(app, [*line.replace("$OUT", str(tmp_path)).split(), "--json"])
    body = json.loads(done.stdout)
    jsonschema.Draft202012Validator(schema(name)).validate(body)
    assert not body.keys() - schema(name)["properties"].keys()


@pytest.mark.parametrize("name", RESULTS)
def test_a_schema_is_one(name):
    body = schema(name)
    jsonschema.Draft202012Validator.check_schema(body)
    for part in (body, *body["$defs"].values()):
        assert part["description"]
        for key, value in part["properties"].items():
            assert value.get("description") or key == "schema", (part["title"], key)


@pytest.mark.parametrize("name", RESULTS)
def test_a_schema_is_as_it_was_published(name):
    """A key that goes or changes its type needs a new version; with one more key the file is written again."""
    published = json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8"))
    assert schema(name) == published, f"advcli schema {name} > docs/schemas/{name}.json"


def test_a_wrong_value_is_seen():
    body = {
        "schema": "advcli/sweep/1",
        "rows": "many",
        "groups": 1,
        "dead_groups": 0,
        "warnings": [],
        "points": [],
    }
    with pytest.raises(jsonschema.ValidationError, match="many"):
        jsonschema.validate(body, schema("sweep"))
