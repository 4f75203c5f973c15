"""What is imported to run a command."""

import gc

import pytest

from advcli.cli import loading
from advcli.common.errors import MissingPackage


def test_a_command_is_loaded_and_the_collector_goes_on():
    gc.disable()
    try:
        assert loading.loaded("advcli.common.wording:either")(["a", "b"]) == "a or b"
        assert gc.isenabled()
        assert loading.DONE.is_set()
    finally:
        gc.enable()
        gc.unfreeze()


def test_a_package_that_is_missing():
    with pytest.raises(MissingPackage, match="the package 'no_such_package' is needed"):
        loading.loaded("no_such_package.module:function")
