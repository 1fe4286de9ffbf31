"""Tests of the package. They need the installed package, and no network."""
import array
import contextlib
import gc
import multiprocessing
import shutil
import tempfile
import threading
import time
import unittest
from pathlib import Path

import vitrine

CAT = "https://example.org/cat.jpg"


def pixels(count):
    """Bytes that do not compress."""
    import random
    return random.Random(count).randbytes(count)


class CacheTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = Path(self.folder) / "store"
        self.cache = vitrine.Cache(self.path, byte_budget=32 << 20)
        self.addCleanup(self.cache.close)

    def test_a_value_is_a_view_without_a_copy(self):
        data = pixels(100_000)
        self.cache[CAT] = data
        view = self.cache[CAT]
        self.assertIsInstance(view, memoryview)
        self.assertTrue(view.readonly)
        self.assertEqual(view, data)
        self.assertFalse(self.cache.lookup(CAT).is_copy)
        with self.assertRaises(TypeError):
            view[0] = 1

    def test_a_view_outlives_its_entry_and_its_cache(self):
        data = pixels(100_000)
        self.cache[CAT] = data
        view = self.cache[CAT][10:20]
        del self.cache[CAT]
        self.cache.compact()
        self.cache.close()
        gc.collect()
        self.assertEqual(bytes(view), data[10:20])

    def test_it_is_a_mapping(self):
        cache = self.cache
        cache["a"] = b"1"
        cache["a", "small"] = bytearray(b"2")
        cache[b"\xff"] = array.array("B", [3])
        self.assertEqual(len(cache), 3)
        self.assertEqual(set(cache), {("a", "original"), ("a", "small"), ("\udcff", "original")})
        self.assertEqual({key: bytes(value) for key, value in cache.items()}["\udcff", "original"], b"\x03")
        self.assertIn("a", cache)
        self.assertIn(("a", "small"), cache)
        self.assertNotIn("b", cache)
        self.assertIsNone(cache.get("b"))
        self.assertEqual(cache.pop(("a", "small")), b"2")
        with self.assertRaises(KeyError):
            cache["a", "small"]
        with self.assertRaises(KeyError):
            del cache["b"]
        cache.clear()
        self.assertEqual(len(cache), 0)

    def test_metadata_and_expiry(self):
        moment = time.time() + 3600
        self.cache.put(CAT, b"bytes", metadata=b"image/jpeg", expires=moment, durable=True)
        value = self.cache.lookup(CAT)
        self.assertEqual((bytes(value), len(value), value.metadata), (b"bytes", 5, b"image/jpeg"))
        self.assertAlmostEqual(value.expires, moment, delta=0.01)
        self.assertAlmostEqual(value.written, time.time(), delta=60)
        self.assertEqual((len(value.digest), value.encoding, value.is_damaged()), (32, "plain", False))
        self.cache.put("gone", b"bytes", ttl=-1)
        self.assertNotIn("gone", self.cache)
        self.assertIsNone(self.cache.lookup("gone"))
        with self.assertRaises(ValueError):
            self.cache.put("both", b"", ttl=1, expires=1)

    def test_entries_have_a_prefix_a_style_and_an_order(self):
        for index in range(20):
            self.cache[f"list/{19 - index:02}", "row"] = b"x" * index
        self.cache["other", "row"] = b""
        self.cache["list/00"] = b""
        entries = list(self.cache.entries("list/", style="row", sorted=True))
        self.assertEqual([entry.key.url for entry in entries], [f"list/{index:02}" for index in range(20)])
        self.assertEqual(entries[3].size, 16)
        self.assertEqual(self.cache.remove_style("row"), 21)
        self.assertEqual(self.cache.remove_prefix("list/"), 1)

    def test_a_batch_is_written_together(self):
        self.cache["old"] = b"old"
        batch = vitrine.Batch()
        batch.put("new", b"new", metadata=b"m")
        batch.remove("old")
        self.assertEqual(len(batch), 2)
        self.cache.write(batch, durable=True)
        self.assertEqual([entry.key.url for entry in self.cache.entries()], ["new"])

    def test_errors_have_classes_of_their_own(self):
        with self.assertRaises(vitrine.LockedError) as raised:
            vitrine.Cache(self.path)
        self.assertGreater(raised.exception.process_id, 0)
        with self.assertRaises(ValueError):
            self.cache["a", "no style"] = b""
        with self.assertRaises(TypeError):
            self.cache["a"] = "text"
        with self.assertRaises(vitrine.Error):
            vitrine.Cache(Path(self.folder) / "none", create=False)
        with self.assertRaises(ValueError):
            vitrine.Cache(self.path, policy="best")
        with vitrine.Cache(self.path, read_only=True) as reader, self.assertRaises(vitrine.ReadOnlyError):
            reader["a"] = b""
        self.cache.close()
        self.cache.close()
        with self.assertRaises(vitrine.ClosedError):
            self.cache["a"] = b""

    def test_a_reader_is_refreshed(self):
        self.cache["a"] = b"1"
        with vitrine.Cache(self.path, read_only=True) as reader:
            self.cache["b"] = b"2"
            self.assertNotIn("b", reader)
            self.assertTrue(reader.refresh())
            self.assertEqual(reader["b"], b"2")

    def test_statistics_and_upkeep(self):
        self.cache[CAT] = b"bytes"
        self.assertTrue(self.cache.pin(CAT))
        self.cache.flush()
        self.assertEqual(self.cache.verify(), (0, 0))
        stat = self.cache.stat()
        self.assertEqual((stat["entries"], stat["pins"]["entries"], stat["budget_bytes"]), (1, 1, 32 << 20))
        self.assertTrue(self.cache.unpin(CAT))
        self.assertFalse(self.cache.pin("absent"))

    def test_the_example_of_the_readme_runs(self):
        readme = (Path(__file__).parent.parent / "README.md").read_text()
        example = readme.split("```python\n")[1].split("```")[0]
        self.assertIn('"/var/cache/pictures"', example)
        shown = []
        names = {"jpeg": b"jpeg", "pixels": b"pixels", "print": lambda *words: shown.append(words)}
        exec(example.replace("/var/cache/pictures", str(Path(self.folder) / "readme")), names)
        self.assertEqual(names["view"], b"jpeg")
        self.assertEqual(len(names["value"]), 4)
        self.assertEqual(
            shown, [(CAT, "original", 4), (CAT, "square-60@2x", 6)])

    def test_threads_use_one_cache(self):
        failures = []

        def work(thread):
            try:
                for step in range(200):
                    key = f"{thread}/{step % 10}"
                    self.cache[key] = key.encode() * 100
                    if bytes(self.cache[key]) != key.encode() * 100:
                        failures.append(key)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(len(self.cache), 40)

    def test_a_forked_child_gets_an_error_and_ends(self):
        self.cache["a"] = b"held"
        view = self.cache["a"]

        def child(connection):
            try:
                self.cache["b"] = b""
            except vitrine.ClosedError:
                connection.send(bytes(view))

        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=child, args=(theirs,))
        process.start()
        with contextlib.closing(ours):
            self.assertTrue(ours.poll(60))
            self.assertEqual(ours.recv(), b"held")
        process.join(60)
        self.assertEqual(process.exitcode, 0)
        self.cache["b"] = b"still open"


if __name__ == "__main__":
    unittest.main()
