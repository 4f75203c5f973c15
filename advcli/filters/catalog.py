"""Ways to leave rows out: one row per filter. Nothing heavy is imported here."""

from contextlib import suppress
from dataclasses import dataclass

from advcli.errors import UsageError
from advcli.records.settings import FilterSpec
from advcli.registry import Registry
from advcli.tensors.expressions import parse

WHEN = ("before", "after")


@dataclass(frozen=True)
class Filter:
    """One way to leave rows out.

    Attributes:
        name: the word that the user types.
        target: "module:function"; data positional in the order of `needs`, knobs keyword-only, a mask out.
        needs: columns that the function takes, named in `estimators.catalog.COLUMNS`, or "advantages".
        when: where the trainers that have it put it: "before" the statistics, so that the rows that are left
            out are in no mean, or "after" them.
        summary: one sentence.
        source: paper or file.
        whole_steps: whether it needs the order of what is in a step, so that no step can lie in two places.
        tests: whether its column is an expression over columns, and it is told where that holds in place of the reward.
    """

    name: str
    target: str
    needs: tuple[str, ...]
    when: tuple[str, ...]
    summary: str
    source: str
    whole_steps: bool = False
    tests: bool = False


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
    ],
)


# What engines and trainers write where an answer was cut off.
_CUT_OFF = '("length", "LENGTH", "max_length", "max_tokens", "MAX_TOKENS", "max_new_tokens", "truncated", "TRUNCATED", true)'


def expression(spec: FilterSpec) -> str | None:
    """The expression over columns that a filter tests; None if it looks at something else."""
    return spec.column if FILTERS[spec.name].tests else None


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
        with suppress(ValueError):
            knobs[key] = float(value)
    column = knobs.pop("column", None)
    if column is not None and name == "truncated":
        ended = f"`{column}` < {knobs['max']}" if "max" in knobs else f"`{column}` not in {_CUT_OFF}"
        return FilterSpec(when, "where", column=parse(ended).text, typed=text)
    return FilterSpec(when, name, knobs, None if column is None else str(column))
