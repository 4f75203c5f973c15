"""Inputs that go wrong, what must be said of each, and the command that its hint names: which must then work.

A hinted command works if it ends with exit code 0 and groups of more than one row, or with an estimator that compares no
rows of a group. The inputs are kinds: each stands for files that people have reported.
"""

import json
import re
import shlex

import pytest


def rows(count, **columns):
    return [{name: value(place) for name, value in columns.items()} for place in range(count)]


def chat(text):
    return [{"role": "user", "content": text}]


UNIQUE = rows(6, uid=lambda i: f"u{i}", reward=lambda i: i % 2, step=lambda i: 1)
CASES = {
    # name: (the rows of each file, arguments, words of the message, whether a hint is expected)
    "two totals": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, reward=lambda i: i, score=lambda i: 3 - i)},
        ["compute"],
        "2 columns can be the reward: reward, score",
    ),
    "parts without a total": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, a_reward=lambda i: i % 2, b_reward=lambda i: 1 - i % 2)},
        ["inspect"],
        "no total reward, and several parts",
    ),
    "two prompt ids": (
        {"d.jsonl": rows(8, uid=lambda i: i // 2, group_id=lambda i: i // 4, reward=lambda i: i % 2)},
        ["compute"],
        "2 columns can be the prompt id",
    ),
    "an empty prompt": (
        {"d.jsonl": rows(6, id=lambda i: i % 3, prompt=lambda i: chat(""), reward=lambda i: i % 2)},
        ["compute"],
        "'prompt' is empty in every row",
    ),
    "a prompt by another name": (
        {"d.jsonl": rows(6, question_id=lambda i: i % 3, answer=lambda i: f"a{i}", reward=lambda i: i // 3)},
        ["compute"],
        "no prompt id among the columns",
    ),
    "one row per prompt": ({"d.jsonl": UNIQUE}, ["compute"], "each of 6 prompts has one row"),
    "a nested outcome": (
        {
            "d.jsonl": rows(
                3, qid=lambda i: i, tries=lambda i: [{"ok": True, "t": "a"}, {"ok": False, "t": "b"}]
            )
        },
        ["inspect"],
        "no reward among the columns",
    ),
    "a nested outcome that was named": (
        {"d.jsonl": rows(3, qid=lambda i: i, tries=lambda i: [{"correct": i}, {"correct": 0}])},
        ["inspect", "--reward", "correct"],
        "no column 'correct'",
    ),
    "an outcome by another name": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, is_correct=lambda i: bool(i % 2))},
        ["inspect"],
        "no reward among the columns",
    ),
    "a column that is misspelt": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, reward=lambda i: i % 2)},
        ["inspect", "--reward", "rewrd"],
        "no column 'rewrd'",
    ),
    "a doubtful reward under --quiet": (
        {
            "d.jsonl": [
                {"prompt": "p", "reward_total": 0.7},
                {"prompt": "p", "reward_total": 0.8},
                {"prompt": "q", "reward_total": 0.9},
                {"prompt": "q", "reward": 0.5, "reward_total": 0.5},
            ]
        },
        ["compute", "--quiet"],
        "could be",
    ),
    "steps in one group": (
        {"d.jsonl": rows(16, prompt=lambda i: i % 2, reward=lambda i: i % 3, phase=lambda i: i // 8)},
        ["compute", "--quiet"],
        "every group has equally many rows of each of 2 values of 'phase'",
    ),
    "a reward in a list": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, reward=lambda i: [i % 2])},
        ["compute"],
        "'reward' holds lists",
    ),
    "rewards of tokens": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, token_level_rewards=lambda i: [0, i % 2])},
        ["compute"],
        "no reward among the columns",
    ),
    "rewards of steps": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, step_scores=lambda i: [0.5, i % 2])},
        ["compute"],
        "no reward among the columns",
    ),
    "parts in an object": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, rewards=lambda i: {"accuracy": i % 2, "format": 1})},
        ["inspect"],
        "no reward among the columns",
    ),
    "rows in objects": (
        {"d.jsonl": [{"rows": [{"row": {"id": i // 2, "reward": i % 2}} for i in range(4)]}]},
        ["inspect"],
        "no reward among the columns",
    ),
    "a prompt in an object": (
        {"d.jsonl": rows(4, inputs=lambda i: {"question": f"q{i // 2}"}, reward=lambda i: i % 2)},
        ["compute"],
        "no prompt id among the columns",
    ),
    "tokens of a prompt": (
        {"d.jsonl": rows(4, prompt_token_ids=lambda i: [1, i // 2], reward=lambda i: i % 2)},
        ["compute"],
        "no prompt id among the columns",
    ),
    "a step that counts rows": (
        {"d.jsonl": rows(8, prompt_id=lambda i: i // 4, step=lambda i: i % 4, reward=lambda i: i % 3)},
        ["compute"],
        "each of 8 groups has one row",
    ),
    "the steps of an environment": (
        {
            "d.jsonl": rows(
                16,
                prompt_id=lambda i: i // 8,
                rollout_id=lambda i: f"r{i // 2}",
                step=lambda i: i % 2,
                reward=lambda i: i % 3,
            )
        },
        ["compute", "--quiet"],
        "numbers the rows of each 'rollout_id' like a turn",
    ),
    "training and evaluation": (
        {
            "d.jsonl": rows(
                8,
                prompt_id=lambda i: i // 2,
                reward=lambda i: i % 2,
                split=lambda i: "train" if i < 4 else "eval",
            )
        },
        ["compute", "--quiet"],
        "rows of training and of evaluation ('split': 'train' or 'eval') are read alike",
    ),
    "another number of rows": (
        {"d.jsonl": rows(8, question=lambda i: f"q{i // 4}", reward=lambda i: i % 3)},
        ["compute", "--quiet", "--n", "3"],
        "groups are 3 consecutive rows, and most values of 'question' have 4",
    ),
    "a part beside an outcome": (
        {
            "d.jsonl": rows(
                8,
                prompt=lambda i: i // 4,
                style_score=lambda i: (i % 3) / 2,
                correct=lambda i: bool(i % 2),
            )
        },
        ["compute", "--quiet"],
        "the reward is 'style_score', as no other name says so, and could be 'correct'",
    ),
    "two formats": (
        {
            "a.jsonl": rows(4, prompt_id=lambda i: i // 2, reward=lambda i: i % 2),
            "b.jsonl": rows(
                4, input=lambda i: i // 2, output=str, score=lambda i: i % 2, step=lambda i: 1, gts=str
            ),
        },
        ["inspect"],
        "several",
    ),
    "two writers": (
        {
            "a.jsonl": rows(4, prompt_id=lambda i: i // 2, reward=lambda i: i % 2),
            "b.jsonl": rows(4, prompt_id=lambda i: i // 2, score=lambda i: i % 2),
        },
        ["inspect"],
        "the inputs are of several kinds",
    ),
    "two inputs of compare": (
        {
            "a.jsonl": rows(4, prompt_id=lambda i: i // 2, reward=lambda i: i % 2),
            "b.jsonl": rows(4, prompt_id=lambda i: i // 2, reward=lambda i: (i + 1) % 2),
        },
        ["compare"],
        "two INPUTs can be two runs or one data set",
    ),
    "one equals sign": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, reward=lambda i: i % 2, k=lambda i: 1)},
        ["inspect", "--where", "k = 1"],
        "--where 'k = 1'",
    ),
    "a format that is not written": (
        {"d.jsonl": rows(4, prompt=lambda i: i // 2, reward=lambda i: i % 2)},
        ["compute", "--out", "x.csv"],
        "rows are written as parquet or JSON Lines, not as .csv",
    ),
}


def written(folder, files):
    for name, lines in files.items():
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return list(files)


def hinted(text, args, names):
    """The commands that a hint names, one after the other; the words around are for the reader."""
    for way in re.split(r" or (?=-|advcli)", text.split("; try ")[-1]):
        words = shlex.split(way.split(", which")[0])
        if way.startswith("advcli"):
            yield words[1:]
        elif words[0].startswith("-"):
            given = [word for word in args if word not in words]
            # What was wrong is typed once more, as the hint spells it.
            for flag in {word for word in words if word.startswith("-")} & set(args):
                place = args.index(flag)
                given = [*args[:place], *args[place + 2 :]]
            yield [*given, *names, *words]
        elif words[-1] in names:
            yield [*args, words[-1]]
        else:
            yield [*[words[0] if word == args[-1] else word for word in args], *names]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_message_and_what_its_hint_leads_to(advcli, tmp_path, case):
    files, args, said = case
    names = written(tmp_path, files)
    failed = advcli(*args, *names)
    text = failed.stderr.decode().strip()
    assert failed.returncode in (2, 3)
    assert said in text
    assert "\n" not in text
    commands = list(hinted(text, args, names))
    assert commands
    for command in commands:
        shown = [word for word in command if word not in ("--quiet", "-q")]
        more = ["--out", "/dev/null"] if shown[0] == "compute" and "--out" not in shown else []
        done = advcli(*shown, *more)
        assert done.returncode == 0, (command, done.stderr)
        groups = re.search(r"(\d+) groups? (?:of|\()[^·\n]*", (done.stdout + done.stderr).decode())
        assert "batch_norm" in " ".join(command) or (groups and not groups.group().endswith("of 1 row"))
