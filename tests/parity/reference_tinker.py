"""tinker-cookbook: `compute_advantages` of its RL data processing, group by group."""

from types import SimpleNamespace

from parity import batches, cases


def run(version: str) -> list[dict]:
    """The one rule that it has."""
    del version
    for name in ("tinker_cookbook", "tinker_cookbook.rl", "tinker_cookbook.supervised"):
        cases.namespace(name)
    cases.mocked("tinker", "tinker_cookbook.rl.types", "tinker_cookbook.supervised.common")
    cases.mocked("tinker_cookbook.utils.misc_utils")
    from tinker_cookbook.rl.data_processing import compute_advantages

    return [_case(compute_advantages, batch) for batch in batches.single()]


def _case(compute, batch: batches.Batch) -> dict:
    advantages = [0.0] * len(batch.rewards)
    members = {}
    for row, name in enumerate(batch.groups):
        members.setdefault(name, []).append(row)
    groups = [
        SimpleNamespace(get_total_rewards=lambda rows=rows: [batch.column[row] for row in rows])
        for rows in members.values()
    ]
    for rows, numbers in zip(members.values(), compute(groups), strict=True):
        for row, number in zip(rows, numbers.tolist(), strict=True):
            advantages[row] = number
    return cases.case("grpo", {}, batch, advantages)
