"""A cache with the calls of diskcache.Cache, in a folder of Vitrine.

Python/README.md lists the differences. Values that are neither bytes, text nor numbers are pickled, as diskcache does.
Unpickling is unsafe if others can write to the folder: a pickle runs code.
"""
from __future__ import annotations

import contextlib
import functools
import io
import os
import pickle
import tempfile
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import cache as _cache
from ._encoding import _is_integer, _key, _NUMBER_KEY, _pack, _tag_bytes, _tag_of, _unpack, _url, _ViewReader
from .cache import UNLIMITED, Batch

__all__ = ["Cache", "DEFAULT_SETTINGS", "ENOVAL", "Timeout"]

#: The settings of diskcache that the adapter knows. Those of SQLite have no effect.
DEFAULT_SETTINGS = {
    "cull_limit": 10,
    "disk_min_file_size": 2 ** 15,
    "disk_pickle_protocol": pickle.HIGHEST_PROTOCOL,
    "eviction_policy": "least-recently-stored",
    "size_limit": 2 ** 30,
    "statistics": 0,
    "tag_index": 0,
}
_POLICIES: dict[Any, str] = {
    "least-recently-stored": "fifo", "least-recently-used": "lru", "least-frequently-used": "s3fifo"}
_FIRST_OF_QUEUE = 500_000_000_000_000
_END_OF_QUEUE = 999_999_999_999_999


class Timeout(Exception):
    """The error of diskcache for a database that stays locked. The adapter never raises it."""


class _Missing:
    def __repr__(self) -> str:
        return "ENOVAL"


#: The default of a get that tells a miss from a value of None.
ENOVAL = _Missing()


# --- The shared folder ---

class _Record:
    """An entry as it is stored."""
    __slots__ = ("packed", "metadata", "expires")

    def __init__(self, packed: bytes | memoryview, metadata: bytes, expires: float | None) -> None:
        self.packed = packed
        self.metadata = metadata
        self.expires = expires


_Changes = dict[bytes, "_Record | None"]


class _Folder:
    """A folder that the process has open, for all Cache objects of it. Changes hold the lock, so transactions are
    isolated from the changes of other threads."""

    def __init__(self, path: str, options: dict[str, Any]) -> None:
        self.path = path
        self.store = _cache.Cache(path, **options)
        self.load = self.store._load
        self.put = self.store._put
        self.lock = threading.RLock()
        self.forks = _forks
        self.references = 0
        # The changes of the transaction that has the lock. None marks a removal.
        self.changes: _Changes | None = None
        self.owner = 0
        # The sorted numbers of the entries of a queue, by prefix.
        self.queues: dict[str | None, deque[int]] = {}
        self._newest_number = 0

    def own_changes(self) -> _Changes | None:
        """The changes of the transaction of this thread."""
        return self.changes if self.owner == threading.get_ident() else None

    def metadata(self, tag: Any) -> bytes:
        """The metadata of a new entry. Numbers follow the order of the sets, also after the process ends."""
        number = time.time_ns()
        if number <= self._newest_number:
            number = self._newest_number + 1
        self._newest_number = number
        return number.to_bytes(8, "big") + (b"" if tag is None else _tag_bytes(tag))

    def find(self, url: bytes) -> _Record | None:
        changes = self.own_changes()
        if changes is not None and url in changes:
            record = changes[url]
            return None if record is None or (record.expires or float("inf")) <= time.time() else record
        value = self.store.lookup(url)
        return None if value is None else _Record(value.view, value.metadata, value.expires)

    def save(self, url: bytes, record: _Record) -> None:
        """Stores an entry, with the lock held."""
        changes = self.own_changes()
        if changes is not None:
            changes[url] = record
        else:
            expiration = 0 if record.expires is None else round(record.expires * 1000) or 1
            self.put(url, record.packed, record.metadata, expiration, 0, 0, 0, None, 0)

    def drop(self, url: bytes) -> bool:
        """Removes an entry, with the lock held. Returns whether there was one."""
        changes = self.own_changes()
        if changes is None:
            # An expired entry that is still stored is a miss.
            was_there = url in self.store
            self.store.discard(url)
            return was_there
        was_there = self.find(url) is not None
        changes[url] = None
        return was_there

    def records(self, prefix: bytes = b"", sorted: bool = False) -> list[tuple[bytes, bytes]]:
        """The URLs and the metadata of all entries, as this thread sees them."""
        found = [(url, metadata) for url, _, metadata, *_ in self.store._entries(prefix, None, sorted)]
        changes = self.own_changes()
        if changes:
            kept = dict(found)
            for url in changes:
                kept.pop(url, None)
                record = self.find(url)
                if record is not None and url.startswith(prefix):
                    kept[url] = record.metadata
            found = list(kept.items())
            if sorted:
                found.sort()
        return found

    def commit(self, changes: _Changes) -> None:
        batch = Batch()
        for url, record in changes.items():
            if record is None:
                batch.remove(url)
            else:
                batch.put(url, record.packed, metadata=record.metadata, expires=record.expires)
        self.store.write(batch)

    def queue(self, prefix: str | None) -> deque[int]:
        """The numbers of a queue, with the lock held."""
        queue = self.queues.get(prefix)
        if queue is None:
            beginning = _NUMBER_KEY if prefix is None else _url(f"{prefix}-")
            numbers = (_number_in_queue(_key(url), prefix) for url, _ in self.records(beginning))
            queue = self.queues[prefix] = deque(sorted(number for number in numbers if number is not None))
        return queue


