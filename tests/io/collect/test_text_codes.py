"""Many texts are numbered as a plain dictionary numbers them, whatever their hashes are."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advcli.io.collect import text_codes
from advcli.io.collect.text_codes import TextCodes

WORDS = st.one_of(
    st.none(), st.binary(max_size=30), st.sampled_from([b"", b"\0", b"\0\0", b"a", b"a" * 8, b"a" * 16])
)


def arrays(batches):
    return [pa.array(batch, pa.large_binary()) for batch in batches]


def expected(batches):
    """Codes in order of first appearance, and the text of each."""
    known = {}
    texts = [text for batch in batches for text in batch]
    return [-1 if text is None else known.setdefault(text, len(known)) for text in texts], list(known)


def found(batches):
    coder = TextCodes()
    codes = [coder.add(batch) for batch in arrays(batches)]
    assert all(part.dtype == np.int32 for part in codes)
    return [code for part in codes for code in part.tolist()], coder.texts().to_pylist()


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(WORDS, max_size=12), max_size=4))
def test_texts_are_numbered_as_by_a_dictionary(batches):
    assert found(batches) == expected(batches)


@pytest.mark.parametrize("few", [1, 3, 64, 1 << 15])
@pytest.mark.parametrize("different", [5, 300, 20_000])
def test_a_table_that_grows(different, few, monkeypatch):
    monkeypatch.setattr(text_codes, "_INITIAL_SLOTS", 2)
    monkeypatch.setattr(text_codes, "_CHUNK_ROWS", few)
    chance = random.Random(different)
    ids = [chance.randbytes(chance.choice([0, 1, 7, 8, 9, 18, 40])) for _ in range(different)]
    batches = [[chance.choice([*ids, None]) for _ in range(chance.randrange(1500))] for _ in range(3)]
    batches.append(ids[:1000])
    assert found(batches) == expected(batches)


@pytest.mark.parametrize("values", [1, 2, 7])
@pytest.mark.parametrize("seed", range(10))
def test_two_texts_of_one_hash_are_told_apart(seed, values, monkeypatch):
    chance = random.Random(seed)
    ids = [chance.randbytes(chance.choice([1, 7, 8, 9, 18, 40])) for _ in range(30)]
    batches = [[chance.choice([*ids, None]) for _ in range(chance.randrange(80))] for _ in range(4)]
    plain = TextCodes._slots
    monkeypatch.setattr(TextCodes, "_slots", lambda coder, words: plain(coder, words) % values)
    assert found(batches) == expected(batches)


def test_texts_of_a_cut_array():
    whole = pa.array(
        [b"x" * 9, b"long enough", b"long enough", None, b"longer than that", b"y"], pa.large_binary()
    )
    coder = TextCodes()
    codes = [coder.add(part).tolist() for part in (whole.slice(1, 4), whole.slice(4), whole.slice(2, 0))]
    assert codes == [[0, 0, -1, 1], [1, 2], []]
    assert coder.texts().to_pylist() == [b"long enough", b"longer than that", b"y"]


def test_different_texts_have_different_words():
    # Every text of up to 3 bytes of two, with and without something before them.
    bytes_of = (b"\0", b"\1")
    short = [b""]
    for _ in range(3):
        short = list(dict.fromkeys([*short, *(text + end for text in short for end in bytes_of)]))
    ids = [before + text for before in (b"", b"12345678", b"1234567890") for text in short]
    words = text_codes._words(pa.array(ids, pa.large_binary())).tolist()
    assert len({tuple(word) for word in words}) == len(ids)
    long = [text for text in ids if len(text) >= 8]
    words = text_codes._words(pa.array(long, pa.large_binary())).tolist()
    assert len({tuple(word) for word in words}) == len(long)


def test_ids_lie_as_far_apart_as_drawn_numbers():
    # Of 2¹⁶ drawn places of a table of 2³⁰ two pairs are the same.
    coder = TextCodes()
    coder._table = range(1 << 30)
    letters = "0123456789abcdef"
    grid = [f"{a:>8}{b:>8}{c:>8}{d:>8}" for a in letters for b in letters for c in letters for d in letters]
    for ids in (
        grid,
        *(
            [form.format(number, number % 997) for number in range(1 << 16)]
            for form in ("{:020}", "id-{}", "{:x}", "{:08}/{:08}", "run_{:05}_sample_{:04}")
        ),
    ):
        places = coder._slots(text_codes._words(pa.array(ids).cast(pa.large_binary())))
        assert len(ids) - len(np.unique(places)) < 15


def test_what_no_text_has_changes_no_place():
    words = text_codes._words(pa.array([b"a", b"b" * 9], pa.large_binary()))
    more = np.concatenate([words, np.zeros((2, 3), np.uint64)], axis=1)
    assert TextCodes()._slots(words).tolist() == TextCodes()._slots(more).tolist()


@settings(deadline=None, derandomize=True)
@given(
    st.lists(WORDS.filter(lambda text: text is not None), max_size=12), st.binary(min_size=31, max_size=40)
)
def test_a_digest_is_that_of_the_text_whatever_stands_beside_it(texts, longer):
    alone = [text_codes.digests(pa.array([text], pa.large_binary())).tolist()[0] for text in texts]
    beside = text_codes.digests(pa.array([longer, *texts], pa.large_binary()))
    assert beside.shape == (len(texts) + 1, 2)
    assert beside.dtype == np.uint64
    assert beside[1:].tolist() == alone
    # Both halves tell different texts from one another.
    for half in range(2):
        assert len(set(beside[:, half].tolist())) == len({longer, *texts})


def test_digests_of_many_texts_that_are_alike_differ_and_spread(monkeypatch):
    monkeypatch.setattr(text_codes, "_CHUNK_ROWS", 1000)
    texts = [f"prompt-{number}".encode() for number in range(50_000)]
    found = text_codes.digests(pa.array(texts, pa.large_binary()))
    for half in range(2):
        assert len(np.unique(found[:, half])) == len(texts)
        # Rows are dealt by the remainder: each of seven gets its seventh, within five standard deviations.
        counts = np.bincount((found[:, half] % np.uint64(7)).astype(int))
        assert np.abs(counts - len(texts) / 7).max() < 5 * np.sqrt(len(texts) / 7)
