"""The one error boundary: exit codes, one line per error, no traceback for anything a user can cause."""

import builtins
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from advcli import __main__ as start
from advcli import __version__, cli
from advcli.cli import output
from advcli.common.errors import MissingPackage


@pytest.fixture
def main(monkeypatch, capsys):
    """Run `main` in this process, as the installed script does: (exit code, stdout, stderr)."""
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["advcli", *map(str, args)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        said = capsys.readouterr()
        return caught.value.code or 0, said.out, said.err

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "f.jsonl"
    path.write_text("".join(json.dumps({"prompt_id": "p", "reward": r}) + "\n" for r in (0, 1, 2)))
    return path.name


def test_version(main):
    assert main("--version") == (0, f"advcli {__version__}\n", "")


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",)])
def test_help(main, args):
    code, out, err = main(*args)
    assert (code, err) == (0, "")
    assert "Usage: advcli [OPTIONS] COMMAND [ARGS]..." in out
    for command in ("compute", "compare", "estimators", "formats"):
        assert re.search(rf"^\W*{command} ", out, re.MULTILINE)


@pytest.mark.parametrize("command", ["compute", "compare", "estimators", "formats"])
def test_help_of_a_command(main, command):
    for flag in ("--help", "-h"):
        code, out, err = main(command, flag)
        assert (code, err) == (0, "")
        assert f"Usage: advcli {command} [OPTIONS]" in out


def test_done_is_0(main, rows):
    assert main("compute", rows, "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ("comptue f.jsonl", 2, "No such command 'comptue'"),
        ("compute f.jsonl --keep-positive 1", 2, "No such option: --keep-positive"),
        ("compute f.jsonl --keep-pos most", 2, "Invalid value for '--keep-pos'"),
        ("compute f.jsonl --n 2.5", 2, "Invalid value for '--n'"),
        ("compute f.jsonl --out", 2, "Option '--out' requires an argument"),
        ("estimators grpo rloo", 2, "unexpected extra argument"),
        ("estimators gpro", 2, "unknown estimator 'gpro'; try grpo"),
        ("formats nothing", 2, "unknown format 'nothing'; try "),
        ("compute f.jsonl --keep-pos 2", 2, "keep.pos is 2, expected a share between 0 and 1"),
        ("compute f.jsonl --config gone.yaml", 2, "gone.yaml: no such file or directory"),
        ("compute f.jsonl --set keep_pos_ratio", 2, "--set keep_pos_ratio: expected KEY=VALUE; try --set "),
        ("compute f.jsonl --json --out -", 2, "both go to standard output; try --out FILE"),
        ("compare f.jsonl --vs rlo", 2, "unknown estimator 'rlo'; try rloo"),
        ("compute gone.jsonl", 3, "gone.jsonl: no such file; try "),
        ("compare gone*.jsonl", 3, r"gone\*.jsonl: no such file; try "),
        ("compute broken.jsonl", 3, "broken.jsonl:2: .*; try --on-bad-row skip"),
        ("compute text.jsonl", 3, "text.jsonl:1: 'reward' is 'high', expected a number; try "),
        (
            "compute f.jsonl --out gone/f.jsonl",
            3,
            "gone/f.jsonl: there is no folder 'gone'; try mkdir -p gone",
        ),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(main, rows, tmp_path, args, code, message):
    (tmp_path / "broken.jsonl").write_text('{"prompt_id": 1, "reward": 1}\n{"prompt_id": 1, "rew\n')
    (tmp_path / "text.jsonl").write_text('{"prompt_id": 1, "reward": "high"}\n')
    before = sorted(path.name for path in tmp_path.iterdir())
    got, out, err = main(*args.split())
    assert (got, out) == (code, "")
    assert re.fullmatch(rf"advcli: .*{message}.*\n", err), err
    assert not err.endswith(".\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_missing_package_is_4(main, monkeypatch):
    def command(**_):
        raise MissingPackage("the package 'brotli' is needed", hint="pip install brotli")

    monkeypatch.setattr(cli, "app", command)
    assert main() == (4, "", "advcli: the package 'brotli' is needed; try pip install brotli\n")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (
            ZeroDivisionError("ours\n\x1b[2J"),
            70,
            r"this is a bug in advcli (ZeroDivisionError: ours\n\x1b[2J); ",
        ),
        (KeyError(), 70, "this is a bug in advcli (KeyError); --debug shows where"),
        (RecursionError("deep"), 70, "this is a bug in advcli (RecursionError: deep); "),
        (MemoryError(), 3, "out of memory"),
        (OSError(30, "Read-only file system", "a\nb"), 3, r"a\nb: read-only file system"),
        (OSError(12, "Cannot allocate memory"), 3, "cannot allocate memory"),
    ],
)
def test_no_exception_gets_past_main(main, monkeypatch, error, code, line):
    def command(**_):
        raise error

    monkeypatch.setattr(cli, "app", command)
    got, out, err = main()
    assert (got, out) == (code, "")
    assert err.startswith(f"advcli: {line}")
    assert err.count("\n") == 1
    got, out, err = main("compute", "--debug")
    assert got == code
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.splitlines()[-1].startswith(f"advcli: {line}")


def test_debug_may_stand_anywhere(main):
    for args in (["--debug", "estimators", "gpro"], ["estimators", "--debug", "gpro"]):
        code, _, err = main(*args)
        assert (code, err.splitlines()[0]) == (2, "Traceback (most recent call last):")


def test_a_file_name_with_a_line_feed_is_one_line_all_the_same(main):
    assert main("compute", "a\nadvcli: b.jsonl")[2].startswith(r"advcli: a\nadvcli: b.jsonl: no such file")


ODD = "\x1b]0;x\x07\x9b2J\n\u202e\r\tadvcli: forged"
"""A window's title, a cleared screen, another line, text from right to left."""
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """A dump whose file, columns, ids, steps, texts and rewards are called what nobody should be called."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"{ODD.replace('/', '')}.jsonl"
    keys = {name: f"{name}{ODD}" for name in ("prompt", "reward", "step", "src", "other")}
    row = {keys["prompt"]: ODD, keys["step"]: ODD, keys["src"]: ODD, "response": ODD}
    path.write_text(
        "".join(json.dumps({**row, keys["reward"]: n, keys["other"]: 1 - n}) + "\n" for n in (0, 1))
    )
    return path.name, keys


@pytest.mark.parametrize(
    "args",
    [
        "inspect",
        "inspect --top 2",
        "inspect --by SRC",
        "inspect --group #0",
        "inspect --step NONE",
        "inspect --by SRC --json",
        "compute --force",
        "compute --out gone/ODD.jsonl",
        "compute --json --out o.jsonl --force",
        "compare",
        "compare FILE --between",
        "compare FILE --between --json",
        "sweep --keep-pos 0.5,1",
        "match",
        "match --logged-col OTHER",
        "report --force",
        "inspect --fail-if ODD",
        "estimators ODD",
        "compute --config ODD",
        "compute --set ODD=1",
        "compute --estimator ODD",
    ],
)
def test_nothing_that_is_shown_is_obeyed_by_a_terminal(main, odd, args):
    name, keys = odd
    columns = ["--prompt-col", keys["prompt"], "--reward", keys["reward"], "--step-col", keys["step"]]
    words = {"SRC": keys["src"], "OTHER": keys["other"], "FILE": name, "NONE": ODD}
    command, *rest = (words.get(word, word.replace("ODD", ODD)) for word in args.split())
    columns = [] if command == "estimators" else [name, *columns]
    _, out, err = main(command, *columns, *rest)
    assert not OBEYED.search(out + err)
    assert all(line.startswith("advcli: ") for line in err.splitlines())
    assert "advcli: forged" not in {line[:14] for line in (out + err).splitlines()}
    page = Path("report.html")
    if page.exists():
        text = page.read_text(encoding="utf-8").split("<script>")[0]
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize(
    "args", ["compute f.jsonl --out -", "compare f.jsonl", "compare f.jsonl --json", "formats"]
)
def test_a_full_disk_under_standard_output_is_3(main, rows, monkeypatch, args):
    with suppress(OSError), open("/dev/full", "w") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", full)
        code, _, err = main(*args.split())
        monkeypatch.undo()
        assert code == 3
        assert err.splitlines()[-1] == "advcli: standard output cannot be written (no space left on device)"


# Processes of their own.


def test_python_m_advcli(program):
    done = program("estimators", "gpro")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"advcli: unknown estimator 'gpro'; try grpo\n"


def test_no_colour_when_nobody_looks(program):
    assert b"\x1b" not in program("estimators", env={"NO_COLOR": ""}).stdout
    assert b"\x1b" not in program("comptue", env={"NO_COLOR": ""}).stderr


@pytest.mark.parametrize("args", ["estimators | true", "compute --help | true", "formats >&-"])
def test_a_reader_that_leaves_is_no_error(args):
    line = f"set -o pipefail; {sys.executable} -m advcli {args}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_of_the_talk_that_leaves_does_not_take_the_data_along(rows):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "advcli", "compare", rows, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=write, timeout=60, check=False)
    os.close(write)
    assert (done.returncode, json.loads(done.stdout)["rows"]) == (0, 3)


@pytest.mark.parametrize(("no_color", "coloured"), [("1", False), ("", True)])
def test_no_color_at_a_terminal(no_color, coloured):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "advcli", "comptue"]
    env = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm-256color"}
    subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, timeout=60, check=False)
    os.close(theirs)
    said = os.read(ours, 10_000)
    os.close(ours)
    assert b"No such command" in said
    assert (b"\x1b[3" in said) is coloured


def test_ctrl_c_is_130_and_leaves_nothing_behind(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "advcli", "compute", "-", "--out", "out.jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    # More than a pipe holds: when it is through, the program is reading its rows.
    process.stdin.write(b'{"prompt_id": 1, "reward": 1}\n' * 40_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"advcli: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_the_program_is_imported(monkeypatch):
    real = builtins.__import__

    def stopped(name, *rest):
        if name == "advcli.cli":
            raise KeyboardInterrupt
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", stopped)
    with pytest.raises(SystemExit) as stop:
        start.main()
    assert stop.value.code == 130


# What is left when the command is done, and what is said once it has ended.
LEFT = {
    "nothing": ("pass", ""),
    "a function for the end": ("import atexit; atexit.register(print, 'bye')", "bye\n"),
    "a thread": ("import threading; threading.Timer(0.3, print, ['late']).start()", "late\n"),
}


# Once with all that a command loads.
@pytest.mark.parametrize(
    ("left", "args", "code"),
    [*((left, ["--version"], 0) for left in LEFT), ("a thread", ["compute", "no-such-file"], 3)],
)
def test_the_end_of_the_program_leaves_nothing_undone(left, args, code):
    before, said = LEFT[left]
    program = (
        f"{before}\nimport sys\nfrom advcli.__main__ import main\nsys.argv = {['advcli', *args]}\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stdout == (f"advcli {__version__}\n" if code == 0 else "") + said
    assert len(done.stderr.splitlines()) == (code != 0)


def test_a_profiler_sees_the_end():
    command = [sys.executable, "-m", "cProfile", "-m", "advcli", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "function calls" in done.stdout


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (60.0, False)])
def test_a_bar_is_there_once_the_work_takes_long(monkeypatch, patience, shown):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(output, "_PROGRESS_AFTER", patience)
    threads = threading.active_count()
    with output.progress("reading", "rows") as advance:
        # No thread yet: a copy of this process may be made.
        assert threading.active_count() == threads
        advance(500, 1000)
        advance(250, 1000, "writing")
        said = sys.stderr.getvalue() if not shown else None
    said = sys.stderr.getvalue() if said is None else said
    assert [text in said for text in ("writing", "25%", "rows/s")] == [shown] * 3


def test_no_bar_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with output.progress("reading") as advance:
        assert advance is None
