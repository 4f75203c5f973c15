"""Which bytes an input was."""

import hashlib

from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.io.sources.fingerprint import fingerprints
from advcli.records.table import ColumnOptions


def test_size_and_digest_of_each_file(tmp_path):
    bodies = [
        b'{"prompt": "a", "reward": 1}\n',
        b'{"prompt": "b", "reward": 1}\n{"prompt": "b", "reward": 0}\n',
    ]
    paths = [tmp_path / f"{number}.jsonl" for number in range(2)]
    for path, body in zip(paths, bodies, strict=True):
        path.write_bytes(body)
    with opened([str(path) for path in paths]) as sources:
        found = fingerprints(sources, read(sources, ColumnOptions()))
    assert [one.name for one in found] == [str(path) for path in paths]
    assert [one.sha256 for one in found] == [hashlib.sha256(body).hexdigest() for body in bodies]
    assert [(one.size, one.rows) for one in found] == [(len(bodies[0]), 1), (len(bodies[1]), 2)]
