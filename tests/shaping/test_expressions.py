"""`--shape 'EXPR'`: what it gives is worked out by hand; errors say where."""

import math

import pytest

from advcli import UsageError, compute_advantages
from advcli.shaping.expressions import parse

NAN = math.nan
GROUPS = [0, 0, 0, 1, 1]
REWARDS = [1.0, 0.0, 0.5, 1.0, NAN]
LENGTHS = [10.0, 20.0, 60.0, 5.0, 7.0]
COLUMNS = {
    "turns": [1, 2, None, 4, 4],
    "right": [True, False, True, None, True],
    "status": ["done", "cut", None, "done", "cut"],
    "text": ["ab", "abc", "", "a", "b"],
    "score/max": [1, 2, 3, 4, 5],
    "len": [0, 0, 0, 0, 0],
    "X": [1, 2, 3, 4, 5],
}


def shaped(text):
    found = compute_advantages(
        REWARDS, GROUPS, lengths=LENGTHS, estimator="reinforce", shaping=[text], columns=COLUMNS
    )
    return found.original.tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r", [1, 0, 0.5, 1]),
        ("r + 1", [2, 1, 1.5, 2]),
        ("r - len/10", [0, -2, -5.5, 0.5]),
        ("len - mean(len)", [-20, -10, 30, 0]),
        ("len/max(len)", [1 / 6, 1 / 3, 1, 1]),
        ("min(len) + 0*r", [10, 10, 10, 5]),
        ("std(r) + 0*len", [0.5, 0.5, 0.5, NAN]),
        ("sum(r)", [1.5, 1.5, 1.5, 1]),
        ("count() + 0*r", [3, 3, 3, 1]),
        ("count(r > 0)", [2, 2, 2, 1]),
        ("rank(len)", [1, 2, 3, 1]),
        ("any(status == 'cut') + 0*r", [1, 1, 1, 0]),
        ("all(r > 0)", [0, 0, 0, 1]),
        ("all(status == 'done')", [0, 0, 0, 1]),
        ("r + turns", [2, 2, NAN, 5]),
        ("mean(turns) + 0*r", [1.5, 1.5, 1.5, 4]),
        ("r*right", [1, 0, 0.5, NAN]),
        ("7 where right", [7, 0, 7, 1]),
        ("7 where not right", [1, 7, 0.5, 7]),
        ("7 where status == 'done' and r > 0", [7, 0, 0.5, 7]),
        ("7 WHERE status is null or len < 10", [1, 0, 7, 7]),
        ("if(r > 0, 2, -len)", [2, -20, 2, 2]),
        ("if(status == 'if (x) where y', 2, r)", [1, 0, 0.5, 1]),
        ("mean(if(right, len, null)) + 0*r", [35, 35, 35, NAN]),
        ("len(text) + 0*r", [2, 3, 0, 1]),
        ("r where len(text) > 5", [1, 0, 0.5, 1]),
        ("`score/max` - r", [0, 2, 2.5, 3]),
        ("`len` + r", [1, 0, 0.5, 1]),
        ("max(r, 0.6)", [1, 0.6, 0.6, 1]),
        ("min(r, 0.6, turns)", [0.6, 0, NAN, 0.6]),
        ("clip(len, 8, 30) + 0*r", [10, 20, 30, 8]),
        ("r/(turns - 1)", [NAN, 0, NAN, 1 / 3]),
        ("len // 7 + len % 7", [4, 8, 12, 5]),
        ("2**r - abs(-1)", [1, 0, math.sqrt(2) - 1, 1]),
        ("exp(log(len)) + sqrt(4)*cos(0)", [12, 22, 62, 7]),
        ("5 < len <= 20", [1, 1, 0, 0]),
        # A condition is a number, whatever is done with it.
        ("-any(status == 'cut') + 0*r", [-1, -1, -1, 0]),
        ("-all(r > 0)", [0, 0, 0, -1]),
        ("-(not right) + 0*r", [0, -1, 0, -1]),
        ("-(r > 0)", [-1, 0, -1, -1]),
        ("-(r > 0 and len < 20)", [-1, 0, 0, -1]),
        ("-(r == 0 or len > 20)", [0, -1, -1, 0]),
        ("0 < r < len - 8 < 40", [1, 0, 0, 0]),
        ("max(r, 0.6, len / 10)", [1, 2, 6, 1]),
        # A column may have any letter for a name.
        ("X + r where X > 2", [1, 0, 3.5, 5]),
        ("r where (X) > 2", [1, 0, 0.5, 1]),
        ("r where status in ('done', 'x')", [1, 0, 0.5, 1]),
        ("0.5 where turns >= 2", [1, 0.5, 0.5 * 1, 0.5]),
    ],
)
def test_what_an_expression_gives(text, expected):
    assert shaped(text)[:4] == pytest.approx(expected, nan_ok=True)
    assert math.isnan(shaped(text)[4])


