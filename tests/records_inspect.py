"""An inspection made by hand, for the tests of the renderers."""

import math

from advcli.records.results.inspection import (
    DeadChance,
    Facts,
    Files,
    Part,
    Parts,
    Phantoms,
    RewardSignal,
    Spreads,
)

NAN = math.nan
SIGNAL = RewardSignal(
    name="reward",
    valid=97,
    missing=3,
    missing_by_cause={"null": 2, "NaN": 0, "inf": 1},
    min=0.0,
    mean=0.25,
    mean_over_groups=0.25,
    max=1.0,
    distinct=9,
    at_max=0.125,
    live_groups=10,
    dead_groups=8,
    dead_groups_all_max=4,
    dead_groups_all_min=1,
    near_dead_groups=5,
    singletons=2,
    live_rows=60,
    variance=Spreads(0.5, 1.5, 2.0, 0.625, 1.375),
    p_dead=(
        DeadChance(2, 0.5, NAN, NAN, "counted", 18, 9.0, 54),
        DeadChance(8, 0.25, 0.125, 0.375, "fitted", 2, 13.5, -54),
        DeadChance(16, NAN, NAN, NAN, "", 0, NAN, -198),
    ),
)
FACTS = Facts(
    rows=100,
    groups=20,
    steps=0,
    sizes={5: 20},
    rewards=(SIGNAL,),
    mean_abs_adv=0.7,
    max_abs_adv=12.0,
    effective_rows=44.0,
    phantoms=(
        Phantoms("grpo", 0, 0, 0.0),
        Phantoms("verl:grpo", 3, 15, 0.5),
        Phantoms("trl:grpo", 3, 15, 0.5),
    ),
    constant_outcome={},
    parts=None,
    length=None,
    per_step=(),
)
FILES = Files(
    ("f.jsonl",),
    "generic",
    {
        "group": ["uid"],
        "reward": {"reward": 1.0},
        "step": None,
        "length": None,
        "baseline": None,
        "logged": None,
    },
    "'uid'",
    0,
    (),
)
PARTS = Parts((Part("a", 1.0, 0.75, 0.5, 0.1, 3), Part("b", 0.5, 0.25, 0.1, 0.2, 0)), 0.25, 7, 2)
