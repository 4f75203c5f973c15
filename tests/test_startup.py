"""What starts fast stays fast: nothing heavy is imported before there is something to compute."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HEAVY = {"jinja2", "numpy", "pandas", "pyarrow", "torch"}
RUN = """
import json, sys
sys.argv = ["advcli", *json.loads(sys.argv[1])]
try:
    from advcli.cli import main
    main()
except SystemExit as error:
    assert error.code in (0, None), error.code
print("MODULES", json.dumps(sorted(sys.modules)))
"""


def modules_after(code, *args):
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    before, _, modules = done.stdout.rpartition("MODULES ")
    return before, set(json.loads(modules))


@pytest.mark.parametrize(
    ("args", "shows"),
    [
        ("--help", "compare"),
        ("compute --help", "--keep-pos"),
        ("help sweep --all", "--log-probs-col"),
        ("schema", "advcli/inspect/1"),
        ("compare --help", "--vs"),
        ("inspect --help", "max_abs_adv"),
        ("report --help-all", "--texts"),
        ("--version", "advcli "),
        ("estimators", "rloo"),
        ("formats", "verl"),
        ("frameworks", "nemo-rl"),
        ("frameworks trl", "by position"),
    ],
)
def test_nothing_heavy_is_imported(args, shows):
    printed, modules = modules_after(RUN, json.dumps(args.split()))
    assert shows in printed
    assert "advcli.cli" in modules
    assert not HEAVY & modules


def test_import_advcli_is_light():
    code = "import json, sys, advcli; dir(advcli); print('MODULES', json.dumps(sorted(sys.modules)))"
    _, modules = modules_after(code)
    assert "advcli" in modules
    assert not (HEAVY | {"typer", "rich", "yaml"}) & modules


def test_the_check_can_see_a_heavy_import():
    code = "import json, sys; from advcli import compute_advantages; print('MODULES', json.dumps(list(sys.modules)))"
    _, modules = modules_after(code)
    assert {"torch", "numpy"} <= modules


@pytest.mark.parametrize("command", ["compare", "compute", "sweep --estimator grpo,rloo"])
def test_no_command_waits_for_pandas_without_need(command, tmp_path):
    name, *options = command.split()
    data = tmp_path / "a.parquet"
    pq.write_table(pa.table({"prompt_id": ["p", "p", "q", "q"], "reward": [0.0, 1.0, None, 0.5]}), data)
    printed, modules = modules_after(RUN, json.dumps([name, str(data), *options]))
    assert "torch" in modules
    assert "pandas" not in modules
    assert printed
