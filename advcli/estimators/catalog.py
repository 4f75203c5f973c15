"""What there is to estimate with: one row per estimator. Nothing heavy is imported here."""

from dataclasses import dataclass

from advcli.registry import Registry


@dataclass(frozen=True)
class Estimator:
    """One estimator.

    Attributes:
        name: the word that the user types.
        target: "module:function"; data positional in the order of `needs`, knobs keyword-only.
        needs: columns that the function takes: rewards, group, step.
        formula: one line, in the notation of the documentation.
        default_scale: the scale of the source, used when the user names none.
        recompute: whether the advantage may be computed again on the rows that were kept.
        summary: one sentence.
        source: paper or file.
    """

    name: str
    target: str
    needs: tuple[str, ...]
    formula: str
    default_scale: str
    recompute: bool
    summary: str
    source: str


SCALES = ("group", "batch", "none")

ESTIMATORS: Registry[Estimator] = Registry(
    "estimator",
    [
        Estimator(
            name="grpo",
            target="advcli.estimators.group:grpo",
            needs=("rewards", "group", "step"),
            formula="A_i = (r_i − mean_g) / std_g",
            default_scale="group",
            recompute=True,
            summary="reward minus the mean of its group, over the standard deviation of the group",
            source="DeepSeekMath, arXiv:2402.03300, section 4.1.2",
        ),
        Estimator(
            name="rloo",
            target="advcli.estimators.group:rloo",
            needs=("rewards", "group", "step"),
            formula="A_i = r_i − mean_{j≠i} r_j = n/(n−1) · (r_i − mean_g)",
            default_scale="none",
            recompute=False,
            summary="reward minus the mean reward of the other rows of its group",
            source="Back to Basics, arXiv:2402.14740, section 3.3",
        ),
    ],
)
