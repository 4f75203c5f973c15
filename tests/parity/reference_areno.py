"""AReno: its trainer's function for a batch, and that for one group of an agent's rollouts."""

from parity import batches, cases


def run(version: str) -> list[dict]:
    """Both, on groups side by side."""
    del version
    for name in ("areno", "areno.api"):
        cases.namespace(name)
    from areno.api.advantages import compute_batch_group_advantages
    from areno.api.rewards import compute_group_advantages

    done = []
    for batch in (batch for batch in batches.single() if batch.n):
        starts = range(0, len(batch.column), batch.n)
        groups = [batch.column[at : at + batch.n] for at in starts]
        whole = compute_batch_group_advantages(batch.column, [batch.n] * len(groups))
        apart = [advantage for group in groups for advantage in compute_group_advantages(group)]
        done += [cases.case("grpo", {}, batch, whole), cases.case("agentic_grpo", {}, batch, apart)]
    return done
