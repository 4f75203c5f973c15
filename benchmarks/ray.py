"""What Ray costs and gains: `python benchmarks/ray.py [--rows 20e6] [--workers 1 2] [--shuffled]`.

The same dump, 64 parquet files (string id, step, reward, 120 characters of text), annotated by the local engine and
by `--engine ray` with 1 and 2 workers, each as a whole process, one after the other. The rows of a group follow one
another, or with --shuffled lie in any of the files. Needs `pip install 'advcli[ray]'`.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES = 64
GROUP = 8


def main() -> None:
    """Make the dump, time each way, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=20e6)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--text", type=int, default=120, help="characters of text per row")
    parser.add_argument("--shuffled", action="store_true", help="the rows of a group lie in any of the files")
    parser.add_argument("--scratch", type=Path, default=None, help="a folder with room for the dump, twice")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-ray-", dir=args.scratch))
    try:
        rows = int(args.rows) // FILES // GROUP * FILES * GROUP
        size = make(folder / "in", rows, args.text, shuffled=args.shuffled)
        print(f"{rows:,} rows in {FILES} files, {size / 1e9:.2f} GB, {os.cpu_count()} cores")
        print("| way | wall time | million rows/s | against local | peak of the command's own process |")
        print("|---|---|---|---|---|")
        ways = {
            "local": ["--engine", "local"],
            **{f"ray, {n} worker{'s' * (n > 1)}": n for n in args.workers},
        }
        local = None
        for name, way in ways.items():
            runs = [timed(folder, name, way) for _ in range(args.runs)]
            seconds, peak = statistics.median(run[0] for run in runs), max(run[1] for run in runs)
            local = local or seconds
            print(
                f"| {name} | {seconds:.0f} s | {rows / seconds / 1e6:.2f} | {seconds / local:.2f} × | {peak:.1f} GB |"
            )
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make(folder: Path, rows: int, text: int, *, shuffled: bool) -> int:
    """Write the dump; its size in bytes."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    per_file = rows // FILES
    letters = rng.integers(97, 123, size=text * 4096, dtype=np.uint8)
    pool = pa.array([bytes(letters[i * text : (i + 1) * text]).decode() for i in range(4096)])
    row = rng.permutation(rows) if shuffled else np.arange(rows)
    for number in range(FILES):
        # As trainers write them, groups lie together; a step goes over two files.
        here = row[number * per_file : (number + 1) * per_file]
        key = here // GROUP
        table = pa.table(
            {
                "prompt_id": pa.array(np.char.add("prompt-", key.astype(str))),
                "step": here // (2 * per_file),
                "reward": rng.integers(0, 2, per_file).astype(np.float64),
                "response": pool.take(pa.array(rng.integers(0, 4096, per_file))),
            }
        )
        pq.write_table(table, folder / f"{number:03}.parquet")
    return sum(path.stat().st_size for path in folder.iterdir())


def timed(folder: Path, name: str, way: object) -> tuple[float, float]:
    """Seconds of one run, and the peak of its own process in GB: the driver's, on Ray."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    engine = way if isinstance(way, list) else ["--engine", "ray"]
    env = os.environ | ({} if isinstance(way, list) else {"ADVCLI_RAY_CPUS": str(way)})
    command = [
        sys.executable,
        "-m",
        "advcli",
        "compute",
        str(folder / "in"),
        "--out",
        f"{folder}/out/",
        *engine,
    ]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--quiet"], env=env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{name} failed")
    return time.perf_counter() - start, usage.ru_maxrss / 1e6


if __name__ == "__main__":
    main()
