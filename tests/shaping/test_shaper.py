"""What a row of the catalog says of itself."""

from advcli.shaping.catalog import SHAPINGS


def test_an_option_of_its_own_is_named_in_messages():
    assert SHAPINGS["clip"].said == "--clip-reward"
    assert SHAPINGS["gr3"].said == "--shape gr3"


def test_the_pattern_has_the_names_of_the_knobs():
    assert SHAPINGS["gr3"].pattern == "r / (1 + alpha · L/mean L)"


def test_knobs_are_filled_in():
    assert SHAPINGS["gr3"].read({}) == {"alpha": 0.33}
    assert SHAPINGS["length_limit"].read({"max": "1e3"}) == {"max": 1000.0, "coef": 0.25, "gated": 0.0}
    assert SHAPINGS["cosine"].read({"max": 2, "clamp": "True"})["clamp"] == 1
    assert SHAPINGS["cosine"].read({"max": 2, "clamp": "false"})["clamp"] == 0
    assert SHAPINGS["slack"].read({"quantile": 1})["quantile"] == 1
    assert SHAPINGS["slack"].read({"quantile": 0})["quantile"] == 0
