"""A crash-safe cache storage engine for images.

>>> with vitrine.Cache("/var/cache/pictures") as cache:
...     cache["https://example.org/cat.jpg"] = jpeg
...     view = cache["https://example.org/cat.jpg"]  # a memoryview of the store's own file, without a copy
"""
import json
import os
import time
from collections.abc import MutableMapping
from datetime import timedelta
from typing import NamedTuple

from . import _vitrine
from ._vitrine import (
    ClosedError, Error, LockedError, NoSpaceError, ReadOnlyError, StoreRemovedError, TooLargeError)

__all__ = [
    "Batch", "Cache", "ClosedError", "Entry", "Error", "Key", "LockedError", "NoSpaceError", "ReadOnlyError",
    "StoreRemovedError", "TooLargeError", "Value"]
__version__ = _vitrine.version

_POLICIES = {None: 0, "lru": 1, "fifo": 2, "s3fifo": 3, "sieve": 4}
_ENCODINGS = ("plain", "zstd", "bitmap")
_PINS = {None: 0, True: 1, False: 2}
_SYNCED = 2


class Key(NamedTuple):
    """A URL and a style."""
    url: str
    style: str = "original"


class Entry(NamedTuple):
    """An entry without its bytes. Times are seconds since 1970, as those of time.time(); None means never or unknown."""
    key: Key
    metadata: bytes
    size: int
    stored_size: int
    written: float
    expires: float | None
    idle_limit: float | None
    last_used: float | None
    is_pinned: bool


def _bytes(url):
    """The bytes of a URL. Text is UTF-8; bytes that are not UTF-8 survive as surrogates."""
    return url.encode("utf-8", "surrogateescape") if isinstance(url, str) else bytes(url)


def _text(url):
    return url.decode("utf-8", "surrogateescape")


def _key(key):
    """The URL and the style of `cache[key]`: a URL, or a URL and a style."""
    url, style = key if isinstance(key, tuple) else (key, None)
    return _bytes(url), style


def _seconds(milliseconds):
    return milliseconds / 1000 if milliseconds else None


def _duration(duration):
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


def _put_arguments(key, data, metadata, expires, ttl, idle, durable, pinned):
    if expires is not None and ttl is not None:
        raise ValueError("give expires or ttl, not both")
    if ttl is not None:
        expires = time.time() + _duration(ttl)
    url, style = _key(key)
    # 0 means never, so the moment 0 becomes the one after it.
    moment = 0 if expires is None else int(expires * 1000) or 1
    limit = 0 if idle is None else int(_duration(idle) * 1000) or -1
    return url, style, data, bytes(metadata), moment, limit, _SYNCED if durable else 0, _PINS[pinned]


class Value:
    """A value of the cache. `memoryview(value)` and `value.view` are its bytes, without a copy.

    The bytes stay valid as long as a view of them exists: also after the removal of the entry and the end of the cache.
    They are read-only.
    """
    __slots__ = ("_value", "_info")

    def __init__(self, value):
        self._value = value
        self._info = value._info()

    @property
    def view(self):
        """The bytes as a memoryview."""
        return memoryview(self._value)

    def __bytes__(self):
        return bytes(self._value)

    def __len__(self):
        return len(self._value)

    @property
    def metadata(self):
        """The metadata of the entry as of the get."""
        return self._info["metadata"]

    @property
    def written(self):
        """The time of the put, in seconds since 1970."""
        return self._info["written"] / 1000

    @property
    def expires(self):
        """The time at which the entry expires, in seconds since 1970; None if never, or if it depends on its last use."""
        return _seconds(self._info["expiration"])

    @property
    def encoding(self):
        """The stored form: plain, zstd or bitmap."""
        return _ENCODINGS[self._info["encoding"]]

    @property
    def digest(self):
        """XXH3-128 of the bytes, as 32 hexadecimal digits."""
        return f"{self._info['digest_high']:016x}{self._info['digest_low']:016x}"

    @property
    def is_copy(self):
        """Whether the bytes are private memory: those of a compressed value, for example."""
        return bool(self._info["is_copy"])

    def is_damaged(self):
        """Whether the bytes differ from those that were put. Reads the file."""
        return self._value.is_damaged()


class Batch:
    """Changes that happen together: after any crash, all of them or none. Used by one thread at a time."""

    def __init__(self):
        self._batch = _vitrine.Batch()

    def put(self, key, data, *, metadata=b"", expires=None, ttl=None, idle=None, pinned=None):
        """Adds a put, and copies its bytes."""
        self._batch.put(*_put_arguments(key, data, metadata, expires, ttl, idle, False, pinned))

    def remove(self, key):
        """Adds a removal. A key without an entry is no error."""
        self._batch.remove(*_key(key))

    def __len__(self):
        return len(self._batch)


