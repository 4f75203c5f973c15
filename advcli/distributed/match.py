"""`match`: searches on a sample, and verifies the result on all rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.common.wording import counted
from advcli.dataset.load import with_repeats
from advcli.distributed import cluster, placement, run, scan
from advcli.distributed.crossing import numbers
from advcli.distributed.load import Loaded, load, scan_job
from advcli.distributed.placement import PartitionPlan, by_step, largest_step, with_codes_of_all
from advcli.distributed.run import PartitionJob, unpack
from advcli.distributed.scan import ScanJob
from advcli.distributed.tasks import Tasks
from advcli.distributed.verify import Agreements, Claim, agreements, claims
from advcli.io.formats import traps
from advcli.matching import match as matching
from advcli.matching import wording
from advcli.matching.explanations import Explanation
from advcli.matching.logged import RELATIVE
from advcli.matching.partitions import Kind
from advcli.matching.search import Tell, indistinguishable
from advcli.matching.trials import Trial
from advcli.pipeline.match import logged
from advcli.pipeline.request import Request
from advcli.records.results.match import Match
from advcli.records.table import ColumnOptions, RewardTable

_MAX_LOCAL = 262_144
"""Up to so many rows, the search runs on this machine without sampling."""
_SAMPLE_ROWS = 131_072
_MAX_VERIFIED = 8
_ROUNDS = 3
"""How many samples are searched; each adds rows on which the previous result does not hold."""
_FINE = 1 << 20


@dataclass(frozen=True)
class Selection:
    """The rows of a sample: whole steps, whole prompts, or the first rows.

    Attributes:
        steps: the codes of the steps; None if steps are not sampled.
        share: the share of prompts, by digest, in units of 1 / `_FINE`.
        first: the number of rows, if groups are cut by position.
        also: positions of rows whose steps or prompts are added.
    """

    steps: frozenset[int] | None = None
    share: int = 0
    first: int | None = None
    also: frozenset[int] = frozenset()


def match(request: Request, tell: Tell = lambda text: None) -> Match:
    """Find the rules that the logged advantages are consistent with; arguments and result as in `pipeline.match`."""
    columns = request.columns
    logged_columns = columns.as_logged()
    outcome, job = _searched(request, logged_columns, tell)
    if not outcome.found and len(job.choice.rewards) == 1 and not columns.rewards:
        alternative, parts = _searched(request, replace(logged_columns, parts="always"), tell, unless=job)
        outcome = alternative if alternative.found and parts.choice.rewards != job.choice.rewards else outcome
    return replace(outcome, warnings=(*request.warnings, *outcome.warnings))


def _searched(
    request: Request, columns: ColumnOptions, tell: Tell, unless: ScanJob | None = None
) -> tuple[Match, ScanJob]:
    """Search with these columns, unless `unless` used the same rewards."""
    with scan_job(replace(request, columns=columns)) as job:
        if unless is not None and job.choice.rewards == unless.choice.rewards:
            return Match(found=False, sentence="", best=None), job
        logged(scan.blank(job.choice))
        with cluster.running(request.ray_address) as tasks:
            return _match(load(tasks, job), request, tell), job


def _match(loaded: Loaded, request: Request, tell: Tell) -> Match:
    n, only = request.columns.n, request.settings
    view = PartitionPlan.of(loaded.job, loaded.summaries, "all", max(1, loaded.count))
    if loaded.count <= _MAX_LOCAL:
        rows = placement.joined(0, *loaded.tasks.get(loaded.rows))
        dropped = tuple(summary.dropped for summary in loaded.summaries)
        table = with_repeats(replace(_table(loaded, view, rows), dropped=dropped), loaded.job.sources)
        return matching.match(table, n=n, only=only, tell=tell)
    if not any(summary.logged for summary in loaded.summaries):
        raise DataError(
            f"'{loaded.job.choice.logged}' is empty in every row, expected the advantage that was logged",
            hint="--logged-col COL",
        )
    picked = _first_pick(loaded, view)
    for last in (False,) * (_ROUNDS - 1) + (True,):
        sample = _sample(loaded, view, picked)
        verification = Verification(loaded, n)
        outcome = matching.match(sample, n=n, only=only, tell=tell, prove=verification.prove)
        tell(
            f"{counted(len(sample.rewards), 'row')} searched, {'something' if outcome.found else 'nothing'} found"
        )
        if outcome.found or not verification.off or last:
            break
        picked = replace(picked, also=picked.also | frozenset(verification.off))
    return _of_all(outcome, loaded, sample, verification, steps=picked.steps is not None)


def _table(loaded: Loaded, view: PartitionPlan, rows: pa.Table) -> RewardTable:
    """Sampled rows as a table, with the remarks about the dump."""
    table = run.table(unpack(rows, view), view)
    remarks = [text for source in loaded.job.sources for text in source.remarks]
    trapped = traps.found(table, loaded.job.kinds)
    return replace(table, warnings=(*remarks, *scan.warnings(loaded.summaries), *trapped))


def _first_pick(loaded: Loaded, view: PartitionPlan) -> Selection:
    """A sample of whole steps, evenly spread over the run; of prompts if there are no steps or they are too large."""
    choice = loaded.job.choice
    largest = largest_step(loaded.summaries)
    if largest and largest <= loaded.max_rows and (choice.step_in_key or not choice.prompt):
        steps = len(view.steps)
        count = max(1, min(steps, _SAMPLE_ROWS // max(1, loaded.count // steps)))
        return Selection(steps=frozenset(np.linspace(0, steps - 1, count).astype(int).tolist()))
    if not choice.prompt:
        return Selection(first=_SAMPLE_ROWS)
    return Selection(share=max(1, _FINE * _SAMPLE_ROWS // loaded.count))


def _sample(loaded: Loaded, view: PartitionPlan, picked: Selection) -> RewardTable:
    """The rows of a sample, gathered on this machine."""
    tasks = loaded.tasks
    also = tasks.get(
        [
            tasks.run(named, rows, tuple(sorted(picked.also)), int(start), tasks_view)
            for tasks_view in [tasks.share(view)]
            for rows, start in zip(loaded.rows, view.starts.tolist(), strict=True)
        ]
        if picked.also
        else []
    )
    keys = frozenset().union(*also)
    shared = tasks.share((view, picked, keys))
    result = tasks.get(
        [
            tasks.run(taken, rows, int(start), shared)
            for rows, start in zip(loaded.rows, view.starts.tolist(), strict=True)
        ]
    )
    return _table(loaded, view, pa.concat_tables(result))


def named(
    rows: pa.Table, wanted: tuple[int, ...], start: int, view: PartitionPlan
) -> frozenset[tuple[int, int, int]]:
    """The prompt and step of some rows of a file, given by their positions among all rows."""
    rows = with_codes_of_all(rows, view)
    places_ = [position - start for position in wanted if start <= position < start + rows.num_rows]
    result = rows.take(pa.array(places_, pa.int64()))
    return frozenset(zip(*(result[name].to_pylist() for name in ("key", "key2", "step")), strict=True))


def taken(
    rows: pa.Table, start: int, asked: tuple[PartitionPlan, Selection, frozenset[tuple[int, int, int]]]
) -> pa.Table:
    """The rows of a file that are in the sample."""
    view, picked, also = asked
    step, key = numbers(with_codes_of_all(rows, view), "step"), numbers(rows, "key")
    if picked.steps is not None:
        steps = picked.steps | {step for *_, step in also}
        return rows.filter(pa.array(np.isin(step, sorted(steps))))
    if picked.first is not None:
        return rows.slice(0, max(0, picked.first - start))
    keys = np.array(sorted({key for key, *_ in also}), dtype=np.int64)
    mask: NDArray[np.bool_] = (key.astype(np.uint64) % np.uint64(_FINE)) < picked.share
    return rows.filter(pa.array(mask | np.isin(key, keys)))


@dataclass
class Verification:
    """Verifies the result of a sample on all rows.

    Attributes:
        loaded: the data set.
        n: rows per group, if the user named it.
        off: positions of some rows on which no rule holds.
        notes: notes about the verification.
        trial: the verified rule, with its figures over all rows.
        explanation: the result on the sample.
    """

    loaded: Loaded
    n: int | None
    off: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    trial: Trial | None = None
    explanation: Explanation | None = None
    tasks: Tasks = field(init=False)

    def __post_init__(self) -> None:
        self.tasks = self.loaded.tasks

    def prove(self, explanation: Explanation) -> Explanation | None:
        """The part of an explanation that holds on all rows; None if nothing does."""
        alike = indistinguishable(explanation.problem, explanation.trials)[:_MAX_VERIFIED]
        asked = claims(explanation, alike, self.n, _peak(self.loaded))
        unit = None if asked is None else self._unit(asked)
        self.explanation = explanation
        if asked is None or unit is None:
            self.notes = ("what was found on a part of the rows was not proven on the others",)
            return explanation
        job = self.loaded.job
        n = asked[0].grouping.n if asked[0].grouping.kind is Kind.POSITION else self.n
        loaded = replace(self.loaded, job=replace(job, options=replace(job.options, n=n)))
        view, spread = loaded.spread(unit)
        partition_job = PartitionJob(view, (), (), (), ())
        result: Agreements = run.map_reduce(self.tasks, spread, partition_job, agreements, tuple(asked))
        trials = [agreed.trial(trial) for agreed, trial in zip(result.all, alike, strict=True)]
        if not any(trial.explained for trial in trials):
            best = min(result.all, key=lambda agreement: agreement.misses)
            self.off = best.off
            return None
        proven = replace(explanation, trials=[trial for trial in trials if trial.explained])
        self.trial = indistinguishable(proven.problem, proven.trials)[0]
        first = next(agreed for agreed, trial in zip(result.all, trials, strict=True) if trial is self.trial)
        self.explanation = _with_filtered_rows(proven, first.filtered)
        return self.explanation

    def _unit(self, asked: Sequence[Claim]) -> str | None:
        """What must be in one partition; None if that is impossible."""
        choice, largest = self.loaded.job.choice, largest_step(self.loaded.summaries)
        kinds = {claim.grouping.kind for claim in asked}
        over_steps, position = Kind.OVER_STEPS in kinds, Kind.POSITION in kinds
        fits = largest and largest <= self.loaded.max_rows and (choice.step_in_key or not choice.prompt)
        if Kind.STEP in kinds or any(claim.candidate.of_batch for claim in asked):
            return "step" if fits and not over_steps else None
        if position and (choice.prompt or len(kinds) > 1):
            return None
        if over_steps:
            return "key"
        if not choice.prompt:
            return "step" if largest else "position"
        return "step" if fits else "group" if by_step(choice) else "key"


def _with_filtered_rows(explanation: Explanation, rows: int) -> Explanation:
    """The explanation with the number of filtered rows of all rows."""
    after = dict(explanation.after or {})
    if "filtered_rows" not in after:
        return explanation
    where = str(after.get("filtered_in", ""))
    old, new = (wording.filtered(int(str(count)), where) for count in (after["filtered_rows"], rows))
    words = [new if word == old else word for word in explanation.words]
    return replace(explanation, words=words, after={**after, "filtered_rows": rows})


def _of_all(
    outcome: Match, loaded: Loaded, sample: RewardTable, verification: Verification, *, steps: bool
) -> Match:
    """The outcome with the figures of all rows."""
    summaries, name = loaded.summaries, loaded.job.choice.logged
    logged_rows, uneven = (
        sum(getattr(summary, name) for summary in summaries) for name in ("logged", "uneven")
    )
    notes = [f"logged: '{name}' in {logged_rows:,} of {counted(loaded.count, 'row')}"]
    if uneven:
        share = 100 * uneven / loaded.count
        notes.append(
            f"'{name}' differs between the tokens of {counted(uneven, 'row')} ({share:.1f}%): a token-level "
            "estimator; the mean of each row is compared"
        )
    notes += [note for note in outcome.notes if note.startswith(matching.SKIPPED)]
    searched = f"searched on {counted(len(sample.rewards), 'row')} of {loaded.count:,}"
    notes += [
        searched if outcome.found else f"{searched}: the rows that do not fit are among these",
        *verification.notes,
    ]
    has_fitted = outcome.weights or (outcome.best and outcome.best.options)
    if not steps and (not outcome.found or has_fitted):
        # A weight or option fitted to all rewards can imitate a batch-level standard deviation.
        notes.append(f"{matching.SKIPPED}: rules of the batch; they need whole steps")
    sentence = outcome.sentence
    if outcome.found and outcome.best and verification.trial and verification.explanation:
        sentence = wording.found(
            outcome.best,
            verification.trial,
            verification.explanation.problem,
            done=verification.explanation.words,
            compared=logged_rows,
        )
    return replace(
        outcome,
        sentence=sentence,
        rows=loaded.count,
        compared=logged_rows,
        tolerance=outcome.tolerance + RELATIVE * (_peak(loaded) - _sampled_peak(sample)),
        notes=tuple(notes),
    )


def _peak(loaded: Loaded) -> float:
    """The largest |A| of all rows."""
    return max(summary.peak for summary in loaded.summaries)


def _sampled_peak(sample: RewardTable) -> float:
    assert sample.logged is not None
    return float(np.abs(sample.logged[np.isfinite(sample.logged)]).max(initial=0.0))