def test_what_is_computed_where_the_rows_are_read():
    one = parse("r - 0.1*turns where status in ('a', 'b') and len(text) < len")
    assert one.measures == ("turns", "status in ('a', 'b')", "len(text)")
    assert one.uses_length
    # A comparison of columns is computed there whole, one of a statistic here.
    assert parse("r where len(text) > 5").measures == ("len(text) > 5",)
    assert parse("r where mean(turns) > 2").measures == ("turns",)
    assert not parse("r - turns").uses_length


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r + men(len)", "no function 'men' at character 5; try one of mean"),
        ("r - `a b` + men(len)", "no function 'men' at character 13"),
        ("r + 'é' + men(len)", "a text can only be compared at character 5"),
        ("r where men(len) > 1", "no function 'men' at character 9"),
        ("mean()", "mean of what at character 1"),
        ("r + clip(len, 1)", "clip has 2 values, expected 3, at character 5"),
        ("r + (lambda: 1)", "Lambda is not allowed at character 6"),
        ("r in (1, 2)", "In of r, len or a statistic is not allowed at character 1"),
        ("len(r)", "len takes a column at character 1"),
        ("r +", "invalid syntax"),
        ("1 + 2", "names neither r nor a column"),
        ("r ~ 2", "invalid syntax"),
        ("~r", "Invert is not allowed at character 1"),
        ("r | 2", "BitOr is not allowed at character 1"),
        ("mean(x=1)", "mean takes no names before its values at character 1"),
        ("r where", "has no condition after 'where'"),
        ("where r", "is not an expression"),
    ],
)
def test_errors_say_where(text, message):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "--shape" in str(caught.value)


EXAMPLE = "--shape 'r + 0.2*(mean(len)-len)/max(len) where r > 0'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mean()", ": mean of what at character 1; try mean(len)"),
        ("1 + 2", f" names neither r nor a column; try {EXAMPLE}"),
        ("mean(1)", f" names neither r nor a column; try {EXAMPLE}"),
        ("r + 'a'", ': a text can only be compared at character 5; try finish_reason == "length"'),
        ("~r", f": Invert is not allowed at character 1; try {EXAMPLE}"),
        ("r + if(r, 1)", f": if has 2 values, expected 3, at character 5; try {EXAMPLE}"),
        ("clip(r)", f": clip has 1 values, expected 3, at character 1; try {EXAMPLE}"),
        ("iff(r, 1, 2)", ": no function 'iff' at character 1; try one of if"),
        ("mena(r)", ": no function 'mena' at character 1; try one of mean, min, max"),
        (
            "zzz(r)",
            (
                ": no function 'zzz' at character 1; try one of abs, all, any, clip, code, cos, count, exp, if, len, "
                "log, max, mean, min, rank, sqrt, std, sum"
            ),
        ),
    ],
)
def test_errors_word_for_word(text, message):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert str(caught.value) == f"--shape {text!r}{message}"