class Cache(MutableMapping):
    """A cache in a folder, as a mapping from URLs to bytes.

    A key is a URL (`str` or `bytes`), or a tuple of a URL and a style. `cache[key]` is a memoryview without a copy. Any
    thread may use the cache; calls release the lock of the interpreter. In a forked child, calls raise ClosedError.
    """

    def __init__(
            self, path, *, byte_budget=None, entry_budget=None, policy=None, durable=False, read_only=False, create=True,
            wait=0.0):
        """Opens the cache, and creates it if there is none.

        byte_budget: the largest size of the whole folder. policy: lru, fifo, s3fifo (default) or sieve. durable: changes
        survive a loss of power, and wait for the disk. read_only: a snapshot, beside a writer. wait: seconds to wait for
        another writer. Options that are None keep their saved values.
        """
        if policy not in _POLICIES:
            raise ValueError(f"there is no policy {policy!r}")
        flags = (1 if read_only else 0) | (0 if create else 2)
        self._store = _vitrine.Store(
            os.fspath(path), byte_budget or 0, entry_budget or 0, int(wait * 1000), _SYNCED if durable else 0,
            _POLICIES[policy], flags)

    # Reading

    def __getitem__(self, key):
        value = self._store.get(*_key(key))
        if value is None:
            raise KeyError(key)
        return memoryview(value)

    def lookup(self, key):
        """Returns a Value with its metadata; None on a miss."""
        value = self._store.get(*_key(key))
        return None if value is None else Value(value)

    def __contains__(self, key):
        return self._store.contains(*_key(key))

    def entries(self, prefix="", style=None, sorted=False):
        """Iterates over the entries as of this call whose URL begins with a prefix, and of one style if it is given."""
        for (url, name, metadata, size, stored, written, expiration, sliding, used, flags) in self._store.entries(
                _bytes(prefix), style, sorted):
            yield Entry(
                Key(_text(url), name.decode("ascii")), metadata, size, stored, written / 1000, _seconds(expiration),
                _seconds(sliding), _seconds(used), bool(flags & 1))

    def __iter__(self):
        return (entry.key for entry in self.entries())

    def __len__(self):
        return self._store.count()

    # Changing

    def __setitem__(self, key, data):
        self.put(key, data)

    def put(self, key, data, *, metadata=b"", expires=None, ttl=None, idle=None, durable=False, pinned=None):
        """Stores bytes, which may be any object with a contiguous buffer.

        expires: the time in seconds since 1970 from which the entry is a miss. ttl: the same, from now on. idle: seconds
        after the last use. durable: waits until the entry survives a loss of power. pinned: whether eviction leaves it.
        """
        self._store.put(*_put_arguments(key, data, metadata, expires, ttl, idle, durable, pinned))

    def __delitem__(self, key):
        if not self._store.remove(*_key(key), 0):
            raise KeyError(key)

    def discard(self, key):
        """Removes an entry. Returns whether there was one."""
        return self._store.remove(*_key(key), 0)

    def remove_url(self, url):
        """Removes all styles of a URL. Returns the number of removed entries."""
        return self._store.remove_url(_bytes(url))

    def remove_style(self, style):
        """Removes all entries of a style. Returns their number."""
        return self._store.remove_style(style.encode("ascii"))

    def remove_prefix(self, prefix):
        """Removes all entries whose URL begins with a prefix. Returns their number."""
        return self._store.remove_prefix(_bytes(prefix))

    def clear(self):
        """Removes all entries together."""
        self._store.clear()

    def write(self, batch, *, durable=False):
        """Makes the changes of a batch together."""
        self._store.write(batch._batch, _SYNCED if durable else 0)

    def pin(self, key):
        """Makes eviction leave an entry. Returns whether there is one."""
        return self._store.set_pinned(*_key(key), True)

    def unpin(self, key):
        """Ends the pin of an entry. Returns whether there is one."""
        return self._store.set_pinned(*_key(key), False)

    # Upkeep

    def flush(self):
        """Makes all changes so far survive a loss of power."""
        self._store.flush()

    def refresh(self):
        """Moves a read-only cache forward to the writer's state. Returns whether there were changes."""
        return self._store.refresh()

    def compact(self):
        """Makes the folder as small as possible without removing an entry."""
        self._store.compact()

    def verify(self):
        """Checks every byte. Returns the numbers of damaged entries, and of those lost in a crash before they were durable."""
        return self._store.verify()

    def stat(self):
        """Returns the statistics, with the names of `cachectl stat --json`."""
        return json.loads(self._store.stat_json())

    def close(self):
        """Makes all changes durable and closes the cache. Views of values stay valid."""
        self._store.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
