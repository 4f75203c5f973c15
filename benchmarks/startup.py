"""How long one waits for the first line: `python -m benchmarks.startup`."""

import statistics
import sys

from benchmarks.processes import parser, run, spread

COMMANDS = {
    # what is typed: (its arguments, seconds that it may take)
    "advcli --help": (["--help"], 0.25),
    "advcli compare (the bundled sample)": (["compare"], 2.0),
}


def report(runs: int) -> list[str]:
    """The table as Markdown."""
    lines = ["### Start-up", "", "| command | wall s, median (min–max) | target |", "|---|---|---|"]
    for name, (arguments, target) in COMMANDS.items():
        times = [run([sys.executable, "-m", "advcli", *arguments]).wall for _ in range(runs + 1)][1:]
        kept = "" if statistics.median(times) <= target else " (missed)"
        lines.append(f"| `{name}` | {spread(times)} | ≤ {target} s{kept} |")
    return [*lines, ""]


if __name__ == "__main__":
    print("\n".join(report(parser(__doc__ or "", runs=5).parse_args().runs)))
