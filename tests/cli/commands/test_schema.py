"""`advcli schema` prints what `--json` follows."""

import json

import pytest

from advcli.records.results.schema import RESULTS, schema


@pytest.mark.parametrize("name", ["inspect", "between"])
def test_it_prints_a_schema(name, advcli):
    assert json.loads(advcli("schema", name).stdout) == schema(name)


def test_it_lists_them(advcli):
    lines = advcli("schema").stdout.decode().splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [[name, kind.schema] for name, kind in RESULTS.items()]
