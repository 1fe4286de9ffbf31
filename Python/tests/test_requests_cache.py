"""The same tests for the backend for requests-cache and for the SQLite backend of requests-cache."""
import contextlib
import datetime
import importlib.util
import io
import multiprocessing
import os
import pickle
import shutil
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import vitrine
from test_vitrine import run_threads

IS_INSTALLED = importlib.util.find_spec("requests_cache") is not None
if IS_INSTALLED:
    import requests
    import requests_cache
    import urllib3
    from requests_cache import CachedResponse, CachedSession
    from vitrine.requests_cache import VitrineCache

BYTES = bytes(range(256)) * 10
PAST = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)
FUTURE = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)


def page(number):
    return f"http://site.test/page/{number}"


def redirect(number):
    return f"http://site.test/redirect/{number}"


def answer(request):
    """The status, the headers and the body of a site. /redirect/2 leads to /page/0 in two steps."""
    kind, _, rest = request.path_url[1:].partition("/")
    if kind == "redirect":
        return 302, {"Location": redirect(int(rest) - 1) if rest != "1" else page(0)}, b""
    if kind == "validated":
        is_known = request.headers.get("If-None-Match") == '"tag"'
        return 304 if is_known else 200, {"ETag": '"tag"', "Cache-Control": "max-age=1000"}, b"" if is_known else b"old"
    if kind == "bytes":
        return 200, {"Content-Type": "image/png"}, BYTES
    if kind == "json":
        return 200, {"Content-Type": "application/json"}, b'{"name": "\xc3\xa9", "numbers": [1, 2.5]}'
    return 200, {"Content-Type": "text/plain; charset=utf-8"}, f"\u00e9 {request.path_url}".encode()


class Odd:
    """An object whose expiry is not that of a response."""
    expires = 5


def send(adapter, request, **_):
    """Stands for the network in HTTPAdapter.send."""
    status, headers, body = answer(request)
    return adapter.build_response(
        request, urllib3.HTTPResponse(io.BytesIO(body), headers, status, preload_content=False))


