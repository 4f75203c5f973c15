"""RLinf: the functions of `algorithms/advantages.py`; groups are consecutive rows, tokens come first."""

from parity import batches, cases


def run(version: str) -> list[dict]:
    """Every function whose advantage is one number per row."""
    del version
    module = _module()
    alone = batches.replace(batches.single()[2], name="alone", n=1)
    alone = batches.replace(alone, groups=[f"g{row}" for row in range(len(alone.rewards))])
    done = []
    for batch in [batch for batch in batches.single() if batch.n] + [alone]:
        done += [_case(module, "grpo", batch), _case(module, "reinpp", batch), _case(module, "raw", batch)]
        done.append(_case(module, "raw", batch, normalize_advantages=True))
    return done


def _module():
    for name in ("rlinf", "rlinf.algorithms", "rlinf.utils"):
        cases.namespace(name)
    cases.mocked("rlinf.scheduler", "rlinf.utils.metric_utils")
    cases.stub("rlinf.algorithms.registry", register_advantage=lambda name: lambda function: function)
    cases.mocked("rlinf.algorithms.utils")
    from rlinf.algorithms import advantages

    return advantages


FUNCTIONS = {
    "grpo": "compute_grpo_advantages",
    "reinpp": "compute_reinpp_advantages",
    "raw": "compute_raw_advantages",
}


def _case(module, name: str, batch: batches.Batch, **knobs) -> dict:
    import torch

    mask, _ = cases.response(batch.column, batch.lengths)
    rewards = torch.tensor(batch.column, dtype=torch.float32)
    if name == "reinpp":
        rewards = rewards.unsqueeze(0)
    function = getattr(module, FUNCTIONS[name])
    found = function(rewards=rewards, loss_mask=mask.T.bool(), group_size=batch.n, **knobs)[0]
    return cases.case(name, {"group_size": batch.n, **knobs}, batch, cases.per_row(found.T, batch.lengths))
