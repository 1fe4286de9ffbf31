"""A backend for requests-cache, in a folder of Vitrine. It needs the package requests-cache.

>>> session = CachedSession(backend=VitrineCache("/var/cache/http"), expire_after=3600)

Responses are pickled, unless another serializer is given. Unpickling is unsafe if others can write to the folder: a
pickle runs code.
"""
from __future__ import annotations

import logging
import math
import os
import struct
import threading
import time
import weakref
from collections.abc import ItemsView, Iterable, Iterator, ValuesView
from datetime import datetime, timedelta
from typing import Any

from requests_cache.backends.base import BaseCache, BaseStorage
from requests_cache.models.response import CachedResponse

from ._vitrine import NoSpaceError, TooLargeError
from .cache import Cache
from .values import Duration, seconds_of

__all__ = ["VitrineCache", "VitrineStorage"]

#: The metadata of an entry: whether the serializer made text, and the time from which the value is expired.
_METADATA = struct.Struct("<?d")

#: The largest URL of the engine, in bytes.
_LARGEST_KEY = 65_536

#: Errors of pickle, json and cattrs for bytes that are no response. BaseStorage.deserialize raises them.
_DESERIALIZE_ERRORS = (ArithmeticError, EOFError, ExceptionGroup, LookupError, RecursionError)

_logger = logging.getLogger(__name__)


# --- The shared folder ---

# The caches that the process has open, by folder and by whether they are read-only. A cache that no backend uses is
# closed.
_caches: weakref.WeakValueDictionary[tuple[str, bool], Cache] = weakref.WeakValueDictionary()
_caches_lock = threading.Lock()


def _forget_caches() -> None:
    """In the child of a fork, the caches of the parent are closed, and another thread of the parent held the lock."""
    global _caches, _caches_lock
    _caches = weakref.WeakValueDictionary()
    _caches_lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_caches)


class _Folder:
    """The folder of a backend. Backends of one process on one folder share its cache."""

    def __init__(self, path: str | os.PathLike[str], options: dict[str, Any]) -> None:
        self._path = os.path.realpath(os.path.expanduser(os.fsdecode(path)))
        self._is_read_only = bool(options.get("read_only"))
        self._options = options
        self._cache: Cache | None = None

    def open(self) -> Cache:
        """Returns the cache. Opens it if no backend of the process has it open."""
        cache = self._cache
        if cache is None:
            with _caches_lock:
                cache = self._cache
                if cache is None:
                    cache = _caches.get((self._path, self._is_read_only))
                if cache is None:
                    if not self._is_read_only and self._options.get("create", True):
                        os.makedirs(os.path.dirname(self._path), exist_ok=True)
                    cache = _caches[self._path, self._is_read_only] = Cache(self._path, **self._options)
                self._cache = cache
        return cache

    def close(self) -> None:
        """Closes the cache, unless another backend or a running call uses it. The last of them closes it."""
        with _caches_lock:
            self._cache = None


