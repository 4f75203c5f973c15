"""Every command on inputs, options and configurations that nobody meant: a result or one line, and nothing else.

A few hundred examples with fixed seeds run with the other tests. By hand, as long as you like:

    ADVCLI_FUZZ=1000000 python -m pytest tests/fuzz -x
"""

import contextlib
import json
import os
import random
import re
import shutil
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fuzzed import BIG, COMMANDS, CONFIGS, CORPUS, OUTPUTS, SECRET, options
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from in_process import run
from mutations import bent, mutated

EXAMPLES = int(os.environ.get("ADVCLI_FUZZ", "30"))
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize="ADVCLI_FUZZ" not in os.environ,
    database=None,
)
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Their exit code 1 is an answer.
SAYS_NO = ("match", "inspect")
# What stands for one type of a column each.
TYPED = ("reward_", "key_", "step_")
# Without it the command does nothing.
NEEDED = {"compare": ["--between"], "select": ["--as", "best"]}
STRICT = json.JSONDecoder(parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def check(command, files, options):
    """Run a command on some files and look at all that it leaves."""
    folder = Path(tempfile.mkdtemp())
    here = Path.cwd()
    os.chdir(folder)
    try:
        for name, data in files.items():
            Path(name).write_bytes(data)
        inputs = [name for name in files if not name.startswith("c.")]
        if command == "compare" and "--between" in options:
            inputs = [inputs[0], inputs[-1]]
        args = [command, *inputs, *options]
        if command in ("compute", "report") and "--force" not in args:
            args.append("--force")
        code, out, err = run(args)
        explain = f"{args}\n{err}"
        assert code in (0, 1, 2, 3, 4), explain
        assert code != 1 or command in SAYS_NO, explain
        assert not OBEYED.search(err), explain
        if "-" not in options:
            assert all(line.startswith("advcli: ") for line in err.splitlines()), explain
        assert code in (0, 1) or err.splitlines()[-1].startswith("advcli: "), explain
        if "-" not in options:
            text = out.decode("utf-8")
            assert not OBEYED.search(text), explain
            if "--json" in options and text:
                STRICT.decode(text)
        _look(folder, files, code, explain)
    finally:
        os.chdir(here)
        shutil.rmtree(folder)


def _look(folder, files, code, explain):
    """The inputs are what they were, and what was written is whole and valid."""
    for name, data in files.items():
        assert (folder / name).read_bytes() == data, explain
    for path in folder.rglob("*"):
        assert not path.name.endswith(".part"), explain
        if path.is_dir() or path.name in files:
            continue
        assert code in (0, 1) or path.name == "m.jsonl", f"{path.name} in spite of an error: {explain}"
        if path.suffix == ".parquet":
            pq.read_table(path)
        elif path.suffix == ".jsonl":
            for line in path.read_bytes().split(b"\n"):
                assert b": Infinity" not in line, explain
        elif path.suffix == ".csv":
            path.read_text(encoding="utf-8")


@st.composite
def option_lists(draw, command):
    known = options(command)
    chosen = []
    for name in draw(st.lists(st.sampled_from(sorted(known)), max_size=5, unique=True)):
        chosen.append(name)
        if known[name]:
            chosen.append(draw(st.sampled_from(known[name])))
    if command in OUTPUTS:
        chosen += ["--out", draw(st.sampled_from(OUTPUTS[command]))]
    return chosen


@pytest.mark.parametrize("name", [name for name in CORPUS if not name.startswith(TYPED)])
@pytest.mark.parametrize("command", COMMANDS)
def test_corpus(command, name):
    out = OUTPUTS.get(command, ())
    more = NEEDED.get(command, [])
    check(command, {name: CORPUS[name]}, [*more, "--out", out[0]] if out else [])
    if out[1:2]:
        check(command, {name: CORPUS[name]}, [*more, "--out", out[1]])


@pytest.mark.parametrize(
    ("number", "name"), list(enumerate(name for name in CORPUS if name.startswith(TYPED)))
)
def test_types(number, name):
    # Here one command in turn for each file; by hand every command.
    for command in COMMANDS if "ADVCLI_FUZZ" in os.environ else [COMMANDS[number % len(COMMANDS)]]:
        out = OUTPUTS.get(command, ())
        check(command, {name: CORPUS[name]}, [*NEEDED.get(command, []), *(["--out", out[0]] if out else [])])


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("verify", "step_half.parquet"),
        ("prompts", "reward_unknown_zone.parquet"),
        ("report", "types.parquet"),
        ("prompts", "key_string_view.parquet"),
    ],
)
def test_what_was_found(command, name):
    check(command, {name: CORPUS[name]}, ["--out", OUTPUTS[command][0]])


chances = st.randoms(use_true_random=False)


@FUZZ
@given(st.sampled_from(COMMANDS), st.sampled_from(sorted(CORPUS)), st.data())
def test_options(command, name, data):
    check(command, {name: CORPUS[name]}, data.draw(option_lists(command)))


@FUZZ
@given(
    st.sampled_from(COMMANDS),
    st.lists(st.sampled_from(sorted(CORPUS)), min_size=1, max_size=2),
    chances,
    st.data(),
)
def test_inputs(command, names, chance, data):
    files = {}
    for name in names:
        content = CORPUS[name]
        with contextlib.suppress(ValueError):
            if name.endswith(".jsonl") and chance.random() < 0.6:
                rows = [bent(json.loads(line), chance) for line in content.splitlines()]
                content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        files[name] = mutated(content, chance) if chance.random() < 0.5 else content
    check(command, files, data.draw(option_lists(command)))


@FUZZ
@given(st.sampled_from(("compute", "compare", "sweep")), st.sampled_from(CONFIGS), chances)
@example("compare", "a: &x\n  b: *x\n", random.Random(0))
@example("compare", "n: " + BIG, random.Random(0))
def test_configs(command, text, chance):
    content = mutated(text.encode(), chance)
    check(command, {"plain.jsonl": CORPUS["plain.jsonl"], "c.yaml": content}, ["--config", "c.yaml"])


URLS = (
    f"http://user:{SECRET}@127.0.0.1:9/a.jsonl?token={SECRET}",
    f"s3://KEY:{SECRET}@bucket/a.jsonl?endpoint_override=127.0.0.1:9&scheme=http&token={SECRET}",
    f"hf://user:{SECRET}@datasets/o/n",
    f"file://user:{SECRET}@nowhere/a.jsonl#token={SECRET}",
    f"https://127.0.0.1:9/a.parquet?X-Amz-Signature={SECRET}",
    f"nothing://user:{SECRET}@host/a.jsonl",
)


@pytest.mark.parametrize("number", range(len(URLS)))
def test_no_secret_of_a_url_is_shown(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(CORPUS["plain.jsonl"])
    # Here one command in turn for each URL; by hand every command.
    for command in COMMANDS if "ADVCLI_FUZZ" in os.environ else [COMMANDS[number % len(COMMANDS)]]:
        url, more = URLS[number], [*NEEDED.get(command, [])]
        out = ["--out", OUTPUTS[command][0]] if command in OUTPUTS else []
        for args in ([url], ["a.jsonl", url]):
            code, data, err = run([command, *args, *more, *out])
            assert code in (2, 3, 4), f"{command} {args}: {err}"
            assert SECRET not in err
            assert SECRET not in data.decode()
            assert not OBEYED.search(err)
            assert all(line.startswith("advcli: ") for line in err.splitlines())
