"""The subset of Thrift's compact protocol used by parquet footers; only requested fields are decoded.

A struct is a dict of field number → (type, value). A value is its encoded bytes, unless it was requested: then it is a
struct, or a list of structs. Other fields are skipped and written back unchanged, so fields that a later
version of the format adds are kept too, and a footer with hundreds of values is skipped as bytes.

Source:
    https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct: TypeAlias = dict[int, tuple[int, Any]]
Wanted: TypeAlias = Mapping[int, "Wanted"]
"""The fields of a struct to decode, and the fields to decode within each of them."""

_MORE, _KIND = 0x80, 0x0F
# From this length on, a list header stores the length as a varint.
_LONG_LIST = 15
# The nesting limit; no footer comes close.
_MAX_DEPTH = 40


class UnsupportedFooter(ValueError):  # noqa: N818  says what it is: nothing is wrong with the file
    """Bytes that this module can't parse."""


def decode(data: bytes, wanted: Wanted) -> Struct:
    r"""Decode one struct.

    Raises:
        UnsupportedFooter: the bytes are truncated, continue after the struct, or hold a type that parquet doesn't use; or a
            requested value is neither a struct nor a list of structs.

    Example:
        >>> data = b"\x15\x04\x19\x1c\x18\x01a\x00\x00"
        >>> decode(data, {})
        {1: (5, b'\x04'), 2: (9, b'\x1c\x18\x01a\x00')}
        >>> decode(data, {2: {}})
        {1: (5, b'\x04'), 2: (9, [{1: (8, b'\x01a')}])}
    """
    result, end = _struct_in(data, 0, wanted)
    _check_end(data, end)
    return result


def decode_list(data: bytes, wanted: Wanted) -> list[Struct]:
    r"""Decode a list of structs from the value of a field.

    Raises:
        UnsupportedFooter: as `decode`.

    Example:
        >>> decode_list(b"\x1c\x18\x01a\x00", {})
        [{1: (8, b'\x01a')}]
    """
    result, end = _structs_in(data, 0, wanted)
    _check_end(data, end)
    return result


def encode(struct: Mapping[int, tuple[int, Any]]) -> bytes:
    r"""The encoded struct.

    Example:
        >>> encode({1: (5, b"\x04"), 2: (9, [{1: (8, b"\x01a")}])})
        b'\x15\x04\x19\x1c\x18\x01a\x00\x00'
    """
    out = bytearray()
    _write_struct(out, struct)
    return bytes(out)


def encode_list(structs: Sequence[Struct]) -> bytes:
    """The encoded list of structs."""
    out = bytearray()
    _write_structs(out, structs)
    return bytes(out)


def integer(value: bytes) -> int:
    r"""Decode an integer.

    Example:
        >>> integer(b"\x01"), integer(b"\xd8\x04")
        (-1, 300)
    """
    number, end = _varint(value, 0)
    if end != len(value):
        raise UnsupportedFooter("bytes after the number")
    return number >> 1 ^ -(number & 1)


def of_integer(value: int) -> bytes:
    r"""Encode an integer.

    Example:
        >>> of_integer(-1), of_integer(300)
        (b'\x01', b'\xd8\x04')
    """
    return _of_varint(value << 1 if value >= 0 else (-value << 1) - 1)


def binary(value: bytes) -> bytes:
    r"""Decode a binary value.

    Example:
        >>> binary(b"\x02hi")
        b'hi'
    """
    size, start = _varint(value, 0)
    if start + size != len(value):
        raise UnsupportedFooter("bytes after the text")
    return value[start:]


def binaries(value: bytes) -> list[bytes]:
    r"""Decode a list of binary values.

    Raises:
        UnsupportedFooter: as `decode`.

    Example:
        >>> binaries(b"\x28\x01a\x02hi")
        [b'a', b'hi']
    """
    kind, count, at = _list_in(value, 0)
    if count and kind != BINARY:
        raise UnsupportedFooter(f"a list of type {kind} where texts are expected")
    result = []
    try:
        for _ in range(count):
            size, at = _varint(value, at)
            result.append(value[at : at + size])
            at += size
    except IndexError as error:
        raise UnsupportedFooter("no compact thrift (cut off)") from error
    _check_end(value, at)
    return result


def of_binary(value: bytes) -> bytes:
    r"""Encode a binary value.

    Example:
        >>> of_binary(b"hi")
        b'\x02hi'
    """
    return _of_varint(len(value)) + value


def _check_end(data: bytes, end: int) -> None:
    if end != len(data):
        raise UnsupportedFooter(
            "bytes after the struct" if end < len(data) else "no compact thrift (cut off)"
        )