class _OpenCache:
    """A cache that the caller has opened, and closes."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def open(self) -> Cache:
        return self._cache

    def close(self) -> None:
        pass


# --- The backend ---

class _Items(ItemsView[str, Any]):
    """The entries of a storage. An entry that vanishes during the iteration is skipped."""
    _mapping: VitrineStorage

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for key in self._mapping:
            try:
                value = self._mapping[key]
            except KeyError:
                continue
            yield key, value


class _Values(ValuesView[Any]):
    """The values of a storage. An entry that vanishes during the iteration is skipped."""
    _mapping: VitrineStorage

    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in _Items(self._mapping))

    def __contains__(self, value: object) -> bool:
        return any(own is value or own == value for own in self)


class VitrineStorage(BaseStorage[str, Any]):
    """A mapping from keys to what a serializer can store. Without a serializer, values are text or bytes.

    The key is the URL of an entry, and all entries of a storage have one style.
    """

    def __init__(
            self, folder: _Folder | _OpenCache, style: str, *, keep_expired: Duration | None = None,
            serializer: Any = None, decode_content: bool = False) -> None:
        super().__init__(serializer=serializer, decode_content=decode_content)
        self._folder = folder
        self._style = style
        self._keep_expired = None if keep_expired is None else seconds_of(keep_expired)
        if self._keep_expired is not None and not 0 <= self._keep_expired <= timedelta.max.total_seconds():
            raise ValueError("keep_expired is 0 or a positive time")

    @staticmethod
    def _can_have_entry(key: object) -> bool:
        return isinstance(key, str) and len(key.encode("utf-8", "surrogateescape")) <= _LARGEST_KEY

    def __getitem__(self, key: str) -> Any:
        value = self._folder.open().lookup((key, self._style)) if self._can_have_entry(key) else None
        if value is None:
            raise KeyError(key)
        try:
            is_text, _ = _METADATA.unpack(value.metadata)
            return self.deserialize(key, str(value.view, "utf-8") if is_text else bytes(value.view))
        except (struct.error, UnicodeDecodeError, *_DESERIALIZE_ERRORS) as error:
            # None is the value of an invalid response, as in the other backends.
            _logger.error("cannot read the entry %r: %s", key, error)
            return None

    def __setitem__(self, key: str, value: Any) -> None:
        data = self.serialize(value)
        is_text = isinstance(data, str)
        if is_text:
            data = data.encode()
        elif not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"the serializer made neither text nor bytes but {type(data).__name__}")
        moment = getattr(value, "expires", None)
        expires = moment.timestamp() if isinstance(moment, datetime) else math.inf
        limit = None
        if self._keep_expired is not None and expires != math.inf:
            limit = expires + self._keep_expired
        # A session returns a response even if it cannot be stored, so these cases do not raise.
        if isinstance(key, str) and not self._can_have_entry(key):
            _logger.warning("an entry is not stored: its key has more than %d bytes", _LARGEST_KEY)
            return
        cache = self._folder.open()
        try:
            cache.put((key, self._style), data, metadata=_METADATA.pack(is_text, expires), expires=limit)
        except (NoSpaceError, TooLargeError) as error:
            _logger.warning("the entry %r is not stored: %s", key, error)
            # The old response is out of date.
            cache.discard((key, self._style))

    def __delitem__(self, key: str) -> None:
        if not self._can_have_entry(key) or not self._folder.open().discard((key, self._style)):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return self._can_have_entry(key) and (key, self._style) in self._folder.open()

    def __iter__(self) -> Iterator[str]:
        """Iterates over the keys as of this call."""
        return (entry.key.url for entry in self._folder.open().entries(style=self._style))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def items(self) -> ItemsView[str, Any]:
        """The keys and values. An entry that vanishes during the iteration is skipped."""
        return _Items(self)

    def values(self) -> ValuesView[Any]:
        """The values. An entry that vanishes during the iteration is skipped."""
        return _Values(self)

    def bulk_delete(self, keys: Iterable[str]) -> None:
        """Removes the entries of several keys. A key without an entry is no error."""
        cache = self._folder.open()
        for key in filter(self._can_have_entry, keys):
            cache.discard((key, self._style))

    def clear(self) -> None:
        """Removes all entries."""
        self._folder.open().remove_style(self._style)

    def expired_keys(self) -> list[str]:
        """Returns the keys of expired responses. Reads no response and counts no use."""
        now = time.time()
        return [
            entry.key.url for entry in self._folder.open().entries(style=self._style)
            if len(entry.metadata) == _METADATA.size and _METADATA.unpack(entry.metadata)[1] <= now]


class VitrineCache(BaseCache):
    """A backend of requests-cache.

    Any thread may use it. All backends of a process on one folder share the open folder, with the options of the first.
    After a close, the next call opens the folder again. Of several processes, one writes: the others raise LockedError.
    In a forked child, a backend that its parent used raises ClosedError.
    """

    def __init__(
            self, path: str | os.PathLike[str] | None = None, *, cache: Cache | None = None,
            keep_expired: Duration | None = None, serializer: Any = None, decode_content: bool = False,
            **options: Any) -> None:
        """Opens the folder with the options of vitrine.Cache, or uses an open cache, which close() leaves open.

        path: the folder. An opening waits up to 5 seconds for another writer, unless the option `wait` names a time.
        cache: the open cache. Its entries of the styles `response` and `redirect` belong to the backend.
        keep_expired: the time for which an expired response stays, so that the session can validate it, or use it if a
        request fails. None: until it is deleted or evicted.
        serializer, decode_content: those of requests-cache. The default pickles.
        """
        if bool(path) == (cache is not None):
            raise ValueError("give a path or a cache")
        if cache is not None and options:
            raise ValueError("an open cache keeps its options")
        self._folder: _Folder | _OpenCache
        if path:
            super().__init__(cache_name=os.fsdecode(path))
            self._folder = _Folder(path, {"wait": 5.0, **options})
        elif cache is not None:
            super().__init__()
            self._folder = _OpenCache(cache)
        self.responses: VitrineStorage = VitrineStorage(
            self._folder, "response", keep_expired=keep_expired, serializer=serializer or "pickle",
            decode_content=decode_content)
        self.redirects: VitrineStorage = VitrineStorage(self._folder, "redirect")
        self._folder.open()

    def get_response(self, key: str, default: Any = None) -> Any:
        """Returns the response of a key, or of the redirect of a key; otherwise the default."""
        response = super().get_response(key, default)
        # From bytes that are no response, a serializer may make an object of another type.
        return response if isinstance(response, CachedResponse) else default

    def delete(self, *keys: str, expired: bool = False, **conditions: Any) -> None:
        """Removes the responses of keys, expired responses, and those that meet other conditions of requests-cache."""
        if expired:
            keys += tuple(self.responses.expired_keys())
        super().delete(*keys, **conditions)

    def recreate_keys(self) -> None:
        """Stores all responses under the keys that the settings give. Skips invalid responses, and those that are
        evicted meanwhile."""
        for old_key, response in self.responses.items():
            if response is None:
                continue
            # Versions of requests-cache before 1.0 stored this for an empty body.
            if response.request.body == b"None":
                response.request.body = b""
            key = self.create_key(response.request)
            if key != old_key:
                self.responses[key] = response
                self.responses.bulk_delete([old_key])

    def close(self) -> None:
        """Closes the folder if no other backend of the process uses it. The next call opens it again. Leaves a cache
        open that the caller opened."""
        self._folder.close()
