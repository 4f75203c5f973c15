"""What a file is by its first bytes, on real files of each kind."""

import bz2
import gzip
import io
import lzma
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from advcli.io.sources.magic import HEAD, stranger, without_dumps


def saved(write):
    sink = io.BytesIO()
    write(sink)
    return sink.getvalue()[:HEAD]


def tar(sink):
    with tarfile.open(fileobj=sink, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.jsonl"))


def zipped(sink):
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("a.jsonl", "{}")


DUMP = {"samples": [{"reward": 1.0}], "rollout_id": 3}
KINDS = {
    "a zip archive as torch.save writes it": saved(lambda sink: torch.save(DUMP, sink)),
    "a pickle, which can run code": saved(
        lambda sink: torch.save(DUMP, sink, _use_new_zipfile_serialization=False)
    ),
    "this is a pickle": pickle.dumps(DUMP, protocol=4),
    "this is a pickle, which": pickle.dumps(DUMP, protocol=0),
    "this is a zip archive without a dump": saved(zipped),
    "an empty zip archive": saved(lambda sink: zipfile.ZipFile(sink, "w").close()),
    "a tar archive": saved(tar),
    "compressed with bzip2": bz2.compress(b"{}"),
    "compressed with xz": lzma.compress(b"{}"),
    "a numpy array": saved(lambda sink: np.save(sink, np.zeros(3))),
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "a git-annex pointer": b"../.git/annex/objects/x/y/SHA256E-s1--0.jsonl",
    "an HTML page": b"\n<!DOCTYPE HTML>\n<html><title>404</title></html>",
    "an HTML page (": b"<html lang='en'>",
    "an XML document": b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
    "UTF-16 or UTF-32 text": '{"reward": 1}'.encode("utf-16"),
    "UTF-32 text, expected UTF-8": '{"reward": 1}'.encode("utf-16-le"),
    "YAML": b"trajectories:\n- reward: 1\n",
    "a table of text": b"prompt,reward\na,1\n",
    "compressed twice": gzip.compress(b"{}"),
    "zero bytes": bytes(100),
}


@pytest.mark.parametrize("what", KINDS)
def test_each_kind_is_named(what):
    found = stranger(KINDS[what])
    assert found is not None
    assert what in found.what
    assert found.hint


@pytest.mark.parametrize(
    "head",
    [
        b'{"reward": 1}',
        b'\xef\xbb\xbf{"reward": 1}',
        b"\n\n [1]",
        b"",
        b"  \n",
        b"null\n",
        b'"text"\n',
        b"broken\n",
        # A log line before the rows: the reader of lines says what is wrong, or skips it.
        b'INFO: started, yes\n{"reward": 1}\n',
        b'a,b\n{"reward": 1}\n',
    ],
)
def test_what_may_be_a_dump_is_left_to_the_reader(head):
    assert stranger(head) is None


def test_a_folder_of_other_things():
    files = [Path("run/0.pt"), Path("run/1.PT"), Path("run/x.yaml"), Path("run/README")]
    shown = without_dumps(files)
    assert shown.startswith("it holds 2 .pt: torch files")
    assert "1 .yaml: YAML files" in shown
    assert without_dumps([Path("README")]) == ""
