"""Pandas is not imported where nobody uses it."""

import json
import subprocess
import sys

AFTERWARDS = """
import json, sys
from advcli.io.pandas_unasked import keep_out
keep_out()
import pyarrow as pa
import pyarrow.compute as pc
pc.add(pa.array([1, 2]), 3)
out = {"kept out": "pandas" not in sys.modules, "finders": [type(finder).__name__ for finder in sys.meta_path]}
import io
import pandas as pd
frame = pd.DataFrame({"key": ["a", None], "value": [0.5, float("nan")], "count": [1, 2]})
file = io.BytesIO()
frame.to_parquet(file)
back = pd.read_parquet(file)
out["same"] = bool(back.equals(frame))
out["sum"] = {key: float(value) for key, value in frame.groupby("key")["count"].sum().items()}
print(json.dumps(out), flush=True)
# With arrow and pandas alone too, one process in fifty aborts when it ends on a busy machine: "terminate called ...".
import os
os._exit(0)
"""


def test_arrow_does_not_import_pandas_and_data_frames_work_as_ever():
    done = subprocess.run(
        [sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "_NoPandas" not in found.pop("finders")
    assert found == {"kept out": True, "same": True, "sum": {"a": 1.0}}
