"""Codes for the values of an identifying column: a prompt, a step, a session.

Consecutive rows often share a key, so each run of equal keys is looked up once. Texts are held as codes and distinct texts.
Texts and integers never become Python objects; any other id goes through `key_text`, value by value.
"""

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from advcli.io.collect import text_codes
from advcli.io.collect.cells import Cells, one_array
from advcli.io.collect.text_codes import TextCodes
from advcli.io.collect.values import text, values

# Longer keys are stored as their beginning and a digest, so that whole prompt texts are never held.
_DIGEST_FROM = 64
_DIGEST = 32
# From 2^53 on, not every integer is exactly a float.
_ROUNDED, _INFINITE = 2.0**53, float("inf")
# Keys of an object that say what it is and don't count as content.
_KINDS = ("role", "type", "name")
# How many keys are sampled to see whether equal keys are adjacent.
_SAMPLED = 4096


class Coder:
    """Assigns each distinct value of a column a code, in order of first appearance.

    A value is compared as text, so that the string "5" and the number 5 are one key while
    "0005" and "005" are two.

    Example:
        >>> coder = Coder()
        >>> coder.add(["b", "a", None]), coder.add(pa.array(["a", "c"]))
        (array([False, False,  True]), array([False, False]))
        >>> coder.codes(), coder.names()
        (array([ 0,  1, -1,  1,  2]), ['b', 'a', 'c'])

    Args:
        empty: whether an empty text, list or object counts as a value instead of null.

    Attributes:
        rounded: whether some float is so large that the last digits of the id may be lost.
    """

    def __init__(self, *, empty: bool = True) -> None:
        # Integers are compared as integers until another type appears.
        self._integers: list[pa.Array] = []
        self._texts: TextCodes | None = None
        self._codes: list[NDArray[np.int32]] = []
        # For each batch, how many rows each of its runs has.
        self._lengths: list[NDArray[np.int64] | None] = []
        self._rows = 0
        self._empty = empty
        self.rounded = False

    def add(self, cells: Cells) -> NDArray[np.bool_]:
        """Add a batch; returns [n] bool, which cells are null, NaN or, unless that counts as a value, empty."""
        self.rounded = self.rounded or _is_rounded(cells)
        keys, lengths = _keys(cells)
        if pa.types.is_integer(keys.type) and self._texts is None:
            self._integers.append(keys)
        else:
            keys = _texts(keys) if pa.types.is_integer(keys.type) else keys
            keys = keys if self._empty else _without_empty(keys)
            texts = self._as_texts()
            self._codes.append(texts.add(_shortened(keys)))
        self._lengths.append(lengths)
        self._rows += len(cells)
        nulls = np.asarray(keys.is_null()) if keys.null_count else np.zeros(len(keys), dtype=bool)
        return _repeated(nulls, lengths)

    def codes(self) -> NDArray[np.int64]:
        """[N] int64 codes of all rows; -1 for null and NaN."""
        result, end = np.empty(self._rows, dtype=np.int64), 0
        for codes, lengths in zip(self._encoded[0], self._lengths, strict=True):
            rows = _repeated(codes, lengths)
            result[end : end + len(rows)] = rows
            end += len(rows)
        return result

    def names(self) -> list[str]:
        """The value of each code as text; long ones are truncated."""
        return [text(_beginning(key)) for key in self.identities()]

    def identities(self) -> list[bytes]:
        """The key of each code: the same for the same value in any column."""
        result: list[bytes] = self._encoded[1]().to_pylist()
        return result

    def digests(self) -> NDArray[np.uint64]:
        """[K, 2] a 128-bit digest of each code's value, the same for the same value in any column."""
        keys = self._encoded[1]()
        return text_codes.digests(one_array(keys) if isinstance(keys, pa.ChunkedArray) else keys)

    def _as_texts(self) -> TextCodes:
        """The codes of texts; integers added so far are converted to texts first."""
        if self._texts is None:
            self._texts = TextCodes()
            self._codes = [self._texts.add(_texts(keys)) for keys in self._integers]
            self._integers = []
        return self._texts

    @cached_property
    def _encoded(self) -> tuple[Sequence[NDArray[np.int32]], Callable[[], pa.Array]]:
        """The codes of each batch's runs, -1 for null, and a function that returns the keys; used once all batches are added."""
        if self._texts is not None:
            return self._codes, self._texts.texts
        parts = pa.chunked_array(self._integers, pa.int64()).dictionary_encode().chunks
        codes = [np.asarray(part.indices.fill_null(-1)) for part in parts]
        different = parts[-1].dictionary if parts else pa.array([], pa.int64())
        return codes, lambda: _texts(different)


def _keys(cells: Cells) -> tuple[pa.Array, NDArray[np.int64] | None]:
    """The key of each run of equal cells, as text bytes or int64, and the run lengths; None if every run is one row."""
    if isinstance(cells, pa.Array):
        if pa.types.is_integer(cells.type) and not pa.types.is_uint64(cells.type):
            return _runs(cells.cast(pa.int64()))
        if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
            # Find the runs first, so that fewer texts are copied.
            different, lengths = _runs(cells)
            return _texts(different), lengths
    return _runs(_texts(cells))


