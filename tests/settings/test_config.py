"""Reading a trainer's YAML or JSON, and `KEY=VALUE` overrides."""

import json
import re
from pathlib import Path

import pytest

from advcli.common.errors import UsageError
from advcli.settings import config

NESTED = {"algorithm": {"adv_estimator": "rloo", "kl": {}}, "trainer": {"steps": [1, 2], "name": None}}
FLAT = {
    "algorithm.adv_estimator": "rloo",
    "algorithm.kl": {},
    "trainer.steps": [1, 2],
    "trainer.name": None,
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(NESTED),
        json.dumps(NESTED, indent=2),
        json.dumps(NESTED, indent="\t"),
        "algorithm:\n  adv_estimator: rloo\n  kl: {}\ntrainer:\n  steps: [1, 2]\n  name: null\n",
        "\ufeff# a comment\nalgorithm: {adv_estimator: rloo, kl: {}}\ntrainer: {steps: [1, 2], name: ~}\n",
    ],
)
def test_load_flattens(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    assert config.load(path) == FLAT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [1,\nb: 2", r"c\.yaml:2: not valid YAML or JSON"),
        (b"a: 1\nb: !!python/object:os.system x\n", r"c\.yaml:2: not valid YAML or JSON"),
        (b"- 1\n- 2\n", r"c\.yaml: expected keys and values, got \[1, 2\]"),
        (b"", r"c\.yaml: the file is empty, expected keys and values"),
        (b"just words", r"c\.yaml: expected keys and values, got 'just words'"),
        (b"a: \0", r"c\.yaml: not valid YAML or JSON \(unacceptable character"),
        (b'{"a": 1,}}', r"c\.yaml:1: not valid YAML or JSON"),
        (b"\xff\xfea", r"c\.yaml: not text, expected YAML or JSON"),
    ],
)
def test_load_refuses(tmp_path, content, message):
    path = tmp_path / "c.yaml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message) as caught:
        config.load(path)
    assert "\n" not in str(caught.value)


def test_load_needs_a_file(tmp_path):
    with pytest.raises(UsageError, match=r"gone\.yaml: no such file or directory"):
        config.load(tmp_path / "gone.yaml")
    with pytest.raises(UsageError, match=re.escape(f"{tmp_path}: is a directory")):
        config.load(tmp_path)


@pytest.mark.parametrize(
    ("pair", "key", "value"),
    [
        ("algorithm.keep_pos_ratio=0.7", "algorithm.keep_pos_ratio", 0.7),
        ("+algorithm.compute_new_adv=true", "algorithm.compute_new_adv", True),
        ("++adv_estimator=rloo", "adv_estimator", "rloo"),
        ("reward_weights=[1.0,0.5]", "reward_weights", [1.0, 0.5]),
        ("keep_neg_ratio = 0", "keep_neg_ratio", 0),
        ("scale_rewards=none", "scale_rewards", "none"),
        ("num_generations=", "num_generations", None),
    ],
)
def test_overrides(pair, key, value):
    assert config.overrides([pair]) == ({key: value}, [])


@pytest.mark.parametrize("pair", ["keep_pos_ratio", "=0.7", "+=1"])
def test_overrides_need_key_and_value(pair):
    with pytest.raises(UsageError, match=f"--set {re.escape(pair)}: expected KEY=VALUE"):
        config.overrides([pair])


def test_overrides_need_a_readable_value():
    with pytest.raises(UsageError, match=r"--set reward_weights=\[1: the value cannot be read"):
        config.overrides(["reward_weights=[1"])


@pytest.mark.parametrize(
    ("pair", "hint"), [("algorithm.keep_pos_rate=0.7", r"\(try keep_pos_ratio\)"), ("lr=1e-6", "follows$")]
)
def test_overrides_warn_about_keys_that_nobody_follows(pair, hint):
    _, (warning,) = config.overrides([pair])
    assert warning.startswith(f"--set {pair.partition('=')[0]} is ignored: no key that advcli follows")
    assert re.search(hint, warning)


def test_a_key_that_cannot_be_replayed_may_be_set():
    assert config.overrides(["algorithm.use_kl_in_reward=false"])[1] == []


