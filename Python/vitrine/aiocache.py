"""A cache for aiocache, in a folder of Vitrine. It needs the package aiocache.

>>> cache = VitrineCache("/var/cache/pictures", namespace="users/")
>>> await cache.set("7", {"name": "Ada"}, ttl=60)
"""
from __future__ import annotations

import asyncio
import os
from typing import Any

from aiocache.base import BaseCache  # type: ignore[import-untyped, import-not-found, unused-ignore]
from aiocache.serializers import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
    BaseSerializer, JsonSerializer)

from .cache import Cache
from .values import Duration

__all__ = ["VitrineCache"]


class VitrineCache(BaseCache):  # type: ignore[misc, unused-ignore]
    """A cache with the calls of aiocache.

    Changes run in a thread, because they may wait for the disk. Gets run in the event loop: they read mapped memory.
    Only the first get of an entry since the opening reads its file. The serializer returns text or bytes. The default
    is JsonSerializer. For bytes, use NullSerializer(encoding=None).
    """

    NAME = "vitrine"

    def __init__(
            self, path: str | os.PathLike[str] | None = None, *, cache: Cache | None = None,
            serializer: BaseSerializer | None = None, options: dict[str, Any] | None = None, **settings: Any) -> None:
        """Opens the cache in a folder with the options of vitrine.Cache, or uses an open cache, which close() leaves
        open. The other settings are those of aiocache: namespace, plugins, timeout, ttl, key_builder."""
        super().__init__(serializer=serializer or JsonSerializer(), **settings)
        if (path is None) == (cache is None):
            raise ValueError("give a path or a cache")
        self._owned = Cache(path, **options or {}) if path is not None else None
        self.cache: Cache = self._owned if self._owned is not None else cache  # type: ignore[assignment]

    @staticmethod
    def _stored(value: Any, encoding: str | None) -> bytes:
        if isinstance(value, str):
            return value.encode(encoding or "utf-8")
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise TypeError(f"the serializer made neither text nor bytes but {type(value).__name__}")

    @staticmethod
    def _loaded(view: memoryview | None, encoding: str | None) -> Any:
        if view is None:
            return None
        return bytes(view) if encoding is None else str(view, encoding)

    @staticmethod
    def _ttl(ttl: Duration | None) -> Duration | None:
        # As in the other caches of aiocache, 0 means never.
        return ttl or None

    async def _get(self, key: str, encoding: str | None = "utf-8", _conn: Any = None) -> Any:
        return self._loaded(self.cache.get(key), encoding)

    async def _gets(self, key: str, encoding: str | None = "utf-8", _conn: Any = None) -> str | None:
        """Returns the digest of a value, for a set on the condition that the value is still the same."""
        value = self.cache.lookup(key)
        return None if value is None else value.digest

    async def _multi_get(self, keys: list[str], encoding: str | None = "utf-8", _conn: Any = None) -> list[Any]:
        return [self._loaded(self.cache.get(key), encoding) for key in keys]

    async def _set(
            self, key: str, value: Any, ttl: Duration | None = None, _cas_token: str | None = None,
            _conn: Any = None) -> bool | int:
        data = self._stored(value, self.serializer.encoding)
        if _cas_token is None:
            await asyncio.to_thread(self.cache.put, key, data, ttl=self._ttl(ttl))
            return True
        is_done = await asyncio.to_thread(self.cache.put_if, key, data, digest=_cas_token, ttl=self._ttl(ttl))
        return True if is_done else 0

    async def _multi_set(self, pairs: list[tuple[str, Any]], ttl: Duration | None = None, _conn: Any = None) -> bool:
        stored = [(key, self._stored(value, self.serializer.encoding)) for key, value in pairs]

        def put_all() -> None:
            for key, data in stored:
                self.cache.put(key, data, ttl=self._ttl(ttl))

        await asyncio.to_thread(put_all)
        return True

    async def _add(self, key: str, value: Any, ttl: Duration | None = None, _conn: Any = None) -> bool:
        data = self._stored(value, self.serializer.encoding)
        if not await asyncio.to_thread(self.cache.put_if, key, data, absent=True, ttl=self._ttl(ttl)):
            raise ValueError(f"Key {key} already exists, use .set to update the value")
        return True

    async def _exists(self, key: str, _conn: Any = None) -> bool:
        return key in self.cache

    async def _increment(self, key: str, delta: int, _conn: Any = None) -> int:
        return await asyncio.to_thread(self._add_to, key, delta)

    def _add_to(self, key: str, delta: int) -> int:
        while True:
            value = self.cache.lookup(key)
            if value is None:
                if self.cache.put_if(key, b"%d" % delta, absent=True):
                    return delta
                continue
            try:
                total = int(bytes(value)) + delta
            except ValueError:
                raise TypeError("Value is not an integer") from None
            if self.cache.put_if(
                    key, b"%d" % total, digest=value.digest, metadata=value.metadata, expires=value.expires):
                return total

    async def _expire(self, key: str, ttl: Duration | None, _conn: Any = None) -> bool:
        return await asyncio.to_thread(self.cache.touch, key, ttl=self._ttl(ttl))

    async def _delete(self, key: str, _conn: Any = None) -> int:
        return int(await asyncio.to_thread(self.cache.discard, key))

    async def _clear(self, namespace: str | None = None, _conn: Any = None) -> bool:
        if namespace:
            await asyncio.to_thread(self.cache.remove_prefix, namespace)
        else:
            await asyncio.to_thread(self.cache.clear)
        return True

    async def _raw(
            self, command: str, *arguments: Any, encoding: str | None = "utf-8", _conn: Any = None,
            **named: Any) -> Any:
        return await asyncio.to_thread(getattr(self.cache, command), *arguments, **named)

    async def _redlock_release(self, key: str, value: Any) -> int:
        """Removes the entry of a lock if it still has the value of its owner."""
        found = self.cache.lookup(key)
        if found is None or found.view != self._stored(value, self.serializer.encoding):
            return 0
        # The lease may end meanwhile, and another owner may take the lock. So the removal is a put of an entry that has
        # expired, on the condition that the entry is still the one that was found.
        return int(await asyncio.to_thread(self.cache.put_if, key, b"", digest=found.digest, expires=0.001))

    async def _close(self, *_: Any, **__: Any) -> None:
        if self._owned is not None:
            await asyncio.to_thread(self._owned.close)
