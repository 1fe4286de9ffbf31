"""The cache as a mapping, and batches."""
from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, ItemsView, Iterator, MutableMapping, ValuesView
from typing import Any, TypeVar, Union

from . import _vitrine
from .memoize import memoize
from .values import Duration, Entry, Key, Layout, milliseconds_of, seconds_of, seconds_or_none

_POLICIES = {None: 0, "lru": 1, "fifo": 2, "s3fifo": 3, "sieve": 4}
_VERIFICATIONS = {None: 0, "first-read": 1, "always": 2, "never": 3}
_PINS = {None: 0, True: 1, False: 2}
_BUFFERED, _SYNCED = 1, 2
_READ_ONLY, _EXISTING, _NO_USES, _RECREATE_UNUSABLE, _RECREATE_REMOVED, _READ_IF_LOCKED = 1, 2, 4, 8, 16, 32
_IF_ABSENT, _IF_PRESENT, _IF_DIGEST = 1, 2, 3

#: In place of a budget, an age or an idle time: no limit. None keeps the saved value.
UNLIMITED = -1

#: An object with bytes: bytes, bytearray, memoryview, an array of NumPy and others with a contiguous buffer.
Data = Any
URL = Union[str, bytes, bytearray, memoryview]
#: A URL, or a tuple of a URL and a style.
CacheKey = Union[URL, tuple[URL, Union[str, None]]]
_Cache = TypeVar("_Cache", bound="Cache")


def _moment(expires: float | None, ttl: Duration | None) -> int:
    """The milliseconds since 1970 of an expiry; 0 for never."""
    if expires is not None and ttl is not None:
        raise ValueError("give expires or ttl, not both")
    if ttl is not None:
        expires = time.time() + seconds_of(ttl)
    # 0 means never, so the moment 0 becomes the one after it.
    return 0 if expires is None else round(expires * 1000) or 1


def _limit(duration: Duration | None) -> int:
    """The milliseconds of an option; 0 keeps the saved value."""
    if duration is None:
        return 0
    return -1 if duration == UNLIMITED else milliseconds_of(duration)


def _choice(choices: dict[str | None, int], name: str | None, kind: str) -> int:
    if name not in choices:
        raise ValueError(f"there is no {kind} {name!r}")
    return choices[name]


def _put_arguments(
        key: CacheKey, data: Data, metadata: Data, expires: float | None, ttl: Duration | None,
        idle: Duration | None, durable: bool, pinned: bool | None, layout: Layout | None, page_aligned: bool,
        ) -> tuple[Any, ...]:
    moment = _moment(expires, ttl) if expires is not None or ttl is not None else 0
    limit = 0 if idle is None else milliseconds_of(idle) or -1
    return (
        key, data, metadata, moment, limit, _SYNCED if durable else 0, _PINS[pinned], layout, 1 if page_aligned else 0)


class Batch(_vitrine.Batch):
    """Changes that happen together: after any crash, all of them or none. Used by one thread at a time."""

    def put(
            self, key: CacheKey, data: Data, *, metadata: Data = b"", expires: float | None = None,
            ttl: Duration | None = None, idle: Duration | None = None, pinned: bool | None = None,
            layout: Layout | None = None, page_aligned: bool = False) -> None:
        """Adds a put, and copies its bytes. The options are those of Cache.put."""
        self._put(*_put_arguments(key, data, metadata, expires, ttl, idle, False, pinned, layout, page_aligned))


class _Items(ItemsView[Key, memoryview]):
    """The entries of a cache. An entry that vanishes during the iteration is skipped."""
    _mapping: Cache

    def __iter__(self) -> Iterator[tuple[Key, memoryview]]:
        for key in self._mapping:
            view = self._mapping.get(key)
            if view is not None:
                yield key, view


class _Values(ValuesView[memoryview]):
    """The views of a cache. An entry that vanishes during the iteration is skipped."""
    _mapping: Cache

    def __iter__(self) -> Iterator[memoryview]:
        return (view for _, view in _Items(self._mapping))

    def __contains__(self, value: object) -> bool:
        return any(view is value or view == value for view in self)


