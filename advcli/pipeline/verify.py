"""`verify`: how far a verifier can be trusted, alone and compared with another one on the same rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from advcli.dataset.load import DataSet
from advcli.dataset.remarks import notes_of
from advcli.errors import DataError, UsageError
from advcli.inspection import details
from advcli.inspection.answers import final_answer, most_given
from advcli.io.lookup import read_back
from advcli.pipeline.request import Request
from advcli.records.table import Source
from advcli.records.verify import Asked, Confusion, Rate, SameAnswer, Verify
from advcli.stats.agreement import confusion, noise, rate, tables
from advcli.stats.metrics import step_order
from advcli.stats.prompts import two_values
from advcli.tensors.segments import Segments, Spread, signs

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

_LIVE = ("both", "only A", "only B", "neither")
_MOST = 0.5


def verify(request: Request, asked: Asked) -> Verify:
    """Compare the verdicts of one or two verifiers.

    Args:
        request: what to read; the second reward is among its outcomes.
        asked: what is asked.

    Raises:
        UsageError: a reward has more than two values, and no bound says what is right.
    """
    with request.opened() as sources:
        data = request.load(sources)
        a = data.rows.rewards.double()
        here = (data.rows.group >= 0) & a.isfinite()
        b = None
        if asked.vs is not None:
            b = torch.from_numpy(data.table.outcomes[asked.vs]).double()
            here = here & b.isfinite()
        if not here.any():
            raise DataError(
                "no row has a reward" if b is None else "no row has both rewards", hint="--reward COL"
            )
        threshold = _threshold(a[here], asked.pass_at, "--pass-at")
        right = (a[here] >= threshold).numpy()
        group = Segments.of(data.rows.group[here], data.rows.count)
        all_wrong, same, answers = _same_answers(data, sources, here, right, asked)
    found = Verify(
        a=" + ".join(name for name, _ in data.table.choice.rewards),
        b=asked.vs,
        thresholds=(threshold, None),
        every=None,
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
        notes=(*notes_of(data, 0, 0, 0.0, None), *_notes(all_wrong, same, answers)),
        warnings=(*request.warnings, *data.table.warnings, *data.grouping.warnings),
    )
    if b is None:
        return found
    of_b = _threshold(b[here], asked.vs_pass_at, "--vs-pass-at")
    return _beside(found, data, here, (a[here], b[here]), (threshold, of_b), asked.top)


def _threshold(rewards: torch.Tensor, given: float | None, flag: str) -> float:
    if given is not None:
        return given
    values = two_values(rewards)
    if values is None:
        low, high = float(rewards.min()), float(rewards.max())
        raise UsageError(
            f"no row is right or wrong: the rewards are not two values, but from {low:g} to {high:g}",
            hint=f"{flag} REWARD, the lowest reward of a right row",
        )
    return values[1]


def _noise(right: Bools, group: Segments) -> Rate:
    sizes = group.size().numpy()
    hits = group.sum(torch.from_numpy(right).double()).numpy()
    several = sizes > 1
    live = int(((hits > 0) & (hits < sizes) & several).sum())
    return noise(live, sizes[several])


def _beside(
    found: Verify,
    data: DataSet,
    here: torch.Tensor,
    rewards: tuple[torch.Tensor, torch.Tensor],
    thresholds: tuple[float, float],
    top: int,
) -> Verify:
    """The figures of both."""
    right = ((rewards[0] >= thresholds[0]).numpy(), (rewards[1] >= thresholds[1]).numpy())
    group = Segments.of(data.rows.group[here], data.rows.count)
    both, only_a, only_b, neither = tables(*right, np.zeros(len(right[0]), dtype=np.int64), 1)[0].tolist()
    live = [((group.size() > 1) & (group.max(one) > group.min(one))).numpy() for one in rewards]
    met = group.size().numpy() > 0
    of_live = tables(live[0][met], live[1][met], np.zeros(int(met.sum()), dtype=np.int64), 1)[0].tolist()
    sides = [signs(Spread.of(one, group).centred(), group) for one in rewards]
    return replace(
        found,
        thresholds=thresholds,
        every=confusion("all", (both, only_a, only_b, neither)),
        false_negative=rate(only_b, both + only_b),
        false_positive=rate(only_a, only_a + neither),
        by=dict(_parts(data, here.numpy(), right, top)),
        sign_changes=int((sides[0] * sides[1] < 0).sum()),
        live=dict(zip(_LIVE, of_live, strict=True)),
    )


def _parts(
    data: DataSet, here: Bools, right: tuple[Bools, Bools], top: int
) -> Iterator[tuple[str, tuple[Confusion, ...]]]:
    """Split by step (in order), by source and by prompt (most disagreements first)."""
    table = data.table
    if table.step is not None and len(table.step_names) > 1:
        found = _each(right, table.step[here], table.step_names)
        yield "step", tuple(sorted(found, key=lambda one: step_order(one.name)))
    if table.by is not None:
        yield str(table.choice.by), tuple(_each(right, table.by[here], table.by_names))
    if table.prompts:
        counts = tables(*right, table.key[here], len(table.prompts))
        apart = counts[:, 1] + counts[:, 2]
        order = np.argsort(-apart, kind="stable")[:top]
        yield (
            "prompt",
            tuple(_named(table.prompts[at].name, counts[at]) for at in order.tolist() if apart[at]),
        )


def _each(right: tuple[Bools, Bools], codes: Ints, names: Sequence[str]) -> list[Confusion]:
    counts = tables(*right, codes, len(names))
    return [_named(name, row) for name, row in zip(names, counts, strict=True) if row.sum()]


def _named(name: str, row: Ints) -> Confusion:
    both, only_a, only_b, neither = row.tolist()
    return confusion(name, (both, only_a, only_b, neither))


def _same_answers(
    data: DataSet, sources: Sequence[Source], here: torch.Tensor, right: Bools, asked: Asked
) -> tuple[int, list[SameAnswer], int]:
    """How many groups are all wrong, those of them in which most rows give one answer, and rows with an answer."""
    rows = torch.nonzero(here).squeeze(1).numpy()
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
    found, answers = [], 0
    for of_group in members.values():
        said, share, many = most_given(_answer(texts[row], data, asked.answer) for row in of_group)
        answers += many
        if many > 1 and share > _MOST and 2 * many > len(of_group):
            found.append(_same(data, of_group, said, share))
    found.sort(key=lambda one: (-one.share, -one.rows))
    return int(wrong.sum()), found, answers


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
