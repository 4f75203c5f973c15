"""Thrift's compact protocol as far as the footer of a parquet file uses it: bytes to plain values and back.

A struct is a dict of field number → (type, value); a list is (type of its items, items); texts are bytes. No schema is
known here, so fields that a later version of the format adds go through as they are.

Source:
    https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12

Struct: TypeAlias = dict[int, tuple[int, Any]]


class Unknown(ValueError):  # noqa: N818  says what it is: nothing is wrong with the file
    """Bytes that this module does not know."""


def decode(data: bytes) -> Struct:
    r"""One struct.

    Raises:
        Unknown: the bytes are cut off, go on after the struct, or hold a type that parquet has no use for.

    Example:
        >>> decode(b"\x15\x04\x18\x01a\x00")
        {1: (5, 2), 2: (8, b'a')}
    """
    found, length = decode_first(data)
    if length != len(data):
        raise Unknown("bytes after the struct")
    return found


def decode_first(data: bytes) -> tuple[Struct, int]:
    r"""The struct that some bytes begin with, and its length.

    Raises:
        Unknown: as `decode` does, but more bytes may follow.

    Example:
        >>> decode_first(b"\x15\x04\x00more")
        ({1: (5, 2)}, 3)
    """
    reader = _Reader(data)
    try:
        return reader.struct(), reader.at
    except (IndexError, KeyError) as error:
        raise Unknown(f"no compact thrift ({error})") from error


def encode(struct: Mapping[int, tuple[int, Any]]) -> bytes:
    r"""The bytes of a struct.

    Example:
        >>> encode({1: (5, 2), 2: (8, b"a")})
        b'\x15\x04\x18\x01a\x00'
    """
    out = bytearray()
    _write_struct(out, struct)
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while (byte := self.byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def integer(self) -> int:
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def raw(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self._data):
            raise IndexError("cut off")
        return self._data[self.at - size : self.at]

    def binary(self) -> bytes:
        return self.raw(self.varint())

    def several(self) -> tuple[int, list[Any]]:
        head = self.byte()
        count, kind = head >> 4, head & 0x0F
        read = _READ[BYTE if kind in (TRUE, FALSE) else kind]
        return kind, [read(self) for _ in range(self.varint() if count == 15 else count)]

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self.byte():
            kind, step = head & 0x0F, head >> 4
            number = number + step if step else self.integer()
            fields[number] = (kind, _READ[kind](self))
        return fields


_READ: Mapping[int, Callable[[_Reader], Any]] = {
    TRUE: lambda reader: True,
    FALSE: lambda reader: False,
    BYTE: _Reader.byte,
    I16: _Reader.integer,
    I32: _Reader.integer,
    I64: _Reader.integer,
    DOUBLE: lambda reader: reader.raw(8),
    BINARY: _Reader.binary,
    LIST: _Reader.several,
    SET: _Reader.several,
    STRUCT: _Reader.struct,
}


def _write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_integer(out: bytearray, value: int) -> None:
    _write_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)


def _write_binary(out: bytearray, value: bytes) -> None:
    _write_varint(out, len(value))
    out += value


def _write_list(out: bytearray, value: tuple[int, list[Any]]) -> None:
    kind, items = value
    out.append(min(len(items), 15) << 4 | kind)
    if len(items) >= 15:
        _write_varint(out, len(items))
    write = _WRITE[BYTE if kind in (TRUE, FALSE) else kind]
    for item in items:
        write(out, item)


def _write_struct(out: bytearray, struct: Mapping[int, tuple[int, Any]]) -> None:
    last = 0
    for number, (kind, value) in struct.items():
        if 0 < number - last <= 15:
            out.append(number - last << 4 | kind)
        else:
            out.append(kind)
            _write_integer(out, number)
        last = number
        _WRITE[kind](out, value)
    out.append(0)


_WRITE: Mapping[int, Callable[[bytearray, Any], None]] = {
    TRUE: lambda out, value: None,
    FALSE: lambda out, value: None,
    BYTE: bytearray.append,
    I16: _write_integer,
    I32: _write_integer,
    I64: _write_integer,
    DOUBLE: bytearray.extend,
    BINARY: _write_binary,
    LIST: _write_list,
    SET: _write_list,
    STRUCT: _write_struct,
}
