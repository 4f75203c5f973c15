"""Many texts are numbered as a plain dictionary numbers them, whatever their hashes are."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advcli.io.collect import keys, text_codes

WORDS = st.one_of(
    st.none(), st.binary(max_size=30), st.sampled_from([b"", b"\0", b"\0\0", b"a", b"a" * 8, b"a" * 16])
)


def arrays(batches):
    return [pa.array(batch, pa.large_binary()) for batch in batches]


def expected(batches):
    """Codes in order of first appearance, and where each was met first."""
    known, codes, first = {}, [], []
    for place, text in enumerate(text for batch in batches for text in batch):
        if text is not None and text not in known:
            known[text] = len(known)
            first.append(place)
        codes.append(-1 if text is None else known[text])
    return codes, first


def found(batches):
    codes, first = text_codes.numbered(arrays(batches))
    assert codes.dtype == first.dtype == np.int64
    return codes.tolist(), first.tolist()


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(WORDS, max_size=12), max_size=4))
def test_texts_are_numbered_as_by_a_dictionary(batches):
    assert found(batches) == expected(batches)


@pytest.mark.parametrize("values", [1, 2, 7, 1 << 62])
@pytest.mark.parametrize("seed", range(10))
def test_two_texts_of_one_hash_are_told_apart(seed, values, monkeypatch):
    chance = random.Random(seed)
    ids = [chance.randbytes(chance.choice([1, 7, 8, 9, 18, 40])) for _ in range(30)]
    batches = [[chance.choice([*ids, None]) for _ in range(chance.randrange(80))] for _ in range(4)]
    plain = text_codes._hashes
    monkeypatch.setattr(
        text_codes, "_hashes", lambda words: plain(words) % np.uint64(values) << np.uint64(50)
    )
    assert found(batches) == expected(batches)


def test_texts_of_a_cut_array():
    whole = pa.array(
        [b"x" * 9, b"long enough", b"long enough", None, b"longer than that", b"y"], pa.large_binary()
    )
    codes, first = text_codes.numbered([whole.slice(1, 4), whole.slice(4), whole.slice(2, 0)])
    assert (codes.tolist(), first.tolist()) == ([0, 0, -1, 1, 1, 2], [0, 3, 5])


def test_different_texts_have_different_words():
    # Every text of up to 3 bytes of two, with and without something before them.
    bytes_of = (b"\0", b"\1")
    short = [b""]
    for _ in range(3):
        short = list(dict.fromkeys([*short, *(text + end for text in short for end in bytes_of)]))
    ids = [before + text for before in (b"", b"12345678", b"1234567890") for text in short]
    words = text_codes._words(pa.array(ids, pa.large_binary()), 1 + 2).T.tolist()
    assert len({tuple(word) for word in words}) == len(ids)
    long = [text for text in ids if len(text) >= 8]
    words = text_codes._words(pa.array(long, pa.large_binary()), 1 + 2).T.tolist()
    assert len({tuple(word) for word in words}) == len(long)


def test_hashes_of_ids_that_count_up_are_as_different_as_drawn_numbers():
    # Of 2¹⁶ drawn numbers half a pair is the same in the upper 32 bits.
    for form in ("{:020}", "id-{}", "{:x}", "{:08}/{:08}", "run_{:05}_sample_{:04}"):
        ids = pa.array([form.format(number, number % 997) for number in range(1 << 16)]).cast(
            pa.large_binary()
        )
        upper = text_codes._hashes(text_codes._words(ids, 4)) >> np.uint64(32)
        assert len(ids) - len(np.unique(upper)) < 10


def test_it_is_for_many_texts_that_are_mostly_different(monkeypatch):
    assert not text_codes.pays(arrays([[b"a", b"b"]]))
    monkeypatch.setattr(text_codes, "_MANY", 3)
    assert text_codes.pays(arrays([[b"a", b"b"], [b"c", b"c"]]))
    assert not text_codes.pays(arrays([[b"a", b"a"], [b"a", b"c"]]))


def test_keys_are_the_same_both_ways(monkeypatch):
    chance = random.Random(1)
    ids = [f"p{chance.randrange(40)}" for _ in range(300)] + [None, "x" * 70, "x" * 71]
    chance.shuffle(ids)
    told = []
    for sorted_ in (False, True):
        monkeypatch.setattr(text_codes, "pays", lambda keys, sorted_=sorted_: sorted_)
        coder = keys.Coder()
        for start in range(0, len(ids), 50):
            coder.add(pa.array(ids[start : start + 50]))
        told.append((coder.codes().tolist(), coder.names(), coder.identities()))
    assert told[0] == told[1]
    assert max(told[0][0]) == 41


@settings(deadline=None, derandomize=True)
@given(st.lists(WORDS.filter(lambda text: text is not None), max_size=12), st.binary(min_size=31, max_size=40))
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
    monkeypatch.setattr(text_codes, "_FEW", 1000)
    texts = [f"prompt-{number}".encode() for number in range(50_000)]
    found = text_codes.digests(pa.array(texts, pa.large_binary()))
    for half in range(2):
        assert len(np.unique(found[:, half])) == len(texts)
        # Rows are dealt by the remainder: each of seven gets its seventh, within five standard deviations.
        counts = np.bincount((found[:, half] % np.uint64(7)).astype(int))
        assert np.abs(counts - len(texts) / 7).max() < 5 * np.sqrt(len(texts) / 7)
