"""prime-rl."""

from advcli.frameworks.rule import IN_ORDER, Rule, centred, turn_rule

_PRIME = "src/prime_rl/orchestrator/algo"

_SHAPED = ("length_penalty",)

ROWS = [
    centred("prime-rl", "grpo", lost=_SHAPED, source=f"{_PRIME}/grpo.py", proof="code"),
    centred("prime-rl", "echo", lost=_SHAPED, source=f"{_PRIME}/echo.py", proof="code"),
    centred(
        "prime-rl",
        "max_rl",
        knobs={"centre": "mean-ratio-0"},
        formula="A_i = (r_i − mean_g) / mean_g, 0 where mean_g ≤ 0",
        source=f"{_PRIME}/max_rl.py",
        proof="code",
    ),
    Rule(
        "prime-rl",
        "rae",
        "A_i = r_i − b, then b ← 0.95 b + 0.05 r_i, from b = 0, row after row",
        f"{IN_ORDER}:running_baseline",
        ("rewards",),
        {"dtype": "float64"},
        scope="order",
        lost=("the agent of a row: one baseline for all", "the order of arrival: that of the file"),
        source=f"{_PRIME}/rae.py",
        proof="code",
    ),
    centred(
        "prime-rl",
        "hierarchical_grpo",
        knobs={"centre": "mean-running", "dtype": "float64"},
        lost=("the agent and episode of a row: --group-by",),
        source=f"{_PRIME}/hierarchical_grpo.py",
        proof="code",
    ),
    # Pull request 3282, open.
    turn_rule(
        "prime-rl",
        "turn_credit",
        "A_t = L − mean_g L + β (c_t − c̄), L = S − penalty + Σ Δ, Δ the rise of the state's score, c its share by γ",
        "turn_baselines:turn_credit",
        ("rewards", "group", "rollout", "turn", "episode", "lengths", "input_tokens"),
        options={"gamma": 0.9, "beta": 1.0, "output_weight": 0.0, "input_weight": 0.0, "turns_weight": 0.0},
        lost=("forks of a trace",),
        source="src/prime_rl/orchestrator/algo/turn_credit.py",
    ),
    *(
        Rule(
            "prime-rl",
            name,
            "A_t = log π_teacher − log π_trainer",
            "advcli.frameworks.arithmetic.distillation:distilled",
            ("teacher_log_probs", "log_probs"),
            {},
            level="token",
            lost=("the importance ratio and its mask: --after is for one advantage per row",),
            source="src/prime_rl/trainer/rl/loss.py",
        )
        for name in ("opd", "opsd")
    ),
]
