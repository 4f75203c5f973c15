"""Picks the device and dtype, checks knobs and columns, and calls the estimator."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

import torch
from torch import Tensor

from advcli.common.errors import DataError, UsageError
from advcli.common.registry import load, parameters
from advcli.common.wording import either, one_line
from advcli.estimators.catalog import ESTIMATORS, SCALES, Estimator
from advcli.records.roles import ROLES, TOKEN_COLUMNS
from advcli.tensors.masks import belongs, every, filled, finite
from advcli.tensors.segments import Segments
from advcli.tensors.turns import Turns

NON_NEGATIVE = (
    "eps",
    "batch_eps",
    "ddof",
    "k",
    "tau",
    "process_var",
    "meas_var",
    "alpha0",
    "beta0",
    "scores",
)
SHARES = ("gamma", "lam", "high_gamma", "similarity", "keep", "p", "rho")
FROM_ONE = ("m",)
_LARGEST = 1 << 31
DEVICES = ("auto", "cpu", "cuda", "mps")

# Derived columns: at least one of their sources must be there.
_SOURCES: Mapping[str, tuple[str, ...]] = {
    "row": ("tokens", "lengths"),
    "place": ("tokens", "lengths"),
    "counted": ("tokens", "lengths"),
    "token_kl": ("token_kl", "rewards"),
}

# Seconds, measured on an H100, an H200 and on 2 and 16 cores of their hosts. CUDA: startup, and transfer and compute per row.
# CPU: per row on one thread, and the power of n by which n threads help; keys: (in blocks, groups contiguous).
_CUDA_START, _CUDA_ROW, _CUDA_BYTES = 0.4, 1.2e-8, 150
_SHORT = 0.1
_CPU_ROW: Mapping[tuple[bool, bool], tuple[float, float]] = {
    (True, True): (2.3e-8, 0.15),
    (True, False): (1.05e-7, 0.2),
    (False, True): (7.8e-8, 0.37),
    (False, False): (1.5e-7, 0.04),
}

_AVAILABLE: Mapping[str, Callable[[], bool]] = {
    "cpu": lambda: True,
    "cuda": torch.cuda.is_available,
    "mps": torch.backends.mps.is_available,
}


def pick(device: str) -> tuple[torch.device, torch.dtype]:
    """The device and dtype to compute with.

    Args:
        device: "auto", "cpu", "cuda" or "mps". "auto" is the CPU until the data are loaded: see `quicker`.

    Returns:
        The device, and float64; float32 on "mps", which has no float64.

    Raises:
        UsageError: no such device, or none on this machine.
    """
    if device not in DEVICES:
        raise UsageError(f"unknown device '{device}'", hint=either(DEVICES))
    name = "cpu" if device == "auto" else device
    if not _AVAILABLE[name]():
        raise UsageError(f"device '{name}' is not available on this machine", hint="--device cpu")
    return torch.device(name), torch.float32 if name == "mps" else torch.float64


def quicker(columns: Mapping[str, Tensor], *, in_blocks: bool = False) -> torch.device:
    """The device expected to finish first; CUDA's time includes its startup and the transfer of the rows.

    The seconds per row come from `benchmarks/gpu.py`. The choice affects speed only: the results agree to 1e-12.

    Args:
        columns: "group" [N] int64, and what else the estimator gets.
        in_blocks: whether the CPU would process them in ranges, see `advcli.engine.chunked`.

    Returns:
        "cuda", or "cpu" if there is no CUDA device, it has too little memory, or there are few rows.
    """
    return torch.device("cpu" if on_cpu(columns, in_blocks=in_blocks) else "cuda")


def on_cpu(columns: Mapping[str, Tensor], *, in_blocks: bool = False) -> str | None:
    """Why `quicker` takes the CPU, as the end of a sentence; None if it takes CUDA. The arguments are those of `quicker`."""
    rows = max(column.numel() for column in columns.values())
    seconds, power = _CPU_ROW[in_blocks, _in_order(columns["group"])]
    cpu, cuda = rows * seconds / torch.get_num_threads() ** power, _CUDA_START + rows * _CUDA_ROW
    if cpu < cuda:
        takes = f"{cpu:.1f}" if cpu >= _SHORT else f"less than {_SHORT}"
        return f"it should finish first ({takes} s; CUDA takes {cuda:.1f} s including its start)"
    # Last, because querying CUDA takes some 10 ms.
    if not _AVAILABLE["cuda"]():
        return "there is no CUDA device"
    if torch.cuda.mem_get_info()[0] < rows * _CUDA_BYTES:
        return f"{rows:,} rows need more memory than the GPU has free"
    return None


def has_cuda() -> bool:
    """Whether this machine has a CUDA device."""
    return _AVAILABLE["cuda"]()


def _in_order(group: Tensor, limit: int = 100_000) -> bool:
    """Whether the first rows are sorted by group; checking all of them would cost as much as it saves."""
    first = group[:limit]
    return bool((first[1:] >= first[:-1]).all())


def knobs(entry: Estimator, scale: str | None, given: Mapping[str, float | str]) -> dict[str, Any]:
    """Check the knobs of an estimator and fill in its scale.

    Args:
        entry: the estimator.
        scale: "group", "batch", "none", or None for the estimator's default.
        given: the other knobs, as numbers or as text.

    Returns:
        The keyword arguments of the estimator's function.

    Raises:
        UsageError: an unknown scale or knob, or an invalid value.
    """
    used = fitted(entry.name, entry.target, given, but="scale", scaled=entry.default_scale is not None)
    if entry.default_scale is None:
        if scale is not None:
            with_scale = ", ".join(row.name for row in ESTIMATORS if row.default_scale)
            raise UsageError(f"{entry.name} takes no scale", hint=f"no --scale, or one of {with_scale}")
        return used
    scale = entry.default_scale if scale is None else scale
    if scale not in SCALES:
        raise UsageError(f"unknown scale '{scale}'", hint=either(SCALES), about="scale")
    if scale == "group" and entry.level == "token":
        raise UsageError(f"{entry.name} has no scale 'group'", hint="--scale none or batch", about="scale")
    return {"scale": scale, **used}


def fitted(
    who: str, target: str, given: Mapping[str, float | str], *, but: str = "", scaled: bool = False
) -> dict[str, Any]:
    """Check the knobs of a function and convert them to the types it declares.

    Args:
        who: whose knobs they are, for messages.
        target: "module:function".
        given: knobs, as numbers or as text.
        but: a keyword argument that is not a knob.
        scaled: whether hints list `but` all the same.

    Raises:
        UsageError: an unknown knob, a missing one, or an invalid value.
    """
    declared = parameters(load(target)).items()
    known = {name: p for name, p in declared if p.kind is p.KEYWORD_ONLY and name != but}
    for name in given:
        if name not in known:
            has = [*known, *([but] if scaled else [])]
            raise UsageError(f"{who} has no knob '{name}'", hint=either(has) or None)
    absent = [name for name, knob in known.items() if knob.default is knob.empty and name not in given]
    if absent:
        raise UsageError(f"{who} needs {', '.join(absent)}", hint=f"{who}:{absent[0]}=…")
    return {name: _fitting(who, name, value, known[name].annotation) for name, value in given.items()}


def options(who: str, target: str, given: Mapping[str, float | str]) -> dict[str, Any]:
    """The options of a framework's rule, checked like the knobs of an estimator.

    Args:
        who: whose options they are, for messages.
        target: "module:function"; an option that is not a knob of it is a number.
        given: options, as numbers or as text.

    Raises:
        UsageError: a value is invalid or out of range.
    """
    known = parameters(load(target))
    kinds = {name: known[name].annotation if name in known else float for name in given}
    return {name: _fitting(who, name, value, kinds[name]) for name, value in given.items()}


def form(entry: Estimator, given: Mapping[str, float | str]) -> tuple[Estimator, dict[str, float | str]]:
    """The variant of an estimator that its knobs select: a discount below 1 gives one advantage per token.

    Returns:
        The estimator, and the knobs, without a discount of 1 if the estimator has no discount.
    """
    if entry.per_token is None or "gamma" not in given:
        return entry, dict(given)
    if given["gamma"] == 1:
        return entry, {name: value for name, value in given.items() if name != "gamma"}
    return entry.per_token, dict(given)


def require(entry: Estimator, columns: Mapping[str, Tensor]) -> None:
    """Check that the dataset has the columns an estimator needs.

    Raises:
        DataError: a column is missing; the message says what it holds, the hint which option names it.
    """
    needed(entry.name, entry.needs, columns)


def needed(who: str, names: Iterable[str], columns: Mapping[str, Tensor]) -> None:
    """Check that columns are there.

    Args:
        who: what needs them, for the message.
        names: names in `ROLES`.
        columns: the columns of the dataset.

    Raises:
        DataError: a column is missing; the message says what it holds, the hint which option names it.
    """
    for name in names:
        sources = _SOURCES.get(name, (name,))
        if not any(column in columns for column in sources):
            column = ROLES[name]
            raise DataError(
                f"{who} needs {column.what}, but there is no such column",
                hint=f"{column.flag} (in Python: {column.argument})",
            )


def usable(entry: Estimator, columns: Mapping[str, Tensor]) -> Tensor:
    """[N] bool, the rows with a group and a finite value in every numeric column the estimator needs.

    If it needs the reward parts and not their sum, one finite part is enough.
    """
    valid = belongs(columns["group"])
    if entry.level == "turn":
        valid &= _in_rewarded_rollouts(entry, columns)
    elif "parts" in entry.needs:
        valid &= torch.isfinite(columns["parts"]).any(dim=1)
    else:
        valid &= finite(columns["rewards"])
    for name in ("lengths", "baselines"):
        if name in entry.needs:
            valid &= torch.isfinite(columns[name])
    if entry.level == "token":
        valid &= tokened(columns) & _has_numbers(entry, columns)
    return valid


def _in_rewarded_rollouts(entry: Estimator, columns: Mapping[str, Tensor]) -> Tensor:
    """[N] bool, the turns of rollouts with a reward; usually only the last turn has one."""
    if "episode" in entry.needs:
        return columns["episode"].isfinite()
    return Turns.of(columns["rollout"]).total(columns["rewards"].isfinite().double()) > 0


def tokened(columns: Mapping[str, Tensor]) -> Tensor:
    """[N] bool, the rows with a group and at least one token of the policy."""
    row, counted = token_rows(columns)
    rows = Segments.of(row, len(columns["group"]))
    return belongs(columns["group"]) & (rows.sum(counted.double()) > 0)


def _has_numbers(entry: Estimator, columns: Mapping[str, Tensor]) -> Tensor:
    """[N] bool, the rows with finite numbers at every token of the policy."""
    row, counted = token_rows(columns)
    bad = torch.zeros_like(counted)
    for name in (*TOKEN_COLUMNS, "token_kl"):
        if name in columns and (name in entry.needs or name == "token_kl"):
            bad |= ~columns[name].isfinite()
    rows = Segments.of(row, len(columns["group"]))
    return rows.sum((bad & counted).double()) == 0


def token_rows(columns: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The rows of the flattened tokens.

    Args:
        columns: "tokens" [N] int64, or "lengths" [N] float where there are no lists; "mask" [T] if there is one.

    Returns:
        [T] int64, the row of each token, and [T] bool, whether the policy wrote it (its mask is not 0).

    Example:
        >>> token_rows({"lengths": torch.tensor([2.0, 1.0])})
        (tensor([0, 0, 1]), tensor([True, True, True]))
    """
    counts = (
        columns["tokens"]
        if "tokens" in columns
        else columns["lengths"].nan_to_num(nan=0.0).clamp(min=0).long()
    )
    row = torch.repeat_interleave(counts)
    mask = columns.get("mask")
    return row, torch.ones_like(row, dtype=torch.bool) if mask is None else mask.nan_to_num(nan=0.0) != 0


