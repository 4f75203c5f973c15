"""Trinity-RFT."""

from advcli.frameworks.rule import (
    CENTRE,
    GIGPO,
    GROUP,
    GROUPED,
    HERE,
    NONE,
    PER_TOKEN,
    RLOO,
    TOKENS,
    WEIGHTED,
    Z_SCORE,
    Rule,
    Unit,
    centred,
    grpo,
    turn_rule,
)

_FOLDER = "trinity/algorithm/advantage_fn"

# The last row in the file represents its rollout, whatever its turn.
_LAST = Unit(by_turn=False)

_SCALES = {"group": {"divide": "group"}, "batch": {"divide": "batch"}}

_DROPPING = {"eps": 1e-6, "std_threshold": -1.0}

_LOST = ("duplicate_experiences (random groups in place of the dropped ones)",)

_TOKEN_EPS = "whitened over tokens: (x − m) / sqrt(v + 1e-8), ddof 1"

_GRPO = "A_i = (r_i − mean_g) / (std + 1e-6), ddof 1; std_threshold drops groups by their std"

_AS_VERL = {"single": "raw-eps", "variance": "whole"}

ROWS = [
    Rule(
        "trinity-rft",
        "grpo",
        _GRPO,
        f"{WEIGHTED}:thresholded",
        ("rewards", "group", "step"),
        {},
        scales=_SCALES,
        options=_DROPPING,
        per_token=Rule(
            "trinity-rft",
            "grpo",
            "A_i = (r_i − mean_g) / (std + 1e-6), mean and std of r (1 − rank_penalty q), q the rank of the log-probability",
            f"{WEIGHTED}:rank_penalised",
            ("rewards", "log_probs", "row", "group", "step"),
            {},
            scales=_SCALES,
            options={**_DROPPING, "rank_penalty": 0.0},
            level="token",
        ),
        # The tokens are needed only with a rank_penalty.
        token_columns=(),
        unit=_LAST,
        lost=_LOST,
        source=f"{_FOLDER}/grpo_advantage.py",
        proof="package",
    ),
    Rule(
        "trinity-rft",
        "step_wise_grpo",
        "A_i = (r_i − mean_g) / (std + 1e-6) of the runs, ddof 1; step_norm=1 divides it by the rows of the run",
        "advcli.frameworks.arithmetic.turn_baselines:over_threshold",
        ("rewards", "group", "step"),
        {"eps": 1e-6, "single": "raw-eps"},
        scales=_SCALES,
        options={"step_norm": 0.0, "std_threshold": -1.0},
        unit=_LAST,
        source=f"{_FOLDER}/multi_step_grpo_advantage.py",
        proof="code",
    ),
    turn_rule(
        "trinity-rft",
        "gigpo",
        GIGPO.format(z="z over the runs of the task", state="state of the batch"),
        "turns:trinity_gigpo",
        ("rewards", "group", "step", "rollout", "turn", "anchor"),
        knobs={"eps": 1e-6},
        scales=CENTRE | Z_SCORE,
        options={"gamma": 1.0, "weight": 1.0},
        scope="step",
        source="trinity/algorithm/advantage_fn/gigpo_advantage.py",
    ),
    grpo(
        "trinity-rft",
        eps=1e-6,
        estimator="grpo_verl",
        knobs=_AS_VERL,
        options={"eps": 1e-6},
        source=f"{_FOLDER}/grpo_advantage.py",
        proof="package",
    ),
    *(
        Rule(
            "trinity-rft",
            estimator,
            "A_i = r_i − mean_g; opmd_baseline=logavgexp r_i − τ (ln Σ_g e^{r/τ} − ln n)",
            f"{WEIGHTED}:soft_maximum",
            ("rewards", "group"),
            {},
            options={"opmd_baseline": "mean", "tau": 1.0},
            unit=_LAST,
            source=f"{_FOLDER}/opmd_advantage.py",
            proof="package",
        )
        for estimator in ("opmd", "opmd_verl")
    ),
    *(
        Rule(
            "trinity-rft",
            estimator,
            "A_i = r_i − (mean_g + baseline_shift), of −0.1",
            f"{WEIGHTED}:shifted_mean",
            ("rewards", "group"),
            {},
            options={"baseline_shift": -0.1},
            unit=_LAST,
            source=f"{_FOLDER}/asymre_advantage.py",
            proof="package",
        )
        for estimator in ("asymre", "asymre_verl")
    ),
    Rule(
        "trinity-rft",
        "rec",
        "A_i = r_i − mean_g; scale group divides it by std_g + 1e-6, ddof 0",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"ddof": 0, "single": "error", "variance": "whole"},
        scales=NONE | GROUP,
        options={"eps": 1e-6},
        lost=("drop=balance (a random choice of rows)",),
        source=f"{_FOLDER}/rec_advantage.py",
        proof="package",
    ),
    centred(
        "trinity-rft",
        "reinforce",
        knobs={"centre": "raw"},
        formula="A_i = r_i",
        source=f"{_FOLDER}/reinforce_advantage.py",
        proof="package",
    ),
    centred(
        "trinity-rft",
        "rloo",
        knobs={"centre": "others", "single": "raw"},
        formula=RLOO,
        source=f"{_FOLDER}/rloo_advantage.py",
        proof="package",
    ),
    Rule(
        "trinity-rft",
        "remax",
        "A_i = r_i − greedy reward",
        f"{HERE}:greedy_baseline",
        ("rewards", "baselines"),
        {},
        source=f"{_FOLDER}/remax_advantage.py",
        proof="package",
    ),
    Rule(
        "trinity-rft",
        "reinforceplusplus",
        f"r {_TOKEN_EPS}",
        f"{HERE}:whitened",
        TOKENS,
        {},
        per_token=Rule(
            "trinity-rft",
            "reinforceplusplus",
            f"Σ_k γ^k r_{{t+k}} {_TOKEN_EPS}",
            f"{PER_TOKEN}:returns",
            ("rewards", "row", "place", "step"),
            {},
            options={"gamma": 1.0},
            level="token",
            scope="step",
        ),
        source=f"{_FOLDER}/reinforce_plus_plus_advantage.py",
        proof="package",
        scope="step",
    ),
    Rule(
        "trinity-rft",
        "ppo",
        f"Σ_k (γλ)^k δ_{{t+k}} {_TOKEN_EPS}",
        f"{PER_TOKEN}:gae_through_gaps",
        ("rewards", "values", "row", "place", "step", "counted"),
        {"eps": 1e-8},
        options={"gamma": 1.0, "lam": 1.0},
        level="token",
        scope="step",
        source=f"{_FOLDER}/ppo_advantage.py",
        proof="package",
    ),
]
