"""Keys, entries and layouts, and the units of times."""
from __future__ import annotations

from datetime import timedelta
from enum import IntEnum
from typing import NamedTuple, Union

from . import _vitrine

#: A length of time: seconds or a timedelta.
Duration = Union[float, timedelta]


class Key(NamedTuple):
    """A URL and a style. Bytes of a URL that are not UTF-8 are surrogates in the text."""
    url: str
    style: str = "original"


class Entry(NamedTuple):
    """An entry without its bytes. Times are seconds since 1970, as those of time.time(). None is never or unknown."""
    key: Key
    metadata: bytes
    size: int
    stored_size: int
    written: float
    expires: float | None
    idle_limit: float | None
    last_used: float | None
    is_pinned: bool


class PixelFormat(IntEnum):
    """The order and the size of the channels of a pixel."""
    BGRA8888 = 1
    BGRX8888 = 2
    RGBA8888 = 3
    RGBX8888 = 4
    RGB565 = 5
    GRAY8 = 6

    @property
    def pixel_bytes(self) -> int:
        """The number of bytes of a pixel."""
        return {PixelFormat.RGB565: 2, PixelFormat.GRAY8: 1}.get(self, 4)


class Layout(NamedTuple):
    """The layout of a bitmap. With bytes_per_row 0, a put packs the rows."""
    width: int
    height: int
    bytes_per_row: int
    pixel_format: PixelFormat

    @classmethod
    def _of(cls, width: int, height: int, bytes_per_row: int, pixel_format: int) -> Layout:
        return cls(width, height, bytes_per_row, PixelFormat(pixel_format))


_vitrine._set_layout_type(Layout)


def seconds_of(duration: Duration) -> float:
    """The seconds of a length of time."""
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


def milliseconds_of(duration: Duration) -> int:
    """The milliseconds of a length of time."""
    return int(seconds_of(duration) * 1000)


def seconds_or_none(milliseconds: int) -> float | None:
    """Seconds; None for 0 milliseconds."""
    return milliseconds / 1000 if milliseconds else None