def test_settings_of_a_verl_run():
    flat = {
        "algorithm.adv_estimator": "grpo",
        "algorithm.norm_adv_by_std_in_grpo": False,
        "actor_rollout_ref.rollout.n": 8,
        "actor_rollout_ref.rollout.val_kwargs.n": 1,
        "algorithm.keep_pos_ratio": None,
    }
    found, only_for, warnings = config.settings(flat, "c.yaml")
    assert found == {"estimator": "grpo", "scale": "none", "n": 8}
    assert only_for == {"scale": ("grpo",)}
    assert warnings == []


def test_references_are_not_resolved():
    flat = {"actor_rollout_ref.rollout.n": "${oc.env:N}", "num_generations": 4}
    found, _, (warning,) = config.settings(flat, "c.yaml")
    assert found == {"n": 4}
    assert warning == (
        "c.yaml: actor_rollout_ref.rollout.n is '${oc.env:N}', an unresolved reference: ignored"
    )


def test_keys_that_disagree_are_both_named():
    flat = {"num_generations": 8, "worker.rollout.n": 4}
    with pytest.raises(UsageError, match=r"num_generations and worker\.rollout\.n disagree about n: 8 and 4"):
        config.settings(flat, "c.yaml")
    assert config.settings(flat | {"worker.rollout.n": 8}, "c.yaml")[0] == {"n": 8}


BAD = {
    "date.yaml": ("run:\n  date: 2024-02-30\n", "day is out of range for month"),
    "time.yaml": ("run:\n  t: 2024-01-01 25:61:61\n", "hour must be in 0..23"),
    "tag of a truth": ("c: !!bool abc\n", "KeyError: 'abc'"),
    "tag of a number": ("c: !!int abc\n", "invalid literal for int"),
    "tag of a time": ("c: !!timestamp abc\n", "not valid YAML or JSON"),
    "tag of an object": ("c: !!python/object/apply:os.system [ls]\n", "could not determine a constructor"),
    "loop": ("a: &x\n  b: *x\n", "an alias of its own parent"),
    "loop through a list": ("a: &x [1, [*x]]\n", "an alias of its own parent"),
    "digits": ("a: " + "1" * 5000, "a number or a time of 5,000 characters"),
    "digits of JSON": ('{"a": ' + "1" * 5000 + "}", "a number or a time of 5,000 characters"),
    "hexadecimal digits": ("a: 0x" + "f" * 5000, "a number or a time of 5,002 characters"),
    "base 60": ("a: " + ":".join(["59"] * 3000), "a number or a time of 8,999 characters"),
    "deep list": ("[" * 60_000 + "]" * 60_000, "nested too deeply"),
    "deep map": ("{a: " * 5000 + "1" + "}" * 5000, "nested too deeply"),
    "deep JSON": ('{"a": ' * 30_000 + "1" + "}" * 30_000, "nested too deeply"),
    "somewhat deep JSON": ('{"a": ' * 100 + "1" + "}" * 100, "nested too deeply"),
    "deep blocks": ("\n".join(" " * n + "a:" for n in range(500)), "nested too deeply"),
    "zero byte": ("a: \0\n", "special characters are not allowed"),
    "laughs": (
        "a0: &a0 {x: 1, y: 2}\n"
        + "".join(f"a{n}: &a{n} {{p: *a{n - 1}, q: *a{n - 1}}}\n" for n in range(1, 40)),
        "more than 100,000 values once its aliases are spelled out",
    ),
    "merged laughs": (
        "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40)),
        "more than 100,000 values once its aliases are spelled out",
    ),
    "laughs in lists": (
        "a0: &a0 [1, 2]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
        "more than 100,000 values once its aliases are spelled out",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_no_text_takes_more_than_a_line_to_refuse(tmp_path, name):
    text, message = BAD[name]
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        config.load(path)
    assert re.fullmatch(rf"{re.escape(str(path))}(:\d+)?: not valid YAML or JSON \(.*\)", str(caught.value))
    assert message in str(caught.value)
    with pytest.raises(UsageError, match=r"--set a=.*: the value cannot be read"):
        config.overrides([f"a={text}"])


def test_a_file_without_end_is_not_read_to_it():
    with pytest.raises(UsageError, match="more than 1,048,576 characters"):
        config.load(Path("/dev/zero"))


def test_aliases_are_spelled_out_within_the_bounds(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("base: &base {gamma: 0.5}\nrun: {<<: *base, lam: 1.0}\nalso: *base\n")
    assert config.load(path) == {"base.gamma": 0.5, "run.gamma": 0.5, "run.lam": 1.0, "also.gamma": 0.5}
