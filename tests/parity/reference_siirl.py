"""siiRL: the functions of `dag_worker/core_algos.py`; groups are found by uid. Its own dispatch of CPGD raises."""

from parity import batches, cases

WEIGHTS = ("STD_weight", "naive", "clip_filter_like_weight")


def run(version: str) -> list[dict]:
    """GRPO and CPGD."""
    del version
    module = _module()
    done = []
    for batch in batches.single():
        done += [_case(module, "grpo", batch, norm_adv_by_std_in_grpo=flag) for flag in (True, False)]
        done += [_case(module, "cpgd", batch, weight_factor_in_cpgd=weight) for weight in WEIGHTS]
    return done


def _module():
    for name in ("siirl", "siirl.dag_worker"):
        cases.namespace(name)
    cases.mocked("omegaconf", "loguru", "tensordict", "siirl.utils.model_utils.torch_functional")
    cases.mocked("siirl.params.model_args", "siirl.execution.scheduler.enums")
    from siirl.dag_worker import core_algos

    return core_algos


def _case(module, name: str, batch: batches.Batch, **knobs) -> dict:
    import numpy as np

    mask, scores = cases.response(batch.column, batch.lengths)
    function = getattr(module, f"compute_{name}_outcome_advantage")
    numbers = {group: number for number, group in enumerate(dict.fromkeys(batch.groups))}
    index = np.array([numbers[group] for group in batch.groups])
    found = function(scores, mask, index=index, **knobs)[0]
    return cases.case(name, knobs, batch, cases.per_row(found, batch.lengths))
