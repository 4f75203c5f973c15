"""advcli against the frameworks' own packages, case by case."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from parity.compared import CASES, DATA, NAMES, computed, dead_rows, expected, target, together, tolerance

HERE = Path(__file__).parent


def test_every_reference_is_compared_or_left_out_for_a_reason():
    known = {(file, name) for file, names in NAMES.items() for name in names}
    assert {(file, case["estimator"]) for file, case in CASES} <= known
    assert len(CASES) > 700


def label(value: object) -> str:
    return value if isinstance(value, str) else value[0]["estimator"]


def check(file, case, found):
    batch, theirs_all = case["batch"], expected(case)
    peak = max((abs(a) for a in theirs_all if not math.isnan(a)), default=0)
    allowed = tolerance(file, case) * peak
    dead = dead_rows(case)
    for row, (mine, theirs) in enumerate(zip(found, theirs_all, strict=True)):
        if row in dead and abs(mine - theirs) > allowed:
            # Phantom advantages of a dead group are one unit in the last place over the eps: their digits hang
            # on the order in which a processor sums, so only sign and size are compared.
            assert math.copysign(1, mine) == math.copysign(1, theirs), f"{batch}, row {row}"
            assert abs(theirs) / 2 < abs(mine) < abs(theirs) * 2, f"{batch}, row {row}"
        else:
            assert mine == pytest.approx(theirs, abs=allowed, nan_ok=True), f"{batch}, row {row}"


def by_estimator():
    """The cases of each estimator of a file, knobs and batches together."""
    found = {}
    for file, case in CASES:
        found.setdefault((file, case["estimator"]), []).append(case)
    return [(file, cases) for (file, _), cases in found.items()]


@pytest.mark.parametrize(("file", "cases"), by_estimator(), ids=label)
def test_cases(file, cases):
    for case in cases:
        check(file, case, computed(file, case))


def runs():
    """Cases that one run could have made, step after step."""
    found = {}
    for file, case in CASES:
        # A batch whose groups are uneven is cut by the largest group of all steps.
        if not case["batch"].endswith("-short"):
            parts = len(case["rewards"][0]) if isinstance(case["rewards"][0], list) else 1
            knobs = {name: value for name, value in case["knobs"].items() if "num_generations" not in name}
            key = (file, *target(file, case), json.dumps(knobs), parts, "lengths" in case)
            found.setdefault(key, []).append(case)
    return [(key[0], cases) for key, cases in found.items() if len(cases) > 1]


@pytest.mark.parametrize(("file", "cases"), runs(), ids=label)
def test_the_steps_of_a_run_are_computed_apart_from_each_other(file, cases):
    for case, found in zip(cases, together(file, cases), strict=True):
        check(file, case, found)


@pytest.mark.skipif(
    os.environ.get("ADVCLI_PARITY") != "live", reason="installs the packages: ADVCLI_PARITY=live"
)
def test_the_packages_still_give_these_numbers(tmp_path):
    subprocess.run(
        [sys.executable, HERE / "make.py", "--out", tmp_path, "verl", "twinkle", "ms-swift"], check=True
    )
    for fresh in tmp_path.glob("*.json"):
        assert json.loads(fresh.read_text())["cases"] == json.loads((DATA / fresh.name).read_text())["cases"]
