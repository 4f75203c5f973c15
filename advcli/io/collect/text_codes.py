"""Numbering texts of which most are different, or which are met again far apart: sorted by a hash of theirs, then compared.

A hash table of many texts is in no cache, so every look into it waits for the memory. Numbers are sorted in passes that
need not wait. No two texts are taken for one: each is compared with the first of its number.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from advcli.io.collect.cells import one_array

# Fewer texts than that are looked up as fast; so many tell whether the same ones come again and again.
_MANY = 1 << 16
# Of the hash. Odd numbers without order in their bits: the fractional part of the golden ratio, and those of Murmur's last steps.
_FACTORS = tuple(np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53))
_WORD = 8
# So many numbers at a time stay in the cache.
_FEW = 1 << 16
# Of so many texts fewer than one is met again where hardly any is.
_RARE = 8


def pays(keys: Sequence[pa.Array]) -> bool:
    """Whether to sort is worth while: there are many texts, and more than half of the first ones are different.

    Args:
        keys: large_binary arrays.
    """
    if sum(map(len, keys)) <= _MANY:
        return False
    first = pa.chunked_array(keys).slice(0, _MANY)
    return bool(pc.count_distinct(first).as_py() * 2 > len(first))


def numbered(keys: Sequence[pa.Array]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal texts numbered in order of first appearance.

    Args:
        keys: large_binary arrays, N texts in all.

    Returns:
        [N] int64 codes, -1 for null; [K] int64, the place of the first text of each code.

    Example:
        >>> codes, first = numbered(
        ...     [pa.array([b"b", b"a", None], pa.large_binary()), pa.array([b"b"], pa.large_binary())]
        ... )
        >>> codes.tolist(), first.tolist()
        ([0, 1, -1, 0], [0, 1])
    """
    there = [np.empty(0, dtype=bool), *(np.asarray(part.is_valid()) for part in keys)]
    keys, everyone = [part.drop_null() for part in keys], sum(map(len, keys))
    longest = max((int(np.diff(_offsets(part)).max(initial=0)) for part in keys), default=0)
    width = 1 + -(-longest // _WORD)
    ends = np.cumsum([0, *map(len, keys)]).tolist()
    parts = [(part, slice(*pair)) for part, pair in zip(keys, pairwise(ends), strict=True)]
    hashes = np.empty(ends[-1], dtype=np.uint64)

    def hashed(whole: tuple[pa.Array, slice]) -> None:
        part, place = whole
        hashes[place] = _hashes(_words(part, width))

    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        list(pool.map(hashed, parts))
        codes, first = _by_hash(hashes)
        codes, first = _told_apart(parts, width, codes, first, pool)
    if len(codes) == everyone:
        return codes, first
    places = np.flatnonzero(np.concatenate(there))
    found = np.full(everyone, -1, dtype=np.int64)
    found[places] = codes
    return found, places[first]


def _by_hash(packed: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What `numbered` gives, going by the upper bits of the hashes; these are overwritten."""
    rows = len(packed)
    bits = np.uint64(max(1, (rows - 1).bit_length()))
    # The hash in the upper bits, the place in the lower ones.
    for start in range(0, rows, _FEW):
        some = packed[start : start + _FEW]
        some >>= bits
        some <<= bits
        some |= np.arange(start, start + len(some), dtype=np.uint64)
    packed.sort()
    starts = np.ones(rows, dtype=bool)
    for start in range(1, rows, _FEW):
        hashes = packed[start - 1 : start + _FEW] >> bits
        starts[start : start + _FEW] = hashes[1:] != hashes[:-1]
    packed &= (np.uint64(1) << bits) - np.uint64(1)
    row = packed.view(np.int64)
    of_runs = row[starts]
    is_first = np.zeros(rows, dtype=bool)
    is_first[of_runs] = True
    # Counted in the order of the rows; what is met again has the number of its first.
    codes = np.cumsum(is_first) - 1
    if len(of_runs) < rows:
        later = np.flatnonzero(~starts)
        codes[row[later]] = codes[of_runs[np.cumsum(starts)[later] - 1]]
    return codes, np.flatnonzero(is_first)


def _told_apart(
    parts: Sequence[tuple[pa.Array, slice]],
    width: int,
    codes: NDArray[np.int64],
    first: NDArray[np.int64],
    pool: ThreadPoolExecutor,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The codes where no two texts share one: texts that are not the first of their code get others."""
    if len(first) == len(codes):
        return codes, first
    keys = pa.chunked_array([part for part, _ in parts])
    again = np.ones(len(codes), dtype=bool)
    again[first] = False
    if _RARE * int(again.sum()) < len(codes):
        return _unlike_first(keys, codes, first, np.flatnonzero(again))
    # One text after the other: `take` would copy all of them first, for each part anew, if they lay word after word.
    heads = np.ascontiguousarray(
        np.concatenate([_words(part.take(pa.array(_inside(first, place))), width).T for part, place in parts])
    )

    def unlike(whole: tuple[pa.Array, slice]) -> NDArray[np.int64]:
        part, place = whole
        expected = heads.take(codes[place], axis=0)
        wrong = np.zeros(len(part), dtype=bool)
        for number, word in enumerate(_words(part, width)):
            wrong |= expected[:, number] != word
        found: NDArray[np.int64] = np.flatnonzero(wrong) + place.start
        return found

    return _apart(keys, codes, first, np.concatenate(list(pool.map(unlike, parts))))


def _unlike_first(
    keys: pa.ChunkedArray, codes: NDArray[np.int64], first: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Compare only the rows whose text is not the first of its code."""
    one, other = keys.take(pa.array(rows)), keys.take(pa.array(first[codes[rows]]))
    return _apart(keys, codes, first, rows[np.asarray(pc.not_equal(one, other))])


def _apart(
    keys: pa.ChunkedArray, codes: NDArray[np.int64], first: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The codes once some rows, which are unlike the first of theirs, have others."""
    if not len(rows):
        return codes, first
    others = one_array(keys.take(pa.array(rows))).dictionary_encode().indices
    codes[rows] = len(first) + np.asarray(others, dtype=np.int64)
    first = np.concatenate([first, rows[np.unique(others, return_index=True)[1]]])
    is_first = np.zeros(len(codes), dtype=bool)
    is_first[first] = True
    ranks = (np.cumsum(is_first) - 1)[first]
    return np.take(ranks, codes, out=codes, mode="clip"), np.flatnonzero(is_first)


def _inside(places: NDArray[np.int64], part: slice) -> NDArray[np.int64]:
    """Ascending places of all texts as those within a part of them."""
    begin, end = np.searchsorted(places, (part.start, part.stop))
    found: NDArray[np.int64] = places[begin:end] - part.start
    return found


def _hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """[W, n] → [n] uint64, the same for the same words, and hardly ever for others; the upper bits are the best."""
    found: NDArray[np.uint64] = words[0].copy()
    for word in words[1:]:
        found ^= word
        found *= _FACTORS[0]
        # A product carries what differs to the upper bits only.
        found ^= found >> np.uint64(32)
    for factor in _FACTORS[1:]:
        found *= factor
        found ^= found >> np.uint64(32)
    return found


def _words(texts: pa.Array, width: int) -> NDArray[np.uint64]:
    """Texts as numbers: their lengths, then eight bytes at a time, with 0 after the end.

    Args:
        texts: [n] large_binary without null.
        width: W, one more than the words of the longest text.

    Returns:
        [W, n] uint64, different for different texts.
    """
    found = np.empty((width, len(texts)), dtype=np.uint64)
    if not len(texts):
        return found
    offsets = _offsets(texts)
    lengths = np.diff(offsets)
    found[0] = lengths
    text = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[: offsets[-1]]
    shortest = int(lengths.min())
    if shortest < _WORD:
        # Eight bytes that end with a text may begin before the first one.
        text = np.concatenate([np.zeros(_WORD, dtype=np.uint8), text])
        offsets = offsets + _WORD
    # Eight bytes from every byte on.
    overlapping = as_strided(text[:_WORD].view("<u8"), (len(text) - _WORD + 1,), (1,))
    last = offsets[1:] - _WORD
    for place, at in enumerate(range(0, (width - 1) * _WORD, _WORD), start=1):
        found[place] = overlapping[np.minimum(offsets[:-1] + at, last)]
        if shortest < at + _WORD:
            # What is read again goes: all of it, where the text ends before.
            found[place] >>= (8 * np.clip(at + _WORD - lengths, 0, _WORD)).astype(np.uint64)
    return found


def _offsets(texts: pa.Array) -> NDArray[np.int64]:
    """[n + 1] where each text begins and the last one ends."""
    return np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]


def digests(texts: pa.Array) -> NDArray[np.uint64]:
    """[K, 2] uint64, 128 bits that are the same for the same text wherever it is met, and hardly ever for others.

    Args:
        texts: [K] large_binary without null.

    Example:
        >>> one, two = digests(pa.array([b"b", b"a"], pa.large_binary())).tolist()
        >>> again, _ = digests(pa.array([b"a", b"a text of more than one word"], pa.large_binary())).tolist()
        >>> one == two, two == again
        (False, True)
    """
    found = np.empty((len(texts), 2), dtype=np.uint64)
    for start in range(0, len(texts), _FEW):
        # A copy, or the texts before would be read again for each part.
        part = pa.concat_arrays([texts.slice(start, _FEW)])
        lengths = np.diff(_offsets(part)).astype(np.uint64)
        words = _words(part, 1 + -(-int(lengths.max(initial=0)) // _WORD))
        for stream in range(2):
            value = mixed(np.full(len(part), stream, dtype=np.uint64), lengths, stream)
            for at, word in enumerate(words[1:]):
                # Only the words of the text itself: the same text may stand beside longer ones elsewhere.
                value = np.where(lengths > at * _WORD, mixed(value, word, stream), value)
            found[start : start + _FEW, stream] = value
    return found


def mixed(value: NDArray[np.uint64], word: NDArray[np.uint64], stream: int) -> NDArray[np.uint64]:
    """[K] a hash with one more word taken in; different words give different values, each of two streams its own."""
    found = value ^ word
    for factor in _FACTORS[stream : stream + 2]:
        found *= factor
        found ^= found >> np.uint64(32)
    return found
