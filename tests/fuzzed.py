"""What the fuzzer of the commands gives them: files of every kind, and a value of every kind for every option."""

import datetime as dt
import decimal
import functools
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

ODD = "\x1b]0;x\x07\x9b2J\n\u202e\r=1+1"
BIG = "9" * 20
SECRET = "hunter2"


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def table(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def twice(*columns):
    """A parquet file, two columns of which have one name."""
    names, values = zip(*columns, strict=True)
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(value) for value in values], names=list(names)), out)
    return out.getvalue()


def rows(reward, **more):
    """Four rows of two groups in two steps."""
    known = {"prompt_id": ["a", "a", "b", "b"], "step": [1, 1, 2, 2], "reward": reward}
    return table(**{**known, **more})


def logged(groups=3, each=4, *, rule=lambda row, group: (row + group) % 2 - 0.5, **more):
    """Rows with all that the commands ask for: texts, tokens, lengths, logged advantages, which are centred rewards."""
    return lines(
        *(
            {
                "prompt_id": f"p{group}",
                "step": step,
                "reward": float((row + group) % 2),
                "judge": float((row * group) % 3) / 2,
                "response": f"answer {row}",
                "prompt": f"question {group}",
                "response_length": 3 + row,
                "finish_reason": ("stop", "length")[row % 2],
                "advantages": rule(row, group),
                "kl": 0.1 * row,
                "values": [0.1, 0.2, 0.3],
                "response_mask": [1, 1, row % 2],
                "old_log_probs": [-0.5, -1.0, -0.1 * row],
                "rollout_log_probs": [-0.6, -0.9, -0.2 * row],
                **more,
            }
            for step in (1, 2)
            for group in range(groups)
            for row in range(each)
        )
    )


def turns():
    """Rollouts of several rows."""
    return lines(
        *(
            {
                "prompt_id": f"p{group}",
                "rollout_id": f"{group}-{rollout}",
                "turn": turn,
                "anchor": f"state {turn}",
                "reward": float(turn == 2 and rollout == 0),
                "turn_rewards": [0, 0.5, 1],
                "response_length": 4,
                "step": 1,
            }
            for group in range(2)
            for rollout in range(3)
            for turn in range(3)
        )
    )


_PAIR = ({"prompt_id": "a", "step": 1, "reward": 1}, {"prompt_id": "a", "step": 1, "reward": 0})
NS = pa.array([1, 2, 3, 1 << 60], pa.timestamp("ns"))
HALF = [1.0, 0.5, 0.0, 1.0]
TYPES = {
    "zoned": pa.array([dt.datetime(2024, 1, 1)] * 4, pa.timestamp("us", tz="Asia/Kathmandu")),
    "unknown_zone": pa.array([1, 2, 3, 4], pa.timestamp("s", tz="Nowhere/\x1b[31m")),
    "decimal": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-0.01"), decimal.Decimal("9e9")]),
    "decimal_wide": pa.array([decimal.Decimal(10**60), None, decimal.Decimal(1), decimal.Decimal(2)]),
    "dictionary": pa.array(["x", "y", ODD, None]).dictionary_encode(),
    "dictionary_numbers": pa.array([1.0, 0.0, 1.0, None]).dictionary_encode(),
    "large_string": pa.array(["1", "0.5", "nan", ODD], pa.large_string()),
    "string_view": pa.array(["1", "0.5", "nan", ODD], pa.string_view()),
    "binary": pa.array([b"\x00\xff", b"1", None, b"\x1b[31m"]),
    "binary_fixed": pa.array([b"ab", b"cd", None, b"\x1b["], pa.binary(2)),
    "bool": pa.array([True, None, False, True]),
    "uint64": pa.array([2**64 - 1, 0, 1, None], pa.uint64()),
    "int8": pa.array([-128, 127, 0, None], pa.int8()),
    "half": pa.array([1.5, 0.0, -1.0, None], pa.float16()),
    "null": pa.nulls(4),
    "date": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31), dt.date(2024, 2, 29)]),
    "time": pa.array([dt.time(1), None, dt.time(23, 59), dt.time(0)]),
    "duration": pa.array([dt.timedelta(1), None, dt.timedelta(-1), dt.timedelta(0)]),
    "list": pa.array([[1.0], [], None, [float("nan"), 2.0]]),
    "large_list": pa.array([[1.0], [], None, [0.5, None]], pa.large_list(pa.float64())),
    "list_fixed": pa.array([[1.0, 2.0], None, [0.0, 1.0], [1.0, None]], pa.list_(pa.float64(), 2)),
    "list_of_lists": pa.array([[[1.0]], [], None, [[], [2.0]]]),
    "struct": pa.array(
        [{"score": 1.0, ODD: "x"}, None, {"score": None, ODD: None}, {"score": 2.0, ODD: "y"}]
    ),
    "list_of_structs": pa.array([[{"reward": 1.0, "t": [1]}], [], None, [{"reward": 0.0, "t": None}]]),
    "map": pa.array([[("a", 1.0)], [], None, [("b", 0.5)]], pa.map_(pa.string(), pa.float64())),
    "json_text": pa.array(['{"score": 1}', "[", None, "[1, 2]"]),
}


