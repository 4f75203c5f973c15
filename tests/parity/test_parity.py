"""advcli against the frameworks' own packages, case by case."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from parity.compared import CASES, DATA, NAMES, computed, dead_rows, expected, tolerance

HERE = Path(__file__).parent


def test_every_reference_is_compared_or_left_out_for_a_reason():
    known = {(file, name) for file, names in NAMES.items() for name in names}
    assert {(file, case["estimator"]) for file, case in CASES} <= known
    assert len(CASES) > 700


def label(value: object) -> str:
    return value if isinstance(value, str) else f"{value['estimator']}-{value['batch']}"


@pytest.mark.parametrize(("file", "case"), CASES, ids=label)
def test_case(file, case):
    theirs_all = expected(case)
    peak = max((abs(a) for a in theirs_all if not math.isnan(a)), default=0)
    allowed = tolerance(file, case) * peak
    dead = dead_rows(case)
    for row, (mine, theirs) in enumerate(zip(computed(file, case), theirs_all, strict=True)):
        if row in dead and abs(mine - theirs) > allowed:
            # Phantom advantages of a dead group are one unit in the last place over the eps: their digits hang
            # on the order in which a processor sums, so only sign and size are compared.
            assert math.copysign(1, mine) == math.copysign(1, theirs), f"row {row}"
            assert abs(theirs) / 2 < abs(mine) < abs(theirs) * 2, f"row {row}"
        else:
            assert mine == pytest.approx(theirs, abs=allowed, nan_ok=True), f"row {row}"


@pytest.mark.skipif(
    os.environ.get("ADVCLI_PARITY") != "live", reason="installs the packages: ADVCLI_PARITY=live"
)
def test_the_packages_still_give_these_numbers(tmp_path):
    subprocess.run(
        [sys.executable, HERE / "make.py", "--out", tmp_path, "verl", "twinkle", "ms-swift"], check=True
    )
    for fresh in tmp_path.glob("*.json"):
        assert json.loads(fresh.read_text())["cases"] == json.loads((DATA / fresh.name).read_text())["cases"]