class Cache(_vitrine.Store, MutableMapping[CacheKey, memoryview]):
    """A cache in a folder, as a mapping from URLs to bytes.

    A key is a URL (`str` or `bytes`), or a tuple of a URL and a style. A URL above 65,536 bytes raises ValueError.
    `cache[key]` is a memoryview without a copy. Any thread may use the cache; calls that may wait release the lock of the
    interpreter. In a forked child, calls raise ClosedError.
    """

    def __init__(
            self, path: str | os.PathLike[str], *, byte_budget: int | None = None, entry_budget: int | None = None,
            minimum_free_bytes: int | None = None, maximum_age: Duration | None = None,
            maximum_idle: Duration | None = None, policy: str | None = None, durable: bool | None = None,
            compression_level: int | None = None, verification: str | None = None, copy_reads: bool = False,
            read_only: bool = False, read_if_locked: bool = False, counts_uses: bool = True, create: bool = True,
            recreate_unusable: bool = False, recreate_removed: bool = False, wait: Duration = 0.0,
            _is_named: bool = False) -> None:
        """Opens the cache, and creates it if there is none. Options that are None keep their saved values.

        byte_budget: the largest size of the whole folder, at least 1 MiB.
        entry_budget: the largest number of entries, or UNLIMITED.
        minimum_free_bytes: the bytes of the disk that stay free, or UNLIMITED.
        maximum_age, maximum_idle: the time after the put, and after the last use, from which an entry is a miss.
        policy: lru, fifo, s3fifo (default) or sieve.
        durable: whether changes wait until they survive a loss of power.
        compression_level: 1 to 19, or UNLIMITED for no compression. A compressed value is read as a copy.
        verification: first-read (default), always or never.
        copy_reads: whether views are copies and not the mapped file.
        read_only: a snapshot, beside a writer; refresh() moves it forward.
        read_if_locked: the same if another opening writes.
        counts_uses: whether gets of a read-only cache count as uses.
        create: whether to make a cache if there is none.
        recreate_unusable: whether to replace an unreadable cache by an empty one.
        recreate_removed: whether to make the cache again if its folder is removed while it is open.
        wait: the time to wait for another writer.
        """
        flags = (
            (_READ_ONLY if read_only else 0) | (_READ_IF_LOCKED if read_if_locked else 0)
            | (0 if create else _EXISTING) | (0 if counts_uses else _NO_USES)
            | (_RECREATE_UNUSABLE if recreate_unusable else 0) | (_RECREATE_REMOVED if recreate_removed else 0))
        self._open(
            os.fsencode(path), _is_named, byte_budget or 0, entry_budget or 0, minimum_free_bytes or 0,
            _limit(maximum_age), _limit(maximum_idle), milliseconds_of(wait),
            0 if durable is None else _SYNCED if durable else _BUFFERED, _choice(_POLICIES, policy, "policy"),
            compression_level or 0, _choice(_VERIFICATIONS, verification, "verification"), 2 if copy_reads else 0,
            flags)

    @classmethod
    def named(cls: type[_Cache], name: str, **options: Any) -> _Cache:
        """Opens the cache `name` in the user's folder for caches, and creates it if there is none.

        While the process has the cache open, another opening of the name returns a handle of the same cache, and
        ignores its options. The cache is closed with the last of its handles. The options are those of Cache().
        """
        return cls(name, **options, _is_named=True)

    # Reading

    def entries(self, prefix: URL = "", style: str | None = None, sorted: bool = False) -> Iterator[Entry]:
        """Returns an iterator over the entries as of this call whose URL begins with a prefix, and of one style if it
        is given. Sorted means by the bytes of the URL, then by style. Counts no use."""
        return map(_entry, self._entries(prefix, style, sorted))

    def copy_to(self, key: CacheKey, path: str | os.PathLike[str]) -> bool:
        """Copies an entry to a file, which appears whole. Shares blocks of the disk where the file system can. Returns
        whether there is an entry. Counts no use."""
        return self._copy_to(key, os.fsencode(path))

    def __iter__(self) -> Iterator[Key]:
        return (entry.key for entry in self.entries())

    def items(self) -> ItemsView[Key, memoryview]:
        """The keys and views of all entries. An entry that vanishes during the iteration is skipped."""
        return _Items(self)

    def values(self) -> ValuesView[memoryview]:
        """The views of all entries. An entry that vanishes during the iteration is skipped."""
        return _Values(self)

    # A comparison of two mappings would read both.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    # Changing

    def put(
            self, key: CacheKey, data: Data, *, metadata: Data = b"", expires: float | None = None,
            ttl: Duration | None = None, idle: Duration | None = None, durable: bool = False,
            pinned: bool | None = None, layout: Layout | None = None, page_aligned: bool = False) -> None:
        """Stores bytes, which may be any object with a contiguous buffer.

        metadata: at most 65,536 bytes that are stored with the value.
        expires: the time in seconds since 1970 from which the entry is a miss. ttl: the same, from now on.
        idle: the time after the last use from which the entry is a miss.
        durable: waits until the entry survives a loss of power.
        pinned: whether eviction leaves the entry; None keeps the pin.
        layout: the layout of a bitmap, whose bytes are its rows.
        page_aligned: whether the bytes begin at a page boundary, for a GPU.
        """
        self._put(*_put_arguments(key, data, metadata, expires, ttl, idle, durable, pinned, layout, page_aligned))

    def put_if(
            self, key: CacheKey, data: Data, *, absent: bool = False, present: bool = False, digest: str | None = None,
            metadata: Data = b"", expires: float | None = None, ttl: Duration | None = None,
            idle: Duration | None = None, durable: bool = False, pinned: bool | None = None,
            layout: Layout | None = None, page_aligned: bool = False) -> bool:
        """Stores bytes if the entry meets one condition. Returns whether it did; otherwise nothing has changed.

        absent: there is no entry. present: there is one. digest: the bytes of the entry have this digest, as
        Value.digest returns it. The other options are those of put(). Of several concurrent puts that need an absent
        entry, one takes place.
        """
        if absent + present + (digest is not None) != 1:
            raise ValueError("give one of absent, present and digest")
        kind = _IF_ABSENT if absent else _IF_PRESENT if present else _IF_DIGEST
        return self._put_if(
            *_put_arguments(key, data, metadata, expires, ttl, idle, durable, pinned, layout, page_aligned), kind,
            digest)

    def pop(self, key: CacheKey, *default: Any) -> Any:
        """Removes an entry and returns a view of its bytes. Not atomic: a value put in between is removed unread."""
        view = self.get(key)
        if view is not None and self.discard(key):
            return view
        if default:
            return default[0]
        raise KeyError(key)

    def popitem(self) -> tuple[Key, memoryview]:
        """Removes an entry of any key and returns its key and a view of its bytes."""
        for key in self:
            view = self.get(key)
            if view is not None and self.discard(key):
                return key, view
        raise KeyError("the cache is empty")

    def setdefault(self, key: CacheKey, default: Data = None) -> memoryview:
        """Returns a view of an entry. If there is none, stores the default first. One of several threads stores it."""
        while True:
            view = self.get(key)
            if view is not None:
                return view
            if self.put_if(key, default, absent=True):
                # A full cache may evict the entry at once.
                return self.get(key, memoryview(default).cast("B"))

    def touch(self, key: CacheKey, *, expires: float | None = None, ttl: Duration | None = None) -> bool:
        """Replaces the expiry of an entry; without one, the entry never expires. Returns whether there is an entry."""
        return self._set_expiration(key, _moment(expires, ttl))

    def write(self, batch: Batch, *, durable: bool = False) -> None:
        """Makes the changes of a batch together."""
        self._write(batch, _SYNCED if durable else 0)

    def pin(self, key: CacheKey) -> bool:
        """Makes eviction leave an entry. Returns whether there is one."""
        return self._set_pinned(key, True)

    def unpin(self, key: CacheKey) -> bool:
        """Ends the pin of an entry. Returns whether there is one."""
        return self._set_pinned(key, False)

    def memoize(self, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Returns a decorator that keeps the results of a function in this cache, as vitrine.memoize() does."""
        return memoize(self, **options)

    # Upkeep

    def set_budgets(
            self, *, byte_budget: int | None = None, entry_budget: int | None = None,
            minimum_free_bytes: int | None = None) -> None:
        """Changes the budgets. None leaves one as it is. A smaller budget evicts first."""
        self._set_budgets(byte_budget or 0, entry_budget or 0, minimum_free_bytes or 0)

    def stats(self) -> dict[str, Any]:
        """Returns the statistics, with the names of `cachectl stat --json`."""
        statistics: dict[str, Any] = json.loads(self._stat_json())
        return statistics

    def __enter__(self: _Cache) -> _Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _entry(fields: tuple[Any, ...]) -> Entry:
    url, style, metadata, size, stored, written, expiration, sliding, used, flags = fields
    return Entry(
        Key(url.decode("utf-8", "surrogateescape"), style.decode("ascii")), metadata, size, stored, written / 1000,
        seconds_or_none(expiration), seconds_or_none(sliding), seconds_or_none(used), bool(flags & 1))
