"""A dump in Python answers what the commands answer: the same records, the same errors."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import advcli
from advcli.cli import app

SAMPLE = str(Path(__file__).parents[2] / "sample_data" / "rewards.parquet")
LINES = SAMPLE.replace(".parquet", ".jsonl")
LOGGED = str(Path(__file__).parents[1] / "data" / "trl" / "grpo-group")

ASKED = {
    f"inspect {SAMPLE} --top 3 --by step --fail-if dead>0.1 --estimator rloo": lambda: advcli.read(
        SAMPLE
    ).inspect(top=3, by="step", fail_if="dead>0.1", estimator="rloo"),
    f"compare {SAMPLE} --keep-pos 0.7 --vs rloo --before dynamic_sampling": lambda: advcli.read(
        SAMPLE
    ).compare("rloo", keep_pos=0.7, before="dynamic_sampling"),
    f"prompts {SAMPLE} --pass-at 1 --k 1,2 --top 3": lambda: advcli.read(SAMPLE).prompts(
        k=(1, 2), pass_at=1, top=3
    ),
    f"verify {SAMPLE} --reward accuracy_reward --vs-reward reward --vs-pass-at 1 --by step": lambda: (
        advcli.read(SAMPLE, reward="accuracy_reward").verify("reward", other_pass_at=1, by="step")
    ),
    f"verify {SAMPLE} {LINES} --reward accuracy_reward --b reward=reward --vs-pass-at 1 --top 2": lambda: (
        advcli.read(SAMPLE, reward="accuracy_reward").verify(
            advcli.read(LINES, reward="reward"), other_pass_at=1, top=2
        )
    ),
    f"match {LOGGED}": lambda: advcli.read(LOGGED).match(),
    f"match {LOGGED} --like trl --estimator grpo": lambda: advcli.read(LOGGED).match(
        like="trl", estimator="grpo"
    ),
    f"sweep {SAMPLE} --estimator grpo,rloo --keep-pos 0.5,1 --compute-new-adv both --sort -std": lambda: (
        advcli.read(SAMPLE).sweep(
            estimator=["grpo", "rloo"], keep_pos=[0.5, 1], compute_new_adv=(False, True), sort="-std"
        )
    ),
    f"sweep {SAMPLE} --missing zero --keep-neg 0.3": lambda: advcli.read(SAMPLE).sweep(
        missing="zero", keep_neg=0.3
    ),
    f"compare {SAMPLE} {LINES} --between --b reward=format_reward --join response": lambda: advcli.read(
        SAMPLE
    ).between(advcli.read(LINES, reward="format_reward"), join="response"),
}


@pytest.mark.parametrize("line", ASKED)
def test_a_result_is_what_json_prints(line):
    done = CliRunner().invoke(
        app, [*line.replace("dead>0.1", "'dead>0.1'").replace("'", "").split(), "--json"]
    )
    here, there = ASKED[line]().to_dict(), json.loads(done.stdout)
    if here.get("command"):
        # The inputs are typed there; here they are at hand.
        assert there.pop("command") == f"advcli compute {line.split()[1]} {here.pop('command')}"
    assert here == there


def test_advantages_are_what_compute_prints(tmp_path):
    dump = advcli.read(SAMPLE)
    adv = dump.advantages(keep_pos=0.7, compute_new_adv=True, eps=1e-4)
    result = dump.write(tmp_path / "new", adv)
    line = ["compute", SAMPLE, "--keep-pos", "0.7", "--compute-new-adv", "--estimator", "grpo:eps=1e-4"]
    done = CliRunner().invoke(app, [*line, "--out", str(tmp_path / "cli.parquet"), "--json"])
    told = json.loads(done.stdout)
    assert {**result.to_dict(), "written": []} == {**told, "written": []}
    assert {**adv.to_dict(), "written": []} == {**told, "written": []}
    (path,) = result.written
    assert path == str(tmp_path / "new" / "rewards.adv.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(path), pd.read_parquet(tmp_path / "cli.parquet"))


def test_write_refuses_what_the_command_refuses(tmp_path):
    dump = advcli.read(SAMPLE)
    dump.write(tmp_path)
    with pytest.raises(advcli.UsageError, match="exists already"):
        dump.write(tmp_path)
    dump.write(tmp_path, force=True)
    with pytest.raises(advcli.UsageError, match="from another dump"):
        dump.write(tmp_path, advcli.read(SAMPLE).advantages())


def test_a_file_that_changes_is_read_again(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text('{"prompt_id": 1, "reward": 0}\n{"prompt_id": 1, "reward": 1}\n')
    dump = advcli.read(path)
    path.write_text('{"prompt_id": 1, "reward": 0}\n{"prompt_id": 1, "reward": 1000}\n')
    assert dump.advantages("rloo").original.tolist() == [-1000.0, 1000.0]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda dump: dump.advantages("gpro"), "unknown estimator 'gpro'; try grpo"),
        (lambda dump: dump.advantages(keep_pos=2), "keep_pos is 2, expected a share"),
        (lambda dump: dump.advantages("grpo", epss=1), "epss"),
        (lambda dump: dump.compare("rlo"), "--vs rlo: unknown estimator 'rlo'; try rloo"),
        (lambda dump: dump.compare(keep=1), "no option 'keep'"),
        (lambda dump: dump.inspect(fail_if="deaf > 1"), "deaf"),
        (lambda dump: dump.inspect(step=99), "no step '99'"),
        (lambda dump: dump.match(), "no logged advantage"),
        (lambda dump: dump.sweep(sort="nothing"), "no such figure"),
    ],
)
def test_errors_are_those_of_the_command_line(ask, message):
    with pytest.raises(advcli.AdvcliError, match=message):
        ask(advcli.read(SAMPLE))


def test_undefined_figures_are_nan_in_python_and_none_in_dicts():
    frame = pd.DataFrame({"prompt_id": ["a", "a"], "reward": [None, 1.0]})
    adv = advcli.from_frame(frame).advantages()
    assert math.isnan(adv.summary.original.mean)
    assert adv.to_dict()["original"]["mean"] is None
    assert adv.original.isnan().all()


def test_what_is_selected_is_what_the_command_writes(tmp_path):
    out = tmp_path / "dpo.jsonl"
    CliRunner().invoke(app, ["select", SAMPLE, "--as", "dpo", "--margin", "0.5", "--out", str(out)])
    found = advcli.read(SAMPLE).select("dpo", margin=0.5)
    assert found == [json.loads(line) for line in out.read_text().splitlines()]
    with pytest.raises(advcli.AdvcliError, match="unknown value 'grpo' for kind"):
        advcli.read(SAMPLE).select("grpo")


def test_the_report(tmp_path):
    page = advcli.read(SAMPLE).report(tmp_path / "r.html", keep_pos=0.7)
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


@pytest.mark.parametrize("line", ASKED)
def test_a_result_draws_itself(line):
    result = ASKED[line]()
    console = Console(width=80, record=True, color_system=None)
    console.print(result)
    words = set(repr(result).split())
    # The lines are folded at 80 columns, and no word is lost.
    assert len(words - set(console.export_text().split())) < 0.1 * len(words)
    assert result._repr_html_().startswith("<pre")


def test_a_dump_draws_itself():
    dump = advcli.read(SAMPLE)
    assert repr(dump).startswith("502 rows · 64 groups")
    assert "<pre" in dump._repr_html_()
    assert "502 rows" in dump.advantages()._repr_html_()


def test_a_sweep_over_shapes(tmp_path):
    import advcli

    path = tmp_path / "f.jsonl"
    lines = ['{"prompt": "a", "reward": 1, "turns": 1}', '{"prompt": "a", "reward": 1, "turns": 3}']
    path.write_text("\n".join(lines), encoding="utf-8")
    found = advcli.read(path).sweep(scale="none", shape=[[], ["r - 0.5*turns"]])
    assert [(point.shape, point.mean_abs) for point in found.points] == [(None, 0.0), ("r - 0.5*turns", 0.5)]
    assert advcli.read(path).advantages("reinforce", shaping="r - turns").original.tolist() == [0, -2]
    kept = advcli.read(path).advantages("reinforce", before="where:turns < 2").kept
    assert kept.tolist() == [True, False]
