"""Tests of the cache for aiocache."""
import asyncio
import importlib.util
import shutil
import tempfile
import unittest
from pathlib import Path

import vitrine


@unittest.skipIf(importlib.util.find_spec("aiocache") is None, "aiocache is not installed")
class AiocacheTests(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        from vitrine.aiocache import VitrineCache
        # The loop of the tests reports slow steps, but no test depends on the speed of the machine.
        asyncio.get_running_loop().slow_callback_duration = 60
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.make = VitrineCache
        self.cache = VitrineCache(self.folder / "cache", namespace="n/")

    async def asyncTearDown(self):
        await self.cache.close()

    async def test_values(self):
        self.assertIsNone(await self.cache.get("a"))
        self.assertEqual(await self.cache.get("a", default=5), 5)
        self.assertTrue(await self.cache.set("a", {"name": "\u00e9"}))
        self.assertEqual(await self.cache.get("a"), {"name": "\u00e9"})
        self.assertTrue(await self.cache.exists("a"))
        self.assertFalse(await self.cache.exists("a", namespace="other/"))
        self.assertTrue(await self.cache.multi_set([("b", 1), ("c", 2)]))
        self.assertEqual(await self.cache.multi_get(["b", "d", "c"]), [1, None, 2])
        self.assertEqual((await self.cache.delete("b"), await self.cache.delete("b")), (1, 0))

    async def test_add_stores_once(self):
        done = await asyncio.gather(*(self.cache.add("a", index) for index in range(8)), return_exceptions=True)
        self.assertEqual(sorted(map(repr, done)).count("True"), 1)
        self.assertEqual(sum(isinstance(result, ValueError) for result in done), 7)

    async def test_increments_are_all_counted(self):
        await asyncio.gather(*(self.cache.increment("n") for _ in range(20)))
        self.assertEqual(await self.cache.increment("n", -5), 15)
        await self.cache.set("text", "text")
        with self.assertRaises(TypeError):
            await self.cache.increment("text")

    async def test_expiry(self):
        await self.cache.set("a", 1, ttl=-1)
        self.assertIsNone(await self.cache.get("a"))
        await self.cache.set("a", 1, ttl=1000)
        self.assertIsNotNone(self.cache.cache.lookup("n/a").expires)
        self.assertTrue(await self.cache.expire("a", 0))
        self.assertIsNone(self.cache.cache.lookup("n/a").expires)
        self.assertFalse(await self.cache.expire("b", 1))

    async def test_a_namespace_is_cleared(self):
        await self.cache.set("a", 1)
        await self.cache.set("a", 2, namespace="other/")
        await self.cache.clear(namespace="n/")
        self.assertIsNone(await self.cache.get("a"))
        self.assertEqual(await self.cache.get("a", namespace="other/"), 2)
        await self.cache.clear()
        self.assertEqual(len(self.cache.cache), 0)

    async def test_locks(self):
        from aiocache.lock import OptimisticLock, OptimisticLockError, RedLock
        await self.cache.set("a", 1)
        async with OptimisticLock(self.cache, "a") as lock:
            await lock.cas(2)
        self.assertEqual(await self.cache.get("a"), 2)
        async with OptimisticLock(self.cache, "a") as lock:
            await self.cache.set("a", 3)
            with self.assertRaises(OptimisticLockError):
                await lock.cas(4)
        self.assertEqual(await self.cache.get("a"), 3)
        async with RedLock(self.cache, "b", lease=60):
            self.assertTrue(await self.cache.exists("b-lock"))
        self.assertFalse(await self.cache.exists("b-lock"))

    async def test_bytes_without_a_serializer(self):
        from aiocache.serializers import NullSerializer
        async with self.make(cache=self.cache.cache, serializer=NullSerializer(encoding=None)) as cache:
            await cache.set("picture", b"\xff\x00")
            self.assertEqual(await cache.get("picture"), b"\xff\x00")
            with self.assertRaises(TypeError):
                await cache.set("number", 5)
        # The cache that was given stays open.
        self.assertEqual(self.cache.cache["picture"], b"\xff\x00")
        self.assertEqual(await self.cache.raw("peek", "picture"), b"\xff\x00")

    async def test_a_path_or_a_cache_is_needed(self):
        with self.assertRaises(ValueError):
            self.make()
        with self.assertRaises(ValueError):
            self.make(self.folder / "x", cache=self.cache.cache)

    async def test_close_releases_the_folder(self):
        await self.cache.close()
        with vitrine.Cache(self.folder / "cache") as cache:
            self.assertFalse(cache.is_read_only)


if __name__ == "__main__":
    unittest.main()
