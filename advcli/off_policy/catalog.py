"""The catalog of off-policy corrections, one row per framework and function. Imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from advcli.common.errors import UsageError
from advcli.common.registry import Registry, covers
from advcli.common.wording import either


@dataclass(frozen=True)
class Row:
    """One correction of one framework.

    Attributes:
        framework: as the user types it after `--like`.
        function: its name in the framework.
        target: "module:function"; takes `tokens.LogProbs`, then the advantages [N] if `signed`, settings keyword-only under
            the framework's names; returns a `correction.Correction`.
        summary: one sentence.
        source: the file in the framework.
        versions: the range of versions, as a specifier; "" for all.
        knobs: fixed keyword arguments.
        signed: whether it uses the advantage.
        weighs: whether it gives weights.
    """

    framework: str
    function: str
    target: str
    summary: str
    source: str
    versions: str = ""
    knobs: Mapping[str, str] = field(default_factory=dict)
    signed: bool = False
    weighs: bool = True

    @property
    def name(self) -> str:
        """Framework, function and versions: unique in the catalog."""
        return f"{self.framework}:{self.function}{self.versions}"


_HERE = "advcli.off_policy"

CORRECTIONS: Registry[Row] = Registry(
    "correction",
    [
        Row(
            "verl",
            "rollout_correction",
            f"{_HERE}.verl:rollout_correction",
            "token or sequence weights, truncated or zeroed outside bounds; rejection by a KL estimate",
            "verl/trainer/ppo/rollout_corr_helper.py",
            versions=">=0.9",
            knobs={"described": "applied"},
        ),
        Row(
            "verl",
            "rollout_correction",
            f"{_HERE}.verl:rollout_correction",
            "the same; the shares of rows with high and low weights are of truncated weights",
            "verl/trainer/ppo/rollout_corr_helper.py",
            versions=">=0.8,<0.9",
            knobs={"described": "applied-rows"},
        ),
        Row(
            "verl",
            "rollout_correction",
            f"{_HERE}.verl:rollout_correction",
            "the same; the metrics of weights are of weights before they are truncated",
            "verl/trainer/ppo/rollout_corr_helper.py",
            versions=">0.7.0,<0.8",
            knobs={"described": "raw"},
        ),
        Row(
            "verl",
            "rollout_correction",
            f"{_HERE}.verl:rollout_correction_0_7_0",
            "token or sequence weights, truncated; rejection by the ratio, with a veto for tokens",
            "verl/trainer/ppo/rollout_corr_helper.py",
            versions="<=0.7.0",
        ),
        Row(
            "ms-swift",
            "rollout_correction",
            f"{_HERE}.ms_swift:rollout_correction",
            "token weights or the geometric mean of the row, truncated or zeroed above a bound",
            "swift/rlhf_trainers/grpo_trainer.py",
        ),
        Row(
            "ms-swift",
            "off_policy_sequence_mask",
            f"{_HERE}.ms_swift:off_policy_sequence_mask",
            "rows with a negative advantage that became much less likely are dropped",
            "DeepSeek-V3.2, arXiv:2512.02556; swift/rlhf_trainers/grpo_trainer.py",
            signed=True,
            weighs=False,
        ),
        Row(
            "slime",
            "mis",
            f"{_HERE}.slime:mis",
            "weights and rejection by token, sequence or geometric mean, with a veto for tokens",
            "examples/train_infer_mismatch_helper/mis.py",
        ),
        Row(
            "slime",
            "vanilla_tis",
            f"{_HERE}.slime:vanilla_tis",
            "token weights, clamped",
            "slime/backends/megatron_utils/loss.py",
        ),
        Row(
            "slime",
            "icepop",
            f"{_HERE}.slime:icepop",
            "token weights, 0 outside bounds",
            "slime/backends/megatron_utils/loss.py",
        ),
        Row(
            "nemo-rl",
            "clipped_pg",
            f"{_HERE}.nemo_rl:clipped_pg_metrics",
            "token or sequence weights, clamped, zeroed outside bounds, or by the geometric mean of the row",
            "nemo_rl/algorithms/loss/loss_functions.py",
        ),
        Row(
            "prime-rl",
            "default",
            f"{_HERE}.prime_rl:default_loss",
            "tokens whose probability moved too far in the direction of the advantage are masked",
            "DPPO, arXiv:2602.04879; src/prime_rl/trainer/rl/loss.py",
            signed=True,
        ),
        Row(
            "prime-rl",
            "ipo",
            f"{_HERE}.prime_rl:ipo_loss",
            "tokens whose probability moved too far are masked",
            "src/prime_rl/trainer/rl/loss.py",
        ),
        Row(
            "skyrl",
            "off_policy_correction",
            f"{_HERE}.skyrl:off_policy_correction",
            "outliers, token masks, truncated weights and sequence masks, in that order",
            "skyrl/backends/skyrl_train/utils/off_policy_correction_utils.py",
        ),
    ],
)


def find(framework: str, version: str = "", function: str = "") -> Row:
    """The correction of a framework.

    Args:
        framework: as the user types it.
        version: "" for the newest.
        function: its name in the framework; "" for the first.

    Raises:
        UsageError: there is none, or the version is invalid.

    Example:
        >>> find("verl", "0.7.0").versions
        '<=0.7.0'
    """
    named = [row for row in CORRECTIONS if row.framework == framework and function in ("", row.function)]
    fitting = [row for row in named if not version or covers(row.versions, version, hint=f"{framework}@1.0")]
    if named and not fitting:
        raise UsageError(f"no correction of {framework} {version} is known", hint=f"--like {framework}")
    of = [row.function for row in CORRECTIONS if row.framework == framework]
    if of and not named:
        raise UsageError(f"{framework} has no correction '{function}'", hint=either(list(dict.fromkeys(of))))
    if not fitting:
        known = tuple(dict.fromkeys(row.framework for row in CORRECTIONS))
        raise UsageError(f"no off-policy correction of '{framework}' is known", hint=either(known))
    return fitting[0]