def estimate(entry: Estimator, columns: Mapping[str, Tensor], rows: Tensor, **knobs: Any) -> Tensor:  # noqa: ANN401
    """Run an estimator on some of the rows.

    Args:
        entry: the estimator.
        columns: what `entry.needs` names, [N] each ([N, K] parts, [K] weights), on one device.
        rows: [N] bool, the rows to use, as `usable` gives them.
        **knobs: keyword arguments of the estimator.

    Returns:
        [N], dtype and device of the rewards; NaN on the other rows and where the estimator is undefined.
    """
    everything = every(rows)
    narrowed = (
        columns[name] if everything or name == "weights" else columns[name][rows] for name in entry.needs
    )
    result: Tensor = load(entry.target)(*narrowed, **knobs)
    if result.dtype is torch.bfloat16:
        # numpy has no bfloat16; float32 represents it exactly.
        result = result.float()
    if everything:
        return result
    # A framework's rule may return another dtype than that of the columns.
    return filled(rows, result)


def estimate_tokens(
    entry: Estimator,
    columns: Mapping[str, Tensor],
    rows: Tensor,
    **knobs: Any,  # noqa: ANN401
) -> tuple[Tensor, Tensor]:
    """Run an estimator that gives one advantage per token on some of the rows.

    Args:
        entry: the estimator, of level "token".
        columns: what `entry.needs` names, [N] for the columns of rows and [T] for those of tokens; "token_kl" [T],
            where there is one, is subtracted from the reward of each token.
        rows: [N] bool, the rows to use, as `usable` gives them.
        **knobs: keyword arguments of the estimator.

    Returns:
        [N] the mean over the tokens of the row, and [T] the advantage of each token; NaN on the other rows, and
        on tokens that the policy did not write, unless the framework assigns those one too.
    """
    row, counted = token_rows(columns)
    counted = counted & rows[row]
    token_segments = Segments.of(row, len(rows))
    position = token_segments.position()
    live = counted
    if "counted" in entry.needs:
        # Drop what follows the last token of the policy.
        live = (
            rows[row]
            if entry.masked
            else rows[row]
            & (
                position
                <= token_segments.rows(token_segments.max(torch.where(counted, position, -1).double()))
            )
        )
    row_of, kept = row[live], counted[live]
    given = {name: columns[name][live] for name in TOKEN_COLUMNS if name in columns}
    reserved = (*given, "rewards", "token_kl")
    given |= {name: columns[name][row_of] for name in entry.needs if name in columns and name not in reserved}
    kl = torch.where(kept, _kl(columns, live), 0.0)
    given |= {"row": Segments.dense(row_of).index, "place": position[live], "counted": kept, "token_kl": kl}
    given["rewards"] = _on_last_token(columns["rewards"], row_of, kept)
    if "token_kl" not in entry.needs:
        given["rewards"] = given["rewards"] - kl
    result: Tensor = load(entry.target)(*(given[name] for name in entry.needs), **knobs)
    counted_result = result[kept]
    tokens = torch.full(
        row.shape, torch.nan, dtype=counted_result.dtype, device=counted_result.device
    ).masked_scatter(live if entry.masked else counted, result if entry.masked else counted_result)
    return token_means(tokens, row, counted, len(rows)), tokens


