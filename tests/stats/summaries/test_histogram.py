"""Counts over bins."""

from itertools import pairwise

import torch

from advcli.stats.summaries.histogram import histogram


def test_few_values_have_a_bar_each():
    found = histogram(
        {"a": torch.tensor([0.0, -0.0, 1.0, float("nan"), float("inf")]), "b": torch.tensor([1.0, 0.5])}
    )
    assert found.values == (0.0, 0.5, 1.0)
    assert found.edges == ()
    assert found.counts == {"a": (2, 0, 1), "b": (0, 1, 1)}
    assert found.outside == {"a": 0, "b": 0}


def test_many_values_are_counted_as_a_plain_loop_counts_them():
    values = [place * 0.37 % 10 for place in range(500)]
    found = histogram({"a": torch.tensor(values, dtype=torch.float64)})
    assert found.values == ()
    edges = found.edges
    last = len(edges) - 2
    plain = [
        sum(low <= value < high or (place == last and value == high) for value in values)
        for place, (low, high) in enumerate(pairwise(edges))
    ]
    assert list(found.counts["a"]) == plain
    assert sum(plain) == 500


def test_a_few_far_out_are_counted_apart():
    values = torch.cat([torch.linspace(-1, 1, 5000, dtype=torch.float64), torch.tensor([1e6, -1e6])])
    found = histogram({"a": values})
    assert -1 <= found.edges[0] < found.edges[-1] <= 1
    assert found.outside["a"] >= 2
    assert sum(found.counts["a"]) + found.outside["a"] == 5002


def test_nothing_to_count():
    found = histogram({"a": torch.tensor([float("nan")])})
    assert found.values == found.edges == ()
    assert found.counts == {"a": ()}