class Conformance:
    """The behavior that is the same."""

    def make(self, name="cache", **settings):
        raise NotImplementedError

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        network = mock.patch("requests.adapters.HTTPAdapter.send", send)
        network.start()
        self.addCleanup(network.stop)
        self.backend = self.make()
        self.addCleanup(self.backend.close)
        self.session = self.open(self.backend)

    def open(self, backend, **settings):
        return CachedSession(backend=backend, **settings)

    @contextlib.contextmanager
    def no_network(self):
        with mock.patch("requests.adapters.HTTPAdapter.send", side_effect=requests.ConnectionError("down")):
            yield

    def fetch(self, url, **options):
        """Returns the parts of a response that are the same from the site and from the cache."""
        response = self.session.get(url, **options)
        history = [(one.status_code, one.url) for one in response.history]
        return response.status_code, dict(response.headers), response.content, response.encoding, response.url, history

    def save(self, url, expires):
        """Stores the page of a URL with an expiry. Returns its key."""
        response = requests.Session().get(url)
        self.backend.save_response(response, expires=expires)
        return self.backend.create_key(response.request)

    # Sessions

    def test_a_cached_response_equals_the_first(self):
        for url in (page(1), "http://site.test/bytes", "http://site.test/json", redirect(3)):
            first = self.fetch(url)
            with self.no_network():
                self.assertEqual(self.fetch(url), first)
                self.assertTrue(self.session.get(url).from_cache)

    def test_serializers(self):
        for serializer in ("pickle", "json", requests_cache.utf8_encoder, None):
            with self.subTest(serializer=serializer), contextlib.closing(self.make(serializer=serializer)) as backend:
                if serializer is requests_cache.utf8_encoder:
                    backend.responses["key"] = "\u00e9"
                    self.assertEqual(backend.responses["key"], "\u00e9")
                    continue
                session = self.open(backend)
                for url in ("http://site.test/bytes", page(1)):
                    first = session.get(url)
                    self.assertEqual((first.from_cache, session.get(url).from_cache), (False, True), url)
                    self.assertEqual(session.get(url).content, first.content)
            self.backend.clear()

    def test_decoded_json(self):
        with contextlib.closing(self.make(serializer="json", decode_content=True)) as backend:
            session = self.open(backend)
            session.get("http://site.test/json")
            with self.no_network():
                self.assertEqual(session.get("http://site.test/json").json(), {"name": "\u00e9", "numbers": [1, 2.5]})

    def test_redirects(self):
        self.session.get(redirect(2))
        self.assertEqual((len(self.backend.responses), len(self.backend.redirects)), (2, 2))
        with self.no_network():
            self.assertEqual(self.session.get(redirect(2)).url, page(0))
            self.assertEqual(self.session.get(redirect(1)).url, page(0))
        self.assertTrue(self.backend.contains(url=redirect(1)))
        self.backend.delete(urls=[redirect(2)])
        self.assertEqual((len(self.backend.responses), len(self.backend.redirects)), (1, 0))
        self.assertIsNone(self.backend.get_response("none"))

    def test_an_expired_response_is_sent_for_again(self):
        self.save(page(1), PAST)
        self.assertFalse(self.session.get(page(1)).from_cache)
        self.assertTrue(self.session.get(page(1)).from_cache)

    def test_an_expired_response_is_validated(self):
        url = "http://site.test/validated"
        self.save(url, PAST)
        session = self.open(self.backend, cache_control=True)
        response = session.get(url)
        self.assertEqual((response.from_cache, response.content, response.is_expired), (True, b"old", False))
        with self.no_network():
            self.assertEqual(session.get(url).content, b"old")

    def test_an_expired_response_is_used_if_the_request_fails(self):
        self.save(page(1), PAST)
        with self.no_network():
            with self.assertRaises(requests.ConnectionError):
                self.session.get(page(1))
            with self.assertLogs("requests_cache"):
                response = self.open(self.backend, stale_if_error=True).get(page(1))
        self.assertTrue(response.from_cache and response.is_expired)

    def test_a_response_that_expires_at_once_is_stored_only_to_validate_it(self):
        session = self.open(self.backend, expire_after=0)
        for url, is_stored in ((page(1), False), ("http://site.test/validated", True)):
            self.assertFalse(session.get(url).from_cache)
            self.assertEqual((session.get(url).from_cache, len(self.backend.responses)), (is_stored, is_stored))

    def test_a_large_response(self):
        content = os.urandom(9 << 20)
        self.backend.responses["a"] = CachedResponse(content=content)
        self.assertEqual(self.backend.responses["a"].content, content)

    def test_missing_parent_folders_are_made(self):
        with contextlib.closing(self.make("parent/folder/cache")) as backend:
            self.assertEqual(len(backend.responses), 0)

    def test_secrets_are_not_stored(self):
        self.session.get(page(1), headers={"Authorization": "secret"})
        (response,) = self.backend.responses.values()
        self.assertEqual(response.request.headers["Authorization"], "REDACTED")

    def test_other_keys(self):
        session = self.open(self.backend, key_fn=lambda request, **_: request.url + " \u00e9/")
        session.get(page(1))
        self.assertTrue(session.get(page(1)).from_cache)
        self.assertEqual(list(self.backend.responses), [page(1) + " \u00e9/"])

    def test_a_closed_session_opens_again(self):
        with self.session:
            self.session.get(page(1))
        with self.no_network():
            self.assertTrue(self.session.get(page(1)).from_cache)
        self.session.close()
        self.session.close()
        with contextlib.closing(self.make()) as backend:
            self.assertEqual(len(backend.responses), 1)

    def test_sessions_share_a_folder(self):
        with contextlib.closing(self.make()) as backend:
            other = self.open(backend)
            other.get(page(1))
            with self.no_network():
                self.assertTrue(self.session.get(page(1)).from_cache)
            other.close()
        self.assertTrue(self.session.get(page(1)).from_cache)

    def test_all_requests_are_cached(self):
        with requests_cache.enabled(backend=self.backend):
            requests.get(page(1))
            with self.no_network():
                self.assertTrue(requests.get(page(1)).from_cache)

    # Many responses

    def test_expired_responses_are_deleted(self):
        self.save(page(1), PAST)
        self.save(redirect(1), PAST)
        kept = {self.save(page(2), FUTURE), self.save(page(3), None)}
        self.assertEqual((len(self.backend.responses), len(self.backend.redirects)), (4, 1))
        self.backend.delete(expired=True)
        self.assertEqual((set(self.backend.responses), len(self.backend.redirects)), (kept, 0))

    def test_responses_are_deleted_on_conditions(self):
        keys = [self.save(page(number), None) for number in range(5)]
        self.backend.delete("none")
        self.backend.delete()
        self.assertEqual(len(self.backend.responses), 5)
        self.backend.delete(keys[0], "none")
        self.backend.delete(keys[1])
        self.assertEqual(set(self.backend.responses), set(keys[2:]))
        self.backend.delete(requests=[requests.Request("GET", page(2))])
        self.backend.delete(older_than=datetime.timedelta(days=1))
        self.assertEqual(set(self.backend.responses), set(keys[3:]))
        self.backend.delete(older_than=PAST + datetime.timedelta(days=2))
        self.assertEqual(len(self.backend.responses), 0)

    def test_invalid_responses_are_found(self):
        key = self.save(page(1), None)
        with contextlib.closing(self.make(serializer="json")) as other:
            other.responses["invalid"] = CachedResponse()
        with self.assertLogs("requests_cache"):
            self.assertIsNone(self.backend.responses["invalid"])
        with self.assertLogs("requests_cache"):
            self.assertIsNone(self.backend.get_response("invalid"))
        with self.assertLogs("requests_cache"):
            self.backend.delete(invalid=True)
        self.assertEqual(list(self.backend.responses), [key])

    def test_conditions_add_up(self):
        self.save(page(1), PAST)
        self.save(page(2), FUTURE)
        kept = self.save(page(3), FUTURE)
        self.backend.responses["invalid"] = None
        self.backend.delete(expired=True, invalid=True, urls=[page(2)])
        self.assertEqual(list(self.backend.responses), [kept])

    def test_expiries_far_away(self):
        for year in (1, 1960, 9999):
            self.backend.responses[str(year)] = CachedResponse(expires=datetime.datetime(year, 12, 31))
        self.assertEqual(self.backend.responses["1"].expires.year, 1)
        self.backend.delete(expired=True)
        self.assertEqual(list(self.backend.responses), ["9999"])

    def test_responses_are_filtered(self):
        old, new, never = self.save(page(1), PAST), self.save(page(2), FUTURE), self.save(page(3), None)

        def found(**conditions):
            return {response.cache_key for response in self.backend.filter(**conditions)}

        self.assertEqual(found(), {old, new, never})
        self.assertEqual(found(expired=False), {new, never})
        self.assertEqual(found(valid=False), {old})
        self.assertEqual(self.backend.urls(), [page(1), page(2), page(3)])
        self.assertEqual(self.backend.urls(expired=False), [page(2), page(3)])

    def test_expiries_are_reset(self):
        key = self.save(page(1), PAST)
        self.backend.reset_expiration(1000)
        self.backend.delete(expired=True)
        self.assertFalse(self.backend.responses[key].is_expired)
        self.backend.reset_expiration(PAST)
        self.backend.delete(expired=True)
        self.assertNotIn(key, self.backend.responses)

    def test_keys_are_made_again(self):
        key = self.save(page(1), None)
        response = self.backend.responses.pop(key)
        # Versions of requests-cache before 1.0 stored this for an empty body.
        response.request.body = b"None"
        self.backend.responses["old"] = response
        self.backend.recreate_keys()
        self.assertEqual(list(self.backend.responses), [key])

    def test_a_cache_is_copied(self):
        self.session.get(redirect(1))
        self.save(page(1), FUTURE)
        with contextlib.closing(self.make("copy")) as other:
            other.update(self.backend)
            session = self.open(other)
            with self.no_network():
                self.assertEqual(session.get(redirect(1)).url, page(0))
                self.assertEqual(session.get(page(1)).expires, FUTURE)

    def test_clear(self):
        self.session.get(redirect(2))
        self.backend.clear()
        self.backend.clear()
        self.assertEqual((len(self.backend.responses), len(self.backend.redirects)), (0, 0))
        self.assertFalse(self.backend.contains(url=page(0)))

    # The mappings

    def test_a_mapping_of_responses(self):
        storage = self.backend.responses
        self.assertFalse(storage)
        for key in ("a", "b", "c"):
            storage[key] = CachedResponse(url=key)
        self.assertEqual((len(storage), bool(storage)), (3, True))
        self.assertEqual((set(storage), set(storage.keys())), ({*"abc"}, {*"abc"}))
        self.assertEqual({value.cache_key: value.url for value in storage.values()}, {key: key for key in "abc"})
        self.assertEqual({key: value.url for key, value in storage.items()}, {key: key for key in "abc"})
        self.assertIn("'a'", str(storage))
        self.assertIn("a", storage)
        self.assertNotIn("d", storage)
        storage["a"] = CachedResponse(url="new")
        self.assertEqual((storage["a"].url, storage["a"].cache_key, len(storage)), ("new", "a", 3))
        self.assertEqual(storage.pop("a").url, "new")
        self.assertIsNone(storage.get("a"))
        with self.assertRaises(KeyError):
            storage["a"]
        with self.assertRaises(KeyError):
            del storage["a"]
        storage.bulk_delete(["b", "none"])
        storage.bulk_delete([])
        self.assertEqual(list(storage), ["c"])
        storage.clear()
        self.assertEqual(list(storage.items()), [])

    def test_a_key_that_is_not_text_has_no_value(self):
        self.assertNotIn(None, self.backend.responses)
        self.assertIsNone(self.backend.responses.get(None))
        self.assertIsNone(self.backend.get_response(None))
        with self.assertRaises(KeyError):
            del self.backend.responses[None]
        self.backend.delete(None, "none")

    def test_other_objects_are_stored(self):
        for value in ([1, "\u00e9"], Odd()):
            self.backend.responses["a"] = value
            self.assertIs(type(self.backend.responses["a"]), type(value))

    def test_a_mapping_of_redirects(self):
        self.backend.redirects.update({"a": "b", "\u00e9": "\u00e9"})
        self.backend.responses["a"] = CachedResponse(url="a")
        self.assertEqual(dict(self.backend.redirects.items()), {"a": "b", "\u00e9": "\u00e9"})
        self.assertEqual(self.backend.redirects, {"a": "b", "\u00e9": "\u00e9"})
        self.assertIn("b", self.backend.redirects.values())
        self.assertNotIn("a", self.backend.redirects.values())
        del self.backend.redirects["a"]
        self.assertIn("a", self.backend.responses)
        self.backend.redirects.clear()
        self.assertEqual((len(self.backend.redirects), len(self.backend.responses)), (0, 1))
        self.backend.redirects.update({"": "a", "a": "", "b": b""})
        self.assertEqual(dict(self.backend.redirects.items()), {"": "a", "a": "", "b": b""})


