"""`advcli report`: what is written, what is refused, what is said."""

import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "sample_data" / "rewards.parquet"
TRL = ROOT / "sample_data" / "trl"


@pytest.fixture
def report(advcli):
    """`advcli report` in a temporary folder: exit code, standard output and standard error as text."""

    def run(*args, **more):
        done = advcli("report", *args, **more)
        return SimpleNamespace(
            returncode=done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode()
        )

    return run


def test_writes_one_page_of_original_and_processed(report, tmp_path):
    done = report(SAMPLE, "--keep-pos", "0.7", "--keep-neg", "0.5", "--texts", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "advcli: wrote report.html" in done.stderr
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    # 502 rows and 302 kept ones, as `compare` counts them in the test of the bundled sample.
    assert re.search(r'rows trained on</p><p class="value">302<', text)
    assert text.count('<tr class="group') == 64
    assert "advcli report" in text
    assert "--keep-pos 0.7 --keep-neg 0.5 --texts 3" in text
    assert re.search(r'class="brand">advcli report · \d{4}-\d\d-\d\d \d\d:\d\d', text)
    assert "8 of 63 groups (12.7%) carry no signal: 4 solved by every row, 4 by none." in text
    # Small enough to be mailed; the plots were 4.5 MB of a library before.
    assert len(text.encode()) < 300_000


def test_secrets_of_urls_are_not_on_the_page(report, tmp_path):
    shutil.copy(SAMPLE, tmp_path / "rows.parquet")
    done = report("rows.parquet", "--out", "a.html", "--where", "prompt_id != 's3://KEY:SECRET@b/c?token=1'")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "SECRET" not in text
    assert "--out a.html" in text


def test_an_existing_page_and_an_input_are_never_overwritten(report, tmp_path):
    (tmp_path / "report.html").write_text("mine")
    done = report(SAMPLE)
    assert done.returncode == 2
    assert "report.html exists already" in done.stderr
    assert (tmp_path / "report.html").read_text() == "mine"
    shutil.copy(SAMPLE, tmp_path / "rows.parquet")
    done = report("rows.parquet", "--out", "rows.parquet", "--force")
    assert done.returncode == 2
    assert (tmp_path / "rows.parquet").read_bytes() == SAMPLE.read_bytes()


def test_says_which_rule_made_a_logged_advantage(report, tmp_path):
    done = report(TRL, "--out", "trl.html")
    assert done.returncode == 0, done.stderr
    found = re.search(
        r'id="match"[^>]*>(.*?)</li>', (tmp_path / "trl.html").read_text(encoding="utf-8"), re.DOTALL
    )
    assert "consistent with trl &gt;=1.6 grpo, scale group" in found[1]
    done = report(TRL, "--out", "without.html", "--no-match", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert 'id="match"' not in (tmp_path / "without.html").read_text(encoding="utf-8")


def test_standard_input(report, tmp_path):
    rows = '{"prompt": "a", "reward": 1, "advantage": 0.5}\n{"prompt": "a", "reward": 0, "advantage": -0.5}\n'
    done = report("-", stdin=rows)
    assert done.returncode == 0, done.stderr
    assert "&lt;stdin&gt;" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_an_advantage_per_token_has_a_page_without_keep_ratios(report, tmp_path):
    tokens = ROOT / "sample_data" / "tokens.jsonl"
    done = report(tokens, "--estimator", "gae:lam=0.95", "--values-col", "values")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "there is no map of them" in text
    assert 'id="keep-ratios"' not in text


def test_dead_and_missing_everywhere(report, tmp_path):
    (tmp_path / "dead.jsonl").write_text('{"prompt": "a", "reward": 1}\n' * 4)
    (tmp_path / "none.jsonl").write_text(
        '{"prompt": "a", "reward": null}\n' * 2 + '{"prompt": "a", "reward": NaN}\n'
    )
    for name in ("dead", "none"):
        done = report(f"{name}.jsonl", "--out", f"{name}.html")
        assert done.returncode == 0, done.stderr
        text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert ">nan<" not in text.lower()


def test_pictures_without_a_browser(report, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = report(SAMPLE, "--png", "plots")
    assert done.returncode == 4
    assert "--png needs Chrome or Chromium" in done.stderr
    assert not (tmp_path / "report.html").exists()


@pytest.mark.skipif(
    not os.environ.get("ADVCLI_CHROMIUM"),
    reason="no browser is named by ADVCLI_CHROMIUM; .ci/run does where Chromium can be had",
)
def test_pictures(report, tmp_path):
    done = report(SAMPLE, "--png", "plots")
    assert done.returncode == 0, done.stderr
    written = {path.name: path.read_bytes() for path in (tmp_path / "plots").iterdir()}
    assert {"reward.png", "advantage.png", "groups.png", "keep-ratios.png"} <= written.keys()
    assert all(one.startswith(b"\x89PNG") and len(one) > 5000 for one in written.values())
    again = report(SAMPLE, "--png", "plots", "--out", "other.html")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert not (tmp_path / "other.html").exists()


def test_the_page_shows_prompts_verdicts_and_another_run(report, tmp_path):
    """Prompt p: wrong at step 1, right at step 2; `acc` disagrees in one row; B is the same with all right."""
    rows = [
        {"prompt_id": name, "step": step, "reward": float(step == 2), "acc": float(step == 2 or place == 0)}
        for name in "pqrstuv"
        for step in (1, 2)
        for place in range(8)
    ]
    for name, reward in (("a", None), ("b", 1.0)):
        kept = [row if reward is None else {**row, "reward": reward} for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
    out = tmp_path / "r.html"
    done = report("a.jsonl", "--out", "r.html", "--between", "b.jsonl")
    assert done.returncode == 0, done.stderr
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", out.read_text(encoding="utf-8")))
    assert "Prompts over the run" in text
    assert "p learned 2 0 1 +1" in text
    assert "A and B" in text
    # 7 of 112 rows: 105 agree.
    assert "agreement: 93.8% of 112 rows" in text
    assert "B − A: +0.5 in mean reward per prompt, over 7 prompts in both" in text
    done = report("a.jsonl", "--b", "n=2")
    assert (done.returncode, done.stderr) == (
        2,
        "advcli: --b without --between does nothing; try --between INPUT\n",
    )


@pytest.mark.parametrize(
    ("out", "other"), [("-", "report.html"), ("page.pdf", "page.html"), ("page", "page.html")]
)
def test_a_page_is_html(report, out, other, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"prompt": "p", "reward": 1}\n{"prompt": "p", "reward": 0}\n')
    done = report("x.jsonl", "--out", out)
    assert done.returncode == 2
    assert done.stderr.endswith(f"advcli: --out {out}: expected .html; try --out {other}\n")
    assert not (tmp_path / out).exists()


def test_the_axis_of_a_share_is_from_0_to_1(report, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"prompt": "p", "reward": 1}\n{"prompt": "p", "reward": 0}\n')
    assert report("x.jsonl", "--out", "x.html").returncode == 0
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "100%" in page
    assert "150%" not in page
