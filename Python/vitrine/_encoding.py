"""Keys, values and tags of the diskcache adapter as bytes, in the order and with the types of SQLite."""
from __future__ import annotations

import io
import pickle
import pickletools
import struct
from typing import Any

_LEAST_INTEGER, _MOST_INTEGER = -2 ** 63, 2 ** 63 - 1

# The first byte of a URL sorts numbers before text before bytes, as SQLite does. Pickled keys are the last.
_NUMBER_KEY, _TEXT_KEY, _BYTES_KEY, _PICKLED_KEY = b"n", b"t", b"u", b"v"


def _is_integer(value: object) -> bool:
    return type(value) is int and _LEAST_INTEGER <= value <= _MOST_INTEGER


def _sortable(number: float) -> bytes:
    """Eight bytes that sort as the numbers do."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", number))
    return struct.pack(">Q", bits ^ (2 ** 64 - 1 if bits >> 63 else 2 ** 63))


def _unsortable(data: bytes) -> float:
    (bits,) = struct.unpack(">Q", data)
    (number,) = struct.unpack(">d", struct.pack(">Q", bits ^ (2 ** 63 if bits >> 63 else 2 ** 64 - 1)))
    return float(number)


def _url(key: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> bytes:
    """The URL of a key. Equal numbers have one URL, whether they are int or float, as in SQLite."""
    kind = type(key)
    if kind is bytes:
        return b"".join((_BYTES_KEY, key))
    if kind is str:
        return b"".join((_TEXT_KEY, key.encode()))
    if kind is float and key.is_integer() and _LEAST_INTEGER <= key <= _MOST_INTEGER:
        key = int(key)
    if _is_integer(key):
        return _NUMBER_KEY + _sortable(float(key)) + struct.pack(">Q", key + 2 ** 63)
    if kind is float:
        return _NUMBER_KEY + _sortable(key) + b"\xff" * 9
    return _PICKLED_KEY + pickletools.optimize(pickle.dumps(key, protocol=protocol))


def _key(url: bytes) -> Any:
    """The key of a URL."""
    kind, data = url[:1], url[1:]
    if kind == _BYTES_KEY:
        return data
    if kind == _TEXT_KEY:
        return data.decode()
    if kind == _NUMBER_KEY:
        return _unsortable(data[:8]) if len(data) > 16 else struct.unpack(">Q", data[8:])[0] - 2 ** 63
    if kind == _PICKLED_KEY:
        return pickle.loads(data)
    raise ValueError(f"the key {url!r} was not put by vitrine.diskcache")


def _pack(value: Any, protocol: int) -> bytes:
    """The bytes of a value. The extension reads them."""
    kind = type(value)
    if kind is bytes:
        return b"".join((b"b", value))
    if kind is str:
        return b"".join((b"s", value.encode("utf-8", "surrogatepass")))
    if _is_integer(value):
        return struct.pack("<cq", b"i", value)
    if kind is float:
        return struct.pack("<cd", b"f", value)
    return b"p" + pickle.dumps(value, protocol=protocol)


def _unpack(packed: bytes | memoryview) -> Any:
    view = memoryview(packed)
    kind, data = bytes(view[:1]), view[1:]
    if kind == b"b":
        return bytes(data)
    if kind == b"s":
        return str(data, "utf-8", "surrogatepass")
    if kind == b"i":
        return struct.unpack("<q", data)[0]
    if kind == b"f":
        return struct.unpack("<d", data)[0]
    if kind == b"p":
        return pickle.loads(data)
    raise ValueError("the value was not put by vitrine.diskcache")


def _tag_bytes(tag: Any) -> bytes:
    if tag is None:
        return b""
    if type(tag) not in (bytes, str, float) and not _is_integer(tag):
        raise TypeError("a tag is text, bytes or a number")
    return _pack(tag, 0)


def _tag_of(metadata: bytes) -> Any:
    """The tag in the metadata of an entry, behind eight bytes of its number in the order of the sets."""
    return _unpack(metadata[8:]) if len(metadata) > 8 else None


class _ViewReader(io.RawIOBase):
    """Reads a view as a file."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._view[self._position:self._position + len(buffer)]
        buffer[:len(part)] = part
        self._position += len(part)
        return len(part)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: len(self._view)}[whence]
        if start + offset < 0:
            raise ValueError("a position is not negative")
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position
