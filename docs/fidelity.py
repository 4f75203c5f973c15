"""Measure `--like` against the frameworks and write fidelity.md: `python docs/fidelity.py [--check]`."""

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests")]

from frameworks import vectors  # noqa: E402  the path is set just above
from parity import compared  # noqa: E402

from advcli.frameworks.catalog import RULES, find  # noqa: E402
from advcli.frameworks.rule import Rule  # noqa: E402

PAGE = HERE / "fidelity.md"
SLACK = 4  # how many times larger or smaller a fresh number may be than that of the page
FLOOR = {
    "float32": 1e-7,
    "float64": 1e-15,
}  # below it the last bit decides, and another processor decides otherwise
NUMBER = re.compile(r"≤ (\d+e-\d+)")


@dataclass
class Measured:
    """What the cases of one row of the catalog gave against one release."""

    cases: int = 0
    rows: int = 0
    usual: float = 0.0
    hard: float | None = None


def measure() -> dict[tuple[str, str], Measured]:
    """(row of the catalog, file of references) → how far advcli is from the framework, relative to the largest |A|.

    Rows of dead groups are left out: their digits are rounding itself (see the page).
    """
    found: dict[tuple[str, str], Measured] = defaultdict(Measured)
    for file, case in compared.CASES:
        like, estimator, _ = compared.target(file, case)
        one = found[find(like, estimator).name, file]
        one.cases += 1
        one.rows += len(case["rewards"])
        distance = _distance(file, case)
        if case["batch"] in compared.HARD:
            one.hard = max(one.hard or 0.0, distance)
        else:
            one.usual = max(one.usual, distance)
    return found


def _distance(file: str, case: Mapping) -> float:
    """Largest |Δ| of a case over its largest |A|."""
    theirs, mine = compared.expected(case), compared.computed(file, case)
    dead = compared.dead_rows(case)
    live = [row for row, a in enumerate(theirs) if row not in dead and not math.isnan(a)]
    if any(math.isnan(mine[row]) != math.isnan(a) for row, a in enumerate(theirs)):
        return math.inf
    peak = max((abs(theirs[row]) for row in live), default=0.0)
    return max((abs(mine[row] - theirs[row]) for row in live), default=0.0) / peak if peak else 0.0


def number(value: float | None, rule: Rule) -> str:
    """A distance, rounded up to one significant digit, and never below what the dtype can tell."""
    if value is None:
        return "–"
    value = max(value, FLOOR["float64" if rule.knobs.get("dtype") == "float64" else "float32"])
    power = math.floor(math.log10(value))
    digit = math.ceil(value / 10**power - 1e-9)
    return f"≤ {digit}e{power}" if digit < 10 else f"≤ 1e{power + 1}"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or compare it with a fresh one."""
    fresh = page()
    if "--check" in arguments:
        complaint = stale(PAGE.read_text(encoding="utf-8"), fresh)
        if complaint:
            sys.stderr.write(f"docs/fidelity.md: {complaint}; run: python docs/fidelity.py\n")
        return int(complaint is not None)
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


def stale(kept: str, fresh: str) -> str | None:
    """What is wrong with a page, or None: another text, or a number that is far from the measured one."""
    if NUMBER.sub("#", kept) != NUMBER.sub("#", fresh):
        return "the text is not that of the script"
    for old, new in zip(NUMBER.findall(kept), NUMBER.findall(fresh), strict=True):
        if not 1 / SLACK <= float(new) / float(old) <= SLACK:
            return f"{old} is now {new}"
    return None


def page() -> str:
    """The page."""
    return TEXT.format(
        measured="\n".join(_measured_table()),
        vectors="\n".join(_vectors_table()),
        left_out="\n".join(_left_out_table()),
        usual=_plain(compared.TOLERANCE),
        double=_plain(compared.DOUBLE_TOLERANCE),
        hard=", ".join(f"`{name}` {_plain(share)}" for name, share in compared.HARD.items()),
        rows=len(RULES),
        frameworks=len({rule.framework for rule in RULES}),
        slack=SLACK,
    )


def _plain(share: float) -> str:
    return f"{share:.0e}".replace("e-0", "e-")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _measured_table() -> Iterator[str]:
    found, heads = measure(), compared.heads()
    rows = []
    for rule in RULES:
        for (name, file), one in sorted(found.items()):
            if name == rule.name:
                package, version = heads[file]
                rows.append(
                    (
                        rule.framework,
                        rule.estimator,
                        rule.versions.replace(",", ", ") or "all",
                        f"{package} {version}",
                        str(one.cases),
                        str(one.rows),
                        number(one.usual, rule),
                        number(one.hard, rule),
                    )
                )
    header = (
        "framework",
        "estimator",
        "versions",
        "against",
        "cases",
        "rows",
        "usual batches",
        "hard batches",
    )
    return _table(header, rows)


def _vectors_table() -> Iterator[str]:
    counts: Counter[str] = Counter()
    for (like, estimator), count in vectors.literals().items():
        counts[find(like, estimator).name] += count
    rows = [
        (
            rule.framework,
            rule.estimator,
            rule.versions.replace(",", ", ") or "all",
            rule.proof,
            str(counts[rule.name]),
            vectors.RAN[rule.framework] if rule.proof == "code" else vectors.NOTED[rule.framework],
        )
        for rule in RULES
        if rule.proof != "package"
    ]
    return _table(("framework", "estimator", "versions", "proof", "vectors", "from"), rows)


def _left_out_table() -> Iterator[str]:
    many, heads = Counter[str](), compared.heads()
    names: dict[str, set[str]] = defaultdict(set)
    for file, case in compared.references():
        reason = compared.reason_to_leave_out(case)
        if reason:
            many[reason] += 1
            names[reason].add(f"{heads[file][0]} {case['estimator']}")
    rows = [(reason, str(many[reason]), ", ".join(sorted(names[reason]))) for reason in sorted(many)]
    return _table(("reason", "cases", "of"), rows)


TEXT = """# Fidelity of --like

