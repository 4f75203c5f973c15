"""The options that several commands share, as one record."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from typing import Any

from advcli.cli import options as opt


@dataclass(frozen=True)
class Shared:
    """The options of every command that reads dumps and computes advantages."""

    inputs: opt.Inputs = None
    estimator: opt.Estimator = None
    like: opt.Like = None
    scale: opt.Scale = None
    keep_pos: opt.KeepPos = None
    keep_neg: opt.KeepNeg = None
    compute_new_adv: opt.ComputeNewAdv = None
    before: opt.Before = None
    after: opt.After = None
    preset: opt.Preset = None
    config: opt.Config = None
    set_: opt.Set = None
    missing: opt.Missing = None
    singleton: opt.Singleton = None
    device: opt.Device = None
    n: opt.N = None
    format_: opt.Format = None
    prompt_col: opt.PromptCol = None
    reward: opt.Reward = None
    step_col: opt.StepCol = None
    length_col: opt.LengthCol = None
    baseline_col: opt.BaselineCol = None
    kl_col: opt.KlCol = None
    values_col: opt.ValuesCol = None
    log_probs_col: opt.LogProbsCol = None
    rollout_log_probs_col: opt.RolloutLogProbsCol = None
    teacher_log_probs_col: opt.TeacherLogProbsCol = None
    sum_pi_squared_col: opt.SumPiSquaredCol = None
    token_rewards_col: opt.TokenRewardsCol = None
    mask_col: opt.MaskCol = None
    entropy_col: opt.EntropyCol = None
    version_col: opt.VersionCol = None
    overlong: opt.Overlong = None
    shape: opt.Shape = None
    affine: opt.Affine = None
    clip_reward: opt.ClipReward = None
    kl_coef: opt.KlCoef = None
    group_by: opt.GroupBy = None
    layout: opt.LayoutOption = None
    explode: opt.Explode = None
    rollout_col: opt.RolloutCol = None
    turn_col: opt.TurnCol = None
    anchor_col: opt.AnchorCol = None
    turn_rewards_col: opt.TurnRewardsCol = None
    role: opt.Role = None
    count: opt.Count = None
    rollout_reward: opt.RolloutReward = None
    where: opt.Where = None
    dedup: opt.Dedup = False
    on_bad_row: opt.OnBadRow = "error"
    max_line: opt.MaxLine = None
    engine: opt.Engine = "local"
    ray_address: opt.RayAddress = None
    json_: opt.Json = False
    quiet: opt.Quiet = False


ADVANTAGES = (
    "estimator",
    "like",
    "scale",
    "keep_pos",
    "keep_neg",
    "compute_new_adv",
    "before",
    "after",
    "preset",
    "config",
    "set_",
    "missing",
    "singleton",
    "device",
    "baseline_col",
    "kl_col",
    "values_col",
    "log_probs_col",
    "rollout_log_probs_col",
    "teacher_log_probs_col",
    "sum_pi_squared_col",
    "token_rewards_col",
    "mask_col",
    "entropy_col",
    "shape",
    "overlong",
    "affine",
    "clip_reward",
    "kl_coef",
)
"""The options that only apply to commands that compute advantages."""


def with_shared(command: Callable[..., None], but: Collection[str] = ()) -> Callable[..., None]:
    """Add the shared options to a command whose first parameter is a `Shared`.

    Typer reads the options of a command from its signature, so this builds the signature.

    Args:
        command: the command.
        but: shared options to leave out, or that the command defines itself.
    """
    given = [field for field in fields(Shared) if field.name not in but]
    shared = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
        )
        for field in given
    ]
    own = list(inspect.signature(command).parameters.values())[1:]

    def run(**values: Any) -> None:  # noqa: ANN401  Typer has checked them
        command(Shared(**{field.name: values.pop(field.name) for field in given}), **values)

    parameters = [*shared, *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = command.__doc__
    return run


def typed(shared: Shared, but: Collection[str] = ()) -> list[str]:
    """The options in use, as words of a command line, without the inputs.

    Args:
        shared: the options.
        but: options to leave out.
    """
    words: list[str] = []
    for field in fields(Shared):
        value = getattr(shared, field.name)
        if field.name in ("inputs", *but) or value in (field.default, None, []):
            continue
        spelled = field.type.__metadata__[0].param_decls  # type: ignore[union-attr]
        flag = spelled[0] if spelled else f"--{field.name.replace('_', '-')}"
        for item in value if isinstance(value, list) else [value]:
            words += [flag] if item is True else [flag, str(item)]
    return words
