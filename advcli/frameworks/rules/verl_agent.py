"""verl-agent."""

from advcli.frameworks.rule import COUNT_ROWS, GROUP, NONE, RLOO, centred, grpo

_VERL_AGENT = "gigpo/core_gigpo.py; verl/trainer/ppo/core_algos.py"

_AS_VERL = {"single": "raw-eps", "variance": "whole"}

ROWS = [
    grpo(
        "verl-agent",
        eps=1e-6,
        knobs=_AS_VERL,
        scales=GROUP | NONE,
        unit=COUNT_ROWS,
        source=_VERL_AGENT,
        proof="code",
    ),
    centred(
        "verl-agent",
        "rloo",
        knobs={"centre": "others", "single": "raw"},
        formula=RLOO,
        unit=COUNT_ROWS,
        source=_VERL_AGENT,
        proof="code",
    ),
]
