"""HGPO: compares turns with equal histories; the columns are those of `frameworks.turns`."""

import torch
from torch import Tensor

from advcli.frameworks.arithmetic.turns import episode_term, moments, returns
from advcli.tensors.turns import Turns, histories


def hgpo(  # noqa: PLR0913  one knob per version of the rule
    rewards: Tensor,
    group: Tensor,
    rollout: Tensor,
    anchor: Tensor,
    episode: Tensor,
    *,
    gamma: float,
    history: int,
    alpha: float = 1.0,
    shift: float = 1.0,
    zeros: bool,
    base: bool = False,
    divide: bool,
    slip: bool = False,
    eps: float = 1e-6,
) -> Tensor:
    """HGPO: the return of a turn compared with those of equal histories; longer histories weigh more.

    Args:
        rewards: [N] float, the reward of each turn.
        group: [N] int64, the prompt.
        rollout: [N] int64.
        anchor: [N] int64.
        episode: [N] float.
        gamma: discount γ.
        history: K, the maximum number of earlier states in a history.
        alpha: the exponent of the weight of a history of k states.
        shift: added to k in that weight; 0 for plain k, without eps in the sum of weights.
        zeros: whether an advantage of exactly 0 counts in the weighted mean.
        base: whether the episode term of verl-agent is included as k = 0.
        divide: whether to divide by the standard deviation, ddof 0.
        slip: whether to reproduce the bug that zeroes one row per prompt with an unshared state, see `_slipped`.
        eps: added to the standard deviation.

    Returns:
        [N] float32; 0 where no other turn has an equal history.
    """
    turns = Turns.of(rollout)
    to_go = returns(rewards.float(), turns, gamma)
    items = []
    if base:
        item = episode_term(episode.float(), group, turns, count="rows", divide=divide, eps=eps)
        items.append((0, item, torch.ones_like(item, dtype=torch.bool)))
    keys = histories(group, anchor, turns, history + 1)
    for k, key in enumerate(keys, start=1):
        mean, std, size = moments(to_go, key, ddof=0)
        centred = to_go - mean
        items.append((k, centred / (std + eps) if divide else centred, size > 1))
    weighted, total = torch.zeros_like(to_go), torch.zeros_like(to_go)
    for k, item, shared in items:
        counts = shared if zeros else shared & (item != 0)
        weight = torch.where(counts, (k + shift) ** alpha, 0.0).to(to_go.dtype)
        weighted, total = weighted + weight * item.nan_to_num(nan=0.0), total + weight
    result = torch.where(total > 0, weighted / (total + (eps if shift else 0.0)), 0)
    return result.index_fill(0, _slipped(group, keys, turns), 0) if slip else result


def _slipped(group: Tensor, keys: list[Tensor], turns: Turns) -> Tensor:
    """The rows that the paper's code zeroes by mistake, one for each prompt with both a shared and an unshared state.

    The code reuses the index of an earlier loop. That is the row of the last shared state (in rollout order) that is
    processed last, with rows of longer shared histories processed first.
    """
    sizes = [torch.bincount(key)[key] for key in keys]
    longest = torch.stack([size > 1 for size in sizes]).long().sum(dim=0).tolist()
    of_prompt: dict[int, list[int]] = {}
    for row in turns.order.tolist():
        of_prompt.setdefault(int(group[row]), []).append(row)
    result = []
    for rows in of_prompt.values():
        shared = list(dict.fromkeys(int(keys[0][row]) for row in rows if longest[row]))
        if not shared or all(longest[row] for row in rows):
            continue
        last = [row for row in rows if int(keys[0][row]) == shared[-1]]
        least = min(longest[row] for row in last)
        at = keys[least - 1]
        clusters = list(dict.fromkeys(int(at[row]) for row in last))
        result.append(
            max(
                (clusters.index(int(at[row])), at_, row)
                for at_, row in enumerate(last)
                if longest[row] == least
            )[2]
        )
    return torch.tensor(result, dtype=torch.int64)
