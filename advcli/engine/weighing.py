"""Runs filters that compare two log-probabilities of each token: the weights they give and the rows they drop."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import NoneType
from typing import Any, get_args

import torch
from torch import Tensor

from advcli.common.errors import DataError, UsageError
from advcli.common.registry import load
from advcli.common.wording import either, one_line
from advcli.engine import dispatch
from advcli.filters.catalog import FILTERS
from advcli.off_policy import catalog
from advcli.off_policy.correction import Correction, per_batch
from advcli.off_policy.tokens import LogProbs
from advcli.records.settings import AdvantageTable, FilterSpec
from advcli.tensors.segments import Segments

_FUNCTION = "function"
_WORDS: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Weigher:
    """A validated filter, ready to run.

    Attributes:
        correct: takes the tokens, and the advantages if `signed`.
        signed: whether it uses the advantage.
        framework: the framework whose correction it reproduces; "" for our own.
    """

    correct: Callable[..., Correction]
    signed: bool
    framework: str = ""

    @classmethod
    def of(cls, spec: FilterSpec, like: str | None) -> "Weigher":
        """The weigher for a filter.

        Args:
            spec: as the user asked for it.
            like: FRAMEWORK[@VERSION], or None.

        Raises:
            UsageError: an unknown knob, an invalid value, or a framework without a correction.
        """
        entry = FILTERS[spec.name]
        if entry.by_framework:
            return cls.like(like, spec.knobs, f"--{spec.when} {spec}")
        knobs = dispatch.fitted(entry.name, entry.target, spec.knobs)
        return cls(partial(load(entry.target), **knobs), "advantages" in entry.needs)

    @classmethod
    def like(cls, like: str | None, given: Mapping[str, float | str], who: str) -> "Weigher":
        """The weigher for a framework's correction.

        Args:
            like: FRAMEWORK[@VERSION].
            given: its settings under the framework's names, optionally with "function".
            who: what asks for it, for messages.

        Raises:
            UsageError: no framework, one without a correction, or an unknown setting.
        """
        if like is None:
            known = [row.framework for row in catalog.CORRECTIONS]
            raise UsageError(f"{who} needs --like", hint=f"--like {either(list(dict.fromkeys(known)))}")
        framework, _, version = like.partition("@")
        given = dict(given)
        row = catalog.find(framework.lower(), version, str(given.pop(_FUNCTION, "")))
        correct = partial(load(row.target), **row.knobs, **settings(row, given))
        return cls(correct, row.signed, row.framework)

    def run(self, tokens: LogProbs, step: Tensor, advantages: Tensor | None = None) -> Correction:
        """Weigh and mask.

        Args:
            tokens: the two log-probabilities.
            step: [N] int64; a framework's correction is computed per step.
            advantages: [N] float, needed if `signed`.
        """
        signs = advantages if self.signed else None
        if self.framework:
            return per_batch(self.correct, tokens, step, signs)
        return self.correct(tokens) if signs is None else self.correct(tokens, signs)


def settings(row: catalog.Row, given: Mapping[str, float | str]) -> dict[str, Any]:
    """Settings of a framework's correction, converted to the types it declares.

    Args:
        row: the correction.
        given: its settings, as numbers or as text; "none" for none, and "+" in place of a comma.

    Raises:
        UsageError: an unknown setting, a missing one, or an invalid value.
    """
    parameters = inspect.signature(load(row.target)).parameters.values()
    known = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in row.knobs}
    for name in given:
        if name not in known:
            raise UsageError(f"{row.function} of {row.framework} has no '{name}'", hint=either(list(known)))
    absent = [name for name, knob in known.items() if knob.default is knob.empty and name not in given]
    if absent:
        raise UsageError(f"{row.function} of {row.framework} needs {absent[0]}", hint=f"{absent[0]}=…")
    return {name: _value(name, value, known[name].annotation) for name, value in given.items()}


def _value(name: str, value: float | str, kind: Any) -> Any:  # noqa: ANN401  whatever is declared
    kinds = get_args(kind) or (kind,)
    text = str(value).lower()
    if NoneType in kinds and text in ("none", "null"):
        return None
    if bool in kinds:
        # Typed numbers have been parsed as floats already.
        word = text.removesuffix(".0")
        if word in _WORDS:
            return _WORDS[word]
        raise UsageError(f"{name} is {one_line(value)}, expected true or false")
    if float in kinds and isinstance(value, float | int):
        return float(value)
    if str in kinds:
        return str(value).replace("+", ",")
    raise UsageError(f"{name} is {one_line(value)}, expected a number")


def log_probs(columns: Mapping[str, Tensor], who: str, *, as_trained: bool = False) -> LogProbs:
    """The two log-probabilities of a dataset.

    If either is not finite for a trained token, none of the tokens of its row counts as trained.

    Args:
        columns: as `run` takes them.
        who: what needs them, for the message.
        as_trained: compute as trainers do, see `LogProbs.of`.

    Raises:
        DataError: a column is missing.
    """
    if not columns.keys() & {"rollout_log_probs", "log_probs"}:
        raise DataError(
            f"{who} needs two log-probabilities of each token, the sampler's and the trainer's, and no two columns "
            "have them",
            hint="--rollout-log-probs-col COL --log-probs-col COL, each with a list per row",
        )
    dispatch.needed(who, ("rollout_log_probs", "log_probs"), columns)
    rollout, train, counts = (columns[name].cpu() for name in ("rollout_log_probs", "log_probs", "tokens"))
    mask = columns.get("mask", columns.get("trained"))
    row, counted = dispatch.token_rows({"tokens": counts, **({} if mask is None else {"mask": mask.cpu()})})
    unknown = counted & ~(rollout.isfinite() & train.isfinite())
    rows = Segments.of(row, len(counts))
    counted &= rows.rows(rows.sum(unknown.double())) == 0
    tokens = LogProbs.of(rollout, train, counts, counted, as_trained=as_trained)
    if not (train[counted] != 0).any() and bool((rollout[counted] != 0).any()):
        raise DataError(
            f"{who}: every trainer log-probability is 0, which looks like a placeholder",
            hint="--log-probs-col COL",
        )
    return tokens


def weigh(
    spec: FilterSpec, like: str | None, columns: Mapping[str, Tensor], rows: Tensor
) -> tuple[Tensor, Tensor]:
    """Run a filter.

    Args:
        spec: the filter.
        like: FRAMEWORK[@VERSION], or None.
        columns: as `run` takes them, with "advantages".
        rows: [N] bool, the rows to use.

    Returns:
        [N] bool, the rows that keep at least one token; [T] float64, the weight of each token, 0 where it is masked and NaN
        where it is not trained on or not in `rows`.
    """
    weigher = Weigher.of(spec, like)
    tokens = log_probs(columns, spec.name, as_trained=bool(weigher.framework))
    tokens = tokens.narrowed(tokens.spread(rows.cpu()))
    signs = columns["advantages"].cpu().to(tokens.mask.dtype) if weigher.signed else None
    result = weigher.run(tokens, columns["step"].cpu(), signs)
    weights = torch.ones_like(tokens.mask) if result.weights is None else result.weights
    weights = torch.where(tokens.trained, weights * result.mask, torch.nan).double()
    kept = tokens.row_sum(result.mask) > 0
    return kept.to(rows.device), weights


def weighted(result: AdvantageTable, weights: Tensor, counts: Tensor) -> AdvantageTable:
    """The result with token weights and weighted advantages.

    Args:
        result: [N] each.
        weights: [T] as `weigh` gives them.
        counts: [N] int64, tokens of each row.
    """
    rows = Segments.of(torch.repeat_interleave(counts), len(counts))
    trained = ~weights.isnan()
    mean = rows.sum(weights.nan_to_num(nan=0.0)) / rows.sum(trained.double())
    return replace(
        result, weights=weights, token_counts=counts, weight=mean, weighted=result.processed * mean
    )