def ipc(**columns):
    """An Arrow file, which has types that parquet has not."""
    made = pa.table(columns)
    out = io.BytesIO()
    with pa.ipc.new_file(out, made.schema) as writer:
        writer.write_table(made)
    return out.getvalue()


_KEYS = {"prompt_id": ["a", "a", "b", "b"], "step": [1, 1, 2, 2]}
CORPUS = {
    "plain.jsonl": lines(*_PAIR, *_PAIR),
    "names.jsonl": lines(*({f"prompt_id{ODD}": ODD, "reward": n, ODD: ODD, "step": ODD} for n in (0, 1))),
    "texts.jsonl": lines(*({"prompt_id": ODD, "reward": n, "response": ODD, "step": ODD} for n in (0, 1))),
    "large.jsonl": lines(*({"prompt_id": "a", "reward": r} for r in (1.7e308, -1.7e308, 0, 10**30))),
    "large_steps.jsonl": lines(
        *(
            {"prompt_id": "a", "reward": r, "step": s, "judge": -r}
            for s in (1, 2, 10**30)
            for r in (1.7e308, 1.6e308)
        )
    ),
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
    "nan.jsonl": b'{"prompt_id": "a", "reward": NaN}\n{"prompt_id": "a", "reward": -Infinity}\n{"prompt_id": "a", "reward": 1}\n',
    "logged.jsonl": logged(),
    "logged_odd.jsonl": logged(
        # No rule gives these, so that all that `match` can do is done.
        rule=lambda row, group: row - 1.5,
        **{"response": ODD, "finish_reason": ODD, "prompt": ODD},
    ),
    "one_row.jsonl": lines(_PAIR[0]),
    "all_null.jsonl": lines(*({"prompt_id": None, "reward": None, "step": None} for _ in range(3))),
    "twice.jsonl": b'{"prompt_id": "a", "reward": 1, "reward": 0}\n{"prompt_id": "a", "prompt_id": "b", "reward": 1}\n',
    "turns.jsonl": turns(),
    "document.json": json.dumps([*_PAIR, *_PAIR], indent=1).encode(),
    "plain.parquet": table(prompt_id=["a", "a", "b", "b"], reward=[1.0, None, 0.0, 1.0], step=[1, 1, 1, 1]),
    "times.parquet": table(prompt_id=["a", "a", "b", "b"], reward=HALF, at=NS, o=[{"t": 1}] * 4),
    "no_utf8.parquet": table(
        prompt_id=pa.array([b"\xff", b"\xff", b"b", b"b"]).view(pa.string()), reward=HALF
    ),
    "types.parquet": rows(HALF, **TYPES),
    **{f"reward_{name}.parquet": rows(column) for name, column in TYPES.items()},
    **{f"key_{name}.parquet": rows(HALF, prompt_id=column) for name, column in TYPES.items()},
    **{f"step_{name}.parquet": rows(HALF, step=column) for name, column in TYPES.items()},
    "no_rows.parquet": table(prompt_id=pa.array([], pa.string()), reward=pa.array([], pa.float64())),
    "no_columns.parquet": table(),
    "all_null.parquet": table(prompt_id=pa.nulls(3), reward=pa.nulls(3), step=pa.nulls(3)),
    "twice.parquet": twice(("prompt_id", ["a", "a"]), ("reward", [1.0, 0.0]), ("reward", [0.0, 1.0])),
    "twice_key.parquet": twice(("prompt_id", ["a", "a"]), ("prompt_id", ["a", "b"]), ("reward", [0.0, 1.0])),
    "names.parquet": table(
        **{"prompt_id": ["a", "a"], "reward": [0.0, 1.0], ODD: [ODD, ODD], "": [1, 2], "a,b": [1, 2]}
    ),
    "views.arrow": ipc(
        **_KEYS,
        reward=HALF,
        text=pa.array(["x", ODD, None, "y"], pa.string_view()),
        runs=pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array([1.0, 0.0])),
        listed=pa.array([[1.0], [], None, [2.0]], pa.list_view(pa.float64())),
    ),
    "runs.arrow": ipc(
        **_KEYS, reward=pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int32()), pa.array([1.0, 0.0]))
    ),
    "listed.arrow": ipc(**_KEYS, reward=pa.array([[1.0], [0.5], None, [2.0]], pa.list_view(pa.float64()))),
    "empty.jsonl": b"",
    "null.jsonl": b"null\n",
    f"{ODD.replace('/', '')}.jsonl": lines(*_PAIR, *_PAIR),
}
CONFIGS = (
    "adv_estimator: rloo\nkeep_pos_ratio: 0.5\n",
    "algorithm: {gamma: 0.9, lam: 1.0, adv_estimator: gae}\nnum_generations: 4\n",
    '{"num_generations": 4, "scale_rewards": true, "run": {"date": "2024-01-01"}}',
    "a: &a {x: 1}\nb: {<<: *a, c: [*a, *a]}\nd: 2024-01-01 00:00:00\n",
)
NUMBERS = ("0", "1", "2", "-1", "0.5", BIG, "nan", "inf", "1e400", "1e-400", "", "x", "0x10", "1:1:1")
EXPRESSIONS = (
    "reward > 0",
    "finish_reason != 'length' and step <= 1",
    "error is null",
    "source in ('a', 'b')",
    f"reward > {BIG}",
    "reward / 0 > 1",
    "reward > 1.7e308 * 10",
    "not " * 50 + "true",
    "(" * 200 + "reward" + ")" * 200,
    f"'{ODD}' == response",
    "response > 1",
    "values > 0",
    "-reward == --reward",
    "nothing == 1",
    "reward",
    "true",
    "",
    "reward >",
    ODD,
)
SHAPES = (
    "none",
    "gr3",
    "kimi:weight=0.2; clip:min=0,max=1",
    "clip:min=1,max=0",
    f"clip:max={BIG}",
    "reward = reward - 0.1 * response_length",
    "reward = reward ** 400",
    "reward = log(reward)",
    "reward = reward / 0",
    "reward = 1e308 * 1e308",
    "reward = judge + nothing",
    f"reward = reward > {BIG}",
    "overlong:max=4,buffer=2,factor=1",
    "; ;",
    "kimi:",
    ":",
    ODD,
)
WORDS = {
    "--estimator": (
        "grpo",
        "rloo",
        "gae",
        "remax",
        "gigpo",
        "hgpo",
        "passk",
        "reinforce_plus_plus",
        "error",
        "x",
        f"grpo:eps={BIG}",
        "grpo:eps=nan",
        "gae:gamma=1e400",
        "rloo,grpo",
        ODD,
    ),
    "--like": (
        "verl",
        "trl@1.5",
        "slime",
        "openrlhf",
        "nemo-rl",
        "verl:grpo",
        "trl@",
        f"verl@{BIG}",
        "ms-swift",
        "x",
        ODD,
    ),
    "--scale": ("none", "batch", "group", "none,batch", "x", ""),
    "--format": ("verl", "trl", "rewards", "x", ODD),
    "--layout": ("rows", "lists", "nested", "ones", "x"),
    "--device": ("cpu", "auto", "cuda", "x"),
    "--engine": ("local", "x"),
    "--preset": ("conservative", "aggressive", "x"),
    "--vs": ("grpo", "rloo", "like=verl", "verl:grpo", ODD),
    "--missing": ("null", "zero", "error", "x"),
    "--singleton": ("null", "zero", "raw", "error", "x"),
    "--on-bad-row": ("skip", "error", "x"),
    "--rollout-reward": ("last", "first", "sum", "x"),
    "--count": ("rollouts", "rows", "x"),
    "--shape": SHAPES,
    "--overlong": ("max=4,buffer=2,factor=1", f"max={BIG}", "max=-1", "=", ODD),
    "--affine": ("scale=2,shift=1", "scale=nan", f"scale={BIG}", ODD),
    "--clip-reward": ("min=-1,max=1", "min=1,max=-1", f"max={BIG}"),
    "--before": (
        "dynamic_sampling",
        "truncated:max=4",
        f"pods:m={BIG}",
        "pods:m=x",
        "pods:m=2",
        "ragen:keep=0.5",
        "where:reward > 0",
        "reject:max=2",
        ODD,
    ),
    "--after": ("cppo:keep=0.5", "keep_ratio:", f"cppo:keep={BIG}", "gfpo:m=2", "opsm:delta=0.1", ODD),
    "--set": ("adv_estimator=rloo", "a=[", "a=!!int x", f"num_generations={BIG}", "gamma=2024-02-30", ODD),
    "--role": ("episode=step", "valid=reward", "x=reward", "=", "episode=", ODD),
    "--step": ("1", "2", "x", ODD),
    "--group": ("#0", "#1", f"#{BIG}", "a", "p1", ODD),
    "--fail-if": ("dead > 0.5", "dead > x", f"missing > {BIG}", "mean < nan", ODD),
    "--sort": ("mean_abs", "-std", "mean", "learned", "pass@1", "x", ODD),
    "--prefix": ("x_", ODD, ""),
    "--b": ("reward=reward", "reward=judge", "reward=", "x=1", "step-col=step", ODD),
    "--runs": ("step", "a=plain.jsonl", "A=logged.jsonl", "=", ODD),
    "--k": ("1,2", "1", "4,4,1", BIG, "0", "-1", "x", "", ","),
    "--band": ("0.2:0.8", "0:1", "1:0", "nan:1", ":", "x", ODD),
    "--as": ("best", "pairs", "prompts", "sft", "dpo", "kto", "x", ODD),
    "--style": ("conversational", "standard", "messages", "trl", "x"),
    "--max-line": ("64MB", "1", "0", "1e9GB", "x", BIG),
    "--compute-new-adv": ("both", "yes", "no", "x"),
    "--metrics": ("m.jsonl",),
    "--png": ("png",),
    "--config": ("c.yaml", "nothing.yaml"),
}
NAMES = (
    "reward",
    "judge",
    "prompt_id",
    "step",
    "response",
    "prompt",
    "code",
    "math",
    "at",
    "o.t",
    "values",
    "response_mask",
    "old_log_probs",
    "rollout_log_probs",
    "rollout_id",
    "turn",
    "turn_rewards",
    "advantages",
    *TYPES,
    "nothing",
    ODD,
    "",
    "a,b",
    "reward=0.5",
    f"reward={BIG}",
)
# By the placeholder of its value in the help, where one option is like the other.
KINDS = {
    **dict.fromkeys(("N", "COEF", "SHARE", "SHARES", "REWARD", "RATE"), NUMBERS),
    **dict.fromkeys(("COL", "COLS"), NAMES),
    "EXPR": EXPRESSIONS,
}
# These wait, ask another machine, or are given by the harness.
LEFT_OUT = {"--follow", "--ray-address", "--help", "--help-all", "--out", "--between", "--png"}
OUTPUTS = {
    "compute": ("o.jsonl", "o.parquet", "o/", "-", "o.jsonl.gz", "o.jsonl.zst"),
    "compare": ("o.csv", "o.jsonl", "o.parquet", "o.x", "-"),
    "sweep": ("o.csv", "o.jsonl", "o.parquet"),
    "prompts": ("o.csv", "o.jsonl", "o.parquet", "-"),
    "verify": ("o.csv", "o.jsonl", "o.parquet", "-"),
    "select": ("o.jsonl", "o.parquet", "o.csv", "-"),
    "report": ("o.html",),
}
COMMANDS = ("inspect", "compute", "compare", "sweep", "match", "prompts", "verify", "select", "report")


@functools.cache
def options(command):
    """The options of a command and the values that each may get, read from the command itself; a flag has none."""
    from advcli.cli.lazy import load_command

    found = {}
    for one in load_command(command).params:
        name = one.opts[0]
        if name.startswith("--") and name not in LEFT_OUT:
            flag = getattr(one, "is_flag", False)
            found[name] = () if flag else WORDS[name] if name in WORDS else KINDS[one.metavar]
    return found
