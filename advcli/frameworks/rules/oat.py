"""oat."""

from advcli.frameworks.critic import IF_ASKED, through_gaps
from advcli.frameworks.rule import centred, grpo

_OAT = "oat/algorithms/ppo.py"

ROWS = [
    grpo("oat", eps=1e-8, knobs={"single": "nan"}, positional=True, source=_OAT, proof="code"),
    centred("oat", "drgrpo", positional=True, source=_OAT, proof="code"),
    through_gaps(
        "oat", "ppo", knobs={"peek": True}, scales=IF_ASKED, shaped=("kl",), source=_OAT, proof="code"
    ),
]
