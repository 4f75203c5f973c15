"""Which format fits, told by columns and what they hold."""

import pytest

from advcli.common.errors import DataError
from advcli.io.formats.detect import fits, recognised
from advcli.io.formats.format import Format

VERL = {"input": "text", "output": "text", "score": "number", "step": "number"}
SWIFT = {"prompt": "list", "completion": "list", "advantages": "list"}


@pytest.mark.parametrize(
    ("shapes", "name"),
    [
        (VERL, "verl"),
        (VERL | {"gts": "null", "acc": "number"}, "verl"),
        (VERL | {"uid": "text"}, "verl-v1"),
        (VERL | {"uid": "number"}, None),
        (SWIFT | {"step": "list"}, "ms-swift"),
        (SWIFT | {"gen_step": "list"}, "ms-swift-megatron"),
        (SWIFT | {"step": "number"}, None),
        ({"prompt": "text", "completion": "text", "step": "number", "advantage": "number"}, "trl"),
        ({"prompt": "list", "completion": "list", "step": "number", "advantage": "number"}, "trl"),
        ({"prompt": "text", "reward": "number"}, None),
        ({}, None),
    ],
)
def test_recognised(shapes, name):
    form = recognised(shapes)
    assert (form.name if form else None) == name


def test_a_path_is_looked_for_in_the_records():
    shapes = {"traces": "list", "group": "object", "task": "object"}
    assert recognised(shapes, lambda path: path == "group.id").name == "prime-rl"
    assert recognised(shapes, lambda _: False) is None


def test_a_column_of_that_dotted_name_counts():
    assert recognised({"traces": "list", "group.id": "text"}).name == "prime-rl"


def test_nulls_and_nested_kinds_satisfy():
    form = Format("x", ("a:list", "b:object", "c:number", "d:text"))
    assert fits(form, dict.fromkeys("abcd", "null"))
    assert fits(form, {"a": "nested", "b": "nested", "c": "number", "d": "text"})
    assert not fits(form, {"a": "object", "b": "object", "c": "number", "d": "text"})


def test_when_two_fit_both_are_named():
    both = {"example_id": "text", "reward": "number", "completion": "text"}
    both |= {"task_id": "number", "sample_idx": "number", "seqlen": "number"}
    with pytest.raises(DataError) as error:
        recognised(both, name="d.jsonl")
    assert error.value.message == "d.jsonl: the formats verifiers and areal fit"
    assert error.value.hint == "--format verifiers or --format areal"


def test_of_two_that_fit_the_one_that_requires_more_is_taken(monkeypatch):
    forms = [Format("few", ("a",)), Format("more", ("a", "b:number")), Format("none", ())]
    monkeypatch.setattr("advcli.io.formats.detect.FORMATS", forms)
    assert recognised({"a": "text", "b": "number"}).name == "more"
    assert recognised({"a": "text", "b": "text"}).name == "few"
