"""SkyRL: the functions behind `trainer.algorithm.advantage_estimator`; groups are found by uid."""

from parity import batches, cases

OUTCOME = ("rloo", "maxrl", "reinforce++")


def run(version: str) -> list[dict]:
    """Every estimator whose advantage is one number per row."""
    del version
    module = _module()
    done = []
    for batch in batches.single():
        done += [_case(module, "grpo", batch, grpo_norm_by_std=flag) for flag in (True, False)]
        done += [_case(module, name, batch) for name in OUTCOME]
    nulls = batches.missing()[0]
    return [*done, *(_case(module, name, nulls) for name in ("grpo", *OUTCOME)), *_holes(module)]


def _module():
    """The module of the formulas. What its package imports around it (servers, configurations) computes nothing."""
    for name in ("skyrl", "skyrl.backends", "skyrl.backends.skyrl_train", "skyrl.backends.skyrl_train.utils"):
        cases.namespace(name)
    cases.mocked("ray", "loguru", "jaxtyping", "cloudpickle", "skyrl.train.config")
    cases.mocked("skyrl.backends.skyrl_train.utils.off_policy_correction_utils")
    from skyrl.backends.skyrl_train.utils import ppo_utils

    return ppo_utils


def _holes(module) -> list[dict]:
    """Tool output inside a response: mask 0 between the turns."""
    import numpy as np

    done = []
    for place in (3, 12):
        batch = batches.single()[place]
        batch = batches.replace(batch, lengths=[5 + length % 8 for length in batch.lengths])
        mask, scores = cases.response(batch.column, batch.lengths)
        mask[::2, 2:4] = 0
        masks = [row[:length] for row, length in zip(mask.tolist(), batch.lengths, strict=True)]
        for gamma in (1.0, 0.9):
            function = getattr(module, FUNCTIONS["reinforce++"])
            found = function(scores, mask, index=np.array(batch.groups, dtype=object), gamma=gamma)[0]
            tokens = cases.per_token(found, batch.lengths)
            done.append(cases.case("reinforce++", {"gamma": gamma}, batch, tokens, masks=masks))
    return done


FUNCTIONS = {
    "grpo": "compute_grpo_outcome_advantage",
    "rloo": "compute_rloo_outcome_advantage",
    "maxrl": "compute_maxrl_advantage",
    "reinforce++": "compute_reinforce_plus_plus_outcome_advantage",
}


def _case(module, name: str, batch: batches.Batch, **knobs) -> dict:
    import numpy as np

    mask, scores = cases.response(batch.column, batch.lengths)
    index = np.array(batch.groups, dtype=object)
    function = getattr(module, FUNCTIONS[name])
    advantages = function(scores, mask, index=index, gamma=1.0, **knobs)[0]
    return cases.case(name, knobs, batch, cases.per_row(advantages, batch.lengths))