def token_means(tokens: Tensor, row: Tensor, counted: Tensor, rows: int) -> Tensor:
    """[N] the mean over each row's counted tokens; NaN without any.

    Args:
        tokens: [T] float.
        row: [T] int64, the row of each.
        counted: [T] bool, the tokens that count.
        rows: N.
    """
    segments = Segments.of(row[counted], rows)
    return segments.sum(tokens[counted]) / segments.size().to(tokens.dtype)


def _on_last_token(rewards: Tensor, row_of: Tensor, counted: Tensor) -> Tensor:
    """[T'] the reward of each row on its last token written by the policy, 0 on the others."""
    token_rewards = rewards.new_zeros(row_of.shape)
    written = torch.nonzero(counted).squeeze(1)
    of = row_of[written]
    last = torch.ones_like(of, dtype=torch.bool)
    last[:-1] = of[1:] != of[:-1]
    token_rewards[written[last]] = rewards[of[last]]
    return token_rewards


def _kl(columns: Mapping[str, Tensor], live: Tensor) -> Tensor:
    """[T'] the KL term subtracted from the reward of each token; 0 without KL."""
    return (
        columns["token_kl"][live] if "token_kl" in columns else columns["rewards"].new_zeros(int(live.sum()))
    )


def _fitting(estimator: str, name: str, value: float | str, kind: type) -> float | int | str | bool:
    """A knob's value converted to the type the function declares."""
    if kind is str:
        return str(value)
    if words := get_args(kind):
        if str(value) not in words:
            raise UsageError(f"{estimator}: {name} is {one_line(value)}", hint=either(words))
        return str(value)
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{estimator}: {name} is {one_line(value)}, expected a number")
    for wrong, expected in (
        (name in NON_NEGATIVE and number < 0, "0 or more"),
        (name in FROM_ONE and number < 1, "1 or more"),
        (name in SHARES and not 0 <= number <= 1, "a number from 0 to 1"),
        (kind is not float and not number.is_integer(), "a whole number"),
        (kind is int and number > _LARGEST, f"at most {_LARGEST:,}"),
    ):
        if wrong:
            raise UsageError(f"{estimator}: {name} is {number:g}, expected {expected}")
    fitted: float | int | bool = kind(number)
    return fitted
