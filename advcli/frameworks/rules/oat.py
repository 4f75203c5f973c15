"""oat."""

from advcli.frameworks.rule import centred, grpo

_OAT = "oat/algorithms/ppo.py"

ROWS = [
    grpo("oat", eps=1e-8, knobs={"single": "nan"}, positional=True, source=_OAT, proof="code"),
    centred("oat", "drgrpo", positional=True, source=_OAT, proof="code"),
]
