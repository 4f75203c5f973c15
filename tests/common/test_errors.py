"""Every error a user can meet: exit code, text, and where it stands in Python's own tree."""

import inspect

import pytest

from advcli.common import errors


def tree():
    return [
        cls
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, Exception) and cls.__module__ == errors.__name__
    ]


@pytest.mark.parametrize(
    ("name", "code", "base"),
    [
        ("AdvcliError", 1, Exception),
        ("UsageError", 2, ValueError),
        ("DataError", 3, ValueError),
        ("MissingPackage", 4, ImportError),
    ],
)
def test_exit_code_and_place(name, code, base):
    error = getattr(errors, name)("f.jsonl:3: 'reward' is 'x', expected a number", hint="--reward COL")
    assert error.exit_code == code
    assert isinstance(error, base)
    assert isinstance(error, errors.AdvcliError)
    assert str(error) == "f.jsonl:3: 'reward' is 'x', expected a number; try --reward COL"
    assert (error.message, error.hint) == (
        "f.jsonl:3: 'reward' is 'x', expected a number",
        "--reward COL",
    )


def test_no_package_takes_ctrl_c_for_an_error_of_its_own():
    assert not issubclass(errors.Interrupted, Exception)
    stopped = errors.Interrupted("interrupted")
    assert (stopped.exit_code, str(stopped)) == (130, "interrupted")
    assert "Interrupted            exit 130" in errors.__doc__


def test_no_hint_no_tail():
    assert str(errors.DataError("broken")) == "broken"


def test_the_docstring_names_them_all():
    assert {cls.__name__ for cls in tree()} == {
        "AdvcliError",
        "DataError",
        "MissingPackage",
        "UsageError",
    }
    for cls in tree():
        assert f"{cls.__name__} " in errors.__doc__
        assert f"exit {cls.exit_code}" in errors.__doc__


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no\nfile", r"no\nfile"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("\x9b31m\x85\u202e\u2028\ufeff\ud800", r"\x9b31m\x85\u202e\u2028\ufeff\ud800"),
        ("https://me:secret@host/a.jsonl?token=secret#x", "https://***@host/a.jsonl?***"),
    ],
)
def test_message_and_hint_are_one_line_without_secrets_that_no_terminal_obeys(text, line):
    assert str(errors.DataError(text, hint=text)) == f"{line}; try {line}"


def test_a_usage_error_may_say_which_setting_it_is_about():
    assert errors.UsageError("wrong", about="scale").about == "scale"
    assert errors.UsageError("wrong").about is None
