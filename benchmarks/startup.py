"""How long one waits for the first line: `python -m benchmarks.startup`."""

import statistics
import sys
from collections.abc import Sequence

from benchmarks.processes import Usage, in_turn_of, parser, ratios, spread

COMMANDS = {
    # what is typed: (its arguments, times `import torch` that it may take; None for seconds instead)
    "advcli --help": (["--help"], None),
    "advcli compare (the bundled sample)": (["compare"], 1.15),
    "advcli inspect (the bundled sample)": (["inspect"], 1.15),
}
HELP = 0.15


def report(runs: int) -> list[str]:
    """The table as Markdown."""
    torch = "import torch"
    commands = {torch: [sys.executable, "-c", "import torch"]}
    commands |= {name: [sys.executable, "-m", "advcli", *asked] for name, (asked, _) in COMMANDS.items()}
    found = in_turn_of(commands, runs)
    lines = [
        "### Start-up",
        "",
        "| command | wall s, median (min–max) | / `import torch` | target |",
        "|---|---|---|---|",
        f"| `{torch}` | {spread([one.wall for one in found[torch]])} | | |",
    ]
    for name, (_, target) in COMMANDS.items():
        lines.append(f"| `{name}` | {_row(found[name], found[torch], target)} |")
    return [*lines, ""]


def _row(ours: Sequence[Usage], torch: Sequence[Usage], target: float | None) -> str:
    seconds, times = [one.wall for one in ours], ratios(ours, torch)
    reached = statistics.median(times) if target else statistics.median(seconds)
    aim = f"≤ {target} × `import torch`" if target else f"≤ {HELP} s"
    missed = "" if reached <= (target or HELP) else " (missed)"
    return f"{spread(seconds)} | {spread(times)} | {aim}{missed}"


if __name__ == "__main__":
    print("\n".join(report(parser(__doc__ or "", runs=5).parse_args().runs)))
