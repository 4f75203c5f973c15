"""`advcli sample`: the bundled dumps, to try the other commands on."""

from pathlib import Path
from typing import Annotated

import typer

from advcli.cli import options as opt
from advcli.cli import output


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write.", show_default=False)
    ] = Path(),
    force: opt.Force = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write the bundled sample dumps into a folder (default: this one).

    rewards.parquet and rewards.jsonl hold the same small run; trl/ is a real dump with logged advantages;
    tokens.jsonl has values and KL per token; easyr1.yaml is a trainer's configuration.
    """
    from advcli.io import atomic
    from advcli.io.sources import sample

    goals = {folder / name: file.read_bytes() for file, name in sample.files()}
    # Identical files need no --force.
    new = {goal: body for goal, body in goals.items() if not (goal.is_file() and goal.read_bytes() == body)}
    atomic.check_all(list(new), (), force=force, parent=False)
    for goal, body in new.items():
        with atomic.replacing(goal, force=force) as file:
            file.write(body)
    for goal in () if quiet else goals:
        output.say(f"advcli: wrote {goal}" if goal in new else f"advcli: {goal} is up to date", dim=True)
