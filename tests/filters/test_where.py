"""Rows that are left out by an expression, before or after the statistics."""

import json

import pytest

ROWS = [
    ("a", 1.0, "stop", False),
    ("a", 0.0, "length", True),
    ("a", 0.0, "stop", False),
    ("a", 1.0, "stop", False),
    ("b", 0.0, "length", True),
    ("b", 1.0, "stop", False),
    ("b", 0.0, "length", True),
    ("b", 0.0, "stop", False),
]


@pytest.fixture
def dump(tmp_path):
    lines = [
        {"uid": uid, "reward": reward, "finish_reason": why, "truncated": cut}
        for uid, reward, why, cut in ROWS
    ]
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def advantages(advcli, dump, *args):
    done = advcli("compute", dump, "--scale", "none", "--out", "-", "--quiet", *args)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


# Rewards of the rows that are left: a 1, 0, 1 (mean 2/3), b 1, 0 (mean 1/2).
BEFORE = [1 / 3, None, -2 / 3, 1 / 3, None, 0.5, None, -0.5]
# All rewards: a mean 1/2, b mean 1/4.
AFTER = [0.5, -0.5, -0.5, 0.5, -0.25, 0.75, -0.25, -0.25]
KEPT = [True, False, True, True, False, True, False, True]


@pytest.mark.parametrize(
    "how",
    [
        ("--where", 'finish_reason != "length"'),
        ("--where", "not truncated"),
        ("--before", 'where:finish_reason != "length"'),
        ("--before", "where:finish_reason in ('stop', 'eos')"),
        ("--before", "truncated:column=finish_reason"),
        ("--before", "truncated:column=truncated"),
    ],
)
def test_before_the_statistics(advcli, dump, how):
    rows = advantages(advcli, dump, *how)
    for row, expected in zip(rows, BEFORE, strict=True):
        assert row["adv_original"] == (None if expected is None else pytest.approx(expected))
    assert [row["adv_kept"] for row in rows] == KEPT


@pytest.mark.parametrize("how", ['where:finish_reason != "length"', "truncated:column=finish_reason"])
def test_after_the_statistics(advcli, dump, how):
    rows = advantages(advcli, dump, "--after", how)
    assert [row["adv_original"] for row in rows] == pytest.approx(AFTER)
    assert [row["adv_kept"] for row in rows] == KEPT
    assert all(row["adv_processed"] == 0 for row in rows if not row["adv_kept"])


def test_it_is_counted_and_said(advcli, dump):
    said = advcli("compute", dump, "--out", "-", "--where", 'finish_reason != "length"').stderr.decode()
    assert "3 rows are left out by --where 'finish_reason != \"length\"'" in said
    said = advcli(
        "compute", dump, "--out", "x.jsonl", "--before", "truncated:column=finish_reason"
    ).stdout.decode()
    assert "statistics by truncated:column=finish_reason: 3 rows" in said


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (("--where", "reason == 1"), "no column 'reason'"),
        (("--where", "finish_reason < 3"), "'stop' is not a number"),
        (("--where", "reward = 1"), "--where 'reward == 1'"),
        (("--before", "where:"), "is not an expression"),
        (("--after", "where:x ** 2 > 1"), "Pow is not allowed"),
    ],
)
def test_one_line_for_what_makes_no_sense(advcli, dump, how, words):
    done = advcli("compute", dump, "--out", "-", *how)
    assert done.returncode in (2, 3)
    assert words in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
