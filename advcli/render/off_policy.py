"""The off-policy figures as tables."""

from collections.abc import Iterator, Sequence

from advcli.common.wording import counted
from advcli.records.off_policy import Figures, OffPolicy, OffPolicyPart
from advcli.render.numbers import count, number

# Number of steps, versions and lags to list; --json has all.
_PARTS = 10
_KEYS = 12
_HEADINGS = ("kl (k1)", "k3", "χ² token", "ESS", "ppl ratio", "max ρ")


def table(figures: OffPolicy) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Header and lines: all rows, then steps, versions and lags if there are several."""
    rows = [_line("all", figures.all)]
    rows += _lines("step", figures.per_step)
    rows += _lines("version", figures.per_version)
    rows += _lines("lag", figures.staleness)
    return ("off policy", "rows", *_HEADINGS), rows


def remarks(figures: OffPolicy) -> Iterator[str]:
    """Notes below the table: omitted lines, the compared columns, and the meaning of the columns."""
    omitted = max(len(part) - _PARTS for part in (figures.per_step, figures.per_version, figures.staleness))
    if omitted > 0:
        yield f"{counted(omitted, 'more line')} in --json"
    mask = f", on tokens of '{figures.mask}'" if figures.mask else ""
    yield f"ρ is '{figures.train}' over '{figures.rollout}'{mask}; ESS is a share of the tokens"


def framework(figures: OffPolicy) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Header and lines of the metrics that a framework logs for the same rows."""
    rows: list[Sequence[str]] = [
        (name, number(value)) for name, value in list(figures.metrics.items())[:_KEYS]
    ]
    if len(figures.metrics) > _KEYS:
        rows.append((f"… {len(figures.metrics) - _KEYS} more in --json", ""))
    return (f"as {figures.framework} logs it", "value"), rows


def _lines(name: str, parts: Sequence[OffPolicyPart]) -> list[Sequence[str]]:
    if len(parts) < 2:
        return []
    return [_line(f"{name} {part.name}", part.figures) for part in parts[:_PARTS]]


def _line(name: str, result: Figures) -> Sequence[str]:
    values = (
        result.kl,
        result.k3_kl,
        result.chi2_token,
        result.eff_sample_size,
        result.ppl_ratio,
        result.ratio_max,
    )
    return (name, count(result.rows), *(number(value) for value in values))
