"""Write fidelity.md: how far `--like` is from the frameworks' own packages: `python docs/fidelity.py [FOLDER]`."""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from advcli import DataError, compute_advantages
from advcli.frameworks.catalog import RULES, find, frameworks, rules_of
from advcli.frameworks.proven import range_of
from advcli.frameworks.rule import IN_ORDER, Rule

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from parity import compared, golden
from parity import test_token_parity as tokens

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "tests" / "data" / "golden" / "rollout_unit.jsonl"
PARITY = HERE.parent / "tests" / "parity"
# Two right of eight and a dead group in one step; a group of one in the next.
BATCH: Mapping[str, Any] = {
    "rewards": [1, 1, *[0] * 6, *[0.9] * 8, 0.7],
    "groups": [0] * 8 + [1] * 8 + [2],
    "steps": [0] * 16 + [1],
    "lengths": [100] * 17,
}
# Heading → the row of the batch that it shows.
SHOWN = {"a right one": 0, "a wrong one": 2, "all eight 0.9": 8, "0.7 alone": 16}
STEPS = (0, 1e-12, 1e-9, 1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)

HEAD = """# How near `--like` comes to the frameworks' own code

The numbers of `tests/parity/data` were computed by the frameworks' own packages, installed from the package index and
called as their trainers call them ([how](../tests/parity/README.md)). advcli computes the same batches with `--like`. The
distance is the largest |Δ| of all rows over the largest |A| of their case, rounded up; one unit in the last place of
float32 is 6e-8. This page is written by `docs/fidelity.py`; a test measures again and fails where a number has more than doubled.

- *Batches*: random groups of 2 to 8 rows; binary, continuous and tied rewards, several rewards with weights, missing ones, groups of
  one, dead groups, ragged and shuffled groups where the framework finds them by key, lengths from 1 to 2000.
- *Hard batches* were made to lose digits: rewards near 5000 and 10⁶, one offset shared by a whole step, groups and steps with a
  spread of 10⁻⁶ and 10⁻⁷, one group in a step, decimal parts with weights, tokens of a tool inside a response. What the rule
  divides by is then rounding noise, in the framework as here.
- *Steps*: the cases of one rule are computed again as the steps of one data set, several of them of one size, and are the same.
- A mean over tokens far from 0 is that of the padded matrix of the step, as wide as its longest row. A trainer that pads further,
  to the longest response that it allows, may round that mean in another way; so may one with several processes or a GPU.
- *Dead groups* whose float32 mean is off by one unit get a phantom advantage, whose digits hang on the order in
  which a processor sums. It is compared by sign and within a factor of 2, and not part of the distance.

## Compared with the packages

"""

RANGES = """
## Which releases stand for which range

The rule of a range of versions was compared with these releases. A version outside of all that was run or read is said by a
warning.

"""

VECTORS = """
## Compared with numbers that the code gave

These frameworks are not on the package index, or not these versions. Their rules are compared with numbers that were noted
from runs of their code, as literals in `tests/frameworks/test_vectors.py`.

"""


ROLLOUTS = """
## What the rows of a rollout get

Where one rollout has several rows (turns, outputs of an agent loop, segments after the context was compacted), frameworks disagree
what a statistic counts and what each row gets. With `--like` advcli does what the framework does; `--count rows` and `--count rollouts` show
the other reading. Of frameworks that never write more than one row per rollout the rule is applied to rollouts. The rules of frameworks whose code was run on
such batches are compared with what it gave (`tests/data/golden/rollout_unit.jsonl`, {cases} batches).

"""

SAME = """
## One batch, many names

Eight rewards of one prompt, two of them 1 and six 0; eight of another that are all 0.9; and in the next step a prompt with one
response, of reward 0.7. What each framework that calls its estimator GRPO, or has it under another name, makes of them by default and at its other
scales, as `--like` computes it; `–` is NaN or a group that it refuses. Frameworks that give the same four digits stand together.

"""

