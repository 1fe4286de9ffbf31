"""Runs the examples, if their libraries are installed."""
import contextlib
import importlib.util
import io
import os
import runpy
import shutil
import tempfile
import unittest
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "Examples" / "Python"


def is_installed(*names):
    return all(importlib.util.find_spec(name) for name in names)


class ExampleTests(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    @unittest.skipUnless(is_installed("numpy", "PIL"), "NumPy or Pillow is not installed")
    def test_a_bitmap_is_shown_without_a_copy(self):
        example = runpy.run_path(str(EXAMPLES / "show_bitmap.py"))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            array, image = example["main"](self.folder / "cache")
        self.assertIn("NumPy copies nothing: True, Pillow copies nothing: True", output.getvalue())
        self.assertIn("the bytes are the file of the store: True", output.getvalue())
        # Both are valid after the close of the cache.
        self.assertEqual(array.tolist(), example["draw"]().tolist())
        self.assertEqual(image.tobytes(), example["draw"]().tobytes())

    @unittest.skipUnless(is_installed("PIL"), "Pillow is not installed")
    def test_thumbnails_are_made_once(self):
        from PIL import Image
        example = runpy.run_path(str(EXAMPLES / "thumbnails.py"))
        pictures = [self.folder / f"{color}.png" for color in ("red", "blue")]
        for picture in pictures:
            Image.new("RGB", (640, 320), picture.stem).save(picture)

        def thumbnails(*arguments):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                example["main"]([
                    "--cache", str(self.folder / "cache"), *arguments, str(self.folder / "out"), *map(str, pictures)])
            return output.getvalue()

        self.assertEqual(thumbnails(), "2 thumbnails, 2 of them new\n")
        self.assertEqual(thumbnails(), "2 thumbnails, 0 of them new\n")
        with Image.open(self.folder / "out" / "red.png") as image:
            self.assertEqual((image.size, image.convert("RGB").getpixel((0, 0))), ((128, 64), (255, 0, 0)))
        self.assertEqual(thumbnails("--size", "64"), "2 thumbnails, 2 of them new\n")
        Image.new("RGB", (640, 320), "green").save(pictures[0])
        os.utime(pictures[0], (1, 1))
        self.assertEqual(thumbnails(), "2 thumbnails, 1 of them new\n")


if __name__ == "__main__":
    unittest.main()
