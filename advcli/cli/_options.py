"""Options that several commands share: one spelling, one help text."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from advcli.errors import UsageError
from advcli.wording import either

_COLUMNS = "Columns"
_SETTINGS = "Advantages"
_KEEP = "Keep ratios and filters"
_SHAPING = "Reward shaping, in this order, before the estimator"
_OUTPUT = "Output"
_RUN = "Where it runs"


def option(panel: str, text: str, *flags: str, metavar: str | None = None) -> Any:  # noqa: ANN401  typer's class
    """An option whose default is told by its text.

    Args:
        panel: under which heading `--help` shows it.
        text: its help.
        flags: how it is spelt, where its name does not tell.
        metavar: what stands for its value.
    """
    return typer.Option(*flags, metavar=metavar, help=text, rich_help_panel=panel, show_default=False)


Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="INPUT",
        help="Files, folders, quoted globs, or - for standard input.",
        show_default=False,
    ),
]
Estimator = Annotated[
    str | None,
    option(
        _SETTINGS,
        "Estimator, with knobs if wanted: grpo:eps=1e-4. Default: grpo. See 'advcli estimators'.",
        metavar="NAME",
    ),
]
Like = Annotated[
    str | None,
    option(
        _SETTINGS,
        "Reproduce a framework's own numbers: verl, trl@1.5, ms-swift ... See 'advcli frameworks'.",
        metavar="NAME",
    ),
]
Scale = Annotated[
    str | None,
    option(
        _SETTINGS,
        "Divide by the std of the group, of the batch (the step), or by none. Default: the estimator's own.",
        metavar="SCALE",
    ),
]
KeepPos = Annotated[
    float | None,
    option(
        _KEEP, "Share of the positive rows of each group to keep, best first. Default: 1.", metavar="SHARE"
    ),
]
KeepNeg = Annotated[
    float | None,
    option(
        _KEEP, "Share of the negative rows of each group to keep, worst first. Default: 1.", metavar="SHARE"
    ),
]
ComputeNewAdv = Annotated[
    bool | None,
    option(
        _KEEP,
        "Compute the advantage again on the kept rows (grpo).",
        "--compute-new-adv/--no-compute-new-adv",
    ),
]
Before = Annotated[
    list[str] | None,
    option(
        _KEEP,
        "Leave rows out before the statistics: dynamic_sampling, truncated:max=4096, pods:m=4 ... "
        "See 'advcli filters'.",
        metavar="FILTER",
    ),
]
After = Annotated[
    list[str] | None,
    option(
        _KEEP, "Leave rows out after the statistics: cppo:keep=0.5, truncated:max=4096 ...", metavar="FILTER"
    ),
]
Preset = Annotated[
    str | None,
    option(
        _KEEP,
        "conservative keeps 0.8 of the positive and 0.7 of the negative rows, aggressive 0.5 and 0.3; "
        "both compute again.",
        metavar="NAME",
    ),
]
Config = Annotated[
    Path | None,
    option(_SETTINGS, "A trainer's YAML or JSON: its advantage settings are followed.", metavar="FILE"),
]
Set = Annotated[
    list[str] | None,
    option(_SETTINGS, "Override a key of the configuration, as Hydra does.", "--set", metavar="KEY=VALUE"),
]
Missing = Annotated[
    str | None,
    option(
        _SETTINGS,
        "What rows without a usable reward get: null, zero (kept), or error. They never enter a statistic. "
        "Default: null.",
        metavar="RULE",
    ),
]
Singleton = Annotated[
    str | None,
    option(
        _SETTINGS,
        "What the only row of a group gets: null, zero, raw (its reward), or error. Default: null.",
        metavar="RULE",
    ),
]
Device = Annotated[
    str | None,
    option(_SETTINGS, "auto, cpu, cuda or mps. Default: auto, the one done first.", metavar="NAME"),
]
N = Annotated[
    int | None,
    option(
        _COLUMNS,
        "Rows per prompt: cut the rows of a prompt (without one, consecutive rows) into groups of N.",
        "--n",
        metavar="N",
    ),
]
Format = Annotated[
    str | None, option(_COLUMNS, "Format of the dump. See 'advcli formats'.", "--format", metavar="NAME")
]
PromptCol = Annotated[str | None, option(_COLUMNS, "Column that identifies the prompt.", metavar="COL")]
Reward = Annotated[
    list[str] | None,
    option(_COLUMNS, "Reward column, COL=WEIGHT to weigh it; several are summed.", metavar="COL"),
]
StepCol = Annotated[str | None, option(_COLUMNS, "Column with the training step.", metavar="COL")]
LengthCol = Annotated[
    str | None,
    option(_COLUMNS, "Column with the tokens of a row: adds token-weighted figures.", metavar="COL"),
]
BaselineCol = Annotated[
    str | None,
    option(_COLUMNS, "Column with the greedy reward of the row's prompt, for remax.", metavar="COL"),
]
LoggedCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Column with the advantage that was logged: a number, or a list with one per token.",
        metavar="COL",
    ),
]
KlCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Column with the KL of a row, or a list with that of each token; taken off with --kl-coef.",
        metavar="COL",
    ),
]
ValuesCol = Annotated[
    str | None,
    option(_COLUMNS, "Column with a list per row: the critic's value of each token, for gae.", metavar="COL"),
]
LogProbsCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Column with a list per row: the log-probability of each token, for optimal_token_baseline.",
        metavar="COL",
    ),
]
SumPiSquaredCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Column with a list per row: the sum of the squared probabilities at each token, for the same.",
        metavar="COL",
    ),
]
MaskCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Column with a list per row: 0 at tokens that the policy did not write, as the output of a tool.",
        metavar="COL",
    ),
]
Overlong = Annotated[
    str | None,
    option(
        _SHAPING,
        "Take off what a row is too long: max=4096,buffer=512,factor=1; cap=1 to take off no more than factor.",
        metavar="KNOBS",
    ),
]
Affine = Annotated[
    str | None,
    option(_SHAPING, "Scale and shift the reward: scale=10,shift=-0.5 is 10 · (r − 0.5).", metavar="KNOBS"),
]
ClipReward = Annotated[str | None, option(_SHAPING, "Clip the reward: min=-1,max=1.", metavar="KNOBS")]
KlCoef = Annotated[
    float | None, option(_SHAPING, "Take COEF times the column of --kl-col off the reward.", metavar="COEF")
]
GroupBy = Annotated[
    str | None,
    option(
        _COLUMNS, "Columns that together make a group, with commas; the step is not added.", metavar="COLS"
    ),
]
LayoutOption = Annotated[
    str | None,
    option(
        _COLUMNS,
        "How rows lie in a record: rows, ones (lists of one), lists, or nested. Default: looked at.",
        "--layout",
        metavar="NAME",
    ),
]
Explode = Annotated[
    str | None,
    option(
        _COLUMNS,
        "The list of objects, or the lists, with commas, that hold one entry per row.",
        metavar="COLS",
    ),
]
Dedup = Annotated[
    bool,
    option(
        _COLUMNS, "Leave out exact repeats: groups met before, equal in all columns but the step.", "--dedup"
    ),
]
MaxLine = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Refuse longer lines, which take as much memory: 64MB, 1GB. Default: 64MB.",
        metavar="SIZE",
    ),
]
OnBadRow = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="error or skip: what to do with a broken line or an unreadable value.",
        rich_help_panel=_COLUMNS,
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="local, or ray: many files on Ray (pip install 'advcli[ray]').",
        rich_help_panel=_RUN,
    ),
]
RayAddress = Annotated[
    str | None,
    option(
        _RUN,
        "A running Ray cluster, as 'auto' or HOST:6379. Default: start one here.",
        metavar="ADDRESS",
    ),
]
Resume = Annotated[
    bool,
    option(_RUN, "With --engine ray: pass over the files that the same run has written already.", "--resume"),
]
Json = Annotated[bool, option(_OUTPUT, "Print one JSON object instead of tables.", "--json")]
Quiet = Annotated[bool, option(_OUTPUT, "Say nothing but errors.", "--quiet", "-q")]
Force = Annotated[bool, option(_OUTPUT, "Overwrite existing files.", "--force")]
Out = Annotated[
    str | None,
    option(
        _OUTPUT,
        "File, folder with a slash at the end, or - for standard output. Default: NAME.adv.SUFFIX beside INPUT.",
        "--out",
        "-o",
        metavar="PATH",
    ),
]
SameLayout = Annotated[
    bool,
    option(
        _OUTPUT,
        "Where a record holds several rows, write lists into it instead of one line per row.",
        "--same-layout",
    ),
]
Prefix = Annotated[
    str,
    typer.Option(metavar="TEXT", help="Put before the names of the added columns.", rich_help_panel=_OUTPUT),
]
Metrics = Annotated[
    Path | None,
    option(
        _OUTPUT,
        "Write the metrics that trainers log (critic/advantages/mean, ...), one JSON line per step.",
        metavar="FILE",
    ),
]
Vs = Annotated[
    list[str] | None,
    option(
        _SETTINGS,
        "Add a column with another estimator: rloo, grpo:scale=none, grpo:keep_pos=0.5.",
        "--vs",
        metavar="NAME",
    ),
]


def reward_weight(text: str) -> tuple[str, float]:
    """Read `COL[=WEIGHT]`; the last "=" counts, because a column may have one in its name.

    Example:
        >>> reward_weight("accuracy"), reward_weight("format=0.5"), reward_weight("a=b")
        (('accuracy', 1.0), ('format', 0.5), ('a=b', 1.0))
    """
    name, equals, weight = text.rpartition("=")
    if not equals:
        return text, 1.0
    try:
        number = float(weight)
    except ValueError:
        return text, 1.0
    if not math.isfinite(number):
        raise UsageError(f"--reward {text}: the weight is {weight}, expected a finite number")
    return name, number


def choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Check one of a few words.

    Raises:
        UsageError: it is none of them.
    """
    if value not in allowed:
        raise UsageError(f"unknown value '{value}' for {name}", hint=either(allowed))
    return value