def _texts(cells: Cells) -> pa.Array:
    """The keys of a batch as text bytes."""
    if not isinstance(cells, pa.Array):
        return _encoded_texts(cells)
    if isinstance(cells, pa.ExtensionArray):
        cells = cells.storage
    if pa.types.is_nested(cells.type) or pa.types.is_null(cells.type):
        return _encoded_texts(values(cells))
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        return cells.cast(pa.large_binary())
    if pa.types.is_integer(cells.type):
        return cells.cast(pa.large_string()).cast(pa.large_binary())
    encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    return _encoded_texts(values(encoded.dictionary)).take(encoded.indices.cast(pa.int64()))


def _encoded_texts(cells: list[Any]) -> pa.Array:
    texts = (None if value is None or value != value else key_text(value) for value in cells)
    return pa.array(
        [None if text is None else text.encode("utf-8", "surrogatepass") for text in texts], pa.large_binary()
    )


def _without_empty(keys: pa.Array) -> pa.Array:
    """The keys with null for empty ones."""
    short = pc.equal(pc.binary_length(keys), 0)
    if pc.any(short).as_py():
        keys = pc.if_else(short.fill_null(pa.scalar(value=False)), pa.scalar(None, keys.type), keys)
    return keys


def _is_rounded(cells: Cells) -> bool:
    """Whether some cell is a float so large that neighboring integers round to it."""
    if not isinstance(cells, pa.Array):
        return any(isinstance(cell, float) and _ROUNDED <= abs(cell) < _INFINITE for cell in cells)
    if not pa.types.is_floating(cells.type) or pa.types.is_float16(cells.type):
        # float16 has no number that large, and arrow no abs() for it.
        return False
    finite = cells.filter(pc.is_finite(cells).fill_null(pa.scalar(value=False)))
    return bool(pc.any(pc.greater_equal(pc.abs(finite), _ROUNDED)).as_py())


def _repeated(of_run: NDArray[Any], lengths: NDArray[np.int64] | None) -> NDArray[Any]:
    """[n] the value of each row's run."""
    return of_run if lengths is None else np.repeat(of_run, lengths)


def _runs(keys: pa.Array) -> tuple[pa.Array, NDArray[np.int64] | None]:
    """The key of each run of equal keys, and the run lengths; None if every run is one row."""
    first = keys.slice(0, _SAMPLED)
    encoded = pc.run_end_encode(first, run_end_type=pa.int64())
    if len(first) < len(keys):
        if 2 * len(encoded.values) > len(first):
            # Too few neighbors are equal for run-length encoding to pay off.
            return keys, None
        encoded = pc.run_end_encode(keys, run_end_type=pa.int64())
    return encoded.values, np.diff(np.asarray(encoded.run_ends), prepend=0)


def _shortened(keys: pa.Array) -> pa.Array:
    """The keys; long ones as their beginning and a digest."""
    long = pc.greater(pc.binary_length(keys), _DIGEST_FROM)
    if not pc.any(long).as_py():
        return keys
    digests = [
        key[:_DIGEST_FROM] + blake2b(key, digest_size=_DIGEST).digest()
        for key in keys.filter(long).to_pylist()
    ]
    return pc.replace_with_mask(
        keys, long.fill_null(pa.scalar(value=False)), pa.array(digests, pa.large_binary())
    )


def _beginning(key: bytes) -> bytes:
    """A key as it is shown: without the digest and without a character that was cut."""
    if len(key) <= _DIGEST_FROM:
        return key
    return key[:_DIGEST_FROM].decode("utf-8", "ignore").encode()


def digests(cells: Cells) -> NDArray[np.int64]:
    """[n] int64 digests: 0 or more, the same for the same value in any column; -1 for null and NaN.

    The chance that two of a million different values collide is 5e-8.

    Example:
        >>> one, two, none, again = digests(["a", "b", None, "a"]).tolist()
        >>> one == two, one == again, none
        (False, True, -1)
    """
    coder = Coder()
    coder.add(cells)
    of_code = [_digest(identity) for identity in coder.identities()]
    return np.array([*of_code, -1], dtype=np.int64)[coder.codes()]


def _digest(identity: bytes) -> int:
    return int.from_bytes(blake2b(identity, digest_size=8).digest(), "big") >> 1


def key_text(value: object) -> str:
    """The text under which a key is compared.

    Example:
        >>> key_text("0012"), key_text(12), key_text(12.0), key_text([{"role": "user", "content": "Hi"}])
        ('0012', '12', '12', '[{"content": "Hi", "role": "user"}]')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        # An integer column with a missing value was stored as floats.
        return str(int(value))
    if isinstance(value, list | dict):
        # All empty values have the same text, so every reader of keys recognizes them.
        return (
            ""
            if is_empty(value)
            else json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, default=str)
        )
    return str(value)


def is_empty(value: object) -> bool:
    """Whether a value has no content: an empty text, list or object, or one that contains only such.

    Example:
        >>> is_empty([{"role": "user", "content": ""}]), is_empty([]), is_empty(0)
        (True, True, False)
    """
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, list):
        return all(item is None or is_empty(item) for item in value)
    if isinstance(value, dict):
        return all(item is None or is_empty(item) for key, item in value.items() if key not in _KINDS)
    return False


def _plain(value: object) -> object:
    """A canonical form: without keys that are null, and with whole floats as integers."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return int(value) if isinstance(value, float) and value.is_integer() else value
