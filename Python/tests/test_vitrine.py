"""Tests of the package. They need the installed package, and no network."""
import array
import ast
import contextlib
import gc
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import timedelta
from pathlib import Path
from unittest import mock

import vitrine

CAT = "https://example.org/cat.jpg"


def pixels(count):
    """Bytes that do not compress."""
    import random
    return random.Random(count).randbytes(count)


def run_threads(work, count):
    """Runs work(0), work(1) and so on at once, and raises the first error of them."""
    errors = []

    def run(index):
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


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
        stat = self.cache.stats()
        self.assertEqual((stat["entries"], stat["pins"]["entries"], stat["budget_bytes"]), (1, 1, 32 << 20))
        self.assertTrue(self.cache.unpin(CAT))
        self.assertFalse(self.cache.pin("absent"))

    def test_the_examples_of_the_readme_run(self):
        readme = (Path(__file__).parent.parent / "README.md").read_text()
        examples = [part.split("```")[0] for part in readme.split("```python\n")[1:]]
        # The tests of the backend for requests-cache run its example.
        examples = [example for example in examples if "requests_cache" not in example]
        self.assertEqual(len(examples), 5)
        shown = []
        names = {"jpeg": b"jpeg", "pixels": b"pixels", "print": lambda *words: shown.append(words)}
        for example in examples:
            self.assertIn('"/var/cache/', example)
            exec(example.replace("/var/cache", self.folder), names)
        self.assertEqual(names["view"], b"jpeg")
        self.assertEqual(shown, [(CAT, "original", 4), (CAT, "square-60@2x", 6)])
        self.assertEqual(names["rows"].shape, (1, 8))
        self.assertEqual(names["name"], "Ada")
        with vitrine.Cache(Path(self.folder) / "counters") as cache:
            self.assertEqual(cache["visits"], b"1")

    def test_a_url_has_at_most_65536_bytes(self):
        for url in (b"u" * 65_536, "\u00e9" * 32_768):
            self.cache[url] = b"1"
            self.assertEqual(self.cache[url], b"1")
            for call in (self.cache.get, self.cache.discard, lambda key: self.cache.put(key, b"1")):
                with self.assertRaises(ValueError):
                    call(url + url[:1])

    def test_a_style_has_1_to_255_printable_characters(self):
        self.cache["a", "s" * 255] = b"1"
        for style in ("", "s" * 256, "a b", "\u00e9", "\n"):
            with self.assertRaises(ValueError, msg=repr(style)):
                self.cache["a", style] = b"1"

    def test_a_number_is_no_key(self):
        for key in (5, None, ("a", "b", "c"), ("a", 5), (5, "a")):
            with self.assertRaises(TypeError, msg=repr(key)):
                self.cache.get(key)
        with self.assertRaises(ValueError):
            self.cache.get(("a", ""))

    def test_a_missing_key_is_in_the_error(self):
        with self.assertRaises(KeyError) as raised:
            self.cache["a", "small"]
        self.assertEqual(raised.exception.args, (("a", "small"),))
        with self.assertRaises(KeyError) as raised:
            del self.cache["b"]
        self.assertEqual(raised.exception.args, ("b",))

    def test_items_and_values_skip_entries_that_vanish(self):
        for letter in "abc":
            self.cache[letter] = letter.encode()
        for iterate in (self.cache.items, self.cache.values):
            iterator = iter(iterate())
            next(iterator)
            self.cache.clear()
            self.assertEqual(list(iterator), [])
            for letter in "abc":
                self.cache[letter] = letter.encode()
        self.assertEqual({bytes(value) for value in self.cache.values()}, {b"a", b"b", b"c"})
        self.assertIn(b"b", self.cache.values())
        self.assertNotIn(b"d", self.cache.values())

    def test_entries_are_those_of_the_call(self):
        self.cache["a"] = b""
        entries = self.cache.entries()
        self.cache["b"] = b""
        self.assertEqual([entry.key.url for entry in entries], ["a"])

    def test_pop_popitem_and_setdefault(self):
        self.assertEqual(self.cache.setdefault("a", b"1"), b"1")
        self.assertEqual(self.cache.setdefault("a", b"2"), b"1")
        self.assertEqual(self.cache.pop("a"), b"1")
        self.assertEqual(self.cache.pop("a", "none"), "none")
        with self.assertRaises(KeyError):
            self.cache.pop("a")
        self.cache["b"] = b"3"
        key, view = self.cache.popitem()
        self.assertEqual((key.url, bytes(view), len(self.cache)), ("b", b"3", 0))
        with self.assertRaises(KeyError):
            self.cache.popitem()

    def test_two_caches_are_different_keys_of_a_dictionary(self):
        with vitrine.Cache(Path(self.folder) / "other") as other:
            self.assertNotEqual(self.cache, other)
            self.assertEqual(len({self.cache, other, self.cache}), 2)

    def test_a_put_has_a_condition(self):
        put = self.cache.put_if
        self.assertFalse(put("a", b"1", present=True))
        self.assertTrue(put("a", b"1", absent=True))
        self.assertFalse(put("a", b"2", absent=True))
        self.assertTrue(put("a", b"2", present=True, metadata=b"m"))
        value = self.cache.lookup("a")
        self.assertEqual((bytes(value), value.metadata), (b"2", b"m"))
        self.assertTrue(put("a", b"3", digest=value.digest.upper()))
        self.assertFalse(put("a", b"4", digest=value.digest))
        self.assertEqual(self.cache["a"], b"3")
        for wrong in ({}, {"absent": True, "present": True}, {"digest": "12"}, {"digest": "g" * 32}):
            with self.assertRaises(ValueError, msg=wrong):
                put("a", b"", **wrong)

    def test_an_expired_entry_is_absent_for_a_condition(self):
        self.cache.put("a", b"1", ttl=timedelta(seconds=-1))
        self.assertFalse(self.cache.put_if("a", b"2", present=True))
        self.assertTrue(self.cache.put_if("a", b"2", absent=True))

    def test_of_concurrent_conditional_puts_one_takes_place(self):
        barrier = threading.Barrier(4)
        winners = []

        def work(thread):
            for step in range(50):
                barrier.wait()
                if self.cache.put_if(str(step), str(thread).encode(), absent=True):
                    winners.append((step, str(thread).encode()))

        run_threads(work, 4)
        self.assertEqual(len(winners), 50)
        for step, value in winners:
            self.assertEqual(self.cache[str(step)], value)

    def test_compare_and_swap_loses_no_update(self):
        self.cache["n"] = b"0"

        def work(_):
            for _ in range(50):
                while True:
                    value = self.cache.lookup("n")
                    if self.cache.put_if("n", b"%d" % (int(bytes(value)) + 1), digest=value.digest):
                        break

        run_threads(work, 4)
        self.assertEqual(self.cache["n"], b"200")

    def test_a_peek_is_a_copy_and_no_use(self):
        for data in (b"", b"small", pixels(100_000)):
            self.cache["a"] = data
            before = self.cache.stats()["hits"]
            self.assertEqual(self.cache.peek("a"), data)
            self.assertIsInstance(self.cache.peek("a"), bytes)
            self.assertEqual(self.cache.stats()["hits"], before)
            self.cache["a"]
            self.assertEqual(self.cache.stats()["hits"], before + 1)
        self.assertIsNone(self.cache.peek("b"))

    def test_touch_and_expire(self):
        self.cache["a"] = b"1"
        self.assertTrue(self.cache.touch("a", ttl=timedelta(hours=1)))
        self.assertAlmostEqual(self.cache.lookup("a").expires, time.time() + 3600, delta=60)
        self.assertTrue(self.cache.touch("a"))
        self.assertIsNone(self.cache.lookup("a").expires)
        self.assertFalse(self.cache.touch("b", ttl=1))
        self.assertEqual(self.cache.expire(), 0)
        self.assertTrue(self.cache.touch("a", expires=1.0))
        self.assertIsNone(self.cache.lookup("a"))
        self.assertLessEqual(self.cache.expire(), 1)
        self.assertEqual(len(self.cache), 0)

    def test_an_expiry_survives_a_round_trip(self):
        moment = 4_000_000_000.123
        self.cache.put("a", b"", expires=moment)
        self.cache.put("a", b"", expires=self.cache.lookup("a").expires)
        self.assertEqual(self.cache.lookup("a").expires, moment)

    def test_metadata_is_replaced_without_the_bytes(self):
        self.cache.put("a", b"1", metadata=b"old")
        self.assertTrue(self.cache.set_metadata("a", bytearray(b"new")))
        value = self.cache.lookup("a")
        self.assertEqual((bytes(value), value.metadata), (b"1", b"new"))
        self.assertFalse(self.cache.set_metadata("b", b""))

    def test_a_bitmap_has_a_layout(self):
        layout = vitrine.Layout(3, 2, 16, vitrine.PixelFormat.BGRA8888)
        self.cache.put("a", pixels(32), layout=layout, page_aligned=True)
        value = self.cache.lookup("a")
        self.assertEqual((value.layout, value.encoding, bytes(value)), (layout, "bitmap", pixels(32)))
        self.assertEqual(value.layout.pixel_format.pixel_bytes, 4)
        self.cache.put("b", bytes(6), layout=(3, 2, 0, vitrine.PixelFormat.GRAY8))
        self.assertEqual(self.cache.lookup("b").layout.bytes_per_row, 3)
        self.cache["c"] = b""
        self.assertIsNone(self.cache.lookup("c").layout)
        for wrong in ((3, 2, 16, 99), (3, 2, 1, 1), (2**32, 2, 0, 1)):
            with self.assertRaises(ValueError, msg=wrong):
                self.cache.put("a", bytes(32), layout=wrong)
        with self.assertRaises(TypeError):
            self.cache.put("a", bytes(32), layout=(3, 2))

    def test_one_key_is_flushed(self):
        self.cache["a"] = b"1"
        self.cache.flush("a")
        self.cache.flush("absent")
        with self.assertRaises(TypeError):
            self.cache.flush("a", "b")

    def test_an_entry_is_copied_to_a_file(self):
        path = Path(self.folder) / "copy"
        path.write_bytes(b"old")
        data = pixels(100_000)
        self.cache[CAT] = data
        self.assertTrue(self.cache.copy_to(CAT, path))
        self.assertEqual(path.read_bytes(), data)
        self.assertFalse(self.cache.copy_to("absent", path))
        self.assertEqual(path.read_bytes(), data)
        with self.assertRaises(vitrine.Error):
            self.cache.copy_to(CAT, Path(self.folder) / "none" / "copy")

    def test_a_suspended_cache_releases_its_lock(self):
        self.cache["a"] = b"1"
        view = self.cache["a"]
        self.cache.suspend()
        with self.assertRaises(vitrine.ClosedError):
            self.cache["b"] = b"2"
        with vitrine.Cache(self.path) as other:
            other["c"] = b"3"
        self.cache.resume()
        self.assertEqual((bytes(self.cache["a"]), bytes(self.cache["c"]), bytes(view)), (b"1", b"3", b"1"))

    def test_an_opening_reads_if_another_writes(self):
        self.cache["a"] = b"1"
        self.assertFalse(self.cache.is_read_only)
        with vitrine.Cache(self.path, read_if_locked=True) as reader:
            self.assertTrue(reader.is_read_only)
            self.assertEqual(reader["a"], b"1")

    def test_a_named_cache_is_in_the_folder_for_caches(self):
        with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": self.folder}):
            with vitrine.Cache.named("pictures", byte_budget=4 << 20) as cache:
                cache["a"] = b"1"
                second = vitrine.Cache.named("pictures")
                self.assertEqual(second["a"], b"1")
        self.assertTrue((Path(self.folder) / "pictures").is_dir())
        # The store is closed with the last object of it.
        second["a"] = b"2"
        second.close()
        with self.assertRaises(vitrine.ClosedError):
            second["a"] = b"3"
        with vitrine.Cache(Path(self.folder) / "pictures", create=False) as cache:
            self.assertEqual(cache["a"], b"2")

    def test_budgets_change(self):
        self.cache.set_budgets(byte_budget=16 << 20, entry_budget=2)
        for letter in "abcd":
            self.cache[letter] = b""
        self.assertEqual(self.cache.stats()["budget_bytes"], 16 << 20)
        self.assertLessEqual(len(self.cache), 2)
        self.cache.set_budgets(entry_budget=vitrine.UNLIMITED)
        for letter in "abcd":
            self.cache[letter] = b""
        self.assertEqual(len(self.cache), 4)
        with self.assertRaises(ValueError):
            self.cache.set_budgets(byte_budget=1)

    def test_options_of_times(self):
        path = Path(self.folder) / "timed"
        with vitrine.Cache(path, maximum_age=timedelta(hours=1), maximum_idle=60) as cache:
            cache["a"] = b""
            self.assertIn("a", cache)
        with vitrine.Cache(path, maximum_age=0.001, maximum_idle=vitrine.UNLIMITED) as cache:
            cache["b"] = b""
            time.sleep(0.05)
            self.assertNotIn("b", cache)

    def test_a_cache_is_opened_once(self):
        with self.assertRaises(RuntimeError):
            self.cache.__init__(self.path)
        self.cache["a"] = b"1"

    def test_an_object_that_was_never_opened_raises(self):
        cache = vitrine.Cache.__new__(vitrine.Cache)
        for use in (lambda: cache["a"], lambda: cache.get("a"), lambda: len(cache), lambda: cache.peek("a"),
                    lambda: "a" in cache, cache.close, cache.stats, lambda: cache.is_read_only):
            with self.assertRaises(vitrine.Error):
                use()

    def test_a_batch_is_cleared_and_written_again(self):
        batch = vitrine.Batch()
        batch.put("a", b"1", layout=(1, 1, 0, vitrine.PixelFormat.GRAY8))
        self.cache.write(batch)
        self.assertEqual(self.cache.lookup("a").layout.width, 1)
        batch.clear()
        self.assertEqual(len(batch), 0)
        with self.assertRaises(TypeError):
            self.cache.write("batch")
        with self.assertRaises(TypeError):
            batch.put(5, b"")

    def test_a_put_keeps_no_buffer(self):
        data = bytearray(b"1")
        self.cache["a"] = data
        self.cache.put_if("a", data, present=True, metadata=data)
        for key, options in (("a", {"layout": (1, 1)}), ("a", {"metadata": "text"}), (5, {})):
            with self.assertRaises(TypeError):
                self.cache.put(key, data, **options)
        # A buffer that is in use cannot change its size.
        data.append(2)

    def test_results_are_memoized(self):
        calls = []

        @self.cache.memoize(style="results", ttl=60)
        def area(width, height=1):
            calls.append((width, height))
            return {"area": width * height}

        self.assertEqual([area(2, height=3), area(2, height=3), area(2)], [{"area": 6}, {"area": 6}, {"area": 2}])
        self.assertEqual(calls, [(2, 3), (2, 1)])
        self.assertIn(area.cache_key(2), self.cache)
        self.assertEqual(self.cache.remove_style("results"), 2)
        area(2)
        self.assertEqual(len(calls), 3)
        with self.assertRaises(TypeError):
            vitrine.memoize(lambda: None)

    def test_memoized_bytes_are_views(self):
        @vitrine.memoize(self.cache, key=lambda name: f"thumbnail/{name}", dumps=bytes, loads=memoryview)
        def thumbnail(name):
            return name.encode() * 1000

        self.assertEqual(thumbnail("cat"), b"cat" * 1000)
        self.assertIsInstance(thumbnail("cat"), memoryview)
        self.assertIn("thumbnail/cat", self.cache)

    def test_an_opening_that_waits_leaves_other_threads_running(self):
        self.cache["a"] = b"1"
        begun, values = threading.Event(), []

        def wait():
            begun.set()
            with vitrine.Cache(self.path, wait=timedelta(minutes=5)) as cache:
                values.append(bytes(cache["a"]))

        thread = threading.Thread(target=wait)
        thread.start()
        begun.wait()
        # If the opening held the lock of the interpreter, this close would run after its wait.
        self.cache.close()
        thread.join()
        self.assertEqual(values, [b"1"])

    def test_a_lack_of_memory_is_no_miss(self):
        self.cache["a"] = pixels(8 << 20)
        self.cache.close()
        program = """if True:
            import resource, sys, vitrine
            cache = vitrine.Cache(sys.argv[1])
            view = cache["a"]
            pages = int(open("/proc/self/statm").read().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 20),) * 2)
            try:
                cache.peek("a")
            except MemoryError:
                print(len(view))
        """
        done = subprocess.run(
            [sys.executable, "-c", program, str(self.path)], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, f"{8 << 20}\n")

    def test_the_package_has_the_types_of_the_extension(self):
        package = Path(vitrine.__file__).parent
        self.assertTrue((package / "py.typed").exists())
        stub = ast.parse((package / "_vitrine.pyi").read_text())
        for name in ("Store", "Batch", "Value"):
            declared, = (node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == name)
            stated = {node.name for node in declared.body if isinstance(node, ast.FunctionDef)}
            present = set(vars(getattr(vitrine._vitrine, name)))
            # Python has __buffer__ from 3.12 on.
            self.assertEqual(stated - present - {"__init__", "__buffer__"}, set(), name)
            self.assertEqual({word for word in present - stated if not word.startswith("__")}, set(), name)

    def test_threads_use_one_cache(self):
        def work(thread):
            for step in range(200):
                key = f"{thread}/{step % 10}"
                self.cache[key] = key.encode() * 100
                self.assertEqual(self.cache[key], key.encode() * 100)
                self.assertEqual(self.cache.peek(key), key.encode() * 100)

        run_threads(work, 4)
        self.assertEqual(len(self.cache), 40)

    def test_a_forked_child_gets_an_error_and_ends(self):
        self.cache["a"] = b"held"
        view = self.cache["a"]

        def child(connection):
            for use in (lambda: self.cache.peek("a"), lambda: self.cache["a"], lambda: self.cache.put("b", b"")):
                with self.assertRaises(vitrine.ClosedError):
                    use()
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
