"""Which settings need groups."""

import pytest

from advcli.engine.scope import compares_groups
from advcli.records.settings import Settings
from advcli.shaping.spec import specs_of


@pytest.mark.parametrize(
    ("settings", "compares"),
    [
        ({}, True),
        ({"estimator": "rloo"}, True),
        ({"estimator": "reinforce"}, False),
        ({"estimator": "reinforce", "shaping": specs_of("difficulty")}, True),
        ({"estimator": "reinforce", "shaping": specs_of("clip:min=0,max=1")}, False),
        ({"estimator": "none of ours"}, True),
        ({"like": "none of them"}, True),
        ({"like": "trl"}, True),
        ({"like": "openrlhf", "estimator": "reinforce"}, False),
    ],
)
def test_an_estimator_compares_the_rows_of_a_group(settings, compares):
    assert compares_groups(Settings(**settings)) is compares
