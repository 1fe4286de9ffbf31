"""A crash-safe cache storage engine for images.

>>> with vitrine.Cache("/var/cache/pictures") as cache:
...     cache["https://example.org/cat.jpg"] = jpeg
...     view = cache["https://example.org/cat.jpg"]  # a memoryview of the store's own file, without a copy
"""
from . import _vitrine
from ._vitrine import (
    ClosedError, Error, LockedError, NoSpaceError, ReadOnlyError, StoreRemovedError, TooLargeError, Value)
from .cache import UNLIMITED, Batch, Cache
from .memoize import memoize
from .values import Entry, Key, Layout, PixelFormat

__all__ = [
    "UNLIMITED", "Batch", "Cache", "ClosedError", "Entry", "Error", "Key", "Layout", "LockedError", "NoSpaceError",
    "PixelFormat", "ReadOnlyError", "StoreRemovedError", "TooLargeError", "Value", "memoize"]
__version__ = _vitrine.version
