"""The names that `import advcli` promises."""

import inspect
import pkgutil
import pydoc
from importlib.metadata import version
from typing import get_type_hints

import pytest

import advcli
from advcli.common import errors
from advcli.records import settings

PROMISED = {"compute_advantages", "GRPOAdvantage", "RLOOAdvantage"}


def test_every_name_resolves():
    assert set(advcli.__all__) >= PROMISED | {"AdvcliError", "UsageError", "DataError", "__version__"}
    assert advcli.__all__ == sorted(advcli.__all__)
    for name in advcli.__all__:
        assert getattr(advcli, name) is not None


@pytest.mark.parametrize("name", sorted(set(advcli.__all__) - {"__version__"}))
def test_every_name_is_what_it_says(name):
    value = getattr(advcli, name)
    assert value.__name__ == name
    assert value.__module__ == advcli._HOMES[name]
    assert inspect.getdoc(value)


def test_from_import_star():
    scope: dict = {}
    exec("from advcli import *", scope)
    assert set(advcli.__all__) <= scope.keys()
    assert scope["UsageError"] is errors.UsageError
    assert scope["AdvantageTable"] is settings.AdvantageTable


def test_dir_lists_the_public_names():
    assert dir(advcli) == sorted(advcli.__all__)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'advcli' has no attribute 'compute_advantage'"):
        advcli.compute_advantage  # noqa: B018  the access is the test
    assert not hasattr(advcli, "nothing_of_the_kind")


def test_version_is_that_of_the_package():
    assert advcli.__version__ == version("advcli")


def test_signature_is_the_stable_one():
    parameters = inspect.signature(advcli.compute_advantages).parameters
    promised = {
        "estimator": "grpo",
        "scale": None,
        "keep_pos": 1.0,
        "keep_neg": 1.0,
        "compute_new_adv": False,
        "weights": None,
        "steps": None,
        "device": "auto",
    }
    assert list(parameters)[:2] == ["rewards", "groups"]
    assert {name: parameters[name].default for name in promised} == promised
    keyword = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert set(keyword) >= promised.keys()
    assert get_type_hints(advcli.common.errors.AdvcliError.__init__)["return"] is type(None)


def test_help_shows_the_public_names_and_no_modules():
    shown = pydoc.render_doc(advcli, renderer=pydoc.plaintext)
    assert "PACKAGE CONTENTS" not in shown
    assert "SUBMODULES" not in shown
    for name in set(advcli.__all__) - {"__version__"}:
        assert name in shown
    assert advcli.__version__ in shown
    assert {"api", "cli", "io"} <= {module.name for module in pkgutil.iter_modules(advcli.__path__)}
