"""Assigns codes to texts batch by batch: equal texts get the same code, in order of first appearance.

A hash table on arrays: no text becomes a Python object, and only the codes and the new texts of a batch are held.
"""

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

# Multiplicative hash constants: the fractional part of the golden ratio, and those of MurmurHash3's finalizer.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FINAL_FACTORS = tuple(np.uint64(factor) for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53))
_HALF_WORD = np.uint64(32)
_WORD = 8
# Texts per chunk, so that a chunk stays in the CPU cache.
_CHUNK_ROWS = 1 << 15
# Slots of an empty table, and the growth factor when half of them are taken.
_INITIAL_SLOTS, _GROWTH = 1 << 10, 4


class TextCodes:
    """Assigns each distinct text a code.

    Texts are held as words (see `_words`) and compared word by word, so a hash collision never merges two texts.

    Example:
        >>> codes = TextCodes()
        >>> codes.add(pa.array([b"b", b"a", None], pa.large_binary())).tolist()
        [0, 1, -1]
        >>> codes.add(pa.array([b"c", b"b"], pa.large_binary())).tolist()
        [2, 0]
        >>> codes.texts().to_pylist()
        [b'b', b'a', b'c']
    """

    def __init__(self) -> None:
        self._count = 0
        # The code in each slot, -1 if free; open addressing with linear probing.
        self._table = np.full(_INITIAL_SLOTS, -1, dtype=np.int32)
        # The words of each code, contiguous for the cache.
        self._words = np.zeros((_INITIAL_SLOTS // 2, 1), dtype=np.uint64)

    def add(self, texts: pa.Array) -> NDArray[np.int32]:
        """[n] int32 codes of some texts, -1 for null.

        Args:
            texts: [n] large_binary.
        """
        some = texts.drop_null()
        codes = np.empty(len(some), dtype=np.int32)
        for start in range(0, len(some), _CHUNK_ROWS):
            words = _words(some.slice(start, _CHUNK_ROWS))
            self._make_room(*words.shape)
            codes[start : start + _CHUNK_ROWS] = self._code(words)
        if not texts.null_count:
            return codes
        result = np.full(len(texts), -1, dtype=np.int32)
        result[np.asarray(texts.is_valid())] = codes
        return result

    def texts(self) -> pa.Array:
        """[K] large_binary, the text of each code."""
        words = self._words[: self._count]
        lengths = words[:, 0].astype(np.int64)
        wide = words.astype("<u8").view(np.uint8)[:, _WORD:]
        text = wide[np.arange(wide.shape[1]) < lengths[:, np.newaxis]]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        return pa.Array.from_buffers(pa.large_binary(), self._count, buffers)

    def _code(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The codes of texts given as words, [n, W]."""
        count, (rows, width) = self._count, words.shape
        # Each row gets a provisional code, as if all texts were new; `_assign_ranks` renumbers the new ones at the end.
        self._words[count : count + rows, :width] = words
        self._words[count : count + rows, width:] = 0
        codes, taken = np.empty(rows, dtype=np.int64), [np.empty(0, dtype=np.int64)]
        pending, slots = np.arange(rows), self._slots(words)
        while len(pending):
            free = np.flatnonzero(self._table[slots] < 0)
            # In reverse order, so that the first of several texts with one slot is written last and keeps it.
            self._table[slots[free][::-1]] = count + pending[free][::-1]
            taken.append(slots[free])
            occupants = self._table[slots]
            known, own = (
                self._words.take(occupants, axis=0),
                words if len(pending) == rows else words[pending],
            )
            same = known[:, 0] == own[:, 0]
            for word in range(1, width):
                same &= known[:, word] == own[:, word]
            codes[pending[same]] = occupants[same]
            others = np.flatnonzero(~same)
            pending, slots = pending[others], (slots[others] + 1) & (len(self._table) - 1)
        return self._assign_ranks(codes, np.concatenate(taken), words)

    def _assign_ranks(
        self, codes: NDArray[np.int64], taken: NDArray[np.int64], words: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Renumber the provisional codes of new texts in row order; `taken` are the slots of the new texts."""
        count, new = self._count, np.zeros(len(codes), dtype=bool)
        new[self._table[taken] - count] = True
        if not new.any():
            return codes
        ranks, first = count - 1 + np.cumsum(new), np.flatnonzero(new)
        self._table[taken] = ranks[self._table[taken] - count]
        self._count += len(first)
        self._words[count : self._count, : words.shape[1]] = words[first]
        provisional = np.flatnonzero(codes >= count)
        codes[provisional] = ranks[codes[provisional] - count]
        return codes

    def _slots(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """[n] the first slot to try for each text, from a hash of its words; zero padding doesn't change it."""
        result, factor = np.zeros(len(words), dtype=np.uint64), _FACTOR
        with np.errstate(over="ignore"):
            for word in words.T:
                # Fold the upper bits into the lower ones first: multiplication carries upward only.
                result += (word ^ (word >> _HALF_WORD)) * factor
                factor = factor * _FACTOR
        for last in _FINAL_FACTORS:
            result ^= result >> _HALF_WORD
            result *= last
        return (result >> np.uint64(65 - len(self._table).bit_length())).view(np.int64)

    def _make_room(self, rows: int, width: int) -> None:
        """Grow the table to at least twice as many slots as there may be codes after adding `rows` texts of `width` words."""
        size, held = len(self._table), self._words[: self._count]
        while size < 2 * (self._count + rows):
            size *= _GROWTH
        if size == len(self._table) and width <= held.shape[1]:
            return
        self._words = np.zeros((size // 2, max(width, held.shape[1])), dtype=np.uint64)
        self._words[: self._count, : held.shape[1]] = held
        if size == len(self._table):
            return
        self._table = np.full(size, -1, dtype=np.int32)
        pending, slots = np.arange(self._count), self._slots(held)
        while len(pending):
            free = np.flatnonzero(self._table[slots] < 0)
            self._table[slots[free]] = pending[free]
            others = np.flatnonzero(self._table[slots] != pending)
            pending, slots = pending[others], (slots[others] + 1) & (size - 1)


def _words(texts: pa.Array) -> NDArray[np.uint64]:
    """Texts as 64-bit words: the length, then eight bytes per word, padded with 0.

    Args:
        texts: [n] large_binary without null.

    Returns:
        [n, W] uint64, different for different texts; W is one more than the words of the longest text.
    """
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(offsets)
    shortest, longest = int(lengths.min()), int(lengths.max())
    result = np.empty((len(texts), 1 + -(-longest // _WORD)), dtype=np.uint64)
    result[:, 0] = lengths
    text = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    if shortest < _WORD:
        # Padding: the eight bytes that end with a short text may begin before the buffer.
        text = np.concatenate([np.zeros(_WORD, dtype=np.uint8), text])
        offsets += _WORD
    # The eight bytes that start at each byte.
    overlapping = as_strided(text[:_WORD].view("<u8"), (len(text) - _WORD + 1,), (1,))
    last = offsets[1:] - _WORD
    for position, at in enumerate(range(0, longest, _WORD), start=1):
        result[:, position] = overlapping[np.minimum(offsets[:-1] + at, last)]
        if shortest < at + _WORD:
            # Shift out the bytes already read in the word before: all of them if the text ended there.
            result[:, position] >>= (8 * np.clip(at + _WORD - lengths, 0, _WORD)).astype(np.uint64)
    return result


def digests(texts: pa.Array) -> NDArray[np.uint64]:
    """[K, 2] uint64, a 128-bit hash of each text, the same in every table.

    Args:
        texts: [K] large_binary without null.

    Example:
        >>> one, two = digests(pa.array([b"b", b"a"], pa.large_binary())).tolist()
        >>> again, _ = digests(pa.array([b"a", b"a text of more than one word"], pa.large_binary())).tolist()
        >>> one == two, two == again
        (False, True)
    """
    result = np.empty((len(texts), 2), dtype=np.uint64)
    for start in range(0, len(texts), _CHUNK_ROWS):
        lengths, *words = _words(texts.slice(start, _CHUNK_ROWS)).T
        for stream in range(2):
            value = mixed(np.full(len(lengths), stream, dtype=np.uint64), lengths, stream)
            for at, word in enumerate(words):
                # Skip the padding, whose length depends on the other texts.
                value = np.where(lengths > at * _WORD, mixed(value, word, stream), value)
            result[start : start + _CHUNK_ROWS, stream] = value
    return result


def mixed(value: NDArray[np.uint64], word: NDArray[np.uint64], stream: int) -> NDArray[np.uint64]:
    """[K] a hash updated with one more word; different words give different values, each of two streams its own."""
    result = value ^ word
    for factor in (_FACTOR, *_FINAL_FACTORS)[stream : stream + 2]:
        result *= factor
        result ^= result >> _HALF_WORD
    return result