How close `--like` comes to the frameworks: {rows} rules of {frameworks} frameworks. This page is written by
`docs/fidelity.py`; `advcli frameworks NAME` shows the rules themselves.

## Measured against the frameworks' own packages

A case is one call of a framework's own code on a batch of rewards: its inputs and the advantages that it gave
(`tests/parity/data`). advcli computes the same batch with `--like`. A number is the largest difference over the cases,
|advcli − framework| / largest |A| of the case, rounded up to one digit. float32 has a last place of 6e-8, so `≤ 1e-7` is
what agreement to the last bit or two looks like; smaller differences are not told apart, nor below 1e-15 in float64.

Hard batches are apart: rewards near 5000 and 1e6 (`offset-n4`) lose their digits in float32 before the rule begins, and
rewards of 0.5 ± 1e-6 (`narrow-n4`) are divided by a spread of that size, which multiplies what was lost.

{measured}

The tests allow {usual} of the largest |A|, {double} where the framework computes in float64, and more in hard batches:
{hard}.

**Dead groups are not in these numbers.** Where all rewards of a group are equal, some frameworks give an advantage that is
one unit in the last place over the eps. Its digits hang on the order in which a processor sums, so the tests compare its sign,
and its size within a factor of two, where it is not met exactly. On the kind of processor that made the references it is:
whether a framework takes the standard deviation of a matrix of groups or of one group after the other decides that digit,
and the rules tell the two apart.

To make the references again: `python tests/parity/make.py` (see `tests/parity/README.md`). To measure again:
`python docs/fidelity.py`.

## Proven by vectors

These rules have no package on the index, or none of that version. `code`: numbers that the framework's own function
gave, taken out of its repository at the place named and run alone. `notes`: numbers worked out by hand from a reading of its code.
The numbers are literals in `tests/frameworks/vectors.py`; how many of them concern the rule is in the column `vectors`.

{vectors}

## Left out

Cases of the references that `--like` does not reproduce. What a rule does not replay although it changes the advantage of a run
(KL in the reward, clipping before the rule) is printed with every `--like` and by `advcli frameworks NAME`.

{left_out}

## When this page is stale

`python docs/fidelity.py --check` and the tests compare it with fresh measurements: the text and the counts exactly, a measured
number within a factor of {slack}. The last bits of a float32 sum differ between processors, and a page that told them would be
stale on the next machine.
"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
