"""Numbering texts batch by batch: equal ones get one code, in order of first appearance.

A hash table on arrays, so that no text becomes a Python object, and of a batch nothing is held but its codes and what is new.
"""

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

# Odd numbers without order in their bits: the fractional part of the golden ratio, and those of Murmur's last steps.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_LAST = tuple(np.uint64(factor) for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53))
_HALF = np.uint64(32)
_WORD = 8
# So many texts at a time stay in the cache.
_FEW = 1 << 15
# Places of an empty table, and how many times as many when half of them are taken.
_PLACES, _GROWTH = 1 << 10, 4


class TextCodes:
    """Gives each different text a code.

    Texts are held as words (see `_words`), and compared word by word: no two are taken for one, whatever their hashes.

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
        # The code at each place, -1 where there is none; a text whose place is taken has one of the next.
        self._table = np.full(_PLACES, -1, dtype=np.int32)
        # The words of each code, which lie together, so that they come into the cache at once.
        self._words = np.zeros((_PLACES // 2, 1), dtype=np.uint64)

    def add(self, texts: pa.Array) -> NDArray[np.int32]:
        """[n] int32 codes of some texts, -1 for null.

        Args:
            texts: [n] large_binary.
        """
        some = texts.drop_null()
        codes = np.empty(len(some), dtype=np.int32)
        for start in range(0, len(some), _FEW):
            words = _words(some.slice(start, _FEW))
            self._make_room(*words.shape)
            codes[start : start + _FEW] = self._code(words)
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
        """The codes of texts given as their words, [n, W]."""
        count, (rows, width) = self._count, words.shape
        # As if all were new and different, the code of each were that of its row; at the end the new ones are counted.
        self._words[count : count + rows, :width] = words
        self._words[count : count + rows, width:] = 0
        codes, taken = np.empty(rows, dtype=np.int64), [np.empty(0, dtype=np.int64)]
        left, places = np.arange(rows), self._places(words)
        while len(left):
            free = np.flatnonzero(self._table[places] < 0)
            # The first of several texts has the place: it is written last.
            self._table[places[free][::-1]] = count + left[free][::-1]
            taken.append(places[free])
            met = self._table[places]
            known, mine = self._words.take(met, axis=0), words if len(left) == rows else words[left]
            same = known[:, 0] == mine[:, 0]
            for word in range(1, width):
                same &= known[:, word] == mine[:, word]
            codes[left[same]] = met[same]
            others = np.flatnonzero(~same)
            left, places = left[others], (places[others] + 1) & (len(self._table) - 1)
        return self._counted(codes, np.concatenate(taken), words)

    def _counted(
        self, codes: NDArray[np.int64], taken: NDArray[np.int64], words: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """The codes, once the new ones are counted in the order of the rows; `taken` are their places."""
        count, new = self._count, np.zeros(len(codes), dtype=bool)
        new[self._table[taken] - count] = True
        if not new.any():
            return codes
        ranks, first = count - 1 + np.cumsum(new), np.flatnonzero(new)
        self._table[taken] = ranks[self._table[taken] - count]
        self._count += len(first)
        self._words[count : self._count, : words.shape[1]] = words[first]
        later = np.flatnonzero(codes >= count)
        codes[later] = ranks[codes[later] - count]
        return codes

    def _places(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """[n] where texts would lie in the table, going by a hash of their words; words that are 0 change nothing."""
        result, factor = np.zeros(len(words), dtype=np.uint64), _FACTOR
        with np.errstate(over="ignore"):
            for word in words.T:
                # What differs in upper bits only has to reach the lower ones before it is multiplied.
                result += (word ^ (word >> _HALF)) * factor
                factor = factor * _FACTOR
        for last in _LAST:
            result ^= result >> _HALF
            result *= last
        return (result >> np.uint64(65 - len(self._table).bit_length())).view(np.int64)

    def _make_room(self, rows: int, width: int) -> None:
        """Have at least twice as many places as there may be codes, once `rows` texts of so many words are added."""
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
        left, places = np.arange(self._count), self._places(held)
        while len(left):
            free = np.flatnonzero(self._table[places] < 0)
            self._table[places[free]] = left[free]
            others = np.flatnonzero(self._table[places] != left)
            left, places = left[others], (places[others] + 1) & (size - 1)


def _words(texts: pa.Array) -> NDArray[np.uint64]:
    """Texts as numbers: their lengths, then eight bytes at a time, with 0 after the end.

    Args:
        texts: [n] large_binary without null.

    Returns:
        [n, W] uint64, different for different texts; W is one more than the words of the longest.
    """
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(offsets)
    shortest, longest = int(lengths.min()), int(lengths.max())
    result = np.empty((len(texts), 1 + -(-longest // _WORD)), dtype=np.uint64)
    result[:, 0] = lengths
    text = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    if shortest < _WORD:
        # Eight bytes that end with a text may begin before the first one.
        text = np.concatenate([np.zeros(_WORD, dtype=np.uint8), text])
        offsets += _WORD
    # Eight bytes from every byte on.
    overlapping = as_strided(text[:_WORD].view("<u8"), (len(text) - _WORD + 1,), (1,))
    last = offsets[1:] - _WORD
    for position, at in enumerate(range(0, longest, _WORD), start=1):
        result[:, position] = overlapping[np.minimum(offsets[:-1] + at, last)]
        if shortest < at + _WORD:
            # What is read again goes: all of it, where the text ends before.
            result[:, position] >>= (8 * np.clip(at + _WORD - lengths, 0, _WORD)).astype(np.uint64)
    return result


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
    result = np.empty((len(texts), 2), dtype=np.uint64)
    for start in range(0, len(texts), _FEW):
        lengths, *words = _words(texts.slice(start, _FEW)).T
        for stream in range(2):
            value = mixed(np.full(len(lengths), stream, dtype=np.uint64), lengths, stream)
            for at, word in enumerate(words):
                # Only the words of the text itself: the same text may stand beside longer ones elsewhere.
                value = np.where(lengths > at * _WORD, mixed(value, word, stream), value)
            result[start : start + _FEW, stream] = value
    return result


def mixed(value: NDArray[np.uint64], word: NDArray[np.uint64], stream: int) -> NDArray[np.uint64]:
    """[K] a hash with one more word taken in; different words give different values, each of two streams its own."""
    result = value ^ word
    for factor in (_FACTOR, *_LAST)[stream : stream + 2]:
        result *= factor
        result ^= result >> _HALF
    return result
