"""Every command on inputs, options and configurations that nobody meant: a result or one line, and nothing else.

A few hundred examples with fixed seeds run with the other tests. By hand, as long as you like:

    ADVCLI_FUZZ=1000000 python -m pytest tests/fuzz -x
"""

import contextlib
import io
import json
import os
import random
import re
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
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
ODD = "\x1b]0;x\x07\x9b2J\n\u202e\r=1+1"
BIG = "9" * 20


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def table(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


_PAIR = ({"prompt_id": "a", "step": 1, "reward": 1}, {"prompt_id": "a", "step": 1, "reward": 0})
NS = pa.array([1, 2, 3, 1 << 60], pa.timestamp("ns"))
CORPUS = {
    "plain.jsonl": lines(*_PAIR, *_PAIR),
    "names.jsonl": lines(*({f"prompt_id{ODD}": ODD, "reward": n, ODD: ODD, "step": ODD} for n in (0, 1))),
    "texts.jsonl": lines(*({"prompt_id": ODD, "reward": n, "response": ODD, "step": ODD} for n in (0, 1))),
    "large.jsonl": lines(*({"prompt_id": "a", "reward": r} for r in (1.7e308, -1.7e308, 0, 10**30))),
    "bom.jsonl": b"\xef\xbb\xbf" + lines(*_PAIR) + b"\xef\xbb\xbf\n \n\x0b\n" + lines(*_PAIR),
    "surrogate.jsonl": b'{"prompt_id": "\\ud800", "reward": 1}\n{"prompt_id": "\\ud800", "reward": 0.5}\n',
    "no_key.jsonl": lines(*_PAIR, {"reward": 0.5}),
    "parts.jsonl": lines(
        *(
            {"prompt": "p", "completion": f"c{n}", "math": None, "code": n / 2, "advantages": n}
            for n in range(4)
        )
    ),
    "tokens.jsonl": lines(
        *({"prompt_id": "a", "reward": n, "values": [0.1, n, None], "mask": [1, 1, 0]} for n in (0, 1))
    ),
    "nested.jsonl": lines(
        {"prompt": "p", "rollouts": [{"reward": 1, "text": "x"}, {"reward": 0, "text": "y"}]}
    ),
    "document.json": json.dumps([*_PAIR, *_PAIR], indent=1).encode(),
    "plain.parquet": table(prompt_id=["a", "a", "b", "b"], reward=[1.0, None, 0.0, 1.0], step=[1, 1, 1, 1]),
    "times.parquet": table(
        prompt_id=["a", "a", "b", "b"], reward=[1.0, 0.5, 0.0, 1.0], at=NS, o=[{"t": 1}] * 4
    ),
    "no_utf8.parquet": table(
        prompt_id=pa.array([b"\xff", b"\xff", b"b", b"b"]).view(pa.string()), reward=[1.0, 0.5, 0.0, 1.0]
    ),
    "empty.jsonl": b"",
    "null.jsonl": b"null\n",
}
CONFIGS = (
    "adv_estimator: rloo\nkeep_pos_ratio: 0.5\n",
    "algorithm: {gamma: 0.9, lam: 1.0, adv_estimator: gae}\nnum_generations: 4\n",
    '{"num_generations": 4, "scale_rewards": true, "run": {"date": "2024-01-01"}}',
    "a: &a {x: 1}\nb: {<<: *a, c: [*a, *a]}\nd: 2024-01-01 00:00:00\n",
)
COMMANDS = ("compute", "compare", "inspect", "sweep", "match", "report", "between")
NAMES = (
    "reward",
    "prompt_id",
    "step",
    "response",
    "code",
    "math",
    "at",
    "o.t",
    "values",
    "nothing",
    ODD,
    "",
    "a,b",
)
NUMBERS = ("0", "1", "2", "-1", "0.5", BIG, "nan", "inf", "1e400", "1e-400", "", "x", "0x10", "1:1:1")
WORDS = (
    "grpo",
    "rloo",
    "gae",
    "verl",
    "trl@1.5",
    "none",
    "batch",
    "zero",
    "error",
    "verl:grpo",
    f"grpo:eps={BIG}",
)
OPTIONS = {
    **dict.fromkeys(
        ("--reward", "--prompt-col", "--step-col", "--length-col", "--kl-col", "--values-col", "--mask-col"),
        NAMES,
    ),
    **dict.fromkeys(("--group-by", "--explode", "--baseline-col", "--log-probs-col"), NAMES),
    **dict.fromkeys(("--keep-pos", "--keep-neg", "--n", "--kl-coef", "--top", "--texts", "--seed"), NUMBERS),
    **dict.fromkeys(("--resamples", "--near-dead", "--max-line"), NUMBERS),
    **dict.fromkeys(("--estimator", "--like", "--scale", "--missing", "--singleton", "--format"), WORDS),
    "--affine": ("scale=2,shift=1", "scale=nan", f"scale={BIG}", ODD),
    "--overlong": ("max=4,buffer=2,factor=1", f"max={BIG}", "max=-1", "=", ODD),
    "--clip-reward": ("min=-1,max=1", "min=1,max=-1", f"max={BIG}"),
    "--before": ("dynamic_sampling", "truncated:max=4", f"pods:m={BIG}", "pods:m=x", ODD),
    "--after": ("cppo:keep=0.5", "keep_ratio:", f"cppo:keep={BIG}", ODD),
    "--set": ("adv_estimator=rloo", "a=[", "a=!!int x", f"num_generations={BIG}", "gamma=2024-02-30", ODD),
    "--on-bad-row": ("skip", "error", "x"),
    "--layout": ("rows", "lists", "nested", "x"),
    "--by": NAMES,
    "--group": ("#0", f"#{BIG}", "a", ODD),
    "--step": ("1", ODD),
    "--outcome": NAMES,
    "--fail-if": ("dead > 0.5", "dead > x", f"missing > {BIG}", ODD),
    "--sort": ("mean_abs", "-std", "x"),
    "--logged-col": NAMES,
    "--join": NAMES,
    "--b": ("reward=reward", "reward=", "x=1", ODD),
    "--prefix": ("x_", ODD, ""),
    "--metrics": ("m.jsonl",),
    "--device": ("cpu", "auto", "x"),
    "--json": (),
    "--quiet": (),
    "--dedup": (),
    "--compute-new-adv": (),
    "--same-layout": (),
}
OUTPUTS = {
    "compute": ("o.jsonl", "o.parquet", "o/", "-", "o.jsonl.gz", "o.jsonl.zst"),
    "sweep": ("o.csv", "o.jsonl", "o.parquet"),
    "between": ("o.csv", "o.jsonl", "o.parquet"),
    "report": ("o.html",),
}
STRICT = json.JSONDecoder(parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def check(command, files, options):
    """Run a command on some files and look at all that it leaves."""
    folder = Path(tempfile.mkdtemp())
    here = Path.cwd()
    os.chdir(folder)
    try:
        for name, data in files.items():
            Path(name).write_bytes(data)
        first, *others = (name for name in files if not name.startswith("c."))
        between = command == "between"
        inputs = [first, *(others or [first])[:1]] if between else [first, *others]
        args = ["compare", "--between"] if between else [command]
        args += [*inputs, *options]
        if command in ("compute", "report") and "--force" not in args:
            args.append("--force")
        code, out, err = run(args)
        explain = f"{args}\n{err}"
        assert code in (0, 1, 2, 3), explain
        assert code != 1 or command in ("match", "inspect"), explain
        assert not OBEYED.search(err), explain
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
    options = []
    for name in draw(st.lists(st.sampled_from(sorted(OPTIONS)), max_size=4, unique=True)):
        options.append(name)
        if OPTIONS[name]:
            options.append(draw(st.sampled_from(OPTIONS[name])))
    if command in OUTPUTS:
        options += ["--out", draw(st.sampled_from(OUTPUTS[command]))]
    return options


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.parametrize("command", COMMANDS)
def test_corpus(command, name):
    out = OUTPUTS.get(command, ())
    check(command, {name: CORPUS[name]}, ["--out", out[0]] if out else [])
    if out[1:2]:
        check(command, {name: CORPUS[name]}, ["--out", out[1]])


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
