"""Groups as trainers lay them out."""

import pytest
import torch

from advcli.frameworks.arithmetic.blocks import as_cut, matrices

STEPS = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
GROUPS = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4]  # sizes 3 and 2 in step 0; 2, 2 and 1 in step 1


def cut(groups, steps, ragged):
    index, rest = as_cut(torch.tensor(groups), torch.tensor(steps), ragged)
    together = {}
    for row, label in enumerate(index.tolist()):
        if not rest[row]:
            together.setdefault(label, []).append(row)
    return sorted(together.values()), torch.nonzero(rest).flatten().tolist()


def test_by_key_nothing_changes():
    assert cut(GROUPS, STEPS, "key") == ([[0, 1, 2], [3, 4], [5, 6], [7, 8], [9]], [])


def test_a_step_of_uneven_groups_is_one_group():
    assert cut(GROUPS, STEPS, "batch") == ([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]], [])


def test_a_step_of_uneven_groups_is_cut_by_the_largest_and_the_rest_is_left_over():
    assert cut(GROUPS, STEPS, "cut") == ([[0, 1, 2], [5, 6, 7]], [3, 4, 8, 9])


@pytest.mark.parametrize("ragged", ["batch", "cut"])
def test_a_step_of_even_groups_stays_as_it_is_wherever_its_rows_lie(ragged):
    steps = [0] * 4 + [1] * 6
    groups = [0, 1, 0, 1, 2, 3, 2, 3, 2, 4]
    together, rest = cut(groups, steps, ragged)
    assert {rows[0]: rows for rows in together if rows[0] < 4} == {0: [0, 2], 1: [1, 3]}
    assert rest == []
    assert together[-1] == ([4, 5, 6, 7, 8, 9] if ragged == "batch" else [7, 8, 9])


@pytest.mark.parametrize("ragged", ["key", "batch", "cut"])
def test_no_rows(ragged):
    index, rest = as_cut(torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), ragged)
    assert len(index) == len(rest) == 0


def test_matrices_have_one_size_each_and_keep_the_order_of_the_rows():
    found = [rows.tolist() for rows in matrices(torch.tensor([7, 3, 7, 3, 5]), torch.tensor([True] * 5))]
    assert found == [[[4]], [[1, 3], [0, 2]]]


def test_matrices_leave_out_what_is_not_there():
    present = torch.tensor([True, False, True, True, False])
    found = [rows.tolist() for rows in matrices(torch.tensor([7, 3, 7, 3, 5]), present)]
    assert found == [[[3]], [[0, 2]]]