def _number_in_queue(key: Any, prefix: str | None) -> int | None:
    """The number of a key in a queue; None if the key is not in the queue."""
    if prefix is None:
        number = key if type(key) is int else None
    else:
        digits = key[len(prefix) + 1:]
        number = int(digits) if len(digits) == 15 and digits.isascii() and digits.isdigit() else None
    return number if number is not None and 0 < number < _END_OF_QUEUE else None


def _key_in_queue(number: int, prefix: str | None) -> int | str:
    return number if prefix is None else f"{prefix}-{number:015d}"


# A folder that no Cache object uses is closed, also if none of them was closed.
_folders: weakref.WeakValueDictionary[str, _Folder] = weakref.WeakValueDictionary()
_folders_lock = threading.Lock()
_forks = 0


def _forget_folders() -> None:
    """In the child of a fork, the folders of the parent are closed, and other threads of the parent held locks."""
    global _folders, _folders_lock, _forks
    _forks += 1
    _folders = weakref.WeakValueDictionary()
    _folders_lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_folders)


# --- The cache ---

class Cache:
    """A cache with the calls of diskcache.Cache.

    All Cache objects of a process on one folder share it. Only one process may open a folder for writing. The child of
    a fork reads a snapshot if its parent has the folder open. `retry` has no effect: no call times out.
    """

    def __init__(
            self, directory: str | os.PathLike[str] | None = None, timeout: float = 60, disk: None = None,
            **settings: Any) -> None:
        """Opens the cache. timeout: the seconds to wait for another writing process; then LockedError is raised."""
        if disk is not None:
            raise NotImplementedError("Vitrine stores values in its own files, so there is no disk.")
        if directory is None:
            directory = tempfile.mkdtemp(prefix="diskcache-")
        self._directory = os.path.expandvars(os.path.expanduser(os.fspath(directory)))
        self._timeout = timeout
        self._given = settings
        self._settings = {**DEFAULT_SETTINGS, **settings}
        for name in settings:
            if name not in DEFAULT_SETTINGS and not name.startswith("sqlite_"):
                raise NotImplementedError(f"Vitrine has no setting {name!r}.")
        if self._settings["eviction_policy"] not in _POLICIES:
            raise NotImplementedError(
                f"Vitrine keeps its budget always, so there is no policy {self._settings['eviction_policy']!r}.")
        self._protocol: int = self._settings["disk_pickle_protocol"]
        self._encode = functools.partial(_url, protocol=self._protocol)
        # The folder whose requests are counted, and its numbers of hits and misses when the count began.
        self._counts_from: tuple[_Folder, int, int] | None = None
        self._counted = (0, 0)
        self._is_counting = bool(self._settings["statistics"])
        self._folder: _Folder | None = None
        # The number of blocks of `with` that use this object.
        self._block_count = 0
        self._is_forked = False
        self._attach()

    def _attach(self) -> _Folder:
        """Opens the folder, or joins the other Cache objects of it."""
        path = os.path.realpath(self._directory)
        with _folders_lock:
            if self._folder is not None and self._folder.forks != _forks:
                self._is_forked, self._folder, self._block_count = True, None, 0
            if self._folder is not None:
                # Another thread was first.
                return self._folder
            folder = _folders.get(path)
            if folder is None:
                # A folder keeps its settings, as one of diskcache does.
                is_new = not os.path.isdir(path) or not os.listdir(path)
                settings = self._settings if is_new else self._given
                folder = _folders[path] = _Folder(path, {
                    "byte_budget": settings.get("size_limit"),
                    "policy": _POLICIES.get(settings.get("eviction_policy")),
                    "compression_level": UNLIMITED,
                    "wait": 0 if self._is_forked else self._timeout,
                    # The parent of a fork has the lock as long as it has the folder open.
                    "read_if_locked": self._is_forked,
                })
            elif "size_limit" in self._given and not folder.store.is_read_only:
                folder.store.set_budgets(byte_budget=self._given["size_limit"])
            folder.references += 1
            self._folder = folder
        statistics = folder.store.stats()
        if self._is_counting:
            self._counts_from = folder, statistics["hits"], statistics["misses"]
        self._settings["size_limit"] = statistics["budget_bytes"]
        self._settings["eviction_policy"] = next(
            (name for name, policy in _POLICIES.items() if policy == statistics["policy"]), statistics["policy"])
        return folder

    def _here(self) -> _Folder:
        """The folder, which is opened again after a close and after a fork."""
        folder = self._folder
        return self._attach() if folder is None or folder.forks != _forks else folder

    def _record(self, folder: _Folder, value: Any, expire: float | None, read: bool, tag: Any) -> _Record:
        packed = b"b" + value.read() if read and hasattr(value, "read") else _pack(value, self._protocol)
        end = None if expire is None or expire == float("inf") else time.time() + expire
        return _Record(packed, folder.metadata(tag), end)

    def _forget_queue(self, folder: _Folder, key: Any) -> None:
        """Reads the numbers of a queue again after another change of one of its keys."""
        if folder.queues:
            if type(key) is str:
                folder.queues.pop(key.rpartition("-")[0], None)
            elif type(key) in (int, float):
                folder.queues.pop(None, None)

    # Properties

    @property
    def directory(self) -> str:
        """The folder of the cache."""
        return self._directory

    @property
    def timeout(self) -> float:
        """The seconds that an opening waits for another writing process."""
        return self._timeout

    @property
    def disk(self) -> None:
        raise NotImplementedError("Vitrine stores values in its own files, so there is no disk.")

    # Single entries

    def set(
            self, key: Any, value: Any, expire: float | None = None, read: bool = False, tag: Any = None,
            retry: bool = False) -> bool:
        """Stores a value. expire: seconds until the entry is a miss. read: the value is a file with the bytes."""
        folder = self._folder
        if folder is None or folder.forks != _forks:
            folder = self._attach()
        url = _url(key, self._protocol)
        if expire is not None or read or tag is not None:
            record = self._record(folder, value, expire, read, tag)
            with folder.lock:
                self._forget_queue(folder, key)
                folder.save(url, record)
            return True
        # The usual set, with fewer calls.
        packed = _pack(value, self._protocol)
        with folder.lock:
            if folder.queues:
                self._forget_queue(folder, key)
            if folder.changes is None:
                folder.put(url, packed, folder.metadata(None), 0, 0, 0, 0, None, 0)
            else:
                folder.save(url, _Record(packed, folder.metadata(None), None))
        return True

    def __setitem__(self, key: Any, value: Any) -> None:
        self.set(key, value)

    def add(
            self, key: Any, value: Any, expire: float | None = None, read: bool = False, tag: Any = None,
            retry: bool = False) -> bool:
        """Stores a value if there is none. Returns whether it did."""
        folder = self._here()
        url = self._encode(key)
        record = self._record(folder, value, expire, read, tag)
        with folder.lock:
            self._forget_queue(folder, key)
            if folder.own_changes() is None:
                return folder.store.put_if(
                    url, record.packed, absent=True, metadata=record.metadata, expires=record.expires)
            if folder.find(url) is not None:
                return False
            folder.save(url, record)
        return True

    def get(
            self, key: Any, default: Any = None, read: bool = False, expire_time: bool = False, tag: bool = False,
            retry: bool = False) -> Any:
        """Returns a value, or the default. read: a file with the bytes. expire_time, tag: a tuple with these."""
        folder = self._folder
        if folder is None or folder.forks != _forks:
            folder = self._attach()
        if folder.changes is None and not (read or expire_time or tag):
            return folder.load(key, default, self._encode, pickle.loads)
        record = folder.find(self._encode(key))
        if record is None:
            return self._with_details(default, None, expire_time, tag)
        return self._with_details(self._value(record, read), record, expire_time, tag)

    @staticmethod
    def _value(record: _Record, read: bool = False) -> Any:
        view = memoryview(record.packed)
        if read and bytes(view[:1]) == b"b":
            return io.BufferedReader(_ViewReader(view[1:]))
        return _unpack(view)

    @staticmethod
    def _with_details(value: Any, record: _Record | None, expire_time: bool, tag: bool) -> Any:
        if not expire_time and not tag:
            return value
        details: tuple[Any, ...] = (value,)
        if expire_time:
            details += (record.expires if record is not None else None,)
        if tag:
            details += (_tag_of(record.metadata) if record is not None else None,)
        return details

    def __getitem__(self, key: Any) -> Any:
        value = self.get(key, ENOVAL)
        if value is ENOVAL:
            raise KeyError(key)
        return value

    def read(self, key: Any, retry: bool = False) -> Any:
        """Returns a file with the bytes of a value, which are not copied."""
        value = self.get(key, ENOVAL, read=True)
        if value is ENOVAL:
            raise KeyError(key)
        return value

    def __contains__(self, key: Any) -> bool:
        folder = self._here()
        url = self._encode(key)
        return url in folder.store if folder.changes is None else folder.find(url) is not None

    def incr(self, key: Any, delta: float = 1, default: float | None = 0, retry: bool = False) -> Any:
        """Adds to a number and returns the sum. If there is no entry, begins with the default, or raises KeyError."""
        folder = self._here()
        url = self._encode(key)
        with folder.lock:
            self._forget_queue(folder, key)
            if folder.own_changes() is not None:
                record = folder.find(url)
                total, packed = self._sum(key, record and record.packed, delta, default)
                if record is None:
                    record = _Record(packed, folder.metadata(None), None)
                folder.save(url, _Record(packed, record.metadata, record.expires))
                return total
            while True:
                value = folder.store.lookup(url)
                total, packed = self._sum(key, value and value.view, delta, default)
                if value is None:
                    is_done = folder.store.put_if(url, packed, absent=True, metadata=folder.metadata(None))
                else:
                    is_done = folder.store.put_if(
                        url, packed, digest=value.digest, metadata=value.metadata, expires=value.expires)
                if is_done:
                    return total

    def _sum(self, key: Any, packed: Any, delta: float, default: float | None) -> tuple[Any, bytes]:
        value: Any = default if packed is None else _unpack(packed)
        if packed is None and default is None:
            raise KeyError(key)
        if type(value) not in (int, float):
            raise TypeError(f"the value of {key!r} is not a number")
        total = value + delta
        if type(total) is int and not _is_integer(total):
            raise OverflowError(f"the sum of {key!r} has more than 64 bits")
        return total, _pack(total, self._protocol)

    def decr(self, key: Any, delta: float = 1, default: float | None = 0, retry: bool = False) -> Any:
        """Subtracts from a number and returns the difference."""
        return self.incr(key, -delta, default)

    def touch(self, key: Any, expire: float | None = None, retry: bool = False) -> bool:
        """Replaces the expiry of an entry. Returns whether there is one."""
        folder = self._here()
        url = self._encode(key)
        expires = None if expire is None else time.time() + expire
        with folder.lock:
            if folder.own_changes() is None:
                return folder.store.touch(url, expires=expires)
            record = folder.find(url)
            if record is not None:
                folder.save(url, _Record(record.packed, record.metadata, expires))
            return record is not None

    def pop(
            self, key: Any, default: Any = None, expire_time: bool = False, tag: bool = False,
            retry: bool = False) -> Any:
        """Removes an entry and returns its value, or the default."""
        folder = self._here()
        url = self._encode(key)
        with folder.lock:
            record = folder.find(url)
            if record is None:
                return self._with_details(default, None, expire_time, tag)
            self._forget_queue(folder, key)
            folder.drop(url)
        return self._with_details(self._value(record), record, expire_time, tag)

    def __delitem__(self, key: Any, retry: bool = True) -> None:
        if not self.delete(key):
            raise KeyError(key)

    def delete(self, key: Any, retry: bool = False) -> bool:
        """Removes an entry. Returns whether there was one."""
        folder = self._here()
        url = self._encode(key)
        with folder.lock:
            self._forget_queue(folder, key)
            return folder.drop(url)

    # Queues

    def push(
            self, value: Any, prefix: str | None = None, side: str = "back", expire: float | None = None,
            read: bool = False, tag: Any = None, retry: bool = False) -> int | str:
        """Adds a value at a side of a queue. Returns its key: an integer, or text with the prefix."""
        folder = self._here()
        is_back = self._is_back(side)
        record = self._record(folder, value, expire, read, tag)
        with folder.lock:
            queue = folder.queue(prefix)
            number = _FIRST_OF_QUEUE if not queue else queue[-1] + 1 if is_back else queue[0] - 1
            key = _key_in_queue(number, prefix)
            folder.save(_url(key), record)
            queue.append(number) if is_back else queue.appendleft(number)
        return key

    def pull(
            self, prefix: str | None = None, default: Any = (None, None), side: str = "front",
            expire_time: bool = False, tag: bool = False, retry: bool = False) -> Any:
        """Removes the entry at a side of a queue. Returns its key and value, or the default."""
        return self._take(prefix, default, side, expire_time, tag, removes=True)

    def peek(
            self, prefix: str | None = None, default: Any = (None, None), side: str = "front",
            expire_time: bool = False, tag: bool = False, retry: bool = False) -> Any:
        """Returns the key and the value at a side of a queue, or the default."""
        return self._take(prefix, default, side, expire_time, tag, removes=False)

    @staticmethod
    def _is_back(side: str) -> bool:
        if side not in ("front", "back"):
            raise KeyError(side)
        return side == "back"

    def _take(
            self, prefix: str | None, default: Any, side: str, expire_time: bool, tag: bool, removes: bool) -> Any:
        folder = self._here()
        is_back = self._is_back(side)
        with folder.lock:
            queue = folder.queue(prefix)
            while queue:
                key = _key_in_queue(queue[-1 if is_back else 0], prefix)
                record = folder.find(_url(key))
                # Entries that expired or were evicted have left the queue.
                if record is None or removes:
                    queue.pop() if is_back else queue.popleft()
                if record is not None:
                    if removes:
                        folder.drop(_url(key))
                    return self._with_details((key, self._value(record)), record, expire_time, tag)
        return self._with_details(default, None, expire_time, tag)

    def peekitem(
            self, last: bool = True, expire_time: bool = False, tag: bool = False, retry: bool = False) -> Any:
        """Returns the key and the value of the entry that was set last, or first. Cost: that of an iteration."""
        folder = self._here()
        for url in self._urls(folder, last):
            record = folder.find(url)
            if record is not None:
                return self._with_details((_key(url), self._value(record)), record, expire_time, tag)
        raise KeyError("the cache is empty")

    # Iteration

    @staticmethod
    def _urls(folder: _Folder, reverse: bool) -> list[bytes]:
        records = folder.records()
        records.sort(key=lambda record: record[1][:8], reverse=reverse)
        return [url for url, _ in records]

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the keys as of this call, in the order of their last set."""
        return map(_key, self._urls(self._here(), False))

    def __reversed__(self) -> Iterator[Any]:
        return map(_key, self._urls(self._here(), True))

    def iterkeys(self, reverse: bool = False) -> Iterator[Any]:
        """Iterates over the keys as of this call in their order: numbers, text, bytes, pickled keys."""
        urls = [url for url, _ in self._here().records(sorted=True)]
        return map(_key, reversed(urls) if reverse else urls)

    def __len__(self) -> int:
        folder = self._here()
        return len(folder.store) if folder.own_changes() is None else len(folder.records())

    # Many entries

    def _drop_all(self, folder: _Folder, urls: Iterable[bytes]) -> int:
        """Removes entries together, with the lock held. Returns their number."""
        changes: _Changes = dict.fromkeys(urls)
        folder.queues.clear()
        own = folder.own_changes()
        if own is None:
            folder.commit(changes)
        else:
            own.update(changes)
        return len(changes)

    def evict(self, tag: Any, retry: bool = False) -> int:
        """Removes all entries with a tag. Returns their number."""
        folder = self._here()
        wanted = _tag_bytes(tag)
        if not wanted:
            return 0
        with folder.lock:
            return self._drop_all(folder, [url for url, metadata in folder.records() if metadata[8:] == wanted])

    def expire(self, now: float | None = None, retry: bool = False) -> int:
        """Removes expired entries. Returns the number of those that this call removed."""
        if now is not None and abs(now - time.time()) > 1:
            raise NotImplementedError("Vitrine expires entries by the clock of the system, so `now` cannot be chosen.")
        folder = self._here()
        with folder.lock:
            return folder.store.expire()

    def cull(self, retry: bool = False) -> int:
        """Removes expired entries. The size limit is kept by each set, so nothing else is to be removed."""
        return self.expire()

    def clear(self, retry: bool = False) -> int:
        """Removes all entries. Returns their number."""
        folder = self._here()
        with folder.lock:
            folder.queues.clear()
            if folder.own_changes() is not None:
                return self._drop_all(folder, [url for url, _ in folder.records()])
            count = len(folder.store)
            folder.store.clear()
            return count

    @contextlib.contextmanager
    def transact(self, retry: bool = False) -> Iterator[None]:
        """Makes the changes of a block together, and none of them after an exception. Transactions may be nested.

        The changes are kept in memory until the block ends. Meanwhile, other threads read the old values, and their
        changes wait.
        """
        folder = self._here()
        with folder.lock:
            if folder.changes is not None:
                yield
                return
            folder.changes, folder.owner = {}, threading.get_ident()
            try:
                yield
            except BaseException:
                folder.queues.clear()
                folder.changes, folder.owner = None, 0
                raise
            changes, folder.changes, folder.owner = folder.changes, None, 0
            try:
                folder.commit(changes)
            except BaseException:
                folder.queues.clear()
                raise

    def memoize(
            self, name: str | None = None, typed: bool = False, expire: float | None = None, tag: Any = None,
            ignore: Iterable[int | str] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Returns a decorator that keeps the results of a function.

        name: the beginning of the keys. typed: whether 3 and 3.0 are different arguments. ignore: positions and names
        of arguments that are not part of the key.
        """
        if callable(name):
            raise TypeError("memoize is called with parentheses: @cache.memoize()")
        ignored = frozenset(ignore)

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            beginning = (f"{function.__module__}.{function.__qualname__}" if name is None else name,)

            def cache_key(*arguments: Any, **named: Any) -> tuple[Any, ...]:
                positional = tuple(value for index, value in enumerate(arguments) if index not in ignored)
                pairs = sorted((word, value) for word, value in named.items() if word not in ignored)
                key = beginning + positional + (None,) + tuple(part for pair in pairs for part in pair)
                if typed:
                    key += tuple(map(type, positional)) + tuple(type(value) for _, value in pairs)
                return key

            @functools.wraps(function)
            def call(*arguments: Any, **named: Any) -> Any:
                key = cache_key(*arguments, **named)
                result = self.get(key, ENOVAL)
                if result is ENOVAL:
                    result = function(*arguments, **named)
                    if expire is None or expire > 0:
                        self.set(key, result, expire, tag=tag)
                return result

            call.__cache_key__ = cache_key  # type: ignore[attr-defined]
            return call

        return decorate

    # Upkeep

    def stats(self, enable: bool = True, reset: bool = False) -> tuple[int, int]:
        """Returns the numbers of hits and misses while counting was enabled. Counts those of the whole process."""
        folder = self._here()
        self._is_counting = enable
        self._count(folder, goes_on=enable)
        result = self._counted
        if reset:
            self._counted = (0, 0)
        return result

    def _count(self, folder: _Folder, goes_on: bool) -> None:
        """Adds the requests of a folder since the last look."""
        statistics = folder.store.stats()
        now = statistics["hits"], statistics["misses"]
        if self._counts_from is not None and self._counts_from[0] is folder:
            _, hits, misses = self._counts_from
            self._counted = self._counted[0] + now[0] - hits, self._counted[1] + now[1] - misses
        self._counts_from = (folder, *now) if goes_on else None

    def volume(self) -> int:
        """Returns the size of the folder in bytes."""
        return int(self._here().store.stats()["bytes_on_disk"])

    def check(self, fix: bool = False, retry: bool = False) -> list[warnings.WarningMessage]:
        """Checks every byte. Returns a warning if entries are damaged.

        A damaged entry is a miss, so `fix` does nothing."""
        damaged, _ = self._here().store.verify()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            if damaged:
                warnings.warn(f"{damaged} entries are damaged", stacklevel=2)
        return found

    def create_tag_index(self) -> None:
        """Does nothing: evict() reads the tags of all entries."""

    def drop_tag_index(self) -> None:
        """Does nothing: there is no index of tags."""

    def reset(self, key: str, value: Any = ENOVAL, update: bool = True) -> Any:
        """Returns a setting, and changes the size limit or the cull limit, which has no effect."""
        if key == "count":
            return len(self)
        if key not in self._settings:
            raise NotImplementedError(f"Vitrine has no setting {key!r}.")
        if value is not ENOVAL:
            if key not in ("size_limit", "cull_limit"):
                raise NotImplementedError(f"Vitrine cannot change {key!r} of an open cache.")
            if key == "size_limit" and update:
                self._here().store.set_budgets(byte_budget=value)
            self._settings[key] = self._given[key] = value
        return self._settings[key]

    def __getattr__(self, name: str) -> Any:
        # Settings are attributes, as those of diskcache are.
        settings = self.__dict__.get("_settings", {})
        if name in settings:
            return settings[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def close(self) -> None:
        """Closes the cache if no other Cache object of the process has the folder open, and no block of `with` uses this
        one. Waits for the transactions of other threads. A later call opens the folder again."""
        folder = self._folder
        if folder is None or folder.forks != _forks:
            return
        with folder.lock, _folders_lock:
            if self._folder is not folder or self._block_count > 0:
                return
            if self._counts_from is not None:
                self._count(folder, goes_on=False)
            self._folder = None
            folder.references -= 1
            if folder.references == 0:
                _folders.pop(folder.path, None)
                folder.store.close()

    def __enter__(self) -> Cache:
        self._here()
        with _folders_lock:
            self._block_count += 1
        return self

    def __exit__(self, *_: object) -> None:
        with _folders_lock:
            self._block_count = max(0, self._block_count - 1)
        self.close()

    def __getstate__(self) -> tuple[str, float, dict[str, Any]]:
        return self._directory, self._timeout, self._given

    def __setstate__(self, state: tuple[str, float, dict[str, Any]]) -> None:
        directory, timeout, settings = state
        self.__init__(directory, timeout, **settings)  # type: ignore[misc]
