"""Builds the extension, and the shared library that it needs, which goes into the package beside it.

The library is built by Swift, in the repository of this folder. VITRINE_LIBRARY names a library that is built already.
"""
import os, shutil, subprocess, sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "Sources" / "CVitrine" / "include"
NAME = "libvitrine.so.0"


def built_library():
    """The path of the shared library. Builds it if the environment names none."""
    named = os.environ.get("VITRINE_LIBRARY")
    if named:
        return Path(named)
    if not (ROOT / "scripts" / "library").exists():
        sys.exit("vitrine: build this package in its repository, or set VITRINE_LIBRARY to the path of " + NAME)
    folder = os.environ.get("VITRINE_BUILD", str(ROOT / ".build"))
    done = subprocess.run([str(ROOT / "scripts" / "library"), folder], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit("vitrine: Swift could not build the library; its messages are above")
    return ROOT / done.stdout.strip().splitlines()[-1]


class BuildWithLibrary(build_ext):
    """Copies the library into the package, and links the extension with the copy."""

    def build_extension(self, extension):
        package = Path(self.get_ext_fullpath(extension.name)).parent
        package.mkdir(parents=True, exist_ok=True)
        shutil.copy(built_library(), package / NAME)
        extension.extra_objects = [str(package / NAME)]
        extension.extra_link_args = ["-Wl,-rpath,$ORIGIN"]
        super().build_extension(extension)


setup(
    ext_modules=[
        Extension(
            "vitrine._vitrine", ["src/_vitrine.c"], include_dirs=[str(HEADERS)], py_limited_api=True,
            depends=[str(HEADERS / "vitrine.h")],
            extra_compile_args=["-Wall", "-Wextra"])
    ],
    cmdclass={"build_ext": BuildWithLibrary},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
