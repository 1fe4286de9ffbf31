"""The same tests for vitrine.diskcache and, if it is installed, for diskcache."""
import contextlib
import io
import multiprocessing
import pickle
import shutil
import tempfile
import threading
import time
import unittest
from pathlib import Path

import vitrine
import vitrine.diskcache

try:
    import diskcache
except ImportError:
    diskcache = None

KEYS = [
    -5, 0, 1, 2.5, 10, 2**62, -2**63, 2**63 - 1, 1e300, -1e300, float("inf"), "", "a", "b", "\u00e9", b"", b"a",
    b"\xff"]
VALUES = [
    b"", b"bytes", b"x" * 5000, b"x" * 100_000, "", "text", "\u00e9" * 5000, 0, -1, 2**63 - 1, -2**63, 2**70, 1.5, None,
    True, [1, "two", {3.0: b"four"}], ("tuple",), float("inf")]


class Conformance:
    """The calls whose behavior is the same."""

    module = None

    def make(self, path, **settings):
        return self.module.Cache(str(path), **settings)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.cache = self.make(self.folder / "cache")
        self.addCleanup(self.cache.close)

    def test_values_keep_their_type(self):
        for value in VALUES:
            self.assertIs(self.cache.set("key", value), True)
            self.assertEqual(self.cache["key"], value)
            self.assertIs(type(self.cache.get("key")), type(value))
            self.assertEqual(self.cache.pop("key"), value)

    def test_keys_of_different_types_differ(self):
        for number, key in enumerate(KEYS + [None, (1, "two"), True, 2**70]):
            self.cache[key] = number
        for number, key in enumerate(KEYS + [None, (1, "two"), True, 2**70]):
            self.assertEqual(self.cache[key], number, key)
            self.assertIn(key, self.cache)
        self.assertEqual(len(self.cache), len(KEYS) + 4)

    def test_equal_numbers_are_one_key(self):
        self.cache[1] = "int"
        self.cache[1.0] = "float"
        self.assertEqual((self.cache[1], len(self.cache)), ("float", 1))

    def test_keys_are_sorted(self):
        for key in reversed(KEYS):
            self.cache[key] = None
        expected = sorted(key for key in KEYS if isinstance(key, (int, float)))
        expected += ["", "a", "b", "\u00e9", b"", b"a", b"\xff"]
        self.assertEqual(list(self.cache.iterkeys()), expected)
        self.assertEqual(list(self.cache.iterkeys(reverse=True)), expected[::-1])

    def test_a_missing_key(self):
        self.assertIsNone(self.cache.get("key"))
        self.assertEqual(self.cache.get("key", "default"), "default")
        self.assertEqual(self.cache.get("key", "default", tag=True), ("default", None))
        self.assertEqual(self.cache.get("key", "default", expire_time=True, tag=True), ("default", None, None))
        self.assertEqual(self.cache.pop("key", "default", expire_time=True), ("default", None))
        self.assertIs(self.cache.delete("key"), False)
        self.assertIs(self.cache.touch("key"), False)
        for use in (lambda: self.cache["key"], lambda: self.cache.read("key"), lambda: self.cache.__delitem__("key"),
                    lambda: self.cache.incr("key", default=None), self.cache.peekitem):
            with self.assertRaises(KeyError):
                use()

    def test_iteration_is_in_the_order_of_the_sets(self):
        for letter in "cabd":
            self.cache[letter] = letter
        del self.cache["a"]
        self.assertEqual(list(self.cache), ["c", "b", "d"])
        self.assertEqual(list(reversed(self.cache)), ["d", "b", "c"])
        self.assertEqual(self.cache.peekitem(), ("d", "d"))
        self.assertEqual(self.cache.peekitem(last=False, tag=True), (("c", "c"), None))

    def test_add_stores_once(self):
        self.assertIs(self.cache.add("key", 1, tag="t"), True)
        self.assertIs(self.cache.add("key", 2), False)
        self.assertEqual(self.cache.get("key", tag=True), (1, "t"))
        self.cache.set("key", 3, expire=-1)
        self.assertIs(self.cache.add("key", 4), True)
        self.assertEqual(self.cache["key"], 4)

    def test_incr_and_decr(self):
        self.assertEqual(self.cache.incr("key"), 1)
        self.assertEqual(self.cache.incr("key", 10), 11)
        self.assertEqual(self.cache.decr("key", 20), -9)
        self.assertEqual(self.cache.incr("other", 1.5, default=2), 3.5)
        self.assertEqual(self.cache["other"], 3.5)
        self.cache["text"] = "text"
        with self.assertRaises(TypeError):
            self.cache.incr("text")

    def test_incr_keeps_the_tag_and_the_expiry(self):
        self.cache.set("key", 1, expire=1000, tag="t")
        before = self.cache.get("key", expire_time=True)[1]
        self.cache.incr("key")
        value, expiry, tag = self.cache.get("key", expire_time=True, tag=True)
        self.assertEqual((value, tag), (2, "t"))
        self.assertAlmostEqual(expiry, before, delta=0.01)

    def test_expiry(self):
        self.cache.set("key", "value", expire=1000)
        value, expiry = self.cache.get("key", expire_time=True)
        self.assertEqual(value, "value")
        self.assertAlmostEqual(expiry, time.time() + 1000, delta=100)
        self.assertIs(self.cache.touch("key", expire=2000), True)
        self.assertAlmostEqual(self.cache.get("key", expire_time=True)[1], time.time() + 2000, delta=100)
        self.assertIs(self.cache.touch("key"), True)
        self.assertEqual(self.cache.get("key", expire_time=True), ("value", None))
        self.cache.set("gone", 1, expire=-1)
        self.assertNotIn("gone", self.cache)
        self.assertIsNone(self.cache.get("gone"))
        self.assertIs(self.cache.delete("gone"), False)
        self.cache.expire()
        self.assertEqual(list(self.cache), ["key"])

    def test_tags_are_evicted(self):
        self.cache.set("a", 1, tag="red")
        self.cache.set("b", 2, tag="red")
        self.cache.set("c", 3, tag="blue")
        self.cache.set("d", 4)
        self.cache.set("b", 5)
        self.assertEqual(self.cache.get("a", tag=True), (1, "red"))
        self.assertEqual(self.cache.pop("c", tag=True, expire_time=True), (3, None, "blue"))
        self.assertEqual(self.cache.evict("red"), 1)
        self.assertEqual(self.cache.evict("red"), 0)
        self.assertEqual(sorted(self.cache), ["b", "d"])

    def test_files_are_values(self):
        self.cache.set("key", io.BytesIO(b"x" * 100_000), read=True)
        self.assertEqual(self.cache["key"], b"x" * 100_000)
        with self.cache.read("key") as reader:
            self.assertEqual((reader.read(10), reader.seek(-5, 2), reader.read()), (b"x" * 10, 99_995, b"x" * 5))
        with self.cache.get("key", read=True) as reader:
            self.assertEqual(reader.read(), b"x" * 100_000)

    def test_clear(self):
        for index in range(5):
            self.cache[index] = index
        self.assertEqual(self.cache.clear(), 5)
        self.assertEqual((len(self.cache), self.cache.clear()), (0, 0))

    def test_queues(self):
        for prefix, first in ((None, 500_000_000_000_000), ("tasks", "tasks-500000000000000")):
            self.assertEqual(self.cache.push("a", prefix), first)
            self.cache.push("b", prefix)
            self.cache.push("z", prefix, side="front")
            self.assertEqual(self.cache.peek(prefix)[1], "z")
            self.assertEqual(self.cache.peek(prefix, side="back")[1], "b")
            self.assertEqual(self.cache.pull(prefix)[1], "z")
            self.assertEqual(self.cache[first], "a")
            del self.cache[first]
            self.assertEqual(self.cache.pull(prefix, tag=True)[0][1], "b")
            self.assertEqual(self.cache.pull(prefix), (None, None))
            self.assertEqual(self.cache.pull(prefix, default="none", expire_time=True), ("none", None))

    def test_a_queue_skips_expired_entries(self):
        self.cache.push("a", expire=-1)
        self.cache.push("b", tag="t")
        (_, value), tag = self.cache.peek(tag=True)
        self.assertEqual((value, tag), ("b", "t"))

    def test_a_queue_has_entries_that_were_set(self):
        self.cache.push("a")
        self.cache[500_000_000_000_005] = "e"
        self.assertEqual(self.cache.push("f"), 500_000_000_000_006)
        self.cache["q-000000000000007"] = "g"
        self.assertEqual(self.cache.push("h", prefix="q"), "q-000000000000008")

    def test_a_transaction_is_rolled_back(self):
        self.cache["a"] = 1
        self.cache["b"] = 2
        with self.assertRaises(ZeroDivisionError), self.cache.transact():
            self.cache["a"] = 10
            self.cache.incr("b", 5)
            self.cache.add("c", 3)
            self.cache.push("d")
            del self.cache["b"]
            self.assertEqual(sorted(map(str, self.cache)), ["500000000000000", "a", "c"])
            self.assertEqual((self.cache["a"], "b" in self.cache, len(self.cache)), (10, False, 3))
            1 / 0
        self.assertEqual([(key, self.cache[key]) for key in self.cache], [("a", 1), ("b", 2)])
        self.assertEqual(self.cache.push("e"), 500_000_000_000_000)

    def test_a_transaction_is_committed(self):
        self.cache["a"] = 1
        with self.cache.transact():
            self.cache.set("b", 2, expire=1000, tag="t")
            self.cache.touch("a", expire=1000)
            with self.cache.transact():
                self.assertEqual(self.cache.incr("b"), 3)
                self.assertIs(self.cache.add("b", 4), False)
            self.assertEqual(self.cache.pop("none", 5), 5)
            self.assertEqual(self.cache.evict("none"), 0)
        value, expiry, tag = self.cache.get("b", expire_time=True, tag=True)
        self.assertEqual((value, tag), (3, "t"))
        self.assertAlmostEqual(expiry, time.time() + 1000, delta=100)
        self.assertIsNotNone(self.cache.get("a", expire_time=True)[1])

    def test_other_threads_read_the_old_values_during_a_transaction(self):
        self.cache["a"] = 1
        seen = []
        with self.cache.transact():
            self.cache["a"] = 2
            thread = threading.Thread(target=lambda: seen.append(self.cache["a"]))
            thread.start()
            thread.join()
        self.assertEqual((seen, self.cache["a"]), ([1], 2))

    def test_threads_count_together(self):
        def work():
            for _ in range(25):
                self.cache.incr("n", retry=True)
                with self.cache.transact(retry=True):
                    self.cache["m"] = self.cache.get("m", 0) + 1

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((self.cache["n"], self.cache["m"]), (100, 100))

    def test_results_are_memoized(self):
        calls = []

        @self.cache.memoize(name="f", typed=True, tag="memo", ignore={1, "verbose"})
        def function(number, ignored=None, verbose=False):
            calls.append(number)
            return number

        for argument in (3, 3, 3.0):
            function(argument, object(), verbose=time.time())
        self.assertEqual(calls, [3, 3.0])
        self.assertIs(type(function(3.0)), float)
        self.assertIn(function.__cache_key__(3), self.cache)
        self.assertEqual(self.cache.evict("memo"), 2)
        with self.assertRaises(TypeError):
            self.cache.memoize(lambda: None)

    def test_memoized_results_of_no_time_are_not_kept(self):
        function = self.cache.memoize(expire=0)(lambda: 1)
        self.assertEqual((function(), len(self.cache)), (1, 0))

    def test_statistics(self):
        self.cache.stats(enable=True, reset=True)
        self.cache["a"] = 1
        for key in "aab":
            self.cache.get(key)
        self.assertEqual(self.cache.stats(enable=False, reset=True), (2, 1))
        self.cache.get("a")
        self.assertEqual(self.cache.stats(enable=False), (0, 0))

    def test_check_finds_no_problem(self):
        self.cache["a"] = b"x" * 100_000
        self.assertEqual(self.cache.check(), [])
        self.assertGreater(self.cache.volume(), 100_000)

    def test_a_closed_cache_opens_again(self):
        with self.cache as cache:
            cache["a"] = 1
        self.assertEqual(cache["a"], 1)
        self.cache.close()
        self.cache.close()
        self.assertEqual(self.cache.get("a"), 1)

    def test_two_objects_share_a_folder(self):
        with contextlib.closing(self.make(self.folder / "cache")) as other:
            other["a"] = 1
            self.assertEqual(self.cache["a"], 1)
        self.assertEqual(self.cache["a"], 1)
        self.assertEqual(other.directory, self.cache.directory)

    def test_a_pickle_opens_the_same_folder(self):
        self.cache["a"] = 1
        with contextlib.closing(pickle.loads(pickle.dumps(self.cache))) as other:
            self.assertEqual(other["a"], 1)

    def test_settings_are_attributes(self):
        self.assertEqual(self.cache.size_limit, 2**30)
        self.assertEqual(self.cache.reset("size_limit", 2**29), 2**29)
        self.assertEqual(self.cache.size_limit, 2**29)
        self.assertEqual(self.cache.timeout, 60)
        self.cache["a"] = 1
        self.assertEqual(self.cache.reset("count"), 1)
        with self.assertRaises(AttributeError):
            self.cache.nothing

    def test_a_folder_keeps_its_settings(self):
        path = self.folder / "kept"
        with self.make(path, size_limit=2**28, eviction_policy="least-recently-used") as cache:
            cache["a"] = 1
        with self.make(path) as cache:
            self.assertEqual((cache.size_limit, cache.eviction_policy), (2**28, "least-recently-used"))
            with self.make(path, size_limit=2**27) as other:
                self.assertEqual(other.size_limit, 2**27)
            self.assertEqual(cache["a"], 1)
        with self.make(path) as cache:
            self.assertEqual(cache.size_limit, 2**27)

    def test_a_folder_of_its_own(self):
        with contextlib.closing(self.module.Cache()) as cache:
            self.addCleanup(shutil.rmtree, cache.directory)
            cache["a"] = 1
            self.assertTrue(Path(cache.directory).is_dir())


