"""Thrift's compact protocol as far as the footer of a parquet file uses it: opened where something is to be seen or changed.

A struct is a dict of field number → (type, value). A value is the bytes that spell it, unless it was asked for: then it is a
struct, or a list of structs. What is not asked for is passed over and written as it was, so fields that a later
version of the format adds go through too, and a footer of hundreds of values takes no longer than its bytes.

Source:
    https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct: TypeAlias = dict[int, tuple[int, Any]]
Wanted: TypeAlias = Mapping[int, "Wanted"]
"""The fields of a struct whose value is opened, and those that are wanted within."""

_MORE, _KIND = 0x80, 0x0F
# A list of so many items spells their number.
_MANY = 15
# Nothing in a footer lies deeper.
_DEEP = 40


class Unknown(ValueError):  # noqa: N818  says what it is: nothing is wrong with the file
    """Bytes that this module does not know."""


def decode(data: bytes, wanted: Wanted) -> Struct:
    r"""One struct.

    Raises:
        Unknown: the bytes are cut off, go on after the struct, or hold a type that parquet has no use for; or a
            value that is wanted is neither a struct nor a list of structs.

    Example:
        >>> data = b"\x15\x04\x19\x1c\x18\x01a\x00\x00"
        >>> decode(data, {})
        {1: (5, b'\x04'), 2: (9, b'\x1c\x18\x01a\x00')}
        >>> decode(data, {2: {}})
        {1: (5, b'\x04'), 2: (9, [{1: (8, b'\x01a')}])}
    """
    found, end = _struct_in(data, 0, wanted)
    _check_end(data, end)
    return found


def decode_list(data: bytes, wanted: Wanted) -> list[Struct]:
    r"""A list of structs, as the value of a field spells it.

    Raises:
        Unknown: as `decode`.

    Example:
        >>> decode_list(b"\x1c\x18\x01a\x00", {})
        [{1: (8, b'\x01a')}]
    """
    found, end = _structs_in(data, 0, wanted)
    _check_end(data, end)
    return found


def encode(struct: Mapping[int, tuple[int, Any]]) -> bytes:
    r"""The bytes of a struct.

    Example:
        >>> encode({1: (5, b"\x04"), 2: (9, [{1: (8, b"\x01a")}])})
        b'\x15\x04\x19\x1c\x18\x01a\x00\x00'
    """
    out = bytearray()
    _write_struct(out, struct)
    return bytes(out)


def encode_list(structs: Sequence[Struct]) -> bytes:
    """The bytes of a list of structs."""
    out = bytearray()
    _write_structs(out, structs)
    return bytes(out)


def integer(value: bytes) -> int:
    r"""The number that some bytes spell.

    Example:
        >>> integer(b"\x01"), integer(b"\xd8\x04")
        (-1, 300)
    """
    number, end = _varint(value, 0)
    if end != len(value):
        raise Unknown("bytes after the number")
    return number >> 1 ^ -(number & 1)


def of_integer(value: int) -> bytes:
    r"""The bytes that spell a number.

    Example:
        >>> of_integer(-1), of_integer(300)
        (b'\x01', b'\xd8\x04')
    """
    return _of_varint(value << 1 if value >= 0 else (-value << 1) - 1)


def binary(value: bytes) -> bytes:
    r"""The text that some bytes spell.

    Example:
        >>> binary(b"\x02hi")
        b'hi'
    """
    size, start = _varint(value, 0)
    if start + size != len(value):
        raise Unknown("bytes after the text")
    return value[start:]


def of_binary(value: bytes) -> bytes:
    r"""The bytes that spell a text.

    Example:
        >>> of_binary(b"hi")
        b'\x02hi'
    """
    return _of_varint(len(value)) + value


def _check_end(data: bytes, end: int) -> None:
    if end != len(data):
        raise Unknown("bytes after the struct" if end < len(data) else "no compact thrift (cut off)")


def _struct_in(data: bytes, at: int, wanted: Wanted) -> tuple[Struct, int]:
    """The struct that begins at a place, and its end."""
    fields: Struct = {}
    number = 0
    try:
        while head := data[at]:
            kind, step = head & _KIND, head >> 4
            at += 1
            if step:
                number += step
            else:
                end = _after_number(data, at)
                number, at = integer(data[at:end]), end
            if number in fields:
                raise Unknown(f"field {number} twice")
            if number not in wanted:
                start = at
                if kind in _INTEGERS:
                    while data[at] & _MORE:
                        at += 1
                    at += 1
                elif kind == BINARY and data[at] < _MORE:
                    at += 1 + data[at]
                else:
                    at = _after(data, at, kind)
                fields[number] = kind, data[start:at]
            elif kind == STRUCT:
                value, at = _struct_in(data, at, wanted[number])
                fields[number] = kind, value
            elif kind == LIST:
                structs, at = _structs_in(data, at, wanted[number])
                fields[number] = kind, structs
            else:
                raise Unknown(f"a value of type {kind} where structs are expected")
    except IndexError as error:
        raise Unknown("no compact thrift (cut off)") from error
    return fields, at + 1


def _structs_in(data: bytes, at: int, wanted: Wanted) -> tuple[list[Struct], int]:
    """The list of structs that begins at a place, and its end."""
    kind, count, at = _list_in(data, at)
    # An empty list may be told as one of anything.
    if count and kind != STRUCT:
        raise Unknown(f"a list of type {kind} where structs are expected")
    found = []
    for _ in range(count):
        value, at = _struct_in(data, at, wanted)
        found.append(value)
    return found, at


def _list_in(data: bytes, at: int) -> tuple[int, int, int]:
    """What the items of a list are, how many there are, and where they begin."""
    try:
        count, kind = data[at] >> 4, data[at] & _KIND
        at += 1
        if count == _MANY:
            count, at = _varint(data, at)
    except IndexError as error:
        raise Unknown("no compact thrift (cut off)") from error
    # Whatever an item is, it takes a byte: so nobody counts to a number that is damage.
    if count > len(data) - at:
        raise Unknown("no compact thrift (cut off)")
    return kind, count, at


def _after(data: bytes, at: int, kind: int, depth: int = 0) -> int:
    """Where a value ends. Most of a footer is passed over here, most of that numbers and short texts: they cost no call."""
    if kind in _INTEGERS:
        return _after_number(data, at)
    if kind == BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind == STRUCT and depth < _DEEP:
        while head := data[at]:
            at = at + 1 if head >> 4 else _after_number(data, at + 1)
            kind = head & _KIND
            if kind in _INTEGERS:
                while data[at] & _MORE:
                    at += 1
                at += 1
            elif kind == BINARY and data[at] < _MORE:
                at += 1 + data[at]
            else:
                at = _after(data, at, kind, depth + 1)
        return at + 1
    if kind in (LIST, SET):
        kind, count, at = _list_in(data, at)
        # As an item, a truth takes a byte.
        kind = BYTE if kind in (TRUE, FALSE) else kind
        for _ in range(count):
            if kind in _INTEGERS and data[at] < _MORE:
                at += 1
            else:
                at = _after(data, at, kind, depth + 1)
        return at
    if kind not in _FIXED:
        raise Unknown(f"no compact thrift (type {kind})")
    return at + _FIXED[kind]


_INTEGERS = frozenset({I16, I32, I64})
_FIXED = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8}


def _after_number(data: bytes, at: int) -> int:
    while data[at] & _MORE:
        at += 1
    return at + 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number without a sign that begins at a place, and its end."""
    byte = data[at]
    at += 1
    if byte < _MORE:
        return byte, at
    value, shift = byte & 0x7F, 7
    while (byte := data[at]) & _MORE:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    return value | byte << shift, at + 1


def _of_varint(value: int) -> bytes:
    if value < _MORE:
        return _ONE[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


_ONE = [bytes([value]) for value in range(_MORE)]


def _write_struct(out: bytearray, struct: Mapping[int, tuple[int, Any]]) -> None:
    last = 0
    for number, (kind, value) in struct.items():
        if 0 < number - last <= 15:
            out.append(number - last << 4 | kind)
        else:
            out.append(kind)
            out += of_integer(number)
        last = number
        if isinstance(value, bytes):
            out += value
        elif isinstance(value, dict):
            _write_struct(out, value)
        else:
            _write_structs(out, value)
    out.append(0)


def _write_structs(out: bytearray, structs: Sequence[Struct]) -> None:
    out.append(min(len(structs), _MANY) << 4 | STRUCT)
    if len(structs) >= _MANY:
        out += _of_varint(len(structs))
    for struct in structs:
        _write_struct(out, struct)
