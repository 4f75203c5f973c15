"""`advcli sample` writes what comes with the package, and commands without input read it."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "sample_data"


def test_it_writes_the_sample(advcli, tmp_path):
    done = advcli("sample")
    assert (done.returncode, done.stdout) == (0, b"")
    made = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*") if path.is_file()}
    kept = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*") if path.is_file()}
    assert made.keys() == kept.keys() - {"README.md", "make.py"}
    for name, path in made.items():
        assert path.read_bytes() == kept[name].read_bytes()
        assert f"wrote {name}" in done.stderr.decode()


def test_what_is_there_already_stays(advcli, tmp_path):
    assert advcli("sample", "new/folder", "--quiet").stderr == b""
    again = advcli("sample", "new/folder")
    assert again.returncode == 0
    assert again.stderr.count(b"is up to date") == 8
    (tmp_path / "new/folder/rewards.jsonl").write_text("mine")
    refused = advcli("sample", "new/folder")
    assert refused.returncode == 2
    assert b"rewards.jsonl exists already" in refused.stderr
    assert (tmp_path / "new/folder/rewards.jsonl").read_text() == "mine"
    assert advcli("sample", "new/folder", "--force").returncode == 0


@pytest.mark.parametrize("command", ["inspect", "compute", "compare", "sweep", "match", "report"])
def test_without_input_a_command_reads_the_sample(command, advcli, tmp_path):
    done = advcli(command)
    assert done.returncode == 0, done.stderr
    assert done.stderr.decode().splitlines()[0] == "advcli: no input: using the bundled sample"
    wrote = {"compute": ["rewards.adv.parquet"], "report": ["report.html"]}
    assert [path.name for path in tmp_path.iterdir()] == wrote.get(command, [])


@pytest.mark.parametrize("command", ["inspect", "compare", "sweep", "match"])
def test_piped_in_rows_are_read_instead(command, advcli):
    rows = [{"prompt_id": "p", "reward": r, "advantage": r - (1 - r)} for r in (0, 1)]
    done = advcli(command, "--json", stdin="".join(json.dumps(row) + "\n" for row in rows))
    assert json.loads(done.stdout)["rows"] == 2
    assert b"sample" not in done.stderr
