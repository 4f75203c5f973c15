"""The columns that an estimator may need, from rows written by hand or drawn."""

import torch


def columns(rows):
    """`rows`: (two parts of the reward, group, step, length, greedy reward) each; the second part weighs a half."""
    parts, group, step, lengths, baselines = zip(*rows, strict=True)
    found = {
        "parts": torch.tensor(parts, dtype=torch.float64),
        "weights": torch.tensor([1.0, 0.5], dtype=torch.float64),
        "group": torch.tensor(group),
        "step": torch.tensor(step),
        "lengths": torch.tensor(lengths, dtype=torch.float64),
        "baselines": torch.tensor(baselines, dtype=torch.float64),
    }
    return found | {"rewards": found["parts"] @ found["weights"]}
