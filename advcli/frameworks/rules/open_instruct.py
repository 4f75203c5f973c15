"""open-instruct."""

from advcli.frameworks.rule import centred, grpo

_LOADER = "open_instruct/data_loader.py"

_DOUBLE = {"dtype": "float64"}

ROWS = [
    centred("open-instruct", "centered", knobs=_DOUBLE, positional=True, source=_LOADER),
    grpo(
        "open-instruct",
        eps=1e-8,
        ddof=0,
        estimator="standard",
        knobs=_DOUBLE,
        positional=True,
        source=_LOADER,
    ),
]
