"""An inspection as one strict JSON object; docs/inspect.md says what each key is."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from advcli.records.inspection import Checked, Detail, Facts, Inspection
from advcli.render.jsonout import dumped


def inspect(found: Inspection, checked: Sequence[Checked] = ()) -> str:
    """The JSON of `advcli inspect`.

    Args:
        found: what was found.
        checked: the conditions of `--fail-if`.
    """
    files = found.files
    return dumped(
        {
            "format": files.format,
            "files": list(files.names),
            "columns": dict(files.columns),
            "group_rule": files.group_rule,
            "lint": list(files.lint),
            "duplicates": files.duplicates,
            **_facts(found.facts),
            **({"rows": found.turns.rows} if found.turns else {}),
            "rollouts": asdict(found.turns) if found.turns else None,
            "settings": dict(found.settings),
            "by": None
            if found.by is None
            else {"column": found.by, "values": {value: _facts(part) for value, part in found.split.items()}},
            "dead_causes": asdict(found.causes) if found.causes else None,
            "details": [_detail(detail) for detail in found.details],
            "fail_if": [asdict(condition) for condition in checked],
        }
    )


def _facts(facts: Facts) -> dict[str, Any]:
    signal = facts.signal
    return {
        "rows": facts.rows,
        "groups": facts.groups,
        "steps": facts.steps,
        "group_sizes": {str(size): many for size, many in facts.sizes.items()},
        "singletons": signal.singletons,
        "dead_groups": signal.dead_groups,
        "dead_groups_all_max": signal.dead_groups_all_max,
        "dead_groups_all_min": signal.dead_groups_all_min,
        "near_dead_groups": signal.near_dead_groups,
        "live_groups": signal.live_groups,
        "live_rows": signal.live_rows,
        "missing": signal.missing,
        "missing_by_cause": dict(signal.missing_by_cause),
        "mean_abs_adv": facts.mean_abs_adv,
        "max_abs_adv": facts.max_abs_adv,
        "effective_rows": facts.effective_rows,
        "rewards": [asdict(reward) for reward in facts.rewards],
        "phantoms": [asdict(rule) for rule in facts.phantoms],
        "constant_outcome": dict(facts.constant_outcome),
        "parts": asdict(facts.parts) if facts.parts else None,
        "length": asdict(facts.length) if facts.length else None,
        "per_step": [{**asdict(step), "outlier": step.outlier} for step in facts.per_step],
    }


def _detail(detail: Detail) -> dict[str, Any]:
    return {
        "title": detail.title,
        "kind": detail.kind,
        "lines": [dict(line) for line in detail.lines],
        "left": detail.left,
    }
