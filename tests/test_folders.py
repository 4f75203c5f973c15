"""No folder of the package has more files than can be looked through, and a framework has one name everywhere."""

from pathlib import Path

import pytest

import advcli
from advcli.frameworks.catalog import RULES

PACKAGE = Path(advcli.__file__).parent
MOST = 16
# A file for each thing that the user can name, found by its name.
NAMED = {"cli/commands", "frameworks/rules", "io/formats"}


def folders():
    found = {path.parent for path in PACKAGE.rglob("*.py")}
    return sorted(folder.relative_to(PACKAGE).as_posix() for folder in found)


@pytest.mark.parametrize("folder", folders())
def test_a_folder_can_be_looked_through(folder):
    files = [path for path in (PACKAGE / folder).glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST or folder in NAMED


def test_the_exceptions_are_needed():
    assert {name for name in NAMED if len([*(PACKAGE / name).glob("*.py")]) > MOST + 1} == NAMED


def test_the_rules_of_a_framework_lie_in_the_file_of_its_name():
    files = {path.stem for path in (PACKAGE / "frameworks" / "rules").glob("*.py")} - {"__init__"}
    assert {rule.framework.replace("-", "_") for rule in RULES} == files