class AdapterTests(Conformance, unittest.TestCase):
    """The adapter, and its differences."""
    module = vitrine.diskcache

    def test_differences_raise(self):
        for use in (
                lambda: self.make(self.folder / "x", disk=object), lambda: self.cache.disk,
                lambda: self.make(self.folder / "x", eviction_policy="none"),
                lambda: self.make(self.folder / "x", no_such_setting=1),
                lambda: self.cache.reset("eviction_policy", "least-recently-used"),
                lambda: self.cache.reset("sqlite_mmap_size"), lambda: self.cache.expire(now=1)):
            with self.assertRaises(NotImplementedError) as raised:
                use()
            self.assertRegex(str(raised.exception), r"^[A-Z].*\.$")

    def test_tags_are_not_pickled(self):
        for tag in ([1], True, 2**70):
            with self.assertRaises(TypeError):
                self.cache.set("a", 1, tag=tag)

    def test_long_keys_are_refused(self):
        for key in ("x" * 65_535, b"x" * 65_535):
            self.cache[key] = 1
            self.assertEqual(self.cache[key], 1)
            with self.assertRaises(ValueError):
                self.cache[key + key[:1]] = 1

    def test_a_sum_of_more_than_64_bits_is_refused(self):
        self.cache["a"] = 2**63 - 1
        with self.assertRaises(OverflowError):
            self.cache.incr("a")
        self.assertEqual(self.cache["a"], 2**63 - 1)

    def test_foreign_values_raise(self):
        folder = self.cache._folder
        for data in (b"", b"?", b"i123", b"f123"):
            folder.store[b"t" + b"key"] = data
            with self.assertRaises(ValueError):
                self.cache["key"]
        folder.store[b"?"] = b"i"
        with self.assertRaises(ValueError):
            list(self.cache)

    def test_another_process_reads_only(self):
        self.cache["a"] = 1

        def child(connection):
            connection.send(self.cache["a"])
            with self.assertRaises(vitrine.ReadOnlyError):
                self.cache["a"] = 2
            connection.send("refused")

        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=child, args=(theirs,))
        process.start()
        with contextlib.closing(ours):
            for expected in (1, "refused"):
                self.assertTrue(ours.poll(60))
                self.assertEqual(ours.recv(), expected)
        process.join(60)
        self.assertEqual(process.exitcode, 0)
        self.cache["a"] = 3
        self.assertEqual(self.cache["a"], 3)

    def test_a_failed_commit_changes_nothing(self):
        with contextlib.closing(self.make(self.folder / "small", size_limit=2 << 20)) as cache:
            cache["a"] = 1
            with self.assertRaises(vitrine.TooLargeError), cache.transact():
                cache["a"] = 2
                cache["b"] = b"x" * (4 << 20)
            self.assertEqual((list(cache), cache["a"]), (["a"], 1))

    def test_a_folder_is_closed_with_its_last_object(self):
        first, second = self.make(self.folder / "x"), self.make(self.folder / "x")
        first["a"] = 1
        first.close()
        with self.assertRaises(vitrine.LockedError):
            vitrine.Cache(self.folder / "x")
        del second
        with vitrine.Cache(self.folder / "x") as cache:
            self.assertEqual(len(cache), 1)

    def test_the_end_of_one_block_leaves_the_others(self):
        cache = self.make(self.folder / "x")
        with cache:
            with cache:
                cache["a"] = 1
            with self.assertRaises(vitrine.LockedError):
                vitrine.Cache(self.folder / "x")
            cache.close()
            with self.assertRaises(vitrine.LockedError):
                vitrine.Cache(self.folder / "x")
        with vitrine.Cache(self.folder / "x") as other:
            self.assertEqual(len(other), 1)

    def test_a_close_waits_for_the_transaction_of_another_thread(self):
        begun, closing = threading.Event(), threading.Event()

        def change():
            with self.cache.transact():
                self.cache["a"] = 1
                begun.set()
                closing.wait(10)
                time.sleep(0.05)
                self.cache["b"] = 2

        thread = threading.Thread(target=change)
        thread.start()
        begun.wait(10)
        closing.set()
        self.cache.close()
        thread.join()
        self.assertEqual((self.cache["a"], self.cache["b"]), (1, 2))

    def test_counting_goes_on_after_a_close(self):
        cache = self.make(self.folder / "x", statistics=1)
        cache["a"] = 1
        cache["a"]
        cache.close()
        cache["a"]
        self.assertEqual(cache.stats()[0], 2)

    def test_a_push_to_no_side_stores_nothing(self):
        with self.assertRaises(KeyError):
            self.cache.push(1, side="middle")
        self.assertEqual(len(self.cache), 0)

    def test_threads_open_a_closed_cache_once(self):
        self.cache.close()
        barrier = threading.Barrier(4)
        threads = [threading.Thread(target=lambda: (barrier.wait(), self.cache.get("a"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.cache.close()
        with vitrine.Cache(self.folder / "cache") as cache:
            self.assertFalse(cache.is_read_only)

    def test_a_reader_of_bytes_copies_nothing(self):
        self.cache["a"] = b"x" * 100_000
        with self.cache.read("a") as reader:
            self.cache.clear()
            self.assertEqual(reader.read(), b"x" * 100_000)


@unittest.skipIf(diskcache is None, "diskcache is not installed")
class DiskcacheTests(Conformance, unittest.TestCase):
    """The model of the adapter."""
    module = diskcache


if __name__ == "__main__":
    unittest.main()
