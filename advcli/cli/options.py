"""Options that several commands share: one spelling, one help text."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from advcli.common.errors import UsageError
from advcli.common.wording import either

_COLUMNS = "Columns"
_SETTINGS = "Advantages"
_KEEP = "Keep ratios and filters"
_SHAPING = "Reward shaping, in this order, before the estimator"
_OUTPUT = "Output"
_RUN = "Where it runs"


def option(panel: str, text: str, *flags: str, metavar: str | None = None) -> Any:  # noqa: ANN401  typer's class
    """An option whose help text names its default.

    Args:
        panel: its heading in `--help-all`.
        text: its help.
        flags: its spellings, if they do not follow from the name.
        metavar: the placeholder of its value.
    """
    return typer.Option(*flags, metavar=metavar, help=text, rich_help_panel=panel, show_default=False)


Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="INPUT",
        help="Files, folders, quoted globs, or - for stdin. Default: stdin if piped, else the bundled sample.",
        show_default=False,
    ),
]
Estimator = Annotated[
    str | None,
    option(
        _SETTINGS,
        "Estimator, optionally with knobs: grpo:eps=1e-4. Default: grpo. List: advcli estimators.",
        metavar="NAME",
    ),
]
Like = Annotated[
    str | None,
    option(
        _SETTINGS,
        "Reproduce a framework's own numbers: verl, trl@1.5, ... List: advcli frameworks.",
        metavar="NAME",
    ),
]
Scale = Annotated[
    str | None,
    option(
        _SETTINGS,
        "Divide by the std of the group or the batch (the step), or not: group, batch, none. "
        "Default: the estimator's own.",
        metavar="SCALE",
    ),
]
KeepPos = Annotated[
    float | None,
    option(_KEEP, "Fraction of each group's positive rows to keep, best first. Default: 1.", metavar="SHARE"),
]
KeepNeg = Annotated[
    float | None,
    option(
        _KEEP, "Fraction of each group's negative rows to keep, worst first. Default: 1.", metavar="SHARE"
    ),
]
ComputeNewAdv = Annotated[
    bool | None,
    option(
        _KEEP,
        "Recompute the advantage on the kept rows (grpo only).",
        "--compute-new-adv/--no-compute-new-adv",
    ),
]
Before = Annotated[
    list[str] | None,
    option(
        _KEEP,
        "Drop rows before the statistics: dynamic_sampling, truncated:max=4096, pods:m=4, ... "
        "List: advcli filters.",
        metavar="FILTER",
    ),
]
After = Annotated[
    list[str] | None,
    option(_KEEP, "Drop rows after the statistics: cppo:keep=0.5, truncated:max=4096, ...", metavar="FILTER"),
]
Preset = Annotated[
    str | None,
    option(
        _KEEP,
        "conservative (keep-pos 0.8, keep-neg 0.7) or aggressive (0.5, 0.3); both recompute.",
        metavar="NAME",
    ),
]
Config = Annotated[
    Path | None,
    option(_SETTINGS, "Trainer config (YAML or JSON) to take the advantage settings from.", metavar="FILE"),
]
Set = Annotated[
    list[str] | None,
    option(_SETTINGS, "Override a key of the config, as in Hydra.", "--set", metavar="KEY=VALUE"),
]
Missing = Annotated[
    str | None,
    option(
        _SETTINGS,
        "Advantage of rows without a usable reward: null, zero (kept) or error. "
        "They never enter a statistic. Default: null.",
        metavar="RULE",
    ),
]
Singleton = Annotated[
    str | None,
    option(
        _SETTINGS,
        "Advantage of the only row of a group: null, zero, raw (its reward) or error. Default: null.",
        metavar="RULE",
    ),
]
Device = Annotated[
    str | None,
    option(
        _SETTINGS,
        "auto, cpu, cuda or mps. auto: whichever should finish first. Default: auto.",
        metavar="NAME",
    ),
]
N = Annotated[
    int | None,
    option(
        _COLUMNS,
        "Responses per prompt: split each prompt's rows (or, without a prompt column, consecutive rows) "
        "into groups of N.",
        "--n",
        metavar="N",
    ),
]
Format = Annotated[
    str | None,
    option(
        _COLUMNS, "Dump format. Default: auto-detected. List: advcli formats.", "--format", metavar="NAME"
    ),
]
PromptCol = Annotated[str | None, option(_COLUMNS, "Prompt id or text column.", metavar="COL")]
Reward = Annotated[
    list[str] | None,
    option(_COLUMNS, "Reward column; COL=WEIGHT for a weight. Repeat it to sum several.", metavar="COL"),
]
StepCol = Annotated[str | None, option(_COLUMNS, "Training step column.", metavar="COL")]
LengthCol = Annotated[
    str | None,
    option(_COLUMNS, "Response length column, in tokens; adds token-weighted statistics.", metavar="COL"),
]
BaselineCol = Annotated[
    str | None,
    option(_COLUMNS, "Column with the greedy response's reward, for remax.", metavar="COL"),
]
LoggedCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Logged advantage column: a number, or a list with one per token.",
        metavar="COL",
    ),
]
KlCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "KL column, per row or a list per token; subtracted with --kl-coef.",
        metavar="COL",
    ),
]
ValuesCol = Annotated[
    str | None,
    option(_COLUMNS, "Critic values column, a list per row with one per token, for gae.", metavar="COL"),
]
LogProbsCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "The trainer's log-probabilities, a list per row with one number per token.",
        metavar="COL",
    ),
]
RolloutLogProbsCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "The sampling policy's log-probabilities, a list per row; with --log-probs-col for tis, mis, reject, opsm.",
        metavar="COL",
    ),
]
TeacherLogProbsCol = Annotated[
    str | None,
    option(_COLUMNS, "The teacher's log-probabilities, a list per row, for distillation.", metavar="COL"),
]
VersionCol = Annotated[
    str | None,
    option(_COLUMNS, "Version of the policy that sampled the row, for staleness.", metavar="COL"),
]
SumPiSquaredCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Sum of squared probabilities column, a list per row with one per token, for optimal_token_baseline.",
        metavar="COL",
    ),
]
MaskCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Mask column, a list per row with 0 at tokens that the policy did not write (tool output).",
        metavar="COL",
    ),
]
EntropyCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Token entropies column, a list per row with one per token, for --shape entropy.",
        metavar="COL",
    ),
]
Shape = Annotated[
    list[str] | None,
    option(
        _SHAPING,
        "Shape the reward by a rule (gr3:alpha=0.33; list: advcli shapers) or by an expression over columns and group "
        "statistics: 'r + 0.2*(mean(len)-len)/max(len) where r > 0'. Repeatable.",
        metavar="RULE",
    ),
]
Overlong = Annotated[
    str | None,
    option(
        _SHAPING,
        "Penalize responses over a length limit: max=4096,buffer=512,factor=1; "
        "cap=1 limits the penalty to factor.",
        metavar="KNOBS",
    ),
]
Affine = Annotated[
    str | None,
    option(
        _SHAPING, "Scale and shift the reward: scale=10,shift=-0.5 gives 10 · (r − 0.5).", metavar="KNOBS"
    ),
]
ClipReward = Annotated[str | None, option(_SHAPING, "Clip the reward: min=-1,max=1.", metavar="KNOBS")]
KlCoef = Annotated[
    float | None, option(_SHAPING, "Subtract COEF times --kl-col from the reward.", metavar="COEF")
]
GroupBy = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Columns that together identify a group, comma-separated; the step is not added.",
        metavar="COLS",
    ),
]
LayoutOption = Annotated[
    str | None,
    option(
        _COLUMNS,
        "How rows are stored in a record: rows, ones (lists of one), lists or nested. Default: auto-detected.",
        "--layout",
        metavar="NAME",
    ),
]
Explode = Annotated[
    str | None,
    option(
        _COLUMNS,
        "The list of objects, or the lists (comma-separated), with one entry per row.",
        metavar="COLS",
    ),
]
Where = Annotated[
    list[str] | None,
    option(
        _COLUMNS,
        "Use only rows for which an expression over columns is true: 'finish_reason != \"length\" and lag <= 4', "
        "'error is null', 'source in (\"a\", \"b\")'. Repeatable.",
        metavar="EXPR",
    ),
]
Dedup = Annotated[
    bool,
    option(
        _COLUMNS,
        "Drop duplicate groups: those equal to an earlier one in every column but the step.",
        "--dedup",
    ),
]
RolloutCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Column that names the rollout within its group, if rollouts have several rows. Default: auto-detected.",
        metavar="COL",
    ),
]
TurnCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Column with the number of a row in its rollout. Default: file order.",
        metavar="COL",
    ),
]
AnchorCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Column with the state before each turn, or a hash of it, for gigpo and hgpo. Default: auto-detected.",
        metavar="COL",
    ),
]
TurnRewardsCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Column with a list per rollout: the reward of each turn, for estimators of turns. Default: auto-detected.",
        metavar="COL",
    ),
]
TokenRewardsCol = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Token rewards column, a list per row with one per token, for bi_level_gae.",
        metavar="COL",
    ),
]
Role = Annotated[
    list[str] | None,
    option(
        _COLUMNS,
        "Column of another role: episode=COL, valid=COL, ... Repeatable. Roles: advcli estimators NAME.",
        metavar="ROLE=COL",
    ),
]
Count = Annotated[
    str | None,
    option(
        _SETTINGS,
        "What statistics count if a rollout has several rows: rollouts or rows. Default: as the framework of --like, "
        "else rollouts.",
        metavar="UNIT",
    ),
]
RolloutReward = Annotated[
    str | None,
    option(
        _SETTINGS,
        "Reward of a rollout whose rows have different rewards: last, first (turn) or sum. "
        "Default: as the framework of --like, else last.",
        metavar="RULE",
    ),
]
MaxLine = Annotated[
    str | None,
    option(
        _COLUMNS,
        "Refuse longer lines, to limit memory: 64MB, 1GB. Default: 64MB.",
        metavar="SIZE",
    ),
]
OnBadRow = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="What to do with a broken line or unreadable value: error or skip.",
        rich_help_panel=_COLUMNS,
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="local or ray (needs: pip install 'advcli[ray]').",
        rich_help_panel=_RUN,
    ),
]
RayAddress = Annotated[
    str | None,
    option(
        _RUN,
        "Running Ray cluster: auto or HOST:6379. Default: advcli starts a local Ray.",
        metavar="ADDRESS",
    ),
]
OffPolicy = Annotated[
    bool,
    option(
        _OUTPUT,
        "Also add each row's KL, χ², effective sample size, perplexities and lag (two log-probability columns).",
        "--off-policy",
    ),
]
Resume = Annotated[
    bool,
    option(_RUN, "With --engine ray: skip files that the same run already wrote.", "--resume"),
]
Follow = Annotated[
    bool,
    option(_RUN, "Keep running as the files grow, until Ctrl-C.", "--follow"),
]
Json = Annotated[bool, option(_OUTPUT, "Print one JSON object instead of tables.", "--json")]
Quiet = Annotated[bool, option(_OUTPUT, "Print errors only.", "--quiet", "-q")]
Force = Annotated[bool, option(_OUTPUT, "Overwrite existing files.", "--force")]
Out = Annotated[
    str | None,
    option(
        _OUTPUT,
        "File, folder/ or - for stdout. Default: NAME.adv.SUFFIX next to INPUT.",
        "--out",
        "-o",
        metavar="PATH",
    ),
]
SameLayout = Annotated[
    bool,
    option(
        _OUTPUT,
        "For records with several rows: write lists into the record instead of one line per row.",
        "--same-layout",
    ),
]
Prefix = Annotated[
    str,
    typer.Option(metavar="TEXT", help="Prefix of the added columns.", rich_help_panel=_OUTPUT),
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
    """Parse `COL[=WEIGHT]`; splits at the last "=", because a column name may contain one.

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
    """Return the value if it is allowed.

    Raises:
        UsageError: it is not.
    """
    if value not in allowed:
        raise UsageError(f"unknown value '{value}' for {name}", hint=either(allowed))
    return value
