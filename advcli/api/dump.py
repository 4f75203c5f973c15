"""A dump in Python: every command as a method, with results that display themselves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from advcli.api.inputs import Inputs
from advcli.api.options import AdvantageOptions, Base, Names, Shaping, SharedOptions, names
from advcli.api.result import Advantages
from advcli.common.errors import UsageError
from advcli.common.wording import either
from advcli.dataset import remarks
from advcli.inspection.bounds import bound
from advcli.inspection.details import Wanted
from advcli.io import atomic
from advcli.pipeline import between, compare, compute, inspect, match, prompts, report, select, sweep, verify
from advcli.pipeline.describe import health_of
from advcli.pipeline.request import Request
from advcli.records.results.between import BetweenResult
from advcli.records.results.compare import CompareResult
from advcli.records.results.compute import ComputeResult, UsedColumns
from advcli.records.results.inspect import InspectResult
from advcli.records.results.inspection import NEAR_DEAD
from advcli.records.results.match import MatchResult
from advcli.records.results.prompts import Asked as AskedPrompts
from advcli.records.results.prompts import PromptsResult
from advcli.records.results.select import KINDS, STYLES
from advcli.records.results.select import Wanted as Selected
from advcli.records.results.sweep import SweepResult
from advcli.records.results.verify import Asked as AskedVerifiers
from advcli.records.results.verify import VerifyResult
from advcli.render import between as between_text
from advcli.render import inspection, tables
from advcli.render import match as match_text
from advcli.render import prompts as prompts_text
from advcli.render import sweep as sweep_text
from advcli.render import verify as verify_text
from advcli.render.report import html
from advcli.render.views import Tables, shown
from advcli.settings.grid import names as grid_names
from advcli.settings.resolve import versus
from advcli.shaping.spec import measures, specs_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class Dump:
    """A dump, made by `advcli.read` or `advcli.from_frame`.

    Every method does what the command of that name does, returns the record that its `--json` prints, and
    raises its errors. Data that was read is cached in the dump. `**options` are those of `advantages`.

    Attributes:
        columns: the column of each role: group, reward, step, length, ...
        notes: how the rows were read and grouped, one line each.
        warnings: what looks wrong, one line each.
    """

    columns: UsedColumns
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __init__(self, inputs: Inputs, base: Base) -> None:
        self._inputs, self._base = inputs, base
        request = self._request({})
        with request.opened() as sources:
            data = request.load(sources)
        self.columns = cast("UsedColumns", remarks.columns(data))
        self.notes = tuple(
            remarks.notes(data, data.rows.rewards.new_full(data.rows.rewards.shape, float("nan")))
        )
        self.warnings = (*request.warnings, *data.table.warnings, *data.grouping.warnings)
        self._health = health_of(data)

    def __len__(self) -> int:
        """Rows, missing ones included."""
        return self._health.rows

    def advantages(  # noqa: PLR0913  the options that people use first
        self,
        estimator: str | None = None,
        *,
        scale: str | None = None,
        keep_pos: float | None = None,
        keep_neg: float | None = None,
        compute_new_adv: bool | None = None,
        like: str | None = None,
        preset: str | None = None,
        before: Names | None = None,
        after: Names | None = None,
        shaping: Shaping | None = None,
        missing: str | None = None,
        singleton: str | None = None,
        device: str | None = None,
        **knobs: float | str,
    ) -> Advantages:
        """Compute the advantage of every row.

        Args:
            estimator: an estimator, see `advcli estimators`, optionally with knobs: "grpo:eps=1e-4"; None for grpo, or
                for the framework's first.
            scale: "group", "batch" (the step) or "none"; None for the estimator's own.
            keep_pos: share of the positive rows of each group to keep, in [0, 1].
            keep_neg: share of the negative rows of each group to keep, in [0, 1].
            compute_new_adv: recompute the advantage on the kept rows (grpo only).
            like: the framework whose numbers to reproduce; None for that of the dump.
            preset: "conservative" or "aggressive".
            before: filters before the statistics: "dynamic_sampling", "truncated:max=4096".
            after: filters after the statistics: "cppo:keep=0.5".
            shaping: steps that shape the rewards before, or the advantages after the estimator, as `--shape` takes
                them, in this order; or name → knobs.
            missing: what rows without a usable reward get: "null", "zero" or "error".
            singleton: what the only row of a group gets: "null", "zero", "raw" or "error".
            device: "auto", "cpu", "cuda" or "mps".
            **knobs: further knobs of the estimator, such as `eps` and `ddof`.

        Raises:
            UsageError: an option is invalid.
            DataError: a missing reward or a singleton under the rule "error".

        Example:
            >>> import advcli
            >>> adv = advcli.read("sample_data/rewards.parquet").advantages("rloo", keep_pos=0.7)
            >>> int(adv.kept.sum()), adv.summary.settings["estimator"]
            (397, 'rloo')
        """
        options: AdvantageOptions = {
            "estimator": estimator,
            "scale": scale,
            "keep_pos": keep_pos,
            "keep_neg": keep_neg,
            "compute_new_adv": compute_new_adv,
            "like": like,
            "preset": preset,
            "before": before,
            "after": after,
            "shaping": shaping,
            "missing": missing,
            "singleton": singleton,
            "device": device,
        }
        return Advantages(self._request(options, knobs))

    def inspect(  # noqa: PLR0913  the options of the command
        self,
        *,
        by: str | None = None,
        outcome: Names = (),
        step: str | None = None,
        group: str | None = None,
        top: int = 0,
        bottom: int = 0,
        near_dead: float = NEAR_DEAD,
        fail_if: Names = (),
        **options: Unpack[AdvantageOptions],
    ) -> InspectResult:
        """Describe the dump: groups, signal, dead groups, phantoms, lengths, steps.

        Args:
            by: split every figure by the values of a column.
            outcome: further reward columns to describe; auto-detected by default.
            step: show the groups of one step.
            group: show the rows of one group: the text of its prompt, or "#NUMBER".
            top: show this many rows with the largest |A|.
            bottom: show this many rows with the smallest |A|.
            near_dead: a live group is near-dead if its rewards span at most this share of the overall range.
            fail_if: conditions such as "dead > 0.5"; `result.fail_if` says which are true.
            **options: how advantages are computed, as in `advantages`.
        """
        bounds = [bound(text) for text in names(fail_if)]
        request = self._request(
            options, by=by, outcomes=names(outcome), find_outcomes=True, log_probs="figures"
        )
        inspected = inspect.inspect(request, Wanted(_text(step), group, top, bottom), near_dead=near_dead)
        result = InspectResult.of(inspected, [condition.check(inspected) for condition in bounds])
        return shown(result, partial(inspection.show, inspected), inspected.notes)

    def compare(self, *vs: str, **options: Unpack[AdvantageOptions]) -> CompareResult:
        """Compare advantages side by side: original, kept, kept + recomputed, and other estimators.

        Args:
            *vs: an estimator for each further column: "rloo", "grpo:scale=none", "grpo:like=trl@1.5".
            **options: how advantages are computed, as in `advantages`.
        """
        request = self._request(options)
        result = compare.compare(request, {spec: versus(request.settings, spec) for spec in vs})
        draw = partial(tables.show, result)
        return shown(CompareResult.of(result), draw, result.notes, result.warnings)

    def match(
        self, *, like: str | None = None, estimator: str | None = None, scale: str | None = None
    ) -> MatchResult:
        """Find the rules that the logged advantages are consistent with.

        Args:
            like: only try the rules of this framework.
            estimator: only try this estimator.
            scale: only try this scale.
        """
        request = self._request({"like": like, "estimator": estimator, "scale": scale})
        result = match.match(request)
        return shown(MatchResult.of(result), partial(match_text.show, result), result.notes, result.warnings)

    def sweep(  # noqa: PLR0913  the axes of the grid
        self,
        *,
        estimator: Names = (),
        like: Names = (),
        scale: Names = (),
        keep_pos: float | Iterable[float] = 1.0,
        keep_neg: float | Iterable[float] = 1.0,
        compute_new_adv: bool | Iterable[bool] = False,
        shape: Sequence[Shaping] = (),
        sort: str | None = None,
        **options: Unpack[SharedOptions],
    ) -> SweepResult:
        """Try a grid of estimators, scales and keep ratios: one point for each combination.

        Args:
            estimator: estimators, one or several.
            like: frameworks, one or several.
            scale: scales, one or several.
            keep_pos: shares of the positive rows.
            keep_neg: shares of the negative rows.
            compute_new_adv: whether to recompute on the kept rows; (False, True) for both.
            shape: the shaping of each point, as in `advantages`: [[], ["gr3"], ["kimi", "clip:min=0,max=1"]].
            sort: a figure, largest first; "-FIGURE" for smallest first.
            **options: settings that are the same at every point, as in `advantages`.
        """
        shapes = tuple(map(specs_of, shape))
        grid = sweep.Grid(
            shapes=shapes,
            estimators=grid_names(names(estimator)),
            likes=grid_names(names(like)),
            scales=grid_names(names(scale)),
            keep_pos=_several(keep_pos),
            keep_neg=_several(keep_neg),
            again=_several(compute_new_adv),
        )
        request = self._request(cast("AdvantageOptions", options))
        read = request.columns
        more = tuple(text for text in measures(sum(shapes, ())) if text not in read.measures)
        read = replace(read, extra=(*read.extra, *more), measures=(*read.measures, *more))
        result = sweep_text.in_order(sweep.sweep(replace(request, columns=read), grid), sort)
        return shown(SweepResult.of(result), partial(sweep_text.show, result), result.notes, result.warnings)

    def between(
        self,
        other: "Dump",
        *,
        join: str | None = None,
        other_join: str | None = None,
        top: int = 10,
        **options: Unpack[AdvantageOptions],
    ) -> BetweenResult:
        """Compare two dumps, this one as A and the other as B.

        Args:
            other: the other dump, with its own columns.
            join: the column that identifies the same row in both: an id, or the text of the answer.
            other_join: its name in B, if different.
            top: number of prompts in `changed`, those that changed most.
            **options: how advantages are computed in both, as in `advantages`.
        """
        a = self._request(options, row=join, named=True)
        b = other._request(options, row=other_join or join, named=True)  # noqa: SLF001  of the same class
        result = between.between(a, b, top=top)
        draw = partial(between_text.show, result)
        return shown(BetweenResult.of(result), draw, result.notes, result.warnings)

    def prompts(
        self,
        *,
        k: Sequence[int] = (1, 4, 8),
        pass_at: float | None = None,
        fdr: float = 0.05,
        sort: str | None = None,
        top: int = 20,
    ) -> PromptsResult:
        """Follow each prompt over the run: learned, forgotten, flat; pass@k.

        Args:
            k: the k of pass@k.
            pass_at: lowest reward of a right row; None for the higher of two rewards.
            fdr: false-discovery rate of learned and forgotten, over all prompts.
            sort: a figure, largest first; "-FIGURE" for smallest first; None for the most significant trends first.
            top: number of prompts in `shown`.
        """
        asked = AskedPrompts(tuple(k), pass_at, fdr, sort, top)
        result = prompts.prompts(self._request({}, named=True, ungrouped=True, characters=True), asked)
        draw = partial(prompts_text.show, result)
        return shown(PromptsResult.of(result), draw, result.notes, result.warnings)

    def verify(  # noqa: PLR0913  the options of the command
        self,
        other: "Dump | str | None" = None,
        *,
        pass_at: float | None = None,
        other_pass_at: float | None = None,
        answer: str | None = None,
        by: str | None = None,
        join: str | None = None,
        other_join: str | None = None,
        top: int = 10,
    ) -> VerifyResult:
        """Compare two verifiers of the same rows, this one as A: where do they disagree?

        Args:
            other: B: another reward column, or another dump with the same rows; None to check A alone.
            pass_at: lowest reward of a right row in A; None for the higher of two rewards.
            other_pass_at: the same for B.
            answer: the column with the final answer; None for the text after the last `####` or in the last
                box of LaTeX.
            by: split by the values of a column.
            join: with another dump, the column that identifies the same row in both.
            other_join: its name in B, if different.
            top: number of prompts and groups to list.
        """
        vs = other if isinstance(other, str) else None
        outcomes = () if vs is None else (vs,)
        a = self._request({}, by=by, outcomes=outcomes, row=join, named=True, ungrouped=True)
        b = None
        if isinstance(other, Dump):
            b = other._request({}, row=other_join or join, named=True, ungrouped=True)  # noqa: SLF001  of the same class
        result = verify.verify(a, AskedVerifiers(vs, pass_at, other_pass_at, answer, top), b)
        draw = partial(verify_text.show, result)
        return shown(VerifyResult.of(result), draw, result.notes, result.warnings)

    def select(  # noqa: PLR0913  the options of the command
        self,
        kind: str,
        *,
        min: float | None = None,
        margin: float = 0.0,
        all_pairs: bool = False,
        band: tuple[float, float] = (0.0, 1.0),
        top: int | None = None,
        style: str | None = None,
        prompt: str | None = None,
        response: str | None = None,
    ) -> list[Mapping[str, Any]]:
        """Select rows for the next training step: best rows, pairs, or prompts.

        Args:
            kind: "sft", "dpo" or "prompts".
            min: lowest reward of a chosen row (sft) or a right row (prompts); None for the higher of two rewards.
            margin: smallest difference in reward of a pair (dpo).
            all_pairs: every pair of a prompt, not only its best and worst row (dpo).
            band: lowest and highest share of solved rows of a prompt (prompts).
            top: number of prompts, those whose next group is most likely live (prompts).
            style: "text", "chat" or "messages"; None for that of the dump.
            prompt: the column with the text of the prompt; auto-detected by default.
            response: the column with the response; auto-detected by default.

        Returns:
            The records that `advcli select` writes, usable with `datasets.Dataset.from_list`.

        Raises:
            UsageError: the kind or style is unknown.
            DataError: there is nothing to select.
        """
        for name, value, known in (("kind", kind, KINDS), ("style", style, (*STYLES, None))):
            if value not in known:
                raise UsageError(f"unknown value {value!r} for {name}", hint=either([*filter(None, known)]))
        wanted = Selected(kind, min, margin, all_pairs, band, top, style, prompt, response)
        return list(select.select(self._request({}, ungrouped=True), wanted).records)

    def report(
        self,
        path: "str | PathLike[str]" = "report.html",
        *,
        texts: int = 20,
        match: bool = True,
        force: bool = False,
        **options: Unpack[AdvantageOptions],
    ) -> Path:
        """Write one self-contained page with findings, plots, figures, groups and rows.

        Args:
            path: the page to write.
            texts: number of extreme groups, and of dead ones, whose responses are included.
            match: search for the rule behind a logged advantage.
            force: overwrite an existing file.
            **options: how advantages are computed, as in `advantages`.

        Returns:
            The path of the page.
        """
        out = Path(path)
        check = partial(atomic.check, out, force=force)
        page = report.report(self._request(options), texts=texts, search=match, check=check)
        with atomic.replacing(out, force=force) as file:
            file.write(html.html(page).encode("utf-8", errors="backslashreplace"))
        return out

    def write(
        self,
        folder: "str | PathLike[str]",
        adv: Advantages | None = None,
        *,
        prefix: str = "adv_",
        metrics: "str | PathLike[str] | None" = None,
        same_layout: bool = False,
        force: bool = False,
    ) -> ComputeResult:
        """Write a copy of the dump with the advantages of each row.

        Args:
            folder: the output folder, created if necessary. Each file keeps its name and format: `a.parquet` becomes
                `a.adv.parquet`; a frame becomes `frame.adv.parquet`.
            adv: the advantages to write, from `advantages` of this dump; None for the default settings.
            prefix: prefix of the names of the added columns.
            metrics: also write the metrics that trainers log, one JSON line per step.
            same_layout: for records with several rows, write lists into the record instead of one line per row.
            force: overwrite existing files.

        Raises:
            UsageError: a file exists, or the advantages are from another dump.
        """
        request = self._request({}) if adv is None else adv._request  # noqa: SLF001  of the same class
        if request.prefetch is None or request.prefetch.sources() is not self._inputs.sources:
            raise UsageError(
                "these advantages are from another dump", hint="dump.write(folder, dump.advantages())"
            )
        output = compute.Output(
            out=f"{fspath(folder)}/",
            prefix=prefix,
            metrics=None if metrics is None else Path(metrics),
            force=force,
            same_layout=same_layout,
        )
        result = compute.compute(request, output)
        return shown(ComputeResult.of(result), partial(tables.show, result), result.notes, result.warnings)

    def _request(
        self,
        options: AdvantageOptions,
        knobs: "dict[str, float | str] | None" = None,
        **columns: Any,  # noqa: ANN401  fields of ColumnOptions
    ) -> Request:
        return self._base.request(self._inputs, options, knobs, **columns)

    def _tables(self) -> Tables:
        def draw(console: "Console") -> None:
            console.print(tables.health_line(self._health), style="bold", highlight=False, soft_wrap=True)

        return Tables(draw, self.notes, self.warnings)

    def __repr__(self) -> str:
        return self._tables().text()

    def __rich__(self) -> "RenderableType":
        return self._tables().rich

    def _repr_html_(self) -> str:
        return self._tables().html()


def _several(values: Any) -> tuple[Any, ...]:  # noqa: ANN401  one value or several
    return tuple(values) if isinstance(values, Iterable) else (values,)


def _text(step: object) -> str | None:
    """A step as text; numbers are accepted."""
    return None if step is None else str(step)
