"""The repository of KRPO."""

from advcli.frameworks.rule import IN_ORDER, Rule

ROWS = [
    Rule(
        "krpo",
        "kalman",
        "A_i = (r_i − x) / (√P + 1e-8), x and P of a Kalman filter over the rows of the group, after row i",
        f"{IN_ORDER}:kalman",
        ("rewards", "group"),
        {},
        options={"process_var": 1e-5, "meas_var": 1e-2, "eps": 1e-8},
        lost=("the order in which the samples arrived, other than that of the file",),
        source="train.py",
        proof="code",
    ),
]
