"""Loads the library by ctypes and stores a value. usage: load.py LIBRARY FOLDER"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.vitrine_version.restype = ctypes.c_char_p
library.vitrine_value_bytes.restype = ctypes.c_void_p
library.vitrine_value_size.restype = ctypes.c_size_t
for name in ("vitrine_value_bytes", "vitrine_value_size", "vitrine_value_release", "vitrine_store_release"):
    getattr(library, name).argtypes = [ctypes.c_void_p]

store, value = ctypes.c_void_p(), ctypes.c_void_p()
size = ctypes.c_size_t
error = ctypes.create_string_buffer(512)
assert library.vitrine_open(sys.argv[2].encode(), None, ctypes.byref(store), error) == 0, error.raw[16:]
assert library.vitrine_put(store, b"url", size(3), None, size(0), b"bytes", size(5), None, error) == 0, error.raw[16:]
assert library.vitrine_get(store, b"url", size(3), None, size(0), ctypes.byref(value), error) == 0, error.raw[16:]
library.vitrine_store_release(store)
assert ctypes.string_at(library.vitrine_value_bytes(value), library.vitrine_value_size(value)) == b"bytes"
library.vitrine_value_release(value)
print(library.vitrine_version().decode())
