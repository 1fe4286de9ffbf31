"""Makes thumbnails of pictures, and keeps them in a cache. It needs Pillow.

usage: python thumbnails.py [--size PIXELS] [--cache FOLDER] OUTPUT PICTURE...
"""
import argparse
import io
import sys
from pathlib import Path

from PIL import Image

import vitrine


def make_thumbnail(picture, size):
    """The bytes of a PNG of at most size x size pixels."""
    with Image.open(picture) as image:
        image.thumbnail((size, size))
        output = io.BytesIO()
        image.save(output, "PNG")
    return output.getvalue()


def key_of(picture, size):
    """A changed picture has another URL. Thumbnails of another size have another style."""
    return f"{picture.resolve().as_uri()}?{picture.stat().st_mtime_ns}", f"thumbnail-{size}"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--cache", help="the folder of the cache; one in the user's folder for caches without it")
    parser.add_argument("output", type=Path, help="the folder of the thumbnails")
    parser.add_argument("pictures", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)

    if options.cache:
        cache = vitrine.Cache(options.cache, byte_budget=256 << 20, wait=10)
    else:
        cache = vitrine.Cache.named("thumbnails", byte_budget=256 << 20, wait=10)
    made = 0
    with cache:
        for picture in options.pictures:
            key = key_of(picture, options.size)
            if key not in cache:
                cache.put(key, make_thumbnail(picture, options.size), metadata=b"image/png", idle=30 * 86_400)
                made += 1
            # The file appears whole, and shares its blocks with the store where the file system can.
            cache.copy_to(key, options.output / f"{picture.stem}.png")
    print(f"{len(options.pictures)} thumbnails, {made} of them new")


if __name__ == "__main__":
    main(sys.argv[1:])
