"""Ways to leave rows out: one row per filter. Nothing heavy is imported here."""

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
    """One way to leave rows out.

    Attributes:
        name: the word that the user types.
        target: "module:function"; data positional in the order of `needs`, knobs keyword-only, a mask out.
        needs: columns that the function takes, named in `records.roles.ROLES`, or "advantages".
        when: where the trainers that have it put it: "before" the statistics, so that the rows that are left
            out are in no mean, or "after" them.
        summary: one sentence.
        source: paper or file.
        whole_steps: whether it needs the order of what is in a step, so that no step can lie in two places.
        tests: whether its column is an expression over columns, and it is told where that holds in place of the reward.
        weighs: whether it takes `off_policy.tokens.LogProbs` in place of the log-probabilities, and gives a
            `Correction` with the weights of tokens and those that stay.
        by_framework: whether it is the correction of the framework of `--like`, with that one's settings.
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


# What `off_policy.tokens.LogProbs` is made of.
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


# What engines and trainers write where an answer was cut off.
_CUT_OFF = '("length", "LENGTH", "max_length", "max_tokens", "MAX_TOKENS", "max_new_tokens", "truncated", "TRUNCATED", true)'


def expression(spec: FilterSpec) -> str | None:
    """The expression over columns that a filter tests; None if it looks at something else."""
    return spec.column if FILTERS[spec.name].tests else None


def log_probs(specs: Iterable[FilterSpec]) -> str:
    """What the two log-probabilities of each token are read for, as `ColumnOptions.log_probs`."""
    return "filters" if any(FILTERS[spec.name].weighs for spec in specs) else ""


def filter_spec(when: str, text: str) -> FilterSpec:
    """Read `NAME[:KEY=VALUE,...]`; the knobs are checked when the settings are.

    Raises:
        UsageError: no such filter, or a part is not KEY=VALUE.

    Example:
        >>> filter_spec("before", "dynamic_sampling:column=accuracy").column
        'accuracy'
    """
    name, _, rest = text.partition(":")
    if FILTERS[name].tests:
        return FilterSpec(when, name, column=parse(rest, f"--{when} {name}:").text, typed=text)
    knobs: dict[str, float | str] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--{when} {text}: '{pair}' is not KEY=VALUE", hint=f"--{when} {name}:key=value")
        knobs[key] = value
        # Python reads 1_2, which is a pair of bounds, as 12.
        with suppress(ValueError):
            knobs[key] = value if "_" in value else float(value)
    column = knobs.pop("column", None)
    if column is not None and name == "truncated":
        ended = f"`{column}` < {knobs['max']}" if "max" in knobs else f"`{column}` not in {_CUT_OFF}"
        return FilterSpec(when, "where", column=parse(ended).text, typed=text)
    return FilterSpec(when, name, knobs, None if column is None else str(column))
