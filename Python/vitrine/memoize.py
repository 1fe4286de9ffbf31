"""Keeps the results of functions in a cache."""
from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cache import Cache
    from .values import Duration


def _default_key(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> str:
    """The name of a function and a hash of its pickled arguments. The order of named arguments does not count."""
    pickled = pickle.dumps((arguments, sorted(named.items())), protocol=4)
    return f"{name}?{hashlib.blake2b(pickled, digest_size=16).hexdigest()}"


def memoize(
        cache: Cache, *, name: str | None = None, style: str = "original", ttl: Duration | None = None,
        idle: Duration | None = None, dumps: Callable[[Any], Any] = pickle.dumps,
        loads: Callable[[memoryview], Any] = pickle.loads, key: Callable[..., str | bytes] | None = None,
        ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that keeps the results of a function in a cache.

    name: the beginning of the URL of each result; the module and the name of the function if it is None.
    style: the style of each result, so that remove_style() removes all of them.
    ttl, idle: the expiry of each result.
    dumps, loads: make bytes of a result, and a result of a memoryview. The defaults pickle. Unpickling a folder that
    others can write runs their code. With dumps=bytes and loads=memoryview, results are views without a copy.
    key: makes the URL of a call from its arguments. By default, the arguments must be pickled to equal bytes.

    Two threads that call the function with the same arguments at once may both run it. The function has the attributes
    __wrapped__, and cache_key, which returns the key of a call.
    """
    if not hasattr(cache, "put"):
        raise TypeError("the first argument of memoize is a cache")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        beginning = name if name is not None else f"{function.__module__}.{function.__qualname__}"

        def cache_key(*arguments: Any, **named: Any) -> tuple[str | bytes, str]:
            url = key(*arguments, **named) if key is not None else _default_key(beginning, arguments, named)
            return url, style

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            place = cache_key(*arguments, **named)
            view = cache.get(place)
            if view is not None:
                return loads(view)
            result = function(*arguments, **named)
            cache.put(place, dumps(result), ttl=ttl, idle=idle)
            return result

        call.cache_key = cache_key  # type: ignore[attr-defined]
        return call

    return decorate
