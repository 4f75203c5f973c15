"""Estimators with one advantage per token.

All columns are [T]: the tokens of all rows, flattened row by row. Row columns (step, group) are repeated for each
token; the reward is on the last token of its row, minus per-token deductions (KL), as in a trainer. Tokens not
written by the policy are excluded.
"""

import torch
from torch import Tensor

from advcli.estimators.batch import white_rows
from advcli.tensors.segments import Segments, Spread, divide


def gae(  # noqa: PLR0913  the knobs of the paper and of the whitening
    rewards: Tensor,
    values: Tensor,
    row: Tensor,
    step: Tensor,
    *,
    gamma: float = 1.0,
    lam: float = 1.0,
    alpha: float = 0.0,
    scale: str = "none",
    ddof: int = 1,
    eps: float = 0.0,
) -> Tensor:
    """Generalised advantage estimation with a critic's values.

        A_t = Σ_k (γλ)^k δ_{t+k}, δ_t = r_t + γ V_{t+1} − V_t, V = 0 after the last token

    λ = 1 is the return minus the value, A = Q − V, as in A2C and A3C; λ = 0 is δ_t alone. r_t is the reward for
    token t, as in the paper; V_t is the value of the text before it.

    Args:
        rewards: [T] float, finite, reward of each token, in the unit of the dump.
        values: [T] float, finite, the critic's value at each token, in the unit of the rewards.
        row: [T] int64, ascending, the row of each token.
        step: [T] int64, step index of each token.
        gamma: discount γ, in [0, 1].
        lam: λ, in [0, 1].
        alpha: above 0, λ is 1 − 1/max(1, α · tokens of the row) instead (VAPO's length-adaptive λ).
        scale: "none", or "batch" to whiten: minus the mean over the tokens of the step, over √(variance + eps).
        ddof: degrees of freedom taken from the tokens in that variance.
        eps: added to that variance.

    Returns:
        [T], dtype and device of `rewards`. With scale "batch" 0 in a step whose advantages are all equal, and
        NaN in one of `ddof` tokens or fewer.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Schulman et al. 2016, arXiv:1506.02438, equations 11 to 16; α: VAPO, arXiv:2504.05118, section 4.2.

    Example:
        >>> r, v = torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.5, 0.5, 0.5])
        >>> gae(r, v, torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64), lam=0.5).tolist()
        [0.125, 0.25, 0.5]
    """
    factor: float | Tensor = lam
    if alpha > 0:
        rows = Segments.of(row)
        factor = 1 - 1 / (alpha * rows.rows(rows.size()).to(values.dtype)).clamp(min=1)
    advantages = _gae(rewards, values, row, gamma, factor)
    if scale != "batch":
        return advantages
    return white_rows(Spread.of(advantages, Segments.batch(step)), ddof, eps)


def _gae(rewards: Tensor, values: Tensor, piece: Tensor, gamma: float, lam: float | Tensor) -> Tensor:
    """[T] GAE within each piece of consecutive tokens, with V = 0 after its last token."""
    following = torch.zeros_like(values)
    following[:-1] = torch.where(piece[1:] == piece[:-1], values[1:], 0.0)
    pieces = Segments.of(torch.unique_consecutive(piece, return_inverse=True)[1])
    return pieces.discounted(rewards + gamma * following - values, gamma * lam)


def bi_level_gae(
    token_rewards: Tensor,
    values: Tensor,
    row: Tensor,
    *,
    gamma: float = 1.0,
    lam: float = 1.0,
    high_gamma: float = 0.95,
) -> Tensor:
    """Generalised advantage estimation over the turns of a row, then over the tokens of each turn with the result as reward.

        U_j = δ_j + γ_h λ U_{j+1} over the ends of turns, then A_t as in gae with the reward U_j + V at the end of turn j

    Args:
        token_rewards: [T] float, finite; a token whose reward is not 0 ends a turn.
        values: [T] float, finite, the critic's value at each token.
        row: [T] int64, ascending, the row of each token.
        gamma: discount γ within a turn, in [0, 1].
        lam: λ of both, in [0, 1].
        high_gamma: γ_h, discount from turn to turn, in [0, 1].

    Returns:
        [T], dtype and device of `token_rewards`. Tokens after the last end form a turn with value 0 at its end.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Wang et al. 2025, RAGEN, arXiv:2504.20073; ragen/trainer/core_algos.py.

    Example:
        >>> r, v = torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.zeros(4)
        >>> bi_level_gae(r, v, torch.zeros(4, dtype=torch.int64), high_gamma=0.5).tolist()
        [1.5, 1.5, 1.0, 1.0]
    """
    ends = token_rewards != 0
    turn = row + torch.cumsum(torch.cat([ends.new_zeros(1), ends[:-1]]).long(), dim=0) if len(row) else row
    reward = torch.zeros_like(token_rewards)
    reward[ends] = _gae(token_rewards[ends], values[ends], row[ends], high_gamma, lam) + values[ends]
    return _gae(reward, values, turn, gamma, lam)


