"""Puts pixels into a cache, and shows them with NumPy and Pillow without a copy. It needs both libraries.

usage: python show_bitmap.py FOLDER
"""
import sys

import numpy
from PIL import Image

import vitrine

URL, STYLE = "https://example.org/gradient.png", "rectangle-320x240"
WIDTH, HEIGHT, ROW = 320, 240, 1280


def draw():
    """A gradient with 4 bytes for each pixel: red, green, blue, alpha."""
    pixels = numpy.empty((HEIGHT, WIDTH, 4), numpy.uint8)
    pixels[..., 0] = numpy.linspace(0, 255, WIDTH)
    pixels[..., 1] = numpy.linspace(0, 255, HEIGHT)[:, numpy.newaxis]
    pixels[..., 2:] = 128, 255
    return pixels


def as_array(value):
    """The pixels of a bitmap with 4 bytes for each pixel, as an array over the bytes of the store."""
    layout = value.layout
    return numpy.ndarray(
        (layout.height, layout.width, 4), numpy.uint8, buffer=value, strides=(layout.bytes_per_row, 4, 1))


def as_image(value):
    """The pixels of an RGBA bitmap, as an image over the bytes of the store."""
    layout = value.layout
    return Image.frombuffer(
        "RGBA", (layout.width, layout.height), value.view, "raw", "RGBA", layout.bytes_per_row, 1)


def main(folder):
    with vitrine.Cache(folder, byte_budget=64 << 20) as cache:
        layout = vitrine.Layout(WIDTH, HEIGHT, ROW, vitrine.PixelFormat.RGBA8888)
        cache.put((URL, STYLE), draw(), layout=layout)

        value = cache.lookup((URL, STYLE))
        array, image = as_array(value), as_image(value)
        mean = array.mean(axis=(0, 1)).round().astype(int).tolist()
        print(f"{layout.width} x {layout.height}, the mean color is {mean}")
        print(f"the pixel in the middle is {image.getpixel((WIDTH // 2, HEIGHT // 2))}")

        is_shared = numpy.shares_memory(array, numpy.frombuffer(value, numpy.uint8))
        # Pillow marks an image over the memory of another object as read-only.
        print(f"NumPy copies nothing: {is_shared}, Pillow copies nothing: {bool(image.readonly)}")
        print(f"the bytes are the file of the store: {not value.is_copy}")
    # The array and the image are valid after the close, as long as they exist.
    return array, image


if __name__ == "__main__":
    main(sys.argv[1])