@unittest.skipUnless(IS_INSTALLED, "requests-cache is not installed")
class BackendTests(Conformance, unittest.TestCase):
    """The backend, and its differences."""

    def make(self, name="cache", **settings):
        return VitrineCache(self.folder / name, **settings)

    def child(self, function):
        """Runs a function in a forked child. Returns its exit status."""
        process = multiprocessing.get_context("fork").Process(target=function)
        process.start()
        process.join(60)
        return process.exitcode

    def test_another_writer_of_the_folder_raises(self):
        with vitrine.Cache(self.folder / "other"), self.assertRaises(vitrine.LockedError):
            self.make("other", wait=0)
        self.assertEqual(len(self.make("other").responses), 0)

    def test_another_process_reads_a_snapshot(self):
        self.session.get(page(1))

        def work():
            with self.assertRaises(vitrine.ClosedError):
                self.session.get(page(1))
            with self.assertRaises(vitrine.LockedError):
                self.make(wait=0)
            session = self.open(self.make(read_only=True), read_only=True)
            self.assertTrue(session.get(page(1)).from_cache)
            self.assertFalse(session.get(page(2)).from_cache)
            self.assertFalse(session.get(page(2)).from_cache)
            self.open(self.make("other")).get(page(1))

        self.assertEqual(self.child(work), 0)
        self.assertEqual(len(self.make("other").responses), 1)

    def test_a_read_only_backend_works_beside_a_writer_of_its_process(self):
        self.session.get(page(1))
        with contextlib.closing(self.make(read_only=True)) as reader:
            self.session.get(page(2))
            self.assertEqual((len(reader.responses), len(self.backend.responses)), (1, 2))
            with self.assertRaises(vitrine.ReadOnlyError):
                reader.clear()

    def test_an_open_cache_is_shared_and_stays_open(self):
        with vitrine.Cache(self.folder / "open") as cache:
            cache["picture"] = b"bytes"
            first, second = VitrineCache(cache=cache), VitrineCache(cache=cache, serializer="json")
            self.open(first).get(redirect(1))
            self.assertEqual((len(first.responses), len(first.redirects), len(cache)), (2, 1, 4))
            self.assertIn(first.create_key(requests.Request("GET", page(0))), second.responses)
            self.assertIn("VitrineCache", repr(first))
            first.close()
            with self.no_network():
                self.assertTrue(self.open(first).get(redirect(1)).from_cache)
            first.clear()
            self.assertEqual(list(cache), [vitrine.Key("picture")])
        with self.assertRaises(vitrine.ClosedError):
            len(first.responses)

    def test_a_backend_takes_a_path_or_a_cache(self):
        with vitrine.Cache(self.folder / "open") as cache:
            for arguments, settings in (
                    ((), {}), (("",), {}), ((self.folder / "x",), {"cache": cache}), ((), {"cache": cache, "wait": 0})):
                with self.assertRaises(ValueError):
                    VitrineCache(*arguments, **settings)

    def test_a_forked_child_opens_a_folder_that_its_parent_closed(self):
        self.session.get(page(1))
        self.session.close()

        def work():
            with self.no_network():
                self.assertTrue(self.session.get(page(1)).from_cache)

        self.assertEqual(self.child(work), 0)

    def test_a_folder_is_closed_with_its_last_backend(self):
        first, second = self.make("x"), self.make("x")
        self.open(first).get(page(1))
        first.close()
        with self.assertRaises(vitrine.LockedError):
            vitrine.Cache(self.folder / "x")
        del second
        with vitrine.Cache(self.folder / "x") as cache:
            self.assertEqual(len(cache), 1)

    def test_a_link_names_the_same_folder(self):
        (self.folder / "link").symlink_to("cache")
        self.session.get(page(1))
        self.assertEqual(len(self.make("link").responses), 1)

    def test_a_path_of_bytes_names_the_same_folder(self):
        self.session.get(page(1))
        backend = VitrineCache(os.fsencode(self.folder / "cache"), wait=0)
        self.assertEqual((len(backend.responses), backend.cache_name), (1, str(self.folder / "cache")))

    def test_a_tilde_is_the_home_folder(self):
        with mock.patch.dict(os.environ, HOME=str(self.folder)):
            self.assertEqual(len(VitrineCache("~/x").responses), 0)
        self.assertTrue((self.folder / "x").is_dir())

    def test_decoded_json_is_stored_as_text(self):
        with contextlib.closing(self.make("x", serializer="json", decode_content=True)) as backend:
            self.open(backend).get("http://site.test/json")
        with vitrine.Cache(self.folder / "x") as cache:
            (view,) = cache.values()
            self.assertIn(b"2.5", bytes(view))

    def test_threads_open_a_folder_once(self):
        barrier, backends = threading.Barrier(4), []

        def work(_):
            barrier.wait()
            backends.append(self.make("x", wait=0))

        run_threads(work, 4)
        self.assertEqual(len(backends), 4)

    def test_calls_and_closes_of_other_threads(self):
        backend = self.make("x", wait=60)

        def work(number):
            for _ in range(50):
                backend.responses[str(number)] = CachedResponse()
                self.assertIn(str(number), backend.responses)
                backend.close()

        run_threads(work, 4)
        self.assertEqual(len(backend.responses), 4)

    def test_threads_share_a_session(self):
        def work(first):
            for number in range(first, first + 10):
                self.session.get(page(number))
                self.session.get(redirect(1))
                self.backend.contains(url=page(number))
                self.backend.delete(urls=[page(number % 7)])
                list(self.backend.responses.values())

        run_threads(work, 4)
        self.assertTrue(self.session.get(page(12)).from_cache)

    def test_entries_expire_after_their_responses(self):
        with contextlib.closing(self.make("kept", keep_expired=datetime.timedelta(hours=1))) as backend:
            session = self.open(backend, expire_after=FUTURE)
            session.get(page(1))
            session.get(page(2), expire_after=requests_cache.NEVER_EXPIRE)
            response = CachedResponse.from_response(session.get(page(1)), expires=PAST)
            backend.responses["gone"] = response
            self.assertNotIn("gone", backend.responses)
            self.assertEqual(len(backend.responses), 2)
            with contextlib.closing(self.make("kept")) as other:
                other.responses["kept"] = response
            self.assertIn("kept", backend.responses)
            session.close()
        for time in (-1, float("inf"), float("nan")):
            with self.assertRaises(ValueError):
                self.make("kept", keep_expired=time)
        with vitrine.Cache(self.folder / "kept") as cache:
            expiries = {entry.expires for entry in cache.entries()}
        self.assertEqual(len(expiries), 2)
        expected = (FUTURE + datetime.timedelta(hours=1)).timestamp()
        self.assertAlmostEqual(max(filter(None, expiries)), expected, delta=0.01)

    def test_expired_responses_are_deleted_without_reading_them(self):
        self.save(page(1), PAST)
        with mock.patch.object(type(self.backend.responses), "deserialize", side_effect=AssertionError):
            self.backend.delete(expired=True)
        self.assertEqual(len(self.backend.responses), 0)

    def test_a_response_larger_than_the_budget_is_not_stored(self):
        with contextlib.closing(self.make("small", byte_budget=1 << 20)) as backend:
            backend.responses["a"] = CachedResponse(url="a")
            with self.assertLogs("vitrine"):
                backend.responses["a"] = CachedResponse(content=os.urandom(2 << 20))
            self.assertNotIn("a", backend.responses)

    def test_a_response_is_returned_without_free_space_on_the_disk(self):
        with contextlib.closing(self.make("full", byte_budget=4 << 20)) as backend:
            key = self.open(backend).get(page(1)).cache_key
        with contextlib.closing(self.make("full", minimum_free_bytes=1 << 60)) as backend:
            session, content = self.open(backend), os.urandom(2 << 20)
            with mock.patch(f"{__name__}.answer", lambda _: (200, {}, content)), self.assertLogs("vitrine"):
                self.assertEqual(session.get(page(1), force_refresh=True).content, content)
            self.assertNotIn(key, backend.responses)

    def test_a_response_with_a_key_above_the_limit_is_returned_without_storing_it(self):
        for size, is_stored in ((65_536, True), (65_537, False)):
            key = "k" * size
            session = self.open(self.backend, key_fn=lambda request, **_: key)
            with contextlib.nullcontext() if is_stored else self.assertLogs("vitrine"):
                session.get(page(1))
            self.assertEqual((len(self.backend.responses), key in self.backend.responses), (is_stored, is_stored))
            with contextlib.nullcontext() if is_stored else self.assertLogs("vitrine"):
                self.assertEqual(session.get(page(1)).from_cache, is_stored)
            self.backend.delete(key)
            self.backend.delete(key, "none")
            self.assertEqual(len(self.backend.responses), 0)

    def test_keys_are_made_again_in_a_full_folder(self):
        with contextlib.closing(self.make("full", byte_budget=1 << 20)) as backend:
            response = requests.Session().get("http://site.test/bytes")
            for number in range(40):
                response._content = os.urandom(50_000)
                backend.save_response(response, cache_key=f"old {number}")
            backend.responses["invalid"] = None
            backend._settings.key_fn = lambda request, **_: os.urandom(8).hex()
            self.assertGreater(len(backend.responses), 5)
            backend.recreate_keys()
            self.assertFalse([key for key in backend.responses if key.startswith("old")])
            self.assertGreater(len(backend.responses), 1)

    def test_entries_of_others_are_invalid(self):
        with vitrine.Cache(self.folder / "open") as cache:
            backend = VitrineCache(cache=cache)
            self.open(backend).get(page(1))
            cache.put(("a", "response"), b"bytes")
            cache.put(("b", "response"), b"\xff", metadata=b"\1" + bytes(8))
            cache.put(("c", "redirect"), b"bytes", metadata=b"metadata")
            with self.assertLogs("vitrine"):
                backend.delete(expired=True)
                self.assertEqual([backend.get_response(key) for key in "abc"], [None] * 3)
            with self.assertLogs("vitrine"):
                backend.delete(invalid=True)
            self.assertEqual((len(cache), len(backend.responses)), (1, 1))

    def test_bytes_that_are_no_response_are_invalid(self):
        values = {
            "pickle": [b"", b"\x80", b"garbage", pickle.dumps([])[:-1], pickle.dumps({"status_code": "x"}), b"\x8f."],
            "json": [b"", b"{", b'{"status_code": "x"}', b"[" * 100_000, b'{"headers": 5}', b"\xff"]}
        with vitrine.Cache(self.folder / "open") as cache, self.assertLogs():
            for serializer, stored in values.items():
                backend = VitrineCache(cache=cache, serializer=serializer)
                for value in stored:
                    with self.subTest(serializer=serializer, value=value[:20]):
                        metadata = bytes([serializer == "json"]) + bytes(8)
                        key = backend.create_key(requests.Request("GET", page(1)))
                        cache.put((key, "response"), value, metadata=metadata)
                        self.assertIsNone(backend.get_response(key))
                        self.assertFalse(self.open(backend).get(page(1)).from_cache)
                        self.assertTrue(self.open(backend).get(page(1)).from_cache)

    def test_entries_that_vanish_are_skipped(self):
        for key in "abc":
            self.backend.redirects[key] = key
        values = iter(self.backend.redirects.values())
        first = next(values)
        self.backend.redirects.bulk_delete({*"abc"} - {first})
        self.assertEqual(list(values), [])
        with mock.patch.object(type(self.backend.redirects), "__iter__", lambda _: iter([first, "gone"])):
            self.assertNotIn("other", self.backend.redirects.values())

    def test_other_types_than_text_and_bytes_raise(self):
        with contextlib.closing(self.make("other", serializer=requests_cache.dict_serializer)) as backend:
            with self.assertRaises(TypeError):
                backend.responses["a"] = CachedResponse()
        with self.assertRaises(TypeError):
            self.backend.redirects["a"] = 5

    def test_other_caches_are_copied(self):
        others = requests_cache.SQLiteCache(self.folder / "old.sqlite"), requests_cache.FileCache(self.folder / "old")
        for other in others:
            with contextlib.closing(other):
                self.open(other).get(page(1))
                self.backend.clear()
                self.backend.update(other)
                # The keys of requests-cache depend on the serializer.
                self.backend.recreate_keys()
                with self.no_network():
                    self.assertTrue(self.session.get(page(1)).from_cache)

    def test_the_example_of_the_readme_runs(self):
        readme = (Path(__file__).parent.parent / "README.md").read_text()
        (example,) = [part.split("```")[0] for part in readme.split("```python\n")[1:] if "requests_cache" in part]
        names = {}
        exec(example.replace("/var/cache", str(self.folder)), names)
        self.assertTrue(names["response"].from_cache)
        self.assertEqual(len(names["session"].cache.responses), 1)
        names["session"].close()


@unittest.skipUnless(IS_INSTALLED, "requests-cache is not installed")
class SQLiteBackendTests(Conformance, unittest.TestCase):
    """The model of the backend."""

    def make(self, name="cache", **settings):
        return requests_cache.SQLiteCache(self.folder / f"{name}.sqlite", **settings)


if __name__ == "__main__":
    unittest.main()
