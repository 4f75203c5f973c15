"""Options that several commands share: one spelling, one help text."""

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from advcli.errors import UsageError
from advcli.words import either

_COLUMNS = "Columns"
_SETTINGS = "Advantages"
_KEEP = "Keep ratios and filters"
_SHAPING = "Reward shaping, in this order, before the estimator"
_OUTPUT = "Output"

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
    typer.Option(
        metavar="NAME",
        help="Estimator, with knobs if wanted: grpo:eps=1e-4. Default: grpo. See 'advcli estimators'.",
        rich_help_panel=_SETTINGS,
        show_default=False,
    ),
]
Like = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Reproduce a framework's own numbers: verl, trl@1.5, ms-swift ... See 'advcli frameworks'.",
        rich_help_panel=_SETTINGS,
        show_default=False,
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="SCALE",
        help="Divide by the std of the group, of the batch (the step), or by none. Default: the estimator's own.",
        rich_help_panel=_SETTINGS,
        show_default=False,
    ),
]
KeepPos = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of the positive rows of each group to keep, best first. Default: 1.",
        rich_help_panel=_KEEP,
        show_default=False,
    ),
]
KeepNeg = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of the negative rows of each group to keep, worst first. Default: 1.",
        rich_help_panel=_KEEP,
        show_default=False,
    ),
]
ComputeNewAdv = Annotated[
    bool | None,
    typer.Option(
        "--compute-new-adv/--no-compute-new-adv",
        help="Compute the advantage again on the kept rows (grpo).",
        rich_help_panel=_KEEP,
        show_default=False,
    ),
]
Before = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILTER",
        help="Leave rows out before the statistics: dynamic_sampling, truncated:max=4096, pods:m=4 ... "
        "See 'advcli filters'.",
        rich_help_panel=_KEEP,
        show_default=False,
    ),
]
After = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILTER",
        help="Leave rows out after the statistics: cppo:keep=0.5, truncated:max=4096 ...",
        rich_help_panel=_KEEP,
        show_default=False,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="conservative keeps 0.8 of the positive and 0.7 of the negative rows, aggressive 0.5 and 0.3; "
        "both compute again.",
        rich_help_panel=_KEEP,
        show_default=False,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A trainer's YAML or JSON: its advantage settings are followed.",
        rich_help_panel=_SETTINGS,
        show_default=False,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the configuration, as Hydra does.",
        rich_help_panel=_SETTINGS,
        show_default=False,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="What rows without a usable reward get: null, zero (kept), or error. They never enter a statistic. "
        "Default: null.",
        rich_help_panel=_SETTINGS,
        show_default=False,
    ),
]
Singleton = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="What the only row of a group gets: null, zero, raw (its reward), or error. Default: null.",
        rich_help_panel=_SETTINGS,
        show_default=False,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="auto, cpu, cuda or mps. Default: auto, which is the CPU.",
        rich_help_panel=_SETTINGS,
        show_default=False,
    ),
]
N = Annotated[
    int | None,
    typer.Option(
        "--n",
        metavar="N",
        help="Rows per prompt: cut the rows of a prompt (without one, consecutive rows) into groups of N.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Format of the dump. See 'advcli formats'.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
PromptCol = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="Column that identifies the prompt.", rich_help_panel=_COLUMNS, show_default=False
    ),
]
Reward = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        help="Reward column, COL=WEIGHT to weigh it; several are summed.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
StepCol = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="Column with the training step.", rich_help_panel=_COLUMNS, show_default=False
    ),
]
LengthCol = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column with the tokens of a row: adds token-weighted figures.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
BaselineCol = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column with the greedy reward of the row's prompt, for remax.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
KlCol = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column with the KL of a row, or a list with that of each token; taken off with --kl-coef.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
ValuesCol = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column with a list per row: the critic's value of each token, for gae.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
LogProbsCol = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column with a list per row: the log-probability of each token, for optimal_token_baseline.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
SumPiSquaredCol = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column with a list per row: the sum of the squared probabilities at each token, for the same.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
MaskCol = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column with a list per row: 0 at tokens that the policy did not write, as the output of a tool.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
Overlong = Annotated[
    str | None,
    typer.Option(
        metavar="KNOBS",
        help="Take off what a row is too long: max=4096,buffer=512,factor=1; cap=1 to take off no more than factor.",
        rich_help_panel=_SHAPING,
        show_default=False,
    ),
]
Affine = Annotated[
    str | None,
    typer.Option(
        metavar="KNOBS",
        help="Scale and shift the reward: scale=10,shift=-0.5 is 10 · (r − 0.5).",
        rich_help_panel=_SHAPING,
        show_default=False,
    ),
]
ClipReward = Annotated[
    str | None,
    typer.Option(
        metavar="KNOBS", help="Clip the reward: min=-1,max=1.", rich_help_panel=_SHAPING, show_default=False
    ),
]
KlCoef = Annotated[
    float | None,
    typer.Option(
        metavar="COEF",
        help="Take COEF times the column of --kl-col off the reward.",
        rich_help_panel=_SHAPING,
        show_default=False,
    ),
]
GroupBy = Annotated[
    str | None,
    typer.Option(
        metavar="COLS",
        help="Columns that together make a group, with commas; the step is not added.",
        rich_help_panel=_COLUMNS,
        show_default=False,
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
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object instead of tables.", rich_help_panel=_OUTPUT, show_default=False
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Say nothing but errors.", rich_help_panel=_OUTPUT, show_default=False
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite existing files.", rich_help_panel=_OUTPUT, show_default=False),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="PATH",
        help="File, folder with a slash at the end, or - for standard output. Default: NAME.adv.SUFFIX beside INPUT.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
Prefix = Annotated[
    str,
    typer.Option(metavar="TEXT", help="Put before the names of the added columns.", rich_help_panel=_OUTPUT),
]
Metrics = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the metrics that trainers log (critic/advantages/mean, ...), one JSON line per step.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
Vs = Annotated[
    list[str] | None,
    typer.Option(
        "--vs",
        metavar="NAME",
        help="Add a column with another estimator: rloo, grpo:scale=none, grpo:keep_pos=0.5.",
        rich_help_panel=_SETTINGS,
        show_default=False,
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


@dataclass(frozen=True)
class Shared:
    """The options of every command that reads dumps and computes advantages."""

    inputs: Inputs = None
    estimator: Estimator = None
    like: Like = None
    scale: Scale = None
    keep_pos: KeepPos = None
    keep_neg: KeepNeg = None
    compute_new_adv: ComputeNewAdv = None
    before: Before = None
    after: After = None
    preset: Preset = None
    config: Config = None
    set_: Set = None
    missing: Missing = None
    singleton: Singleton = None
    device: Device = None
    n: N = None
    format_: Format = None
    prompt_col: PromptCol = None
    reward: Reward = None
    step_col: StepCol = None
    length_col: LengthCol = None
    baseline_col: BaselineCol = None
    kl_col: KlCol = None
    values_col: ValuesCol = None
    log_probs_col: LogProbsCol = None
    sum_pi_squared_col: SumPiSquaredCol = None
    mask_col: MaskCol = None
    overlong: Overlong = None
    affine: Affine = None
    clip_reward: ClipReward = None
    kl_coef: KlCoef = None
    group_by: GroupBy = None
    on_bad_row: OnBadRow = "error"
    json_: Json = False
    quiet: Quiet = False


def with_shared(
    command: Callable[..., None] | None = None, *, without: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Give a command, which takes a `Shared` first, the shared options as its own, `without` some.

    Typer reads the options of a command off its signature, so the signature is put together here.
    """
    if command is None:
        return functools.partial(with_shared, without=without)
    names = [field.name for field in fields(Shared) if field.name not in without]
    shared = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
        )
        for field in fields(Shared)
        if field.name in names
    ]
    own = list(inspect.signature(command).parameters.values())[1:]

    def run(**values: Any) -> None:  # noqa: ANN401  Typer has checked them
        command(Shared(**{name: values.pop(name) for name in names}), **values)

    parameters = [*shared, *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = command.__doc__
    return run
