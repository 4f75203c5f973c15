"""How far the trainer's policy is from the sampling policy, from two log-probabilities per token."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.common.errors import DataError, UsageError
from advcli.dataset.load import DataSet
from advcli.engine.weighing import Weigher, log_probs
from advcli.off_policy import ledger
from advcli.off_policy.tokens import LogProbs
from advcli.records.off_policy import OffPolicy, OffPolicyPart

_WHO = "the off-policy table"
# From here on floats skip whole numbers, so larger steps are not usable as counts.
_COUNTS = float(1 << 53)


def left_out(data: DataSet) -> Iterator[str]:
    """Why a data set that has two columns of log-probabilities has no off-policy table; nothing where it has one."""
    try:
        tokens = _tokens(data)
    except DataError as error:
        yield error.message
    else:
        if tokens is not None and not tokens.trained.any():
            yield f"{_WHO}: no row has both log-probabilities of all its trained tokens"


def _tokens(data: DataSet) -> LogProbs | None:
    """The log-probabilities of the rows of groups; None where one of the two is not there.

    Raises:
        DataError: those of the trainer are placeholders.
    """
    columns = data.token_columns()
    if not {"rollout_log_probs", "log_probs"} <= columns.keys():
        return None
    tokens = log_probs(columns, _WHO)
    return tokens.narrowed(tokens.spread(data.rows.group >= 0))


def off_policy(data: DataSet, like: str | None, advantages: Tensor) -> OffPolicy | None:
    """The off-policy figures of a data set.

    Args:
        data: the data set.
        like: FRAMEWORK[@VERSION] whose metrics to add, or None.
        advantages: [N] float, for frameworks whose metrics depend on them, unless the dump has the trainer's.

    Returns:
        The figures; None if a log-probability column is missing, or no row has both for all its trained tokens.

    Raises:
        DataError: the trainer's log-probabilities are placeholders, in a column that the user named.
    """
    try:
        tokens = _tokens(data)
    except DataError:
        if "log_probs" not in data.table.choice.found:
            raise
        return None
    if tokens is None or not tokens.trained.any():
        return None
    columns = data.token_columns()
    table, versions = data.table, data.table.roles.get("version")
    named = dict(table.choice.tokens)
    framework, metrics = _metrics(data, columns, like, advantages)
    return OffPolicy(
        rollout=named["rollout_log_probs"],
        train=named["log_probs"],
        mask=named.get("mask", named.get("trained")),
        all=ledger.figures(tokens),
        per_step=() if table.step is None else ledger.parts(tokens, data.rows.step, table.step_names),
        version=table.choice.role("version"),
        per_version=() if versions is None else _by_number(tokens, versions),
        staleness=() if versions is None else _by_number(tokens, _staleness(data, versions)),
        framework=framework,
        metrics=metrics,
    )


def per_row(data: DataSet) -> dict[str, Tensor]:
    """The off-policy figures of each row.

    Args:
        data: the data set.

    Returns:
        The columns of `ledger.by_row`, and "lag" if the dump has a policy version; [N] each, NaN where undefined.

    Raises:
        DataError: a log-probability column is missing.
    """
    result = ledger.by_row(log_probs(data.token_columns(), "--off-policy"))
    versions = data.table.roles.get("version")
    if versions is not None:
        result["lag"] = torch.from_numpy(_staleness(data, versions))
    return result


def _metrics(
    data: DataSet, columns: dict[str, Tensor], like: str | None, advantages: Tensor
) -> tuple[str | None, dict[str, float]]:
    """The framework and the metrics that it logs by default; (None, {}) if it logs none."""
    if like is None:
        return None, {}
    try:
        weigher = Weigher.like(like, {}, _WHO)
    except UsageError:
        # The framework has no correction, or its correction needs settings.
        return None, {}
    tokens = log_probs(columns, _WHO, as_trained=True)
    tokens = tokens.narrowed(tokens.spread(data.rows.group >= 0))
    if data.table.logged is not None:
        # Prefer the trainer's own advantages.
        advantages = torch.from_numpy(data.table.logged)
    signs = advantages.nan_to_num(nan=0.0).to(torch.float32)
    return weigher.framework, dict(weigher.run(tokens, data.rows.step, signs).metrics)


def _by_number(tokens: LogProbs, values: NDArray[np.float64]) -> tuple[OffPolicyPart, ...]:
    """The figures by a number per row, smallest first; rows without one are left out."""
    known = np.isfinite(values)
    distinct, codes = np.unique(values[known], return_inverse=True)
    code = np.full(len(values), -1, dtype=np.int64)
    code[known] = codes
    return ledger.parts(tokens, torch.from_numpy(code), [f"{value:.15g}" for value in distinct])


def _staleness(data: DataSet, version: NDArray[np.float64]) -> NDArray[np.float64]:
    """[N] the versions that a row's policy lags behind its step, or behind the newest version if steps aren't counts."""
    steps = np.array(list(_numbers(data.table.step_names)))
    newest = np.nanmax(version) if np.isfinite(version).any() else np.nan
    if data.table.step is None or not (np.isfinite(steps).all() and np.abs(steps).max() < _COUNTS):
        return newest - version
    lag = steps[data.table.step] - version
    # A negative lag means that steps and versions are numbered differently.
    return lag if np.nanmin(lag, initial=0.0) >= 0 else newest - version


def _numbers(names: tuple[str, ...]) -> Iterator[float]:
    for name in names:
        try:
            yield float(name)
        except ValueError:
            yield np.nan
