"""The upstream watch, with an index that is made up: what it says of each framework, in one line."""

import json
import subprocess
from types import SimpleNamespace

import pytest
from parity import make, upstream
from parity.compared import DATA

from advcli.frameworks.catalog import frameworks
from advcli.frameworks.proven import PROVEN


def cases(name):
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))["cases"]


def never(framework, release):
    raise AssertionError(f"{framework} {release} needs no run")


def moved(framework, release):
    del framework, release
    raise upstream.NotThereError("does not run here: ImportError: no such module")


def test_every_framework_has_a_line_and_every_file_a_framework():
    found = [upstream.watch(name, lambda package: "9.9", None) for name in frameworks()]
    assert [one.framework for one in found] == list(frameworks())
    assert all(len(one.line) <= 80 and "\n" not in one.line for one in found)
    assert set(upstream.FILES.values()) <= {row[0] for row in make.REFERENCES}
    assert {*upstream.FILES, *upstream.UNPUBLISHED, *upstream.PACKAGES} <= set(frameworks())


def test_the_proven_release_is_that_of_the_recorded_cases():
    releases = {name: (package, version) for name, _, package, version in make.REFERENCES}
    for framework, file in upstream.FILES.items():
        package, version = releases[file]
        assert (upstream.PACKAGES.get(framework, framework), PROVEN[framework][1]) == (package, version)


@pytest.mark.parametrize(
    ("framework", "release", "run", "outcome"),
    [
        ("slime", "1.0", never, "not published on the package index"),
        ("tunix", "0.1.7", never, "proven"),
        ("tunix", "0.1.8", None, "not compared yet"),
        ("xtuner", "0.2.0", never, "no case is made by its package"),
        ("tunix", "0.1.8", moved, "does not run here: ImportError: no such module"),
        ("tunix", "0.1.8", lambda *_: cases("tunix"), "all 45 recorded cases are the same"),
        ("tunix", "0.1.8", lambda *_: cases("tunix")[2:], "2 of 45 cases differ, first grpo on binary-n8"),
    ],
)
def test_what_is_said(framework, release, run, outcome):
    found = upstream.watch(framework, lambda package: release, run)
    assert found.outcome == outcome
    assert found.differs == ("differ" in outcome)


def test_another_number_is_a_difference():
    fresh = cases("tunix")
    fresh[-1]["advantages"][0] = 0.125
    assert upstream.watch("tunix", lambda package: "0.1.8", lambda *_: fresh).outcome.startswith(
        "1 of 45 cases"
    )


@pytest.mark.parametrize(
    ("out", "error", "answer"),
    [
        ("trl (1.17.0)\nAvailable versions: 1.17.0, 1.16.0\n", "", "1.17.0"),
        ("", "ERROR: No matching distribution found for trl\n", "not on the package index"),
        (
            "",
            "Could not fetch URL\nERROR: No matching distribution found for trl\n",
            "the package index did not answer",
        ),
    ],
)
def test_what_pip_answers(monkeypatch, out, error, answer):
    done = SimpleNamespace(stdout=out, stderr=error, returncode=int(not out))
    monkeypatch.setattr(subprocess, "run", lambda *args, **given: done)
    try:
        found = upstream.newest("trl")
    except upstream.NotThereError as reason:
        found = str(reason)
    assert found == answer


def test_the_table_is_kept(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(upstream, "SAVED", tmp_path / "upstream.json")
    monkeypatch.setattr(upstream, "newest", lambda package: "1.17.0")
    assert upstream.main(["trl", "slime", "--list", "--save"]) == 0
    assert [one["outcome"] for one in json.loads(upstream.SAVED.read_text())] == [
        "not compared yet",
        "not published on the package index",
    ]
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["framework", "trl", "slime"]
    with pytest.raises(SystemExit):
        upstream.main(["nobody"])
