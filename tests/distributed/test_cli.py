"""`--engine ray` from the command line: what is printed, what is refused."""

import json
import random
import re
import shutil
import sys
from pathlib import Path

import pytest
from distributed import test_commands as engines

ROOT = Path(__file__).parents[2]
SMALL = {"ADVCLI_RAY_CPUS": "2", "ADVCLI_RAY_OBJECT_STORE": str(100 << 20)}


@pytest.mark.ray
def test_the_command_of_the_docs(program, advcli, tmp_path):
    """A Ray of its own is started and stopped, and says nothing."""
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    command = re.search(r"^\$ advcli (.* --engine ray --out annotated/)$", page, re.MULTILINE).group(1)
    shutil.copy(ROOT / "sample_data" / "rewards.parquet", tmp_path)
    done = program(*command.split(), env=SMALL)
    assert done.returncode == 0, done.stderr.decode()
    local = advcli(*command.replace("ray", "local").replace("annotated", "local").split())
    assert done.stdout == local.stdout
    lines = done.stderr.decode().splitlines()
    assert all(line.startswith("advcli: ") for line in lines), lines
    told = [line.replace("local/", "annotated/") for line in local.stderr.decode().splitlines()]
    # Exact repeats are said where small inputs are read once more, which Ray does not do.
    assert lines == [line for line in told if "identical to an earlier one" not in line]
    assert (tmp_path / "annotated" / "rewards.adv.parquet").is_file()
    again = program(*command.split(), "--resume", "--json", env=SMALL)
    assert again.returncode == 0, again.stderr.decode()
    assert json.loads(again.stdout)["rows"] > 0
    assert b"advcli: 1 of 1 file done already" in again.stderr


@pytest.mark.ray
@pytest.mark.usefixtures("on_ray")
def test_inspect_and_match_print_what_they_print_on_one_machine(advcli, tmp_path):
    """Standard output and exit codes, the one of a condition that holds and that of a log nothing explains."""
    pick = random.Random(5)
    rows = [
        {"prompt_id": f"p{n // 4}", "step": n // 16, "reward": pick.random(), "advantage": pick.random()}
        for n in range(64)
    ]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for command, code in (
        ("inspect --json --step 1 --fail-if groups>3", 1),
        ("match --json", 1),
    ):
        # The workers were started in another folder.
        args = [*command.split(), tmp_path / "x.jsonl", "--engine"]
        local, ray = (advcli(*args, name) for name in ("local", "ray"))
        assert ray.returncode == local.returncode == code, ray.stderr.decode()
        engines.same_numbers(json.loads(ray.stdout), json.loads(local.stdout))
        assert ray.stderr == local.stderr


@pytest.mark.parametrize("package", ["ray", "datasketches"])
def test_without_the_extra(program, tmp_path, package):
    """Exit 4, one line, nothing written; the package is hidden by one that cannot be imported."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / f"{package}.py").write_text(f"raise ModuleNotFoundError('no', name='{package}')\n")
    other = {"ray": "datasketches", "datasketches": "ray"}[package]
    (hidden / other).mkdir()
    for module in ("__init__", "data"):
        (hidden / other / f"{module}.py").touch()
    shutil.copy(ROOT / "sample_data" / "rewards.parquet", tmp_path)
    path = {"PYTHONPATH": f"{hidden}:{':'.join(sys.path)}"}
    done = program("compute", "rewards.parquet", "--engine", "ray", "--out", "out/", env=path)
    assert done.returncode == 4
    assert done.stderr.decode() == (
        f"advcli: --engine ray needs the package '{package}', which is not installed; try pip install 'advcli[ray]'\n"
    )
    assert not (tmp_path / "out").exists()


def refused(run, folder, command, said):
    (folder / "x.jsonl").write_text('{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n')
    done = run(*command.split())
    assert done.returncode == 2, done.stderr.decode()
    assert done.stderr.decode().startswith(f"advcli: {said}"), done.stderr.decode()
    assert len(done.stderr.decode().splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "report x.jsonl --out x.html --engine ray",
            "report does not run on Ray; compute, compare, inspect, match, prompts, sweep do",
        ),
        ("compare x.jsonl x.jsonl --between --engine ray", "compare --between does not run on Ray"),
        ("compute x.jsonl --engine spark", "unknown value 'spark' for --engine; try local or ray"),
        ("compute x.jsonl --ray-address auto", "--ray-address is for --engine ray"),
        ("compute x.jsonl --resume", "--resume is for --engine ray"),
    ],
)
def test_what_is_refused(advcli, tmp_path, command, said):
    refused(advcli, tmp_path, command, said)


@pytest.mark.ray
@pytest.mark.usefixtures("on_ray")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("compute - --out out/", "--engine ray reads files, not standard input"),
        ("compute x.jsonl --out -", "--engine ray writes a file per input, not standard output"),
        ("compute x.jsonl --dedup --out out/", "--dedup compares the rows of all files"),
    ],
)
def test_what_is_refused_on_ray(advcli, tmp_path, arguments, said):
    refused(advcli, tmp_path, f"{arguments} --engine ray", said)


@pytest.mark.ray
def test_an_address_where_no_ray_is(program, tmp_path):
    arguments = "compute x.jsonl --out out/ --ray-address 127.0.0.1:1 --engine ray"
    refused(program, tmp_path, arguments, "--ray-address 127.0.0.1:1: cannot be reached")
