"""`verify`: checks a verifier, alone or against another one on the same rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from advcli.common.errors import DataError, UsageError
from advcli.dataset.load import DataSet, counted_once
from advcli.dataset.pairing import Pairing, joined
from advcli.dataset.remarks import notes_of, unit_alone
from advcli.inspection import details
from advcli.inspection.answers import final_answer, most_given
from advcli.io.lookup import read_back
from advcli.pipeline.request import Request
from advcli.pipeline.sides import labelled, lettered, loaded, named
from advcli.records.results.verify import Asked, Confusion, Disagreement, Rate, SameAnswer, Verify
from advcli.records.table import Source
from advcli.stats.inference.agreement import confusion, icc, noise, rate, tables
from advcli.stats.metrics import step_order
from advcli.stats.prompts import two_values
from advcli.tensors.segments import Segments, Spread, signs

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

_LIVE = ("both", "only A", "only B", "neither")
_MOST = 0.5


@dataclass(frozen=True)
class Second:
    """The rewards of B.

    Attributes:
        rewards: [N] float64 for the rows of A, NaN where B has none.
        column: their column.
        inputs: A and B as typed; empty if both are one input.
        by: how rows were paired; None if both are one input.
        only: numbers of rows only in A, and only in B; None likewise.
        notes: what was chosen in B.
        warnings: what looks wrong in B.
    """

    rewards: torch.Tensor
    column: str
    inputs: tuple[str, ...] = ()
    by: str | None = None
    only: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def verify(
    request: Request,
    asked: Asked,
    other: Request | None = None,
    *,
    check: Callable[[Sequence[Source]], None] | None = None,
) -> Verify:
    """Compare the verdicts of one or two verifiers.

    Args:
        request: what to read; the second reward is among its outcomes, unless it is in another input.
        asked: the options.
        other: B, if it is another input with the same rows.
        check: called with the inputs before they are read, to refuse an output that would overwrite them.

    Raises:
        DataError: no row has a reward, or rows of A and B cannot be paired.
        UsageError: a reward has more than two values, and no threshold was given.
    """
    letter = lettered("A", named(request)) if other is not None else nullcontext()
    with request.opened() as sources:
        if check:
            check(sources)
        with letter:
            every, unit = request.load(sources), request.plan().unit
        data = counted_once(every, unit)
        second = _second(data, asked, request, other, check)
        return verdicts(data, sources, asked, second, (*request.warnings, *unit_alone(every, unit)))


def verdicts(
    data: DataSet,
    sources: Sequence[Source],
    asked: Asked,
    second: Second | None,
    warnings: Sequence[str] = (),
) -> Verify:
    """Analyze the verdicts of a data set, alone or against those of a second verifier.

    Args:
        data: A.
        sources: its files, from which answers are read back.
        asked: the options.
        second: B, or None.
        warnings: further warnings.

    Raises:
        DataError: no row has a reward.
        UsageError: a reward has more than two values, and no threshold was given.
    """
    a = data.rows.rewards.double()
    rewarded = (data.rows.group >= 0) & a.isfinite()
    if second is not None:
        rewarded = rewarded & second.rewards.isfinite()
    if not rewarded.any():
        if second is None:
            raise DataError("no row has a reward", hint="--reward COL")
        raise DataError(
            f"no row has both rewards, '{reward_name(data)}' of A and '{second.column}' of B",
            hint="another --join COL" if second.inputs else "another --reward or --vs-reward",
        )
    threshold = _threshold(a[rewarded], asked.pass_at, "--pass-at")
    right = (a[rewarded] >= threshold).numpy()
    group = Segments.of(data.rows.group[rewarded], data.rows.count)
    all_wrong, same, answers = _same_answers(data, sources, rewarded, right, asked)
    notes = tuple(notes_of(data, 0, 0, 0.0, None))
    warnings = (*warnings, *data.table.warnings, *data.grouping.warnings)
    result = Verify(
        a=reward_name(data),
        b=None,
        inputs=(),
        paired_by=None,
        only_a=None,
        only_b=None,
        thresholds=(threshold, None),
        every=None,
        icc=None,
        false_negative=None,
        false_positive=None,
        by={},
        sign_changes=None,
        live={},
        noise=_noise(right, group),
        all_wrong=all_wrong,
        same_answers=len(same),
        same_answer=tuple(same[: asked.top]),
        answers=answers,
        table=_columns(same, SameAnswer),
        notes=(*notes, *_notes(all_wrong, same, answers)),
        warnings=warnings,
    )
    if second is None:
        return result
    of_b = _threshold(second.rewards[rewarded], asked.vs_pass_at, "--vs-pass-at")
    result = _compared(
        result, data, rewarded, (a[rewarded], second.rewards[rewarded]), (threshold, of_b), asked.top
    )
    only = second.only or (None, None)
    result = replace(
        result, b=second.column, inputs=second.inputs, paired_by=second.by, only_a=only[0], only_b=only[1]
    )
    if not second.inputs:
        return result
    return replace(
        result,
        notes=(*labelled(notes, second.notes), *_notes(all_wrong, same, answers)),
        warnings=(*labelled(warnings, second.warnings),),
    )


def reward_name(data: DataSet) -> str:
    """The column or columns of the reward."""
    return " + ".join(name for name, _ in data.table.choice.rewards)


def _second(
    data: DataSet,
    asked: Asked,
    request: Request,
    other: Request | None,
    check: Callable[[Sequence[Source]], None] | None,
) -> Second | None:
    """The rewards of B, from another column or from another input; None without B."""
    if other is None:
        if asked.vs is None:
            return None
        if asked.vs not in data.table.outcomes:
            raise UsageError(
                f"--vs-reward {asked.vs} is the reward of A too", hint="another column, or --reward COL for A"
            )
        return Second(torch.from_numpy(data.table.outcomes[asked.vs]).double(), asked.vs)
    names = (named(request), named(other))
    data_b = counted_once(loaded("B", other, check), other.plan().unit)
    rows = joined(data, data_b, Pairing.of(data, data_b))
    if rows is not None and not len(rows.a):
        raise DataError(
            f"A ({names[0]}) and B ({names[1]}) have no row in common by {rows.by}", hint="another --join COL"
        )
    if rows is None:
        raise DataError(
            f"the rows of A ({names[0]}) and B ({names[1]}) cannot be paired",
            hint="--join COL with an id or the response, or --together if both are one data set",
        )
    rewards = torch.full((len(data.rows.rewards),), torch.nan, dtype=torch.float64)
    rewards[rows.a] = data_b.rows.rewards.double()[rows.b]
    only = tuple(int((side.rows.group >= 0).sum()) - len(rows.a) for side in (data, data_b))
    return Second(
        rewards,
        reward_name(data_b),
        names,
        rows.by,
        (only[0], only[1]),
        tuple(notes_of(data_b, 0, 0, 0.0, None)),
        (*other.warnings, *data_b.table.warnings, *data_b.grouping.warnings),
    )


def _threshold(rewards: torch.Tensor, given: float | None, flag: str) -> float:
    if given is not None:
        return given
    values = two_values(rewards)
    if values is None:
        low, high = float(rewards.min()), float(rewards.max())
        of = " of B" if flag == "--vs-pass-at" else ""
        span = f"are all {low:g}" if low == high else f"have more than two values, from {low:g} to {high:g}"
        raise UsageError(
            f"no row is right or wrong: the rewards{of} {span}",
            hint=f"{flag} REWARD, the lowest reward of a right row",
        )
    return values[1]


def _noise(right: Bools, group: Segments) -> Rate:
    sizes = group.size().numpy()
    hits = group.sum(torch.from_numpy(right).double()).numpy()
    several = sizes > 1
    live = int(((hits > 0) & (hits < sizes) & several).sum())
    return noise(live, sizes[several])


def _compared(
    result: Verify,
    data: DataSet,
    rewarded: torch.Tensor,
    rewards: tuple[torch.Tensor, torch.Tensor],
    thresholds: tuple[float, float],
    top: int,
) -> Verify:
    """Add the figures that need both verifiers."""
    right = ((rewards[0] >= thresholds[0]).numpy(), (rewards[1] >= thresholds[1]).numpy())
    group = Segments.of(data.rows.group[rewarded], data.rows.count)
    both, only_a, only_b, neither = tables(*right, np.zeros(len(right[0]), dtype=np.int64), 1)[0].tolist()
    live = [((group.size() > 1) & (group.max(values) > group.min(values))).numpy() for values in rewards]
    used = group.size().numpy() > 0
    no_split = np.zeros(int(used.sum()), dtype=np.int64)
    of_live = tables(live[0][used], live[1][used], no_split, 1)[0].tolist()
    sides = [signs(Spread.of(values, group).centred(), group) for values in rewards]
    cluster = data.table.key if data.table.prompts else data.grouping.group
    return replace(
        result,
        icc=icc(rewards[0].numpy(), rewards[1].numpy(), cluster[rewarded.numpy()]),
        table=_disagreements(data, rewarded, rewards, right, sides[0] * sides[1] < 0),
        thresholds=thresholds,
        every=confusion("all", (both, only_a, only_b, neither)),
        false_negative=rate(only_b, both + only_b),
        false_positive=rate(only_a, only_a + neither),
        by=dict(_parts(data, rewarded.numpy(), right, top)),
        sign_changes=int((sides[0] * sides[1] < 0).sum()),
        live=dict(zip(_LIVE, of_live, strict=True)),
    )


def _disagreements(
    data: DataSet,
    rewarded: torch.Tensor,
    rewards: tuple[torch.Tensor, torch.Tensor],
    right: tuple[Bools, Bools],
    flips: torch.Tensor,
) -> dict[str, list[Any]]:
    """Column → values of the rows on which A and B disagree."""
    table, rows = data.table, torch.nonzero(rewarded).squeeze(1).numpy()
    disagreeing = np.flatnonzero(right[0] != right[1])
    result = [
        Disagreement(
            place=table.place(row),
            prompt=table.prompts[table.key[row]].name if table.prompts else "",
            step="" if table.step is None else table.step_names[table.step[row]],
            group=int(data.grouping.group[row]),
            reward_a=float(rewards[0][at]),
            reward_b=float(rewards[1][at]),
            right="A" if right[0][at] else "B",
            changes_sign=bool(flips[at]),
        )
        for at, row in zip(disagreeing.tolist(), rows[disagreeing].tolist(), strict=True)
    ]
    return _columns(result, Disagreement)


def _columns(records: Sequence[Any], record: type) -> dict[str, list[Any]]:
    """Records as columns; all columns exist even without records."""
    return {field.name: [getattr(item, field.name) for item in records] for field in fields(record)}


def _parts(
    data: DataSet, rewarded: Bools, right: tuple[Bools, Bools], top: int
) -> Iterator[tuple[str, tuple[Confusion, ...]]]:
    """Confusions by step (in order), by source and by prompt (most disagreements first)."""
    table = data.table
    if table.step is not None and len(table.step_names) > 1:
        result = _each(right, table.step[rewarded], table.step_names)
        yield "step", tuple(sorted(result, key=lambda one: step_order(one.name)))
    if table.by is not None:
        yield str(table.choice.by), tuple(_each(right, table.by[rewarded], table.by_names))
    if table.prompts:
        counts = tables(*right, table.key[rewarded], len(table.prompts))
        disagreements = counts[:, 1] + counts[:, 2]
        order = np.argsort(-disagreements, kind="stable")[:top]
        yield (
            "prompt",
            tuple(_named(table.prompts[at].name, counts[at]) for at in order.tolist() if disagreements[at]),
        )


def _each(right: tuple[Bools, Bools], codes: Ints, names: Sequence[str]) -> list[Confusion]:
    counts = tables(*right, codes, len(names))
    return [_named(name, row) for name, row in zip(names, counts, strict=True) if row.sum()]


def _named(name: str, row: Ints) -> Confusion:
    both, only_a, only_b, neither = row.tolist()
    return confusion(name, (both, only_a, only_b, neither))


def _same_answers(
    data: DataSet, sources: Sequence[Source], rewarded: torch.Tensor, right: Bools, asked: Asked
) -> tuple[int, list[SameAnswer], int]:
    """The number of groups that are all wrong, those in which most rows give the same answer, and the number of answers."""
    rows = torch.nonzero(rewarded).squeeze(1).numpy()
    group = data.grouping.group[rows]
    sizes = np.bincount(group, minlength=data.grouping.count)
    wrong = (sizes > 1) & (np.bincount(group, weights=right, minlength=data.grouping.count) == 0)
    of_wrong = rows[wrong[group]]
    texts = read_back(sources, data.table, of_wrong.tolist()) if len(of_wrong) else {}
    if asked.answer is not None and texts and not any(asked.answer in row for row in texts.values()):
        raise UsageError(f"no column '{asked.answer}' (--answer)", hint="one of the dump's columns")
    members: dict[int, list[int]] = {}
    for row in of_wrong.tolist():
        members.setdefault(int(data.grouping.group[row]), []).append(row)
    result, answers = [], 0
    for group_rows in members.values():
        common, share, count = most_given(_answer(texts[row], data, asked.answer) for row in group_rows)
        answers += count
        if count > 1 and share > _MOST and 2 * count > len(group_rows):
            result.append(_same(data, group_rows, common, share))
    result.sort(key=lambda same: (-same.share, -same.rows))
    return int(wrong.sum()), result, answers


def _answer(row: Mapping[str, object], data: DataSet, column: str | None) -> str:
    if column is None:
        return final_answer(details.response(row, data.table.choice.prompt))
    value = row.get(column)
    return "" if value is None else str(value).strip()


def _same(data: DataSet, rows: Sequence[int], answer: str, share: float) -> SameAnswer:
    table, first = data.table, rows[0]
    return SameAnswer(
        prompt=table.prompts[table.key[first]].name if table.prompts else "",
        step="" if table.step is None else table.step_names[table.step[first]],
        answer=answer,
        share=share,
        rows=len(rows),
        place=table.place(first),
    )


def _notes(all_wrong: int, same: Sequence[SameAnswer], answers: int) -> Iterator[str]:
    if all_wrong and not answers:
        yield "no answer found in groups that are all wrong (no '####' or '\\boxed{}'); try --answer COL"
