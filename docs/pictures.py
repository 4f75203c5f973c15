"""Draw the pictures of the documentation: `python docs/pictures.py [FOLDER]`."""

import io
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from advcli.io import sample
from advcli.pipeline import Request, compare
from advcli.records import ColumnOptions, Settings
from advcli.render.tables import show

HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """Write compare.svg."""
    settings = Settings(keep_pos=0.7, keep_neg=0.5)
    report = compare(Request((str(sample.path()),), settings, ColumnOptions()), {"rloo": Settings("rloo")})
    console = Console(record=True, width=128, file=io.StringIO(), force_terminal=True)
    show(report, console)
    title = "advcli compare --keep-pos 0.7 --keep-neg 0.5 --vs rloo"
    console.save_svg(str(folder / "compare.svg"), title=title, theme=MONOKAI, unique_id="compare")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
