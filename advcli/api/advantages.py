"""Computes advantages from rewards and groups of any array type, without a dump."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from advcli.api.inputs import arrow_table
from advcli.api.turns import turn_columns
from advcli.common.errors import UsageError
from advcli.common.wording import one_line
from advcli.engine.plan import Plan
from advcli.engine.rollouts import Rollouts, differing
from advcli.engine.run import run
from advcli.records.settings import DEFAULT_ESTIMATOR, AdvantageTable, Settings
from advcli.shaping.spec import Shapes, measures, specs_of
from advcli.tensors.decimals import total
from advcli.tensors.expressions import parse as parse_row

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def compute_advantages(  # noqa: PLR0913  the stable public signature
    rewards: "Tensor | ArrayLike",
    groups: "Tensor | ArrayLike | Sequence[Hashable]",
    *,
    estimator: str = DEFAULT_ESTIMATOR,
    scale: str | None = None,
    keep_pos: float = 1.0,
    keep_neg: float = 1.0,
    compute_new_adv: bool = False,
    like: str | None = None,
    weights: Sequence[float] | None = None,
    lengths: "Tensor | ArrayLike | None" = None,
    baselines: "Tensor | ArrayLike | None" = None,
    steps: "Tensor | ArrayLike | Sequence[Hashable] | None" = None,
    rollouts: "Tensor | ArrayLike | Sequence[Hashable] | None" = None,
    turns: "Tensor | ArrayLike | None" = None,
    anchors: "Tensor | ArrayLike | Sequence[Any] | None" = None,
    turn_rewards: "Sequence[ArrayLike] | None" = None,
    roles: Mapping[str, Any] | None = None,
    count: str | None = None,
    rollout_reward: str | None = None,
    values: "Sequence[ArrayLike] | None" = None,
    log_probs: "Sequence[ArrayLike] | None" = None,
    rollout_log_probs: "Sequence[ArrayLike] | None" = None,
    teacher_log_probs: "Sequence[ArrayLike] | None" = None,
    sum_pi_squared: "Sequence[ArrayLike] | None" = None,
    token_rewards: "Sequence[ArrayLike] | None" = None,
    mask: "Sequence[ArrayLike] | None" = None,
    kl: "Tensor | ArrayLike | None" = None,
    entropies: "Sequence[ArrayLike] | None" = None,
    shaping: "Shapes | None" = None,
    columns: "Mapping[str, Sequence[Any] | ArrayLike] | None" = None,
    missing: str = "null",
    singleton: str = "null",
    device: str = "auto",
    **estimator_knobs: float | str,
) -> AdvantageTable:
    """Compute advantages from rewards and groups, in float64.

    Args:
        rewards: [N] numbers; None, NaN and ±inf are missing. A tensor, an array or a table of [N, K] for K parts,
            summed with `weights`; a row that lacks a part is missing. A list of lists needs `weights`, because
            it could also mean one list per prompt.
        groups: [N] hashable values; equal values form a group. A table or an array of [N, C] for several columns:
            rows that are equal in all of them form a group.
        estimator: name of an estimator, see `advcli estimators`. With `like`, its name in the framework;
            "grpo" is then the framework's first.
        scale: "group", "batch" or "none"; None for the estimator's default.
        keep_pos: share of the positive rows of each group to keep, in [0, 1].
        keep_neg: share of the negative rows of each group to keep, in [0, 1].
        compute_new_adv: recompute the advantage on the kept rows (grpo only).
        like: FRAMEWORK[@VERSION] whose numbers to reproduce, see `advcli frameworks`.
        weights: [K] weight of each reward part; 1 by default.
        lengths: [N] tokens per row, for estimators that use them as weights.
        baselines: [N] greedy reward of the row's prompt, for remax.
        steps: [N] hashable values; the batch of `scale="batch"` is the rows of one step, else all rows.
        rollouts: [N] hashable values; rows of one group with equal values form a rollout; None is its own rollout.
            Statistics are over rollouts, and each row gets the advantage of its rollout.
        turns: [N] numbers, the order of the rows of a rollout; by default their order in the input.
        anchors: the state before each turn, for estimators of turns: [N] values, equal ones (arrays and containers too, by
            content) are the same state, None is a missing one; with `turn_rewards`, N sequences of these.
        turn_rewards: N sequences, the reward of each turn, if a row is a rollout and `rewards` is that of the whole.
        roles: columns that only a few rules use, [N] each: "episode", "valid", "env_step", "agent", "input_tokens", "macro",
            "segment". See `advcli estimators NAME`.
        count: "rollouts", or "rows" to count each row; None for the unit of the framework of `like`.
        rollout_reward: "last" or "first", the reward of the last or first turn that has one, or "sum" of the turns;
            None for the framework's rule, "last" without one.
        values: N sequences, the critic's value at each token of the row, for gae.
        log_probs: N sequences, the log-probability of each token under the trainer's policy.
        rollout_log_probs: N sequences, the same under the sampling policy.
        teacher_log_probs: N sequences, the same under a teacher, for distillation.
        sum_pi_squared: N sequences, the sum of the squared probabilities at each token, for optimal_token_baseline.
        token_rewards: N sequences, the reward of each token, for RAGEN's bi_level_gae.
        mask: N sequences, 0 at tokens that the policy did not write (the output of a tool).
        kl: [N] numbers, or N sequences with the KL of each token, for the shaping "kl".
        entropies: N sequences, the entropy at each token, for the shaping "entropy".
        shaping: steps that shape the rewards before, or the advantages after the estimator, as `--shape` takes them, such
            as "gr3:alpha=0.33" or "r - 0.1*turns/max(turns)", in this order; or name → knobs, in the order of
            `advcli shapers`.
        columns: name → [N] values, further columns that the shaping uses.
        missing: "null" (NaN, not kept), "zero" (0, kept) or "error".
        singleton: "null" (NaN, not kept), "zero" (0, kept), "raw" (the reward, kept) or "error".
        device: "auto", "cpu", "cuda" or "mps".
        **estimator_knobs: further knobs of the estimator, such as `eps` and `ddof`.

    Returns:
        `original`, `processed` ([N] float64, NaN where undefined) and `kept` ([N] bool), on the CPU. An
        estimator with one advantage per token also gives `tokens` ([T] float64, row after row) and
        `token_counts` ([N] int64); `original` is then the mean over the tokens of the row. If rows share a rollout,
        `per_rollout` has one entry per rollout, and `warnings` reports rollouts whose rows have different rewards.

    Raises:
        UsageError: an argument is invalid (also a ValueError).
        DataError: a missing reward or a singleton under the rule "error" (also a ValueError).

    Example:
        >>> res = compute_advantages([0.1, 0.5, 0.9, 1.3, 1.7], ["p"] * 5, keep_neg=0.0, compute_new_adv=True)
        >>> res.processed.round(decimals=3).abs().tolist()
        [0.0, 0.0, 1.0, 0.0, 1.0]
        >>> res.kept.tolist()
        [False, False, True, True, True]
    """
    # With a framework, the default means its first estimator, whatever its name.
    named = None if like is not None and estimator == DEFAULT_ESTIMATOR else estimator
    settings = Settings(
        named,
        scale,
        estimator_knobs,
        keep_pos,
        keep_neg,
        compute_new_adv,
        missing,
        singleton,
        device,
        like,
        specs_of(shaping or ()),
        count=count,
        rollout_reward=rollout_reward,
    )
    plan = Plan.of(settings)
    parts, weight = _parts(rewards, weights)
    rows = len(parts)
    inputs = {"rewards": _total(parts, weight), "group": _codes(groups, "groups", rows)}
    inputs |= {"parts": parts, "weights": weight}
    inputs |= _measured(measures(settings.shaping), columns or {}, rows)
    inputs["step"] = torch.zeros(rows, dtype=torch.int64) if steps is None else _codes(steps, "steps", rows)
    per_row = {"lengths": lengths, "baselines": baselines}
    if rollouts is not None:
        inputs["rollout"] = _rollouts(inputs["group"], rollouts)
        per_row["turn"] = turns
    inputs |= {
        name: _per_row(numbers, name, rows) for name, numbers in per_row.items() if numbers is not None
    }
    inputs |= turn_columns(inputs["group"], plan.similarity, anchors, turn_rewards, roles or {})
    if kl is not None and not _are_sequences(kl):
        inputs["kl"], kl = _per_row(kl, "kl", rows), None
    per_token = {
        "values": values,
        "log_probs": log_probs,
        "rollout_log_probs": rollout_log_probs,
        "teacher_log_probs": teacher_log_probs,
        "sum_pi_squared": sum_pi_squared,
        "token_rewards": token_rewards,
        "entropies": entropies,
    }
    inputs |= _per_token({**per_token, "mask": mask, "token_kl": kl}, rows)
    result = run(plan, inputs)
    if result.per_rollout is not None:
        result = replace(result, warnings=(*result.warnings, *_differing(plan, inputs)))
    # Without filters both are the same tensor; cloned, so that writing to one does not change the other.
    return (
        replace(result, processed=result.processed.clone()) if result.processed is result.original else result
    )


def _measured(texts: Sequence[str], columns: Mapping[str, Any], rows: int) -> dict[str, Tensor]:
    """The inputs of the shaping, computed row by row: [N] float64 each, NaN where null."""
    cells_of = {name: _cells(column) for name, column in columns.items()}
    for name, cells in cells_of.items():
        if len(cells) != rows:
            raise UsageError(f"column '{name}' has {len(cells)} values, expected one per reward: {rows}")
    result = {}
    for text in texts:
        expression = parse_row(text, "shaping")
        absent = [name for name in expression.columns if name not in cells_of]
        if absent:
            raise UsageError(
                f"the shaping names '{absent[0]}', but there is no such column", hint="columns={…}"
            )
        try:
            result[f"extra {text}"] = torch.from_numpy(expression.numbers(cells_of))
        except TypeError as error:
            raise UsageError(f"shaping {text}: {error}", hint="another column or value") from error
    return result


def _cells(column: Any) -> list[Any]:  # noqa: ANN401  a list, an array, a tensor or a series
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _rollouts(group: Tensor, rollouts: Any) -> Tensor:  # noqa: ANN401  whatever the caller has
    """[N] int64, the rollout of each row, numbered in order of first appearance."""
    values = rollouts.tolist() if hasattr(rollouts, "tolist") else list(rollouts)
    if len(values) != len(group):
        raise UsageError(f"rollouts have {len(values)} values, expected one per reward: {len(group)}")
    # A row without a rollout is identified by its position.
    missing = (value is None or value != value for value in values)
    keys = [
        (code, position if alone else None, value)
        for position, (code, value, alone) in enumerate(zip(group.tolist(), values, missing, strict=True))
    ]
    numbers: dict[Hashable, int] = {}
    try:
        return torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys], dtype=torch.int64)
    except TypeError as error:
        raise UsageError(
            f"rollouts cannot be compared: {error}", hint="strings, numbers or tuples"
        ) from error


def _differing(plan: Plan, columns: Mapping[str, Tensor]) -> tuple[str, ...]:
    """The warning about rollouts whose rows have different rewards, if any."""
    result = Rollouts.of(columns["rollout"], columns.get("turn"))
    count = int(result.disagree(columns["rewards"]).sum())
    return (differing(count, plan.unit.reward),) if count and plan.unit.reward != "sum" else ()


def _are_sequences(values: Any) -> bool:  # noqa: ANN401  whatever the caller has
    """Whether there is a sequence per row."""
    return _is_sequence(next(iter(values), None))


def _is_sequence(value: Any) -> bool:  # noqa: ANN401  whatever the caller has
    """Whether a value is a sequence; text and zero-dimensional arrays are not."""
    return not isinstance(value, str | bytes) and hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0


def _per_token(given: Mapping[str, Any], rows: int) -> dict[str, Tensor]:
    """N sequences of each column → [T] float64, and "tokens" [N] int64, the number of tokens of each row."""
    columns: dict[str, Tensor] = {}
    for name, sequences in given.items():
        if sequences is None:
            continue
        lists = [_floats(sequence, name, "a number per token, for each row") for sequence in sequences]
        counts = torch.tensor([numbers.numel() for numbers in lists], dtype=torch.int64)
        if len(lists) != rows:
            raise UsageError(f"{name} has {len(lists)} sequences, expected one per reward: {rows}")
        known = columns.setdefault("tokens", counts)
        if not torch.equal(known, counts):
            row = int(torch.nonzero(known != counts)[0])
            raise UsageError(
                f"{name} has {counts[row]} tokens in row {row + 1}, the columns before it {known[row]}"
            )
        columns[name] = torch.cat([numbers.reshape(-1) for numbers in lists])
    return columns


def _parts(rewards: "Tensor | ArrayLike", weights: Sequence[float] | None) -> tuple[Tensor, Tensor]:
    """[N] or [N, K] rewards of any kind → [N, K] float64 and the [K] weights."""
    if weights is None and isinstance(rewards, list | tuple) and any(map(_is_sequence, rewards)):
        raise UsageError(
            "rewards is a list of lists, and could be one list per prompt or one per row",
            hint="one flat list with a group for each reward; or an array of [N, K], or weights=, for K reward parts",
        )
    parts = _floats(rewards, "rewards", "[N] or [N, K]")
    if parts.dim() not in (1, 2):
        raise UsageError(f"rewards have {parts.dim()} dimensions, expected [N] or [N, K]")
    if parts.dim() == 1:
        parts = parts.unsqueeze(1)
    if weights is None:
        return parts, torch.ones(parts.shape[1], dtype=torch.float64, device=parts.device)
    if len(weights) != parts.shape[1]:
        raise UsageError(f"{len(weights)} weights for {parts.shape[1]} reward parts")
    return parts, torch.tensor(weights, dtype=torch.float64, device=parts.device)


def _total(parts: Tensor, weights: Tensor) -> Tensor:
    """[N] the weighted sum of the parts; a single part with weight 1 is returned unchanged."""
    if parts.shape[1] == 1 and float(weights[0]) == 1:
        return parts[:, 0]
    return torch.from_numpy(total(parts.cpu().numpy().T, weights.cpu().numpy())).to(parts.device)


def _per_row(values: "Tensor | ArrayLike", name: str, rows: int) -> Tensor:
    """[N] numbers of any kind → [N] float64."""
    numbers = _floats(values, name, "[N]")
    if numbers.shape != (rows,):
        raise UsageError(f"{name} have shape {list(numbers.shape)}, expected one per reward: [{rows}]")
    return numbers


def _floats(values: "Tensor | ArrayLike", name: str, shape: str) -> Tensor:
    """Numbers of any kind → float64; the shape is for the message."""
    import numpy as np

    if isinstance(values, Tensor):
        return values.detach().to(torch.float64)
    try:
        # Only this turns missing values of pandas' own types into NaN.
        values = values.astype("float64") if hasattr(values, "astype") else values
        return torch.from_numpy(np.array(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} are not numbers of shape {shape}: {error}") from error


def _codes(values: "Tensor | ArrayLike | Sequence[Hashable]", name: str, rows: int) -> Tensor:
    """[N] hashable values → [N] int64 codes in order of first appearance."""
    import numpy as np
    import pandas as pd

    if len(getattr(values, "shape", ())) == 2:
        return _codes_of_columns(values, name, rows)
    if isinstance(values, Tensor):
        array = values.detach().cpu().double().numpy() if values.is_floating_point() else values.cpu().numpy()
    elif isinstance(values, np.ndarray | pd.Series):
        array = np.asarray(values)
    elif isinstance(values, Iterable):
        listed = list(values)
        array = np.empty(len(listed), dtype=object)
        array[:] = listed
    else:
        raise UsageError(f"{name} is {one_line(values)}, expected one value per reward")
    if array.shape != (rows,):
        raise UsageError(f"{name} have shape {list(array.shape)}, expected one per reward: [{rows}]")
    try:
        codes = pd.factorize(array)[0]
    except TypeError as error:
        raise UsageError(f"{name} cannot be compared: {error}", hint="strings, numbers or tuples") from error
    if (codes < 0).any():
        bad = int(np.argmax(codes < 0))
        raise UsageError(
            f"{name}[{bad}] is {one_line(array[bad])}, expected a value that names a {name[:-1]}"
        )
    return torch.from_numpy(codes.astype(np.int64))


def _codes_of_columns(table: Any, name: str, rows: int) -> Tensor:  # noqa: ANN401  a table or an array
    """[N, C] values → [N] int64 codes, equal for rows that are equal in all columns."""
    import pandas as pd

    if hasattr(table, "__arrow_c_stream__"):
        columns = [column.to_numpy() for column in arrow_table(table).columns]
    else:
        columns = list(table.T)
    codes = [_codes(column, name, rows).tolist() for column in columns]
    if not codes:
        raise UsageError(f"{name} has no column", hint="a column that identifies the prompt")
    return torch.from_numpy(pd.factorize(pd.MultiIndex.from_arrays(codes))[0].astype("int64"))