UPSTREAM = """
## Upstream

The newest release of each framework on the package index beside the newest one that was compared or read, as
`python -m tests.parity.upstream --save` found them. It runs the recorded cases against a release that is newer.

"""

NOTES = """
## Compared with numbers worked out by hand

These rules, too, are compared with literals, but those were worked out from a reading of the code, not by running it.

"""


@dataclass
class Distance:
    """What was measured of one estimator of one release."""

    cases: int = 0
    rows: int = 0
    ordinary: float = 0.0
    hard: float = math.nan

    def add(self, found: list[float], expected: list[float], skip: set[int], *, hard: bool) -> None:
        """Take in a case; `skip`: rows that are not part of the distance."""
        self.cases += 1
        self.rows += len(expected)
        peak = max((abs(a) for a in expected if not math.isnan(a)), default=0.0) or 1.0
        pairs = [pair for row, pair in enumerate(zip(found, expected, strict=True)) if row not in skip]
        far = max((abs(a - b) / peak for a, b in pairs if not math.isnan(b)), default=0.0)
        if hard:
            self.hard = max(far, 0.0 if math.isnan(self.hard) else self.hard)
        else:
            self.ordinary = max(far, self.ordinary)


def measured() -> dict[tuple[str, str, str], Distance]:
    """Package, version and estimator → distance, over every case of the reference files."""
    found: dict[tuple[str, str, str], Distance] = {}
    releases = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (PARITY / "data").glob("*.json")
    }
    for (file, case, mine, theirs, skip), rule in _cases():
        release = releases[file]
        key = (release["package"], release["version"], rule.estimator)
        found.setdefault(key, Distance()).add(mine, theirs, skip, hard=compared.is_hard(case))
    return dict(
        sorted(found.items(), key=lambda item: (item[0][0].lower(), _descending(item[0][1]), item[0][2]))
    )


def compared_rules() -> set[str]:
    """Names of the rules that a case of the reference files was compared with."""
    return {rule.name for _, rule in _cases()}


_Case = tuple[str, Mapping[str, Any], list[float], list[float], set[int]]


@cache
def _cases() -> Sequence[tuple[_Case, Rule]]:
    """File, case, our numbers, theirs, rows that are not part of the distance; and the rule that gave ours. Computed once."""
    return tuple(_computed())


def _computed() -> Iterator[tuple[_Case, Rule]]:
    for file, case in compared.CASES:
        rule = find(*compared.target(file, case)[:2])
        yield (
            (file, case, compared.computed(file, case), compared.expected(case), compared.dead_rows(case)),
            rule,
        )
    for file, case in tokens.CASES:
        yield (file, case, *tokens.both(file, case), set()), find(*tokens.rule_of(file, case))
    for file, case in tokens.SHAPED:
        rule = find(*tokens.shaped_rule_of(file, case))
        yield (file, case, *tokens.both_shaped(file, case), compared.dead_rows(case)), rule


def page(found: Mapping[tuple[str, str, str], Distance]) -> str:
    """The page as Markdown."""
    header = ("package", "version", "estimator", "cases", "numbers", "distance", "hard batches")
    rows = [
        (
            *key,
            f"{d.cases}",
            f"{d.rows:,}",
            rounded_up(d.ordinary),
            "–" if math.isnan(d.hard) else rounded_up(d.hard),
        )
        for key, d in found.items()
    ]
    noted, told = (
        [
            (rule.framework, rule.versions or "all", rule.estimator, f"`{rule.source}`")
            for rule in RULES
            if rule.proof == proof
        ]
        for proof in ("code", "notes")
    )
    left_out = [
        f"- `{name}`: {reason}" for name, reason in compared.LEFT_OUT.items() if reason != compared.ELSEWHERE
    ]
    return (
        HEAD
        + _table(header, rows)
        + "\nNot compared, with the reason:\n\n"
        + "\n".join(left_out)
        + "\n"
        + RANGES
        + _table(
            ("framework", "run or read", "estimator", "range", "releases that were run"), list(_ranges())
        )
        + VECTORS
        + _table(("framework", "versions", "estimator", "where the rule stands"), noted)
        + ROLLOUTS.format(cases=len(list(golden.read(GOLDEN))))
        + _table(("framework", "estimators", "counts", "the rows of a rollout get"), rollouts())
        + SAME
        + _table(("framework (scale), estimator", *SHOWN), same_batch())
        + UPSTREAM
        + _table(("framework", "compared or read", "newest", "outcome"), upstream())
        + NOTES
        + _table(("framework", "versions", "estimator", "where the rule stands"), told)
    )


