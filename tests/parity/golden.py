"""`python -m tests.parity.golden FILE...`: every case of golden files through `compute_advantages`.

A golden file has one JSON object a line: `framework`, `version`, `estimator`, `settings` (or `params`), `rows` and
`expected`. A file without `framework` is about advcli's own estimators; its columns may stand beside each other as
lists instead of `rows`, and `original`, `processed` and `kept` in place of `expected`.

Prints how many cases of each framework and estimator agree and the largest difference, then the first case of each that
does not. The last line is `agree K of M`; the exit status is 1 if a case differs.
"""

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import golden_off_policy
from .golden_calls import Call, call_of
from .golden_off_policy import OffPolicy

TOLERANCE = 2e-6
# Share of |A|, for a trainer that computes in 8 bits of mantissa.
BFLOAT16 = 1 / 128
# Cases without a framework were made in float32 and hold to this.
OWN_TOLERANCE = 1e-5
WIDTH = 160
WORDS = {"NaN": math.nan, "nan": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass
class Tally:
    """The cases of one framework and estimator."""

    agree: int = 0
    cases: int = 0
    worst: float = 0.0
    first: str = ""


@dataclass(frozen=True)
class Outcome:
    """One case: the largest difference, relative to max(1, |A|), and what is wrong ("" if it agrees)."""

    worst: float = 0.0
    wrong: str = ""


@dataclass(frozen=True)
class Case:
    """One line of a golden file."""

    place: str
    framework: str
    version: str
    estimator: str
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    expected: Mapping[str, Any]
    note: str = ""

    @classmethod
    def of(cls, line: Mapping[str, Any], place: str) -> "Case":
        rows = line.get("rows") or _rows(line)
        expected = line.get("expected")
        if expected is None:
            expected = {name: line[name] for name in ("original", "processed", "kept") if name in line}
        if not isinstance(expected, Mapping):
            expected = {"original": expected}
        known = {"case", "framework", "version", "estimator", "rows", "expected", "note", "proof", "kind"}
        plain = {
            name: value for name, value in line.items() if not isinstance(value, list) and name not in known
        }
        settings = next((line[name] for name in ("settings", "params", "knobs") if name in line), plain)
        return cls(
            place,
            line.get("framework") or "",
            str(line.get("version") or ""),
            line.get("estimator") or "grpo",
            settings or {},
            rows,
            expected,
            line.get("note") or "",
        )


def _rows(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Columns beside each other as rows."""
    apart = {
        name: value
        for name, value in line.items()
        if isinstance(value, list) and name not in ("original", "processed", "kept", "expected")
    }
    return [dict(zip(apart, values, strict=True)) for values in zip(*apart.values(), strict=True)]


def read(path: Path) -> Iterator[Case]:
    """The cases of a golden file: JSON Lines, or one JSON list."""
    text = path.read_text(encoding="utf-8")
    lines = (
        json.loads(text)
        if text.lstrip().startswith("[")
        else [json.loads(line) for line in text.splitlines() if line.strip()]
    )
    for at, line in enumerate(lines):
        yield Case.of(line, f"{path.name}:{at + 1}")


def check(case: Case) -> Outcome:
    """Run a case and compare what comes out."""
    try:
        asked = (case.framework, case.version, case.estimator, case.settings, case.rows)
        call = golden_off_policy.of(*asked) or call_of(*asked)
        given = call.run()
    except Exception as error:  # whatever goes wrong is one case that differs
        return Outcome(wrong=f"{error}" if str(error) else type(error).__name__)
    worst = 0.0
    for name, column in case.expected.items():
        if name not in given:
            return Outcome(worst, f"'{name}' is not computed")
        one = not isinstance(given[name], list)
        found = compare(case, call, [column] if one else column, [given[name]] if one else given[name])
        worst = max(worst, found.worst)
        if found.wrong:
            return Outcome(worst, found.wrong)
    return Outcome(worst)


def compare(case: Case, call: Call | OffPolicy, expected: Sequence[Any], given: Sequence[Any]) -> Outcome:
    """Compare a column with the expected one, row by row or token by token."""
    if not isinstance(expected, list) or len(expected) != len(given):
        return Outcome(wrong="the expected values are not one per row")
    worst, dead = 0.0, dead_rows(call)
    for row, (theirs, mine) in enumerate(zip(expected, given, strict=True)):
        pairs = _pairs(theirs, mine)
        if isinstance(theirs, list) and (not isinstance(mine, list) or len(mine) != len(theirs)):
            return Outcome(worst, f"row {row + 1}: expected a number per token")
        for a, b in pairs:
            difference, holds = differ(case, a, b, dead=row in dead)
            worst = max(worst, difference)
            if not holds:
                return Outcome(worst, f"row {row + 1}: expected {_shown(a)}, got {_shown(b)}")
    return Outcome(worst)


def _pairs(theirs: Any, mine: Any) -> list[tuple[Any, Any]]:
    """The numbers that are compared: one number for the row is that of each of its tokens."""
    if not isinstance(mine, list):
        return [(theirs, mine)]
    return list(zip(theirs, mine, strict=False)) if isinstance(theirs, list) else [(theirs, a) for a in mine]


def differ(case: Case, theirs: Any, mine: Any, *, dead: bool) -> tuple[float, bool]:
    """How far two numbers are apart, relative to max(1, |A|), and whether that is near enough."""
    if isinstance(theirs, bool) or isinstance(mine, bool):
        return 0.0, theirs == mine
    a, b = (_number(value) for value in (theirs, mine))
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return 0.0, a == b or (math.isnan(a) and math.isnan(b))
    apart = abs(a - b) / max(1.0, abs(a))
    if apart <= (TOLERANCE if case.framework else OWN_TOLERANCE):
        return apart, True
    if case.settings.get("dtype") == "bfloat16":
        return apart, abs(a - b) <= BFLOAT16 * abs(a)
    # What rounding leaves of a dead group hangs on the processor: only its sign and size are compared.
    near = dead and a * b > 0 and 0.5 < a / b < 2
    return 0.0 if near else apart, near


def _number(value: Any) -> float:
    return math.nan if value is None else float(WORDS.get(value, value) if isinstance(value, str) else value)


def _shown(value: Any) -> str:
    return "null" if math.isnan(_number(value)) else f"{_number(value):.6g}"


def dead_rows(call: Call | OffPolicy) -> set[int]:
    """Rows of groups whose rewards are all equal."""
    of: dict[Any, list[int]] = defaultdict(list)
    for row, group in enumerate(call.groups):
        of[group].append(row)
    return {row for rows in of.values() if len({str(call.rewards[row]) for row in rows}) == 1 for row in rows}


@dataclass
class Report:
    """Everything that was run."""

    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)

    def add(self, case: Case, outcome: Outcome) -> None:
        """Count a case."""
        tally = self.tallies.setdefault((case.framework or "advcli", case.estimator), Tally())
        tally.cases += 1
        tally.agree += not outcome.wrong
        tally.worst = max(tally.worst, outcome.worst)
        tally.first = tally.first or (outcome.wrong and f"{case.place}: {outcome.wrong}")

    def lines(self) -> Iterator[str]:
        """The table, what differs, and the last line."""
        yield f"{'framework':<18} {'estimator':<34} {'agree':>10}  worst"
        for (framework, estimator), tally in self.tallies.items():
            worst = f"{tally.worst:.1e}" if tally.agree or tally.worst else "-"
            yield f"{framework[:18]:<18} {estimator[:34]:<34} {f'{tally.agree} of {tally.cases}':>10}  {worst}"
        for (framework, estimator), tally in self.tallies.items():
            if tally.first:
                yield f"{framework} {estimator}: {tally.first}"[:WIDTH]
        yield f"agree {self.agree} of {sum(tally.cases for tally in self.tallies.values())}"

    @property
    def agree(self) -> int:
        """Cases that agree."""
        return sum(tally.agree for tally in self.tallies.values())

    @property
    def holds(self) -> bool:
        """Whether every case agrees."""
        return all(not tally.first for tally in self.tallies.values())


def main(paths: Sequence[str]) -> int:
    """Run every case of every file; 0 if all agree."""
    if not paths:
        sys.stderr.write("usage: python -m tests.parity.golden FILE...\n")
        return 2
    report = Report()
    for path in paths:
        for case in read(Path(path)):
            report.add(case, check(case))
    sys.stdout.write("".join(f"{line}\n" for line in report.lines()))
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
