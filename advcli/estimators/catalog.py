"""What there is to estimate with: one row per estimator. Nothing heavy is imported here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advcli.registry import Registry

Numbers = Sequence[float] | Sequence[Sequence[float]]


@dataclass(frozen=True)
class Worked:
    """An example with its result, made by hand.

    Attributes:
        inputs: column → a number per row, or a list per row; one group unless "group" tells another.
        advantages: a number per row, or a list per row where there is one per token; to four digits.
    """

    inputs: Mapping[str, Numbers]
    advantages: Numbers


@dataclass(frozen=True)
class Estimator:
    """One estimator.

    Attributes:
        name: the word that the user types.
        target: "module:function"; data positional in the order of `needs`, knobs keyword-only.
        needs: columns that the function takes, named in `COLUMNS`.
        formula: one line, in the notation of the documentation.
        default_scale: the scale of the source, used when the user names none; None if there is no choice.
        recompute: whether the advantage may be computed again on the rows that were kept.
        alone: whether a group of one has an advantage, because rows are not compared within groups.
        level: "row", one advantage per row, or "token", one per token of a row.
        per_token: the same estimator with one advantage per token, used when a discount or the KL of each
            token makes them differ; None where it has no such form.
        token_columns: columns of tokens with which `per_token` is used.
        shaped: the shapings that may come first, in their order; None for all, in that of their catalog.
        scope: which other rows the advantage of a row depends on: those of its "group" or of its "step"; of a framework's
            rule also "all", or all before it in "order". See `scope_at`.
        whole_steps: whether it needs the order of what is in a step, so that no step can lie in two places.
        worked: an example; None for a `per_token` form.
        summary: one sentence.
        source: paper or file.
    """

    name: str
    target: str
    needs: tuple[str, ...]
    formula: str
    summary: str
    source: str
    default_scale: str | None = None
    recompute: bool = False
    alone: bool = False
    level: str = "row"
    per_token: "Estimator | None" = None
    token_columns: tuple[str, ...] = ("token_kl",)
    shaped: tuple[str, ...] | None = None
    scope: str = "group"
    whole_steps: bool = False
    worked: Worked | None = None

    def scope_at(self, scale: str | None) -> str:
        """The scope at a scale: what is divided by a standard deviation of the batch depends on the batch."""
        return "step" if scale == "batch" else self.scope


@dataclass(frozen=True)
class Column:
    """A column that an estimator may need.

    Attributes:
        name: the word in `Estimator.needs`.
        what: what is in it, for messages.
        flag: how to name it on the command line.
        argument: how to pass it to `compute_advantages`.
    """

    name: str
    what: str
    flag: str
    argument: str


_TOKENS = "--length-col COL, or --values-col COL with a list per row"

COLUMNS: Registry[Column] = Registry(
    "column",
    [
        Column("rewards", "the reward of each row", "--reward COL", "rewards"),
        Column("group", "the group of each row", "--prompt-col COL", "groups"),
        Column("step", "the step of each row", "--step-col COL", "steps"),
        Column("lengths", "the tokens of each row", "--length-col COL", "lengths"),
        Column("baselines", "the greedy reward of each prompt", "--baseline-col COL", "baselines"),
        Column("parts", "several rewards for each row", "--reward A --reward B", "rewards of shape [N, K]"),
        Column("weights", "the weight of each reward", "--reward A=1 --reward B=0.5", "weights"),
        Column("row", "the tokens of each row", _TOKENS, "lengths"),
        Column("place", "the tokens of each row", _TOKENS, "lengths"),
        Column("counted", "the tokens of each row", _TOKENS, "lengths"),
        Column("token_kl", "the KL of each token", "--kl-col COL with a list per row", "kl"),
        Column("kl", "the KL of each row, or a list with that of each token", "--kl-col COL", "kl"),
        Column(
            "values", "the critic's value of each token", "--values-col COL with a list per row", "values"
        ),
        Column(
            "log_probs",
            "the log-probability of each token",
            "--log-probs-col COL with a list per row",
            "log_probs",
        ),
        Column(
            "rollout_log_probs",
            "the log-probability of each token under the policy that sampled it",
            "--rollout-log-probs-col COL with a list per row",
            "rollout_log_probs",
        ),
        Column(
            "teacher_log_probs",
            "the log-probability of each token under the teacher",
            "--teacher-log-probs-col COL with a list per row",
            "teacher_log_probs",
        ),
        Column(
            "sum_pi_squared",
            "the sum of the squared probabilities of the vocabulary at each token",
            "--sum-pi-squared-col COL with a list per row",
            "sum_pi_squared",
        ),
    ],
)

TOKEN_COLUMNS = ("values", "log_probs", "rollout_log_probs", "teacher_log_probs", "sum_pi_squared")
"""Columns with a list per row, a number for each token."""

SCALES = ("group", "batch", "none")

ESTIMATORS: Registry[Estimator] = Registry(
    "estimator",
    [
        Estimator(
            name="grpo",
            target="advcli.estimators.group:grpo",
            needs=("rewards", "group", "step"),
            formula="A_i = (r_i − mean_g) / std_g",
            summary="reward minus the mean of its group, over the standard deviation of the group",
            source="DeepSeekMath, arXiv:2402.03300, section 4.1.2",
            default_scale="group",
            recompute=True,
            worked=Worked({"rewards": (1, 0, 0, 0)}, (1.5, -0.5, -0.5, -0.5)),
        ),
        Estimator(
            name="rloo",
            target="advcli.estimators.group:rloo",
            needs=("rewards", "group", "step"),
            formula="A_i = r_i − mean_{j≠i} r_j = n/(n−1) · (r_i − mean_g)",
            summary="reward minus the mean reward of the other rows of its group",
            source="Back to Basics, arXiv:2402.14740, section 3.3",
            default_scale="none",
            worked=Worked({"rewards": (1, 0, 0, 0)}, (1.0, -0.3333, -0.3333, -0.3333)),
        ),
        Estimator(
            name="loo_norm",
            target="advcli.estimators.group:loo_norm",
            needs=("rewards", "group"),
            formula="A_i = (r_i − mean_{j≠i} r_j) / std_{j≠i} r_j",
            summary="reward minus the mean of the other rows, over the standard deviation of those",
            source="NeMo RL, nemo_rl/algorithms/advantage_estimator.py",
            worked=Worked({"rewards": (3, 1, 0)}, (3.5355, -0.2357, -1.4142)),
        ),
        Estimator(
            name="maxrl",
            target="advcli.estimators.group:maxrl",
            needs=("rewards", "group"),
            formula="A_i = (r_i − mean_g) / mean_g",
            summary="reward minus the mean of its group, over that mean (0 where it is not positive)",
            source="MaxRL, arXiv:2602.02710",
            worked=Worked({"rewards": (1, 0, 0, 0)}, (3.0, -1.0, -1.0, -1.0)),
        ),
        Estimator(
            name="gpg",
            target="advcli.estimators.group:gpg",
            needs=("rewards", "group", "step"),
            formula="A_i = α · (r_i − mean_g), α = rows / rows with r ≠ 0, of the step",
            summary="reward minus the mean of its group, made larger for the rows without a reward",
            scope="step",
            source="GPG, arXiv:2504.02546; α as in verl/trainer/ppo/core_algos.py",
            worked=Worked({"rewards": (1, 0, 0, 0)}, (3.0, -1.0, -1.0, -1.0)),
        ),
        Estimator(
            name="opo",
            target="advcli.estimators.group:opo",
            needs=("rewards", "group", "lengths"),
            formula="A_i = r_i − Σ_g L_j r_j / Σ_g L_j",
            summary="reward minus the mean of its group weighted by tokens",
            source="OPO, arXiv:2505.23585",
            worked=Worked({"rewards": (1, 0, 0, 0), "lengths": (10, 20, 30, 40)}, (0.9, -0.1, -0.1, -0.1)),
        ),
        Estimator(
            name="ngrpo",
            target="advcli.estimators.group:ngrpo",
            needs=("rewards", "group"),
            formula="A_i = (r_i − mean_{g∪r_max}) / std_{g∪r_max}",
            summary="grpo with one virtual row of the highest reward in each group",
            source="NGRPO, arXiv:2509.18851",
            worked=Worked({"rewards": (1, 0, 0, 0)}, (1.0954, -0.7303, -0.7303, -0.7303)),
        ),
        Estimator(
            name="grpo_passk",
            target="advcli.estimators.passk:grpo_passk",
            needs=("rewards", "group"),
            formula="A_best = (r_best − r_second) / std_g, 0 for the other rows",
            summary="the best row of a group has its lead over the second best, over the standard deviation",
            source="Inference Time Objectives, arXiv:2503.19595",
            worked=Worked({"rewards": (1, 0, 0, 0)}, (2.0, 0.0, 0.0, 0.0)),
        ),
        Estimator(
            name="passk",
            target="advcli.estimators.passk:passk",
            needs=("rewards", "group"),
            formula="A_right = √((1−R)/R), A_wrong = −c/(n−c) · A_right, R = 1 − C(n−c,k)/C(n,k)",
            summary="a row's mean advantage over all sets of k rows, a set being right if one of its rows is",
            source="Pass@k Training, arXiv:2508.10751",
            worked=Worked({"rewards": (1, 0, 0, 0)}, (1.0, -0.3333, -0.3333, -0.3333)),
        ),
        Estimator(
            name="pkpo",
            target="advcli.estimators.passk:pkpo",
            needs=("rewards", "group"),
            formula="A_i = Σ_{I∋i, |I|=k} (max_I r − max_{I∖i} r) / C(n,k)",
            summary="what a row adds to the best reward of k, over all sets of k rows",
            source="PKPO, arXiv:2505.15201",
            worked=Worked({"rewards": (1, 0, 0, 0)}, (0.5, 0.0, 0.0, 0.0)),
        ),
        Estimator(
            name="quantile",
            target="advcli.estimators.robust:quantile",
            needs=("rewards", "group"),
            formula="A_i = (r_i − Q_K) / std_g, Q_K = inf {x: F_g(x) ≥ K}",
            summary="reward minus the K-quantile of its group, over the standard deviation of the group",
            source="QAE, arXiv:2509.22611",
            worked=Worked({"rewards": (1, 0, 0, 0)}, (2.0, 0.0, 0.0, 0.0)),
        ),
        Estimator(
            name="median",
            target="advcli.estimators.robust:median",
            needs=("rewards", "group"),
            formula="A_i = (r_i − med_g) / (MAD_g + eps) · n / #{j: r_j ≠ med_g}",
            summary="reward minus the median of its group, over the median distance from it",
            source="MC-GRPO, arXiv:2601.22582",
            worked=Worked({"rewards": (0.9, 0.2, 0.4, 0.1, 0.5)}, (3.1095, -1.2438, 0.0, -1.8657, 0.6219)),
        ),
        Estimator(
            name="bnpo",
            target="advcli.estimators.robust:bnpo",
            needs=("rewards", "group", "step"),
            formula="A_i = (r_i − p_g) / f(p_g; α, β), p_g = mean_g, f a Beta density fitted to the p of the step",
            summary="reward minus the mean of its group, over the density of that mean among the step's groups",
            scope="step",
            source="BNPO, arXiv:2506.02864",
            worked=Worked(
                {"rewards": (1, 0, 0, 0, 1, 1, 0, 0), "group": (0, 0, 0, 0, 1, 1, 1, 1)},
                (0.5185, -0.1728, -0.1728, -0.1728, 0.3409, 0.3409, -0.3409, -0.3409),
            ),
        ),
        Estimator(
            name="shrinkage",
            target="advcli.estimators.robust:shrinkage",
            needs=("rewards", "group", "step"),
            formula="A_i = r_i − (1 − λ_g) · mean_{j≠i} r_j − λ_g · mean_{h≠g} mean_h, λ_g = v_g / (v_g + s_g)",
            summary="reward minus the mean of the other rows, drawn towards the mean of the step's other groups",
            scope="step",
            source="Shrinking the Variance (JSPO), arXiv:2511.03710",
            whole_steps=True,
            worked=Worked(
                {
                    "rewards": (1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0),
                    "group": (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2),
                },
                (0.9, -0.3, -0.3, -0.3, 0.8056, 0.8056, -0.3056, -0.3056, -0.3088, -0.3088, -0.3088, -0.3088),
            ),
        ),
        Estimator(
            name="reinforce",
            target="advcli.estimators.batch:reinforce",
            needs=("rewards",),
            formula="A_i = r_i",
            summary="the reward as it is",
            source="REINFORCE, Williams 1992; arXiv:2402.14740, section 3.2",
            alone=True,
            worked=Worked({"rewards": (1, 0, 0, 0)}, (1.0, 0.0, 0.0, 0.0)),
        ),
        Estimator(
            name="batch_norm",
            target="advcli.estimators.batch:batch_norm",
            needs=("rewards", "step"),
            formula="A_i = (r_i − mean_B) / std_B",
            summary="reward minus the mean of the step, over the standard deviation of the step",
            scope="step",
            source="Tricks or Traps, arXiv:2508.08221",
            alone=True,
            worked=Worked({"rewards": (1, 0, 0, 0)}, (1.5, -0.5, -0.5, -0.5)),
        ),
        Estimator(
            name="reinforce_plus_plus",
            target="advcli.estimators.batch:reinforce_plus_plus",
            needs=("rewards", "step", "lengths"),
            formula="A_i = (r_i − m) / √(v + eps), m and v over the tokens of the step",
            summary="reward whitened over all tokens of the step",
            scope="step",
            source="REINFORCE++, arXiv:2501.03262; verl/trainer/ppo/core_algos.py",
            alone=True,
            per_token=Estimator(
                name="reinforce_plus_plus",
                target="advcli.estimators.tokens:reinforce_plus_plus",
                needs=("rewards", "row", "step"),
                formula="A_t = (R_t − m) / √(v + eps), R_t = Σ_k γ^k r_{t+k}, m and v over the tokens of the step",
                summary="the discounted return of each token, whitened over all tokens of the step",
                scope="step",
                source="REINFORCE++, arXiv:2501.03262; verl/trainer/ppo/core_algos.py",
                alone=True,
                level="token",
            ),
            worked=Worked(
                {"rewards": (1, 0, 0, 0), "lengths": (10, 20, 30, 40)}, (2.9850, -0.3317, -0.3317, -0.3317)
            ),
        ),
        Estimator(
            name="reinforce_plus_plus_rows",
            target="advcli.estimators.batch:reinforce_plus_plus_rows",
            needs=("rewards", "step"),
            formula="A_i = (r_i − mean_B) / √(var_B + eps)",
            summary="reward whitened over the rows of the step",
            scope="step",
            source="REINFORCE++, arXiv:2501.03262",
            alone=True,
            worked=Worked({"rewards": (1, 0, 0, 0)}, (1.5, -0.5, -0.5, -0.5)),
        ),
        Estimator(
            name="reinforce_plus_plus_baseline",
            target="advcli.estimators.batch:reinforce_plus_plus_baseline",
            needs=("rewards", "group", "step", "lengths"),
            formula="A_i = (c_i − m) / √(v + eps), c_i = r_i − mean_g, m and v over the tokens of the step",
            summary="reward minus the mean of its group, whitened over all tokens of the step",
            scope="step",
            source="REINFORCE++, arXiv:2501.03262; verl/trainer/ppo/core_algos.py",
            worked=Worked(
                {"rewards": (1, 0, 0, 0), "lengths": (10, 20, 30, 40)}, (2.9850, -0.3317, -0.3317, -0.3317)
            ),
        ),
        Estimator(
            name="reinforce_plus_plus_baseline_rows",
            target="advcli.estimators.batch:reinforce_plus_plus_baseline_rows",
            needs=("rewards", "group", "step"),
            formula="A_i = c_i / √(Σ_B c_j² / (N_B − 1) + eps), c_i = r_i − mean_g",
            summary="reward minus the mean of its group, whitened over the rows of the step",
            scope="step",
            source="REINFORCE++, arXiv:2501.03262",
            worked=Worked({"rewards": (1, 0, 0, 0)}, (1.5, -0.5, -0.5, -0.5)),
        ),
        Estimator(
            name="remax",
            target="advcli.estimators.batch:remax",
            needs=("rewards", "baselines"),
            formula="A_i = r_i − r_greedy",
            summary="reward minus the reward of the greedy response to the same prompt",
            source="ReMax, arXiv:2310.10505",
            alone=True,
            per_token=Estimator(
                name="remax",
                target="advcli.estimators.tokens:remax",
                needs=("rewards", "baselines", "row"),
                formula="A_t = Σ_k γ^k r_{t+k} − r_greedy",
                summary="the return of each token minus the reward of the greedy response to the same prompt",
                source="ReMax, arXiv:2310.10505; verl/trainer/ppo/core_algos.py",
                alone=True,
                level="token",
            ),
            worked=Worked(
                {"rewards": (1, 0, 0, 0), "baselines": (0.5, 0.5, 0.5, 0.5)}, (0.5, -0.5, -0.5, -0.5)
            ),
        ),
        Estimator(
            name="positive_only",
            target="advcli.estimators.batch:positive_only",
            needs=("rewards",),
            formula="A_i = weight if r_i ≥ threshold else 0",
            summary="a constant for right rows, nothing for wrong ones (PSR)",
            source="PSR and NSR, arXiv:2506.01347",
            alone=True,
            worked=Worked({"rewards": (1, 0, 0, 0)}, (1.0, 0.0, 0.0, 0.0)),
        ),
        Estimator(
            name="negative_only",
            target="advcli.estimators.batch:negative_only",
            needs=("rewards",),
            formula="A_i = −weight if r_i < threshold else 0",
            summary="a constant against wrong rows, nothing for right ones (NSR)",
            source="PSR and NSR, arXiv:2506.01347",
            alone=True,
            worked=Worked({"rewards": (1, 0, 0, 0)}, (0.0, -1.0, -1.0, -1.0)),
        ),
        Estimator(
            name="gdpo",
            target="advcli.estimators.several:gdpo",
            needs=("parts", "weights", "group", "step"),
            formula="A_i = s_i / std_B s, s_i = Σ_k w_k (r_ki − mean_g r_k) / std_g r_k",
            summary="each reward normalised in its group, summed with weights, normalised over the step",
            scope="step",
            source="GDPO, arXiv:2601.05242",
            worked=Worked({"parts": ((1, 0), (1, 1), (0, 0), (0, 1))}, (0.0, 1.2247, -1.2247, 0.0)),
        ),
        Estimator(
            name="gae",
            target="advcli.estimators.tokens:gae",
            needs=("rewards", "values", "row", "step"),
            formula="A_t = Σ_k (γλ)^k δ_{t+k}, δ_t = r_t + γ V_{t+1} − V_t",
            summary="generalised advantage estimation with a critic; λ = 1 is return minus value (A2C, A3C)",
            source="GAE, arXiv:1506.02438",
            default_scale="none",
            alone=True,
            level="token",
            worked=Worked({"rewards": (1,), "values": ((0.25, 0.5, 0.75),)}, ((0.75, 0.5, 0.25),)),
        ),
        Estimator(
            name="optimal_token_baseline",
            target="advcli.estimators.tokens:optimal_token_baseline",
            needs=("rewards", "log_probs", "sum_pi_squared", "row", "group"),
            formula="A_t = R_t − Σ_g C_t R_t / Σ_g C_t, C_t = Σ_{u≤t} (1 − 2 π_u + Σ_v π_u(v)²)",
            summary="return minus the group's mean return at that position, weighted by the norm of the gradient",
            source="verl/trainer/ppo/core_algos.py",
            level="token",
            worked=Worked(
                {
                    "rewards": (1, 0),
                    "log_probs": ((-0.6931,), (-1.3863,)),
                    "sum_pi_squared": ((0.5,), (0.25,)),
                },
                ((0.6,), (-0.4,)),
            ),
        ),
    ],
)