def _ranges() -> Iterator[tuple[str, ...]]:
    """For each rule that was compared with a package: the releases."""
    releases = compared.heads()
    run: dict[str, set[str]] = {}
    for (file, *_), rule in _cases():
        run.setdefault(rule.name, set()).add(releases[file][1])
    for rule in (rule for rule in RULES if rule.name in run):
        versions = sorted(run[rule.name], key=_descending)
        known = range_of(rule.framework) or "no release"
        yield rule.framework, known, rule.estimator, rule.versions or "all", ", ".join(versions)


def rollouts() -> list[tuple[str, ...]]:
    """Framework, its estimators, what they count, and what each row gets."""
    alike: dict[tuple[str, str, str], dict[str, None]] = {}
    for rule in RULES:
        if rule.level == "row":
            key = (rule.framework, rule.unit.counted, rule.unit.given)
            alike.setdefault(key, {})[rule.estimator] = None
    return [(name, ", ".join(estimators), *rest) for (name, *rest), estimators in alike.items()]


def same_batch() -> list[tuple[str, ...]]:
    """Frameworks that give the same, and what they give to the rows of `BATCH` that are shown."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for rule in filter(None, map(_of_rows, frameworks())):
        for place, scale in enumerate(rule.scales or (None,)):
            name = f"{rule.framework} ({scale})" if place else rule.framework
            name += "" if "grpo" in rule.estimator else f" {rule.estimator}"
            alike.setdefault(_of_batch(rule, scale), []).append(name)
    return [(", ".join(names), *numbers) for numbers, names in alike.items()]


def _of_rows(framework: str) -> Rule | None:
    """The first rule of a framework that compares rows with their group, whatever their order and without turns."""
    for rule in rules_of(framework):
        needs = set(rule.needs)
        if {"rewards", "group"} <= needs <= {"rewards", "group", "step", "lengths"} and rule.level == "row":
            return None if rule.target.startswith(IN_ORDER) else rule
    return None


def _of_batch(rule: Rule, scale: str | None) -> tuple[str, ...]:
    """What a rule gives; nothing for the group of one where it refuses those."""
    given: dict[str, Any] = {"like": rule.framework, "estimator": rule.estimator, "scale": scale}
    try:
        found = compute_advantages(**BATCH, **given).original
    except DataError:
        without = {name: values[:-1] for name, values in BATCH.items()}
        found = compute_advantages(**without, **given).original
    shown = [*found.tolist(), math.nan]
    return tuple(
        "–" if math.isnan(shown[row]) else f"{round(shown[row], 4) + 0.0:.4f}" for row in SHOWN.values()
    )


def upstream() -> list[tuple[str, ...]]:
    """What the last run of the upstream watch found."""
    found = json.loads((PARITY / "upstream.json").read_text(encoding="utf-8"))
    return [(one["framework"], one["proven"] or "–", one["newest"] or "–", one["outcome"]) for one in found]


def rounded_up(value: float) -> str:
    """The next of a few steps, so that the last bits of another processor do not change the page.

    Example:
        >>> rounded_up(3e-8), rounded_up(0.0), rounded_up(1.2e-7)
        ('1e-07', '0', '2e-07')
    """
    step = next(step for step in STEPS if value <= step)
    return f"{step:.0e}" if step else "0"


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _descending(version: str) -> tuple[int, ...]:
    return tuple(-int(part) for part in version.split(".") if part.isdigit())


def main(folder: Path = HERE) -> None:
    """Write fidelity.md."""
    (folder / "fidelity.md").write_text(page(measured()), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
