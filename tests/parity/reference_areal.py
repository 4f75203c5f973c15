"""AReaL: the class that normalises rewards (`actor.reward_norm`). Groups are consecutive rows.

The estimators have no names there; those of the cases are the recipes of its `examples/math`.
"""

from dataclasses import replace

from parity import batches, cases

RECIPES = {
    "grpo": {"mean_level": "group", "std_level": "group"},
    "drgrpo": {"mean_level": "group", "std_level": None},
    "liteppo": {"mean_level": "group", "std_level": "batch"},
    "rloo": {"mean_level": "group", "mean_leave1out": True, "std_level": None},
    "rloo_std": {"mean_level": "group", "mean_leave1out": True, "std_level": "group"},
    "batch": {"mean_level": "batch", "std_level": "batch"},
}


def run(version: str) -> list[dict]:
    """Every recipe; and a batch whose last group lost rows."""
    del version
    normalisation, config = _class()
    equal = [batch for batch in batches.single() if batch.n]
    short = [_without_last(batch, lost) for batch, lost in ((equal[2], 1), (equal[3], 3), (equal[0], 2))]
    alone = replace(equal[2], name="alone", n=1, groups=[f"g{row}" for row in range(len(equal[2].rewards))])
    return [
        _case(normalisation, config, name, knobs, batch)
        for name, knobs in RECIPES.items()
        for batch in [*equal, *short, alone]
    ]


def _without_last(batch: batches.Batch, lost: int) -> batches.Batch:
    """The last `lost` rows failed."""
    pick = {key: getattr(batch, key)[:-lost] for key in ("rewards", "groups", "lengths")}
    return replace(batch, name=f"{batch.name}-short", **pick)


def _class():
    """The real class. Its module imports a data loader and servers, which it does not use."""
    for name in ("areal", "areal.utils"):
        cases.namespace(name)
    cases.mocked("torchdata.stateful_dataloader", "einops", "areal.api.cli_args", "areal.infra.platforms")
    cases.mocked("areal.utils.logging", "areal.utils.seqpack", "areal.utils.math")
    from types import SimpleNamespace

    from areal.utils.data import Normalization

    return Normalization, SimpleNamespace


def _case(normalisation, config, name: str, knobs: dict, batch: batches.Batch) -> dict:
    import torch

    settings = {"mean_leave1out": False, "std_unbiased": True, "eps": 1e-5, "group_size": batch.n, **knobs}
    advantages = normalisation(config(**settings))(torch.tensor(batch.column, dtype=torch.float32))
    return cases.case(name, {"group_size": batch.n}, batch, advantages.tolist())