def reinforce_plus_plus(
    rewards: Tensor, row: Tensor, step: Tensor, *, gamma: float = 1.0, ddof: int = 1, eps: float = 1e-8
) -> Tensor:
    """The discounted return of each token, whitened over all tokens of the step.

        A_t = (R_t − m) / √(v + eps), R_t = Σ_k γ^k r_{t+k}

    With γ = 1 and no KL every token of a row has the row's reward; `estimators.batch.reinforce_plus_plus` computes
    that without flattening the tokens.

    Args:
        rewards: [T] float, finite, reward of each token, in the unit of the dump.
        row: [T] int64, ascending, the row of each token.
        step: [T] int64, step index of each token.
        gamma: discount γ, in [0, 1].
        ddof: degrees of freedom taken from the tokens. 1 is verl's; OpenRLHF has 0.
        eps: added to the variance, in the squared unit of the rewards. verl has 1e-8.

    Returns:
        [T], dtype and device of `rewards`. NaN in steps of `ddof` tokens or fewer.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Hu et al. 2025, REINFORCE++, arXiv:2501.03262; γ as in verl/trainer/ppo/core_algos.py.

    Example:
        >>> r, row = torch.tensor([0.0, 1.0]), torch.tensor([0, 0])
        >>> [round(a, 4) for a in reinforce_plus_plus(r, row, row, gamma=0.5).tolist()]
        [-0.7071, 0.7071]
    """
    returns = Segments.of(row).discounted(rewards, gamma)
    return white_rows(Spread.of(returns, Segments.batch(step)), ddof, eps)


def remax(rewards: Tensor, baselines: Tensor, row: Tensor, *, gamma: float = 1.0) -> Tensor:
    """The return of each token minus the reward of the greedy response to the same prompt.

        A_t = Σ_k γ^k r_{t+k} − r_greedy

    Args:
        rewards: [T] float, finite, reward of each token, in the unit of the dump.
        baselines: [T] float, finite, the greedy reward of the row's prompt, at each of its tokens.
        row: [T] int64, ascending, the row of each token.
        gamma: discount γ, in [0, 1].

    Returns:
        [T], dtype and device of `rewards`. Defined for every token.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Li et al. 2023, ReMax, arXiv:2310.10505; the return of each token as in verl/trainer/ppo/core_algos.py.

    Example:
        >>> r, b = torch.tensor([-0.25, 1.0]), torch.tensor([0.5, 0.5])
        >>> remax(r, b, torch.tensor([0, 0])).tolist()
        [0.25, 0.5]
    """
    return Segments.of(row).discounted(rewards, gamma) - baselines


def optimal_token_baseline(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    log_probs: Tensor,
    sum_pi_squared: Tensor,
    row: Tensor,
    group: Tensor,
    *,
    gamma: float = 1.0,
    eps: float = 0.0,
) -> Tensor:
    """The return of each token minus the mean return at its position in the group, weighted by gradient norm.

        A_t = R_t − Σ_g C_t R_t / (Σ_g C_t + eps), C_t = Σ_{u≤t} (1 − 2 π_u + Σ_v π_u(v)²)

    C_t is the expected squared norm of the gradient of the text so far with respect to the logits. The sums run
    over the rows of the group with a token at that position, counting tokens of the policy only.

    Args:
        rewards: [T] float, finite, reward of each token, in the unit of the dump.
        log_probs: [T] float, log π of each token under the policy that wrote it.
        sum_pi_squared: [T] float, sum of the squared probabilities of the vocabulary at each token.
        row: [T] int64, ascending, the row of each token.
        group: [T] int64, group index of each token.
        gamma: discount γ, in [0, 1].
        eps: added to the sum of weights. verl has 1e-8.

    Returns:
        [T], dtype and device of `rewards`. If only one row reaches a position (in a group of one, everywhere),
        there is nothing to compare with and A_t = R_t; likewise if all weights are 0.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        verl/trainer/ppo/core_algos.py, compute_optimal_token_baseline_advantage and its tool-use variant, which also
        counts positions in tokens of the policy.

    Example:
        >>> r, lp = torch.tensor([1.0, 0.0]), torch.log(torch.tensor([0.5, 0.25]))
        >>> pi2, row, group = torch.tensor([0.5, 0.25]), torch.tensor([0, 1]), torch.tensor([0, 0])
        >>> [round(a, 4) for a in optimal_token_baseline(r, lp, pi2, row, group).tolist()]
        [0.6, -0.4]
    """
    rows = Segments.of(row)
    returns = rows.discounted(rewards, gamma)
    weight = rows.cumsum(1 - 2 * log_probs.exp() + sum_pi_squared)
    position = rows.position()
    peers = Segments.dense(group * (int(position.max()) + 1) + position if len(position) else position)
    # Relative to the lowest return, so that equal returns give exactly 0.
    low = peers.min(returns)
    above = returns - peers.rows(low)
    total = peers.sum(weight) + eps
    shift = divide(eps * low - peers.sum(weight * above), total)
    return above + peers.rows(torch.where((peers.size() > 1) & (total != 0), shift, low))
