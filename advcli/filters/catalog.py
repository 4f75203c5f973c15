"""The catalog of filters, one row each. Imports nothing heavy."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from advcli.common.errors import UsageError
from advcli.common.registry import Registry
from advcli.records.settings import FilterSpec
from advcli.tensors.expressions import parse

WHEN = ("before", "after")


@dataclass(frozen=True)
class Filter:
    """One filter.

    Attributes:
        name: the name the user types.
        target: "module:function"; data positional in the order of `needs`, knobs keyword-only, returns a mask.
        needs: columns the function takes, named in `records.roles.ROLES`, or "advantages".
        when: where trainers apply it: "before" the statistics, so that dropped rows are excluded from the mean, or
            "after" them.
        summary: one sentence.
        source: paper or file.
        whole_steps: whether it needs the order of the rows within a step, so that a step can't be split over partitions.
        tests: whether its column is an expression over columns, whose truth value it takes in place of the reward.
        weighs: whether it takes `off_policy.tokens.LogProbs` in place of the log-probabilities and returns a
            `Correction` with token weights and a token mask.
        by_framework: whether it is the correction of the `--like` framework, with that framework's settings.
    """

    name: str
    target: str
    needs: tuple[str, ...]
    when: tuple[str, ...]
    summary: str
    source: str
    whole_steps: bool = False
    tests: bool = False
    weighs: bool = False
    by_framework: bool = False


# The columns behind `off_policy.tokens.LogProbs`.
_LOG_PROBS = ("rollout_log_probs", "log_probs")

FILTERS: Registry[Filter] = Registry(
    "filter",
    [
        Filter(
            name="dynamic_sampling",
            target="advcli.filters.dynamic_sampling:dynamic_sampling",
            needs=("rewards", "group"),
            when=WHEN,
            summary="groups without signal: all rewards equal, or with by=mean a mean outside low … high",
            source="DAPO, arXiv:2503.14476",
        ),
        Filter(
            name="truncated",
            target="advcli.filters.truncated:truncated",
            needs=("lengths",),
            when=WHEN,
            summary="rows of max tokens or more; with column=COL, rows that COL marks as truncated",
            source="DAPO, arXiv:2503.14476; TRL, SkyRL, open-instruct",
        ),
        Filter(
            name="where",
            target="advcli.filters.where:where",
            needs=("rewards",),
            when=WHEN,
            summary="rows for which an expression over columns is not true: where:lag <= 4",
            source="filters of trainers by status, age or source",
            tests=True,
        ),
        Filter(
            name="gfpo",
            target="advcli.filters.gfpo:gfpo",
            needs=("rewards", "lengths", "group"),
            when=WHEN,
            summary="all but the k shortest rows of each group, or with by=efficiency all but the k with most reward per token",
            source="GFPO, arXiv:2508.09726",
        ),
        Filter(
            name="pods",
            target="advcli.filters.pods:pods",
            needs=("rewards", "group"),
            when=WHEN,
            summary="all but the m rows of each group whose rewards vary most",
            source="PODS, arXiv:2504.13818",
        ),
        Filter(
            name="ragen",
            target="advcli.filters.ragen:ragen",
            needs=("rewards", "group", "step"),
            when=WHEN,
            summary="all groups except those of largest std that together have the fraction p of the step's std",
            source="RAGEN, arXiv:2504.20073",
            whole_steps=True,
        ),
        Filter(
            name="cppo",
            target="advcli.filters.cppo:cppo",
            needs=("advantages", "group", "step"),
            when=("after",),
            summary="all rows except the top `keep` fraction by |A| (per batch; per group with over=group)",
            source="CPPO, arXiv:2503.22342",
            whole_steps=True,
        ),
        Filter(
            name="tis",
            target="advcli.off_policy.weights:tis",
            needs=_LOG_PROBS,
            when=("after",),
            summary="nothing; weighs by the importance ratio of level=token, sequence or geometric, at most high",
            source="truncated importance sampling, https://fengyao.notion.site/off-policy-rl",
            weighs=True,
        ),
        Filter(
            name="mis",
            target="advcli.off_policy.weights:mis",
            needs=_LOG_PROBS,
            when=("after",),
            summary="what has an importance ratio outside low … high; weighs the rest by it",
            source="IcePop, https://ringtech.notion.site/icepop; MIS, https://richardli.xyz/rl-collapse",
            weighs=True,
        ),
        Filter(
            name="reject",
            target="advcli.off_policy.weights:reject",
            needs=_LOG_PROBS,
            when=("after",),
            summary="what has an importance ratio outside low … high, and rows with a token below veto",
            source="verl/trainer/ppo/rollout_corr_helper.py",
            weighs=True,
        ),
        Filter(
            name="opsm",
            target="advcli.off_policy.weights:opsm",
            needs=(*_LOG_PROBS, "advantages"),
            when=("after",),
            summary="rows with A < 0 whose log-probability fell by more than delta per token",
            source="DeepSeek-V3.2, arXiv:2512.02556",
            weighs=True,
        ),
        Filter(
            name="correction",
            target="advcli.off_policy.correction:per_batch",
            needs=_LOG_PROBS,
            when=("after",),
            summary="what the framework of --like rejects; weighs as it does, with its own settings",
            source="advcli frameworks",
            weighs=True,
            by_framework=True,
        ),
    ],
)


# Values that engines and trainers write for truncated responses.
_CUT_OFF = '("length", "LENGTH", "max_length", "max_tokens", "MAX_TOKENS", "max_new_tokens", "truncated", "TRUNCATED", true)'


def expression(spec: FilterSpec) -> str | None:
    """The expression over columns that a filter tests; None if it tests something else."""
    return spec.column if FILTERS[spec.name].tests else None


def log_probs(specs: Iterable[FilterSpec]) -> str:
    """The value of `ColumnOptions.log_probs`: what the two log-probabilities of each token are needed for; "" for nothing."""
    return "filters" if any(FILTERS[spec.name].weighs for spec in specs) else ""


def filter_spec(when: str, text: str) -> FilterSpec:
    """Parse `NAME[:KEY=VALUE,...]`; the knobs are checked with the settings.

    Raises:
        UsageError: unknown filter, or a part is not KEY=VALUE.

    Example:
        >>> filter_spec("before", "dynamic_sampling:column=accuracy").column
        'accuracy'
    """
    name, _, arguments = text.partition(":")
    if FILTERS[name].tests:
        return FilterSpec(when, name, column=parse(arguments, f"--{when} {name}:").text, typed=text)
    knobs: dict[str, float | str] = {}
    for pair in filter(None, arguments.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--{when} {text}: '{pair}' is not KEY=VALUE", hint=f"--{when} {name}:key=value")
        knobs[key] = value
        # 1_2 is a pair of bounds, but float() would parse it as 12.
        with suppress(ValueError):
            knobs[key] = value if "_" in value else float(value)
    column = knobs.pop("column", None)
    if column is not None and name == "truncated":
        condition = f"`{column}` < {knobs['max']}" if "max" in knobs else f"`{column}` not in {_CUT_OFF}"
        return FilterSpec(when, "where", column=parse(condition).text, typed=text)
    return FilterSpec(when, name, knobs, None if column is None else str(column))