def _struct_in(data: bytes, at: int, wanted: Wanted) -> tuple[Struct, int]:
    """The struct at an offset, and its end. Numbers are skipped inline: most fields are numbers."""
    fields: Struct = {}
    number = 0
    try:
        while head := data[at]:
            kind, step = head & _KIND, head >> 4
            at += 1
            if step:
                number += step
            else:
                number, at = _field(data, at)
            start = at
            if number in wanted:
                value, at = _decode_value(data, at, kind, wanted[number])
            else:
                if kind in _INTEGERS:
                    while data[at] & _MORE:
                        at += 1
                    at += 1
                else:
                    at = _AFTER[kind](data, at, 0)
                value = data[start:at]
            if number in fields:
                raise UnsupportedFooter(f"field {number} twice")
            fields[number] = kind, value
    except (IndexError, KeyError) as error:
        raise UnsupportedFooter(f"no compact thrift ({error})") from error
    return fields, at + 1


def _decode_value(data: bytes, at: int, kind: int, wanted: Wanted) -> tuple[Any, int]:
    """The struct or the list of structs at an offset, and its end."""
    if kind == STRUCT:
        return _struct_in(data, at, wanted)
    if kind == LIST:
        return _structs_in(data, at, wanted)
    raise UnsupportedFooter(f"a value of type {kind} where structs are expected")


def _field(data: bytes, at: int) -> tuple[int, int]:
    """The field number that is stored in full because it is far from the one before."""
    end = _after_number(data, at, 0)
    return integer(data[at:end]), end


def _structs_in(data: bytes, at: int, wanted: Wanted) -> tuple[list[Struct], int]:
    """The list of structs at an offset, and its end."""
    kind, count, at = _list_in(data, at)
    # An empty list may have any item type.
    if count and kind != STRUCT:
        raise UnsupportedFooter(f"a list of type {kind} where structs are expected")
    result = []
    for _ in range(count):
        value, at = _struct_in(data, at, wanted)
        result.append(value)
    return result, at


def _list_in(data: bytes, at: int) -> tuple[int, int, int]:
    """The item type and the length of a list, and the offset of the first item."""
    try:
        count, kind = data[at] >> 4, data[at] & _KIND
        at += 1
        if count == _LONG_LIST:
            count, at = _varint(data, at)
    except IndexError as error:
        raise UnsupportedFooter("no compact thrift (cut off)") from error
    # Every item takes at least a byte; this guards against looping over a damaged length.
    if count > len(data) - at:
        raise UnsupportedFooter("no compact thrift (cut off)")
    return kind, count, at


def _check_depth(depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise UnsupportedFooter("no compact thrift (too deep)")


def _after_struct(data: bytes, at: int, depth: int) -> int:
    """The offset after a struct that is skipped."""
    _check_depth(depth)
    while head := data[at]:
        at = at + 1 if head >> 4 else _after_number(data, at + 1, depth)
        kind = head & _KIND
        if kind in _INTEGERS:
            while data[at] & _MORE:
                at += 1
            at += 1
        elif kind == BINARY and data[at] < _MORE:
            at += 1 + data[at]
        else:
            at = _AFTER[kind](data, at, depth + 1)
    return at + 1


def _after_list(data: bytes, at: int, depth: int) -> int:
    _check_depth(depth)
    kind, count, at = _list_in(data, at)
    # As a list item, a boolean takes a byte.
    after = _AFTER[BYTE if kind in (TRUE, FALSE) else kind]
    for _ in range(count):
        at = after(data, at, depth + 1)
    return at


def _after_number(data: bytes, at: int, depth: int) -> int:
    del depth
    while data[at] & _MORE:
        at += 1
    return at + 1


def _after_text(data: bytes, at: int, depth: int) -> int:
    del depth
    size, at = _varint(data, at)
    return at + size


_INTEGERS = frozenset({I16, I32, I64})
_AFTER: Mapping[int, Callable[[bytes, int, int], int]] = {
    TRUE: lambda data, at, depth: at,
    FALSE: lambda data, at, depth: at,
    BYTE: lambda data, at, depth: at + 1,
    DOUBLE: lambda data, at, depth: at + 8,
    **dict.fromkeys(_INTEGERS, _after_number),
    BINARY: _after_text,
    LIST: _after_list,
    SET: _after_list,
    STRUCT: _after_struct,
}
"""Type → function that returns the end of a value, given its offset and nesting depth."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned varint at an offset, and its end."""
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
        return _ONE_BYTE[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


_ONE_BYTE = [bytes([value]) for value in range(_MORE)]


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
    out.append(min(len(structs), _LONG_LIST) << 4 | STRUCT)
    if len(structs) >= _LONG_LIST:
        out += _of_varint(len(structs))
    for struct in structs:
        _write_struct(out, struct)
