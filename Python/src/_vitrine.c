/* The extension under the package: vitrine.h for Python, with the limited API of 3.11. Calls that may wait release the
   lock of the interpreter, so threads of Python use a store at the same time. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <vitrine.h>

typedef struct {
  PyObject_HEAD
  vitrine_store *handle;
  unsigned fork_count; /* the number of forks before the opening */
} Store;

typedef struct {
  PyObject_HEAD
  vitrine_value *handle;
  vitrine_value_info info;
} Value;

typedef struct {
  PyObject_HEAD
  vitrine_cursor *handle;
} Cursor;

typedef struct {
  PyObject_HEAD
  vitrine_batch *handle;
  int is_written; /* a write of the batch runs */
} Batch;

static PyObject *value_type, *cursor_type, *store_type, *batch_type;
/* The class of the layouts of bitmaps. The package sets it. */
static PyObject *layout_type;
/* The class of errors, and a subclass for each status that programs handle. */
static PyObject *base_error;
static struct {
  vitrine_status status;
  const char *name;
  PyObject *type;
} error_types[] = {
  {VITRINE_ERROR_NO_SPACE, "vitrine.NoSpaceError", NULL},
  {VITRINE_ERROR_TOO_LARGE, "vitrine.TooLargeError", NULL},
  {VITRINE_ERROR_LOCKED, "vitrine.LockedError", NULL},
  {VITRINE_ERROR_CLOSED, "vitrine.ClosedError", NULL},
  {VITRINE_ERROR_READ_ONLY, "vitrine.ReadOnlyError", NULL},
  {VITRINE_ERROR_STORE_REMOVED, "vitrine.StoreRemovedError", NULL},
};
enum { ERROR_TYPES = sizeof error_types / sizeof error_types[0] };

/* A function for METH_FASTCALL. */
#define FAST(function) (PyCFunction)(void (*)(void))(function)

/* --- Forks --- */

/* vitrine_borrow does not recognize the child of a fork, in which it may wait forever. */
static unsigned fork_count;
static void count_fork(void) { fork_count++; }

/* --- Errors --- */

static void set_number(PyObject *error, const char *name, long number) {
  PyObject *value = PyLong_FromLong(number);
  if (!value || PyObject_SetAttrString(error, name, value) < 0) PyErr_Clear();
  Py_XDECREF(value);
}

/* Raises an error and returns NULL. An invalid argument is a ValueError and a lack of memory a MemoryError, as Python
   programs expect. */
static PyObject *raise_error(const vitrine_error *error) {
  PyObject *type = base_error, *made;
  int index;
  if (error->status == VITRINE_ERROR_INVALID_ARGUMENT) {
    PyErr_SetString(PyExc_ValueError, error->text);
    return NULL;
  }
  if (error->status == VITRINE_ERROR_SYSTEM && error->system_code == ENOMEM) return PyErr_NoMemory();
  for (index = 0; index < ERROR_TYPES; index++) {
    if (error_types[index].status == error->status) type = error_types[index].type;
  }
  made = PyObject_CallFunction(type, "s", error->text);
  if (!made) return NULL;
  set_number(made, "status", error->status);
  set_number(made, "system_code", error->system_code);
  set_number(made, "process_id", error->process_id);
  PyErr_SetObject(type, made);
  Py_DECREF(made);
  return NULL;
}

/* Raises the error of a call without an error struct. */
static PyObject *raise_status(vitrine_status status) {
  vitrine_error error = {0};
  error.status = status;
  PyOS_snprintf(error.text, sizeof error.text, "%s", vitrine_status_text(status));
  return raise_error(&error);
}

static int has_count(Py_ssize_t count, Py_ssize_t expected) {
  if (count == expected) return 1;
  PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", expected, count);
  return 0;
}

/* --- Arguments --- */

/* A key. `owner` keeps the bytes of the URL if the object of the caller does not. */
struct key {
  const char *url, *style;
  size_t url_length, style_length;
  PyObject *owner;
};

static void free_key(struct key *key) { Py_XDECREF(key->owner); }

/* Reads a URL: text, whose surrogates are bytes that are not UTF-8, or an object with bytes. */
static int read_url(PyObject *object, struct key *key) {
  Py_ssize_t length;
  char *bytes;
  if (PyUnicode_Check(object)) {
    key->url = PyUnicode_AsUTF8AndSize(object, &length);
    if (key->url) {
      key->url_length = (size_t)length;
      return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return 0;
    PyErr_Clear();
    object = key->owner = PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape");
    if (!object) return 0;
  } else if (!PyBytes_Check(object)) {
    if (!PyObject_CheckBuffer(object)) {
      PyErr_SetString(PyExc_TypeError, "a URL is text or bytes, and a key is a URL or a tuple of a URL and a style");
      return 0;
    }
    object = key->owner = PyBytes_FromObject(object);
    if (!object) return 0;
  }
  if (PyBytes_AsStringAndSize(object, &bytes, &length) < 0) {
    Py_CLEAR(key->owner);
    return 0;
  }
  key->url = bytes;
  key->url_length = (size_t)length;
  return 1;
}

/* Reads a style: None for "original", or text. */
static int read_style(PyObject *object, struct key *key) {
  Py_ssize_t length;
  if (object == Py_None) return 1;
  if (!PyUnicode_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "a style is text");
    return 0;
  }
  key->style = PyUnicode_AsUTF8AndSize(object, &length);
  if (!key->style) return 0;
  key->style_length = (size_t)length;
  if (length == 0) {
    PyErr_SetString(PyExc_ValueError, "a style has 1 to 255 bytes");
    return 0;
  }
  return 1;
}

/* Reads a key: a URL, or a tuple of a URL and a style. The caller frees it if the result is 1. */
static int read_key(PyObject *object, struct key *key) {
  memset(key, 0, sizeof *key);
  if (!PyTuple_Check(object)) return read_url(object, key);
  if (PyTuple_Size(object) != 2) {
    PyErr_SetString(PyExc_TypeError, "a key is a URL or a tuple of a URL and a style");
    return 0;
  }
  if (!read_url(PyTuple_GetItem(object, 0), key)) return 0;
  if (read_style(PyTuple_GetItem(object, 1), key)) return 1;
  free_key(key);
  return 0;
}

/* Reads a digest of 32 hexadecimal digits. */
static int read_digest(PyObject *object, vitrine_condition *condition) {
  Py_ssize_t length, index;
  const char *text = PyUnicode_AsUTF8AndSize(object, &length);
  uint64_t halves[2] = {0, 0};
  if (!text) return 0;
  for (index = 0; length == 32 && index < 32; index++) {
    char digit = text[index];
    unsigned value = digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
                     : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a' + 10)
                     : digit >= 'A' && digit <= 'F' ? (unsigned)(digit - 'A' + 10)
                                                    : 16;
    if (value == 16) break;
    halves[index / 16] = halves[index / 16] << 4 | value;
  }
  if (length != 32 || index < 32) {
    PyErr_SetString(PyExc_ValueError, "a digest has 32 hexadecimal digits");
    return 0;
  }
  condition->digest_high = halves[0];
  condition->digest_low = halves[1];
  return 1;
}

static int read_number(PyObject *object, long long least, long long most, const char *name, long long *number) {
  *number = PyLong_AsLongLong(object);
  if (*number == -1 && PyErr_Occurred()) return 0;
  if (*number >= least && *number <= most) return 1;
  PyErr_Format(PyExc_ValueError, "%s is outside its limits", name);
  return 0;
}

static int read_int32(PyObject *object, const char *name, int32_t *number) {
  long long value;
  if (!read_number(object, INT32_MIN, INT32_MAX, name, &value)) return 0;
  *number = (int32_t)value;
  return 1;
}

/* The arguments of a put. */
struct put {
  struct key key;
  Py_buffer bytes, metadata;
  vitrine_put_options options;
};

static void free_put(struct put *put) {
  free_key(&put->key);
  if (put->bytes.obj) PyBuffer_Release(&put->bytes);
  if (put->metadata.obj) PyBuffer_Release(&put->metadata);
}

/* Reads the key and the bytes of a put without options. */
static int read_plain_put(PyObject *key, PyObject *bytes, struct put *put) {
  memset(put, 0, sizeof *put);
  if (!read_key(key, &put->key)) return 0;
  put->options.size = sizeof put->options;
  if (PyObject_GetBuffer(bytes, &put->bytes, PyBUF_SIMPLE) == 0) return 1;
  free_key(&put->key);
  return 0;
}

static int read_layout(PyObject *layout, vitrine_put_options *options) {
  long long numbers[4];
  int index;
  if (layout == Py_None) return 1;
  if (!PyTuple_Check(layout) || PyTuple_Size(layout) != 4) {
    PyErr_SetString(PyExc_TypeError, "a layout is a tuple of 4 numbers");
    return 0;
  }
  for (index = 0; index < 4; index++) {
    PyObject *number = PyTuple_GetItem(layout, index);
    if (!read_number(number, 0, UINT32_MAX, "a number of the layout", &numbers[index])) return 0;
  }
  options->width = (uint32_t)numbers[0];
  options->height = (uint32_t)numbers[1];
  options->bytes_per_row = (uint32_t)numbers[2];
  options->pixel_format = (uint32_t)numbers[3];
  return 1;
}

enum { PUT_ARGUMENTS = 9 };

/* Reads (key, bytes, metadata, expiration, sliding, durability, pin, layout, page_aligned). The caller frees it if the
   result is 1. */
static int read_put(PyObject *const *arguments, struct put *put) {
  long long expiration, sliding;
  if (!read_plain_put(arguments[0], arguments[1], put)) return 0;
  if (PyObject_GetBuffer(arguments[2], &put->metadata, PyBUF_SIMPLE) == 0 &&
      read_number(arguments[3], INT64_MIN, INT64_MAX, "expires", &expiration) &&
      read_number(arguments[4], INT64_MIN, INT64_MAX, "idle", &sliding) &&
      read_int32(arguments[5], "durable", &put->options.durability) &&
      read_int32(arguments[6], "pinned", &put->options.pin) && read_layout(arguments[7], &put->options) &&
      read_int32(arguments[8], "page_aligned", &put->options.page_aligned)) {
    put->options.metadata = put->metadata.buf;
    put->options.metadata_length = (size_t)put->metadata.len;
    put->options.expiration = expiration;
    put->options.sliding_expiration = sliding;
    return 1;
  }
  free_put(put);
  return 0;
}

/* --- Objects --- */

/* Frees an object of a heap type. */
static void free_object(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *make_value(vitrine_value *handle) {
  vitrine_status status;
  Value *value = (Value *)PyType_GenericAlloc((PyTypeObject *)value_type, 0);
  if (!value) {
    vitrine_value_release(handle);
    return NULL;
  }
  value->handle = handle;
  value->info.size = sizeof value->info;
  status = vitrine_value_get_info(handle, &value->info);
  if (status < 0) {
    Py_DECREF(value);
    return raise_status(status);
  }
  return (PyObject *)value;
}

static void value_dealloc(PyObject *self) {
  vitrine_value *handle = ((Value *)self)->handle;
  /* Frees a file if it is the last value of an unlinked one. */
  Py_BEGIN_ALLOW_THREADS
  vitrine_value_release(handle);
  Py_END_ALLOW_THREADS
  free_object(self);
}

static int value_getbuffer(PyObject *self, Py_buffer *view, int flags) {
  const vitrine_value_info *info = &((Value *)self)->info;
  return PyBuffer_FillInfo(view, self, (void *)info->bytes, (Py_ssize_t)info->byte_count, 1, flags);
}

static Py_ssize_t value_length(PyObject *self) { return (Py_ssize_t)((Value *)self)->info.byte_count; }

static PyObject *value_view(PyObject *self, void *nothing) { return (void)nothing, PyMemoryView_FromObject(self); }

static PyObject *value_metadata(PyObject *self, void *nothing) {
  const vitrine_value_info *info = &((Value *)self)->info;
  (void)nothing;
  return PyBytes_FromStringAndSize(info->metadata, (Py_ssize_t)info->metadata_length);
}

static PyObject *value_written(PyObject *self, void *nothing) {
  return (void)nothing, PyFloat_FromDouble((double)((Value *)self)->info.written / 1000);
}

static PyObject *value_expires(PyObject *self, void *nothing) {
  int64_t expiration = ((Value *)self)->info.expiration;
  (void)nothing;
  if (expiration == 0) Py_RETURN_NONE;
  return PyFloat_FromDouble((double)expiration / 1000);
}

static PyObject *value_encoding(PyObject *self, void *nothing) {
  static const char *const names[] = {"plain", "zstd", "bitmap"};
  int32_t encoding = ((Value *)self)->info.encoding;
  (void)nothing;
  return PyUnicode_FromString(encoding >= 0 && encoding < 3 ? names[encoding] : "unknown");
}

static PyObject *value_digest(PyObject *self, void *nothing) {
  const vitrine_value_info *info = &((Value *)self)->info;
  char text[33];
  (void)nothing;
  PyOS_snprintf(
    text, sizeof text, "%016llx%016llx", (unsigned long long)info->digest_high, (unsigned long long)info->digest_low);
  return PyUnicode_FromString(text);
}

static PyObject *value_is_copy(PyObject *self, void *nothing) {
  return (void)nothing, PyBool_FromLong(((Value *)self)->info.is_copy);
}

static PyObject *value_layout(PyObject *self, void *nothing) {
  const vitrine_value_info *info = &((Value *)self)->info;
  (void)nothing;
  if (info->width == 0 || !layout_type) Py_RETURN_NONE;
  return PyObject_CallMethod(
    layout_type, "_of", "IIII", info->width, info->height, info->bytes_per_row, info->pixel_format);
}

static PyObject *value_bytes(PyObject *self, PyObject *nothing) {
  const vitrine_value_info *info = &((Value *)self)->info;
  (void)nothing;
  return PyBytes_FromStringAndSize(info->bytes, (Py_ssize_t)info->byte_count);
}

static PyObject *value_is_damaged(PyObject *self, PyObject *nothing) {
  vitrine_value *handle = ((Value *)self)->handle;
  int32_t is_damaged;
  (void)nothing;
  Py_BEGIN_ALLOW_THREADS
  is_damaged = vitrine_value_is_damaged(handle);
  Py_END_ALLOW_THREADS
  if (is_damaged < 0) return raise_status(is_damaged);
  return PyBool_FromLong(is_damaged);
}

static PyMethodDef value_methods[] = {
  {"__bytes__", value_bytes, METH_NOARGS, "Returns a copy of the bytes."},
  {"is_damaged", value_is_damaged, METH_NOARGS,
   "Returns whether the bytes differ from those that were put. Reads the file."},
  {NULL, NULL, 0, NULL},
};

static PyGetSetDef value_properties[] = {
  {"view", value_view, NULL, "The bytes as a memoryview, without a copy.", NULL},
  {"metadata", value_metadata, NULL, "The metadata of the entry as of the get.", NULL},
  {"written", value_written, NULL, "The time of the put, in seconds since 1970.", NULL},
  {"expires", value_expires, NULL,
   "The time at which the entry expires, in seconds since 1970. None if never, or if it depends on the last use.",
   NULL},
  {"encoding", value_encoding, NULL, "The stored form: plain, zstd or bitmap.", NULL},
  {"digest", value_digest, NULL, "XXH3-128 of the bytes, as 32 hexadecimal digits.", NULL},
  {"is_copy", value_is_copy, NULL,
   "Whether the bytes are private memory: those of a compressed value, for example.", NULL},
  {"layout", value_layout, NULL, "The layout of a bitmap. None for any other value.", NULL},
  {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot value_slots[] = {
  {Py_tp_doc,
   "A value of a cache. memoryview(value) and value.view are its bytes, without a copy. They are read-only, and stay "
   "valid as long as the value or a view of it exists: also after the removal of the entry and the end of the cache."},
  {Py_tp_dealloc, value_dealloc},
  {Py_tp_methods, value_methods},
  {Py_tp_getset, value_properties},
  {Py_bf_getbuffer, value_getbuffer},
  {Py_sq_length, value_length},
  {0, NULL},
};

static PyType_Spec value_spec = {
  "vitrine.Value", sizeof(Value), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, value_slots};

/* --- Cursor --- */

static void cursor_dealloc(PyObject *self) {
  vitrine_cursor *handle = ((Cursor *)self)->handle;
  Py_BEGIN_ALLOW_THREADS
  vitrine_cursor_release(handle);
  Py_END_ALLOW_THREADS
  free_object(self);
}

static PyObject *cursor_next(PyObject *self) {
  vitrine_entry entry;
  vitrine_status status;
  entry.size = sizeof entry;
  status = vitrine_cursor_next(((Cursor *)self)->handle, &entry);
  if (status == VITRINE_END) return NULL;
  if (status < 0) return raise_status(status);
  return Py_BuildValue(
    "(y#y#y#KKLLLLI)", entry.url, (Py_ssize_t)entry.url_length, entry.style, (Py_ssize_t)entry.style_length,
    (const char *)entry.metadata, (Py_ssize_t)entry.metadata_length, (unsigned long long)entry.byte_count,
    (unsigned long long)entry.stored_byte_count, (long long)entry.written, (long long)entry.expiration,
    (long long)entry.sliding_expiration, (long long)entry.last_used, entry.flags);
}

static PyType_Slot cursor_slots[] = {
  {Py_tp_doc, "The entries of a store at one moment, as tuples."},
  {Py_tp_dealloc, cursor_dealloc},
  {Py_tp_iter, PyObject_SelfIter},
  {Py_tp_iternext, cursor_next},
  {0, NULL},
};

static PyType_Spec cursor_spec = {
  "vitrine._vitrine.Cursor", sizeof(Cursor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, cursor_slots};

/* --- Batch --- */

static PyObject *batch_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  vitrine_error error;
  Batch *batch;
  (void)arguments, (void)names;
  batch = (Batch *)PyType_GenericAlloc(type, 0);
  if (!batch) return NULL;
  if (vitrine_batch_create(&batch->handle, &error) < 0) {
    Py_DECREF(batch);
    return raise_error(&error);
  }
  return (PyObject *)batch;
}

static void batch_dealloc(PyObject *self) {
  vitrine_batch_release(((Batch *)self)->handle);
  free_object(self);
}

/* A write of the batch reads it without the lock of the interpreter. */
static int can_change(PyObject *self) {
  if (!((Batch *)self)->is_written) return 1;
  PyErr_SetString(PyExc_RuntimeError, "another thread writes this batch");
  return 0;
}

static PyObject *batch_put(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  struct put put;
  vitrine_error error;
  vitrine_status status;
  if (!has_count(count, PUT_ARGUMENTS) || !read_put(arguments, &put)) return NULL;
  if (!can_change(self)) {
    free_put(&put);
    return NULL;
  }
  status = vitrine_batch_put(
    ((Batch *)self)->handle, put.key.url, put.key.url_length, put.key.style, put.key.style_length, put.bytes.buf,
    (size_t)put.bytes.len, &put.options, &error);
  free_put(&put);
  if (status < 0) return raise_error(&error);
  Py_RETURN_NONE;
}

static PyObject *batch_remove(PyObject *self, PyObject *object) {
  struct key key;
  vitrine_error error;
  vitrine_status status;
  if (!read_key(object, &key)) return NULL;
  if (!can_change(self)) {
    free_key(&key);
    return NULL;
  }
  status =
    vitrine_batch_remove(((Batch *)self)->handle, key.url, key.url_length, key.style, key.style_length, &error);
  free_key(&key);
  if (status < 0) return raise_error(&error);
  Py_RETURN_NONE;
}

static PyObject *batch_clear(PyObject *self, PyObject *nothing) {
  vitrine_status status;
  (void)nothing;
  if (!can_change(self)) return NULL;
  status = vitrine_batch_clear(((Batch *)self)->handle);
  if (status < 0) return raise_status(status);
  Py_RETURN_NONE;
}

static Py_ssize_t batch_length(PyObject *self) { return (Py_ssize_t)vitrine_batch_count(((Batch *)self)->handle); }

static PyMethodDef batch_methods[] = {
  {"_put", FAST(batch_put), METH_FASTCALL, NULL},
  {"remove", batch_remove, METH_O, "Adds a removal. A key without an entry is no error."},
  {"clear", batch_clear, METH_NOARGS, "Removes all changes from the batch."},
  {NULL, NULL, 0, NULL},
};

static PyType_Slot batch_slots[] = {
  {Py_tp_doc, "Changes that a store makes together. Not for two threads at once."},
  {Py_tp_new, batch_new},
  {Py_tp_dealloc, batch_dealloc},
  {Py_tp_methods, batch_methods},
  {Py_sq_length, batch_length},
  {0, NULL},
};

static PyType_Spec batch_spec = {
  "vitrine._vitrine.Batch", sizeof(Batch), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, batch_slots};

/* --- Opening and closing --- */

/* Opens the store: (path, is_named, byte_budget, entry_budget, minimum_free_bytes, maximum_age, maximum_idle,
   wait_for_lock, durability, policy, compression_level, verification, reads, flags). */
static PyObject *store_open(PyObject *self, PyObject *arguments) {
  Store *store = (Store *)self;
  const char *path;
  int is_named, flags;
  long long byte_budget, entry_budget, minimum_free_bytes, maximum_age, maximum_idle, wait_for_lock;
  vitrine_options options = {0};
  vitrine_store *handle;
  vitrine_status status;
  vitrine_error error;
  if (!PyArg_ParseTuple(
        arguments, "ypLLLLLLiiiiii", &path, &is_named, &byte_budget, &entry_budget, &minimum_free_bytes, &maximum_age,
        &maximum_idle, &wait_for_lock, &options.durability, &options.policy, &options.compression_level,
        &options.verification, &options.reads, &flags)) {
    return NULL;
  }
  if (store->handle) {
    PyErr_SetString(PyExc_RuntimeError, "this cache was opened before");
    return NULL;
  }
  options.size = sizeof options;
  options.byte_budget = byte_budget;
  options.entry_budget = entry_budget;
  options.minimum_free_bytes = minimum_free_bytes;
  options.maximum_age = maximum_age;
  options.maximum_idle = maximum_idle;
  options.wait_for_lock = wait_for_lock;
  options.flags = (uint32_t)flags;
  Py_BEGIN_ALLOW_THREADS
  status = (is_named ? vitrine_open_named : vitrine_open)(path, &options, &handle, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  /* Two threads may call __init__ at once. */
  if (store->handle) {
    vitrine_store_release(handle);
    PyErr_SetString(PyExc_RuntimeError, "this cache was opened before");
    return NULL;
  }
  store->handle = handle;
  store->fork_count = fork_count;
  Py_RETURN_NONE;
}

static void store_dealloc(PyObject *self) {
  vitrine_store *handle = ((Store *)self)->handle;
  Py_BEGIN_ALLOW_THREADS
  vitrine_store_release(handle);
  Py_END_ALLOW_THREADS
  free_object(self);
}

typedef vitrine_status (*plain_function)(vitrine_store *, vitrine_error *);

static PyObject *call(PyObject *self, plain_function function) {
  vitrine_store *handle = ((Store *)self)->handle;
  vitrine_error error;
  vitrine_status status;
  Py_BEGIN_ALLOW_THREADS
  status = function(handle, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  Py_RETURN_NONE;
}

static vitrine_status compact(vitrine_store *store, vitrine_error *error) {
  return vitrine_compact(store, NULL, NULL, NULL, error);
}

static vitrine_status remove_all(vitrine_store *store, vitrine_error *error) {
  return vitrine_remove_all(store, 0, error);
}

static PyObject *store_flush_all(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, vitrine_flush); }
static PyObject *store_close(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, vitrine_close); }
static PyObject *store_suspend(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, vitrine_suspend); }
static PyObject *store_resume(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, vitrine_resume); }
static PyObject *store_compact(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, compact); }
static PyObject *store_clear(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, remove_all); }

static PyObject *store_is_read_only(PyObject *self, void *nothing) {
  int32_t answer = vitrine_is_read_only(((Store *)self)->handle);
  (void)nothing;
  if (answer < 0) return raise_status(answer);
  return PyBool_FromLong(answer);
}

static PyObject *store_refresh(PyObject *self, PyObject *nothing) {
  vitrine_store *handle = ((Store *)self)->handle;
  vitrine_error error;
  vitrine_status status;
  int32_t changed;
  (void)nothing;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_refresh(handle, &changed, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  return PyBool_FromLong(changed);
}

static PyObject *store_set_budgets(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  long long byte_budget, entry_budget, minimum_free_bytes;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "LLL", &byte_budget, &entry_budget, &minimum_free_bytes)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_set_budgets(handle, byte_budget, entry_budget, minimum_free_bytes, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  Py_RETURN_NONE;
}

/* --- Getting --- */

/* Sets *value to the value of a key, NULL on a miss. Returns 0 after an error. */
static int find_value(PyObject *self, PyObject *object, vitrine_value **value) {
  vitrine_store *handle = ((Store *)self)->handle;
  struct key key;
  vitrine_error error;
  vitrine_status status;
  if (!read_key(object, &key)) return 0;
  /* A first read checks the whole value, from the disk. */
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_get(handle, key.url, key.url_length, key.style, key.style_length, value, &error);
  Py_END_ALLOW_THREADS
  free_key(&key);
  if (status >= 0) return 1;
  raise_error(&error);
  return 0;
}

/* Returns a view of a value, and consumes the handle. */
static PyObject *make_view(vitrine_value *handle) {
  PyObject *view, *value = make_value(handle);
  if (!value) return NULL;
  view = PyMemoryView_FromObject(value);
  Py_DECREF(value);
  return view;
}

static PyObject *store_subscript(PyObject *self, PyObject *key) {
  vitrine_value *value;
  if (!find_value(self, key, &value)) return NULL;
  if (value) return make_view(value);
  /* A tuple as an argument would become the arguments. */
  PyObject *arguments = PyTuple_Pack(1, key);
  if (arguments) PyErr_SetObject(PyExc_KeyError, arguments);
  Py_XDECREF(arguments);
  return NULL;
}

static PyObject *store_get(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  vitrine_value *value;
  if (count < 1 || count > 2) {
    PyErr_SetString(PyExc_TypeError, "get has 1 or 2 arguments");
    return NULL;
  }
  if (!find_value(self, arguments[0], &value)) return NULL;
  if (value) return make_view(value);
  return Py_NewRef(count == 2 ? arguments[1] : Py_None);
}

static PyObject *store_lookup(PyObject *self, PyObject *key) {
  vitrine_value *value;
  if (!find_value(self, key, &value)) return NULL;
  if (!value) Py_RETURN_NONE;
  return make_value(value);
}

/* A copy of the bytes of an entry. Small ones are copied without the lock of the interpreter. */
struct copy {
  PyThreadState *thread;
  PyObject *bytes;
  size_t count;
  int is_done;
  char small[2048];
};

static void copy_bytes(void *context, const void *bytes, size_t count) {
  struct copy *copy = context;
  copy->is_done = 1;
  copy->count = count;
  if (count <= sizeof copy->small) {
    memcpy(copy->small, bytes, count);
    return;
  }
  PyEval_RestoreThread(copy->thread);
  copy->bytes = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)count);
  copy->thread = PyEval_SaveThread();
}

typedef vitrine_status (*borrow_function)(
  vitrine_store *, const char *, size_t, const char *, size_t, vitrine_borrow_function, void *);

/* Copies the bytes of an entry without the lock of the interpreter. */
static vitrine_status copy_entry(PyObject *self, const struct key *key, borrow_function function, struct copy *copy) {
  vitrine_store *handle = ((Store *)self)->handle;
  vitrine_status status;
  copy->bytes = NULL;
  copy->is_done = 0;
  if (((Store *)self)->fork_count != fork_count) return VITRINE_ERROR_CLOSED;
  copy->thread = PyEval_SaveThread();
  status = function(handle, key->url, key->url_length, key->style, key->style_length, copy_bytes, copy);
  PyEval_RestoreThread(copy->thread);
  return status;
}

/* Drops the copy of a value whose damage was found during the copy. Returns 0 with an exception if memory was short. */
static int finish_copy(vitrine_status status, struct copy *copy) {
  if (copy->is_done && copy->count > sizeof copy->small && !copy->bytes) return 0;
  if (status != VITRINE_OK) Py_CLEAR(copy->bytes);
  return 1;
}

static PyObject *store_peek(PyObject *self, PyObject *object) {
  struct key key;
  struct copy copy;
  vitrine_status status;
  if (!read_key(object, &key)) return NULL;
  status = copy_entry(self, &key, vitrine_peek, &copy);
  free_key(&key);
  if (!finish_copy(status, &copy)) return NULL;
  if (status < 0) return raise_status(status);
  if (status == VITRINE_NOT_FOUND) Py_RETURN_NONE;
  return copy.bytes ? copy.bytes : PyBytes_FromStringAndSize(copy.small, (Py_ssize_t)copy.count);
}

static int store_contains(PyObject *self, PyObject *object) {
  struct key key;
  vitrine_error error;
  vitrine_status status;
  if (!read_key(object, &key)) return -1;
  status =
    vitrine_contains(((Store *)self)->handle, key.url, key.url_length, key.style, key.style_length, &error);
  free_key(&key);
  if (status >= 0) return status == VITRINE_OK;
  raise_error(&error);
  return -1;
}

static PyObject *store_copy_to(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  PyObject *object;
  const char *path;
  struct key key;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "Oy", &object, &path) || !read_key(object, &key)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_copy_to(handle, key.url, key.url_length, key.style, key.style_length, path, &error);
  Py_END_ALLOW_THREADS
  free_key(&key);
  if (status < 0) return raise_error(&error);
  return PyBool_FromLong(status == VITRINE_OK);
}

/* --- Pickled values, of vitrine.diskcache --- */

/* The first byte of a value tells its type. */
enum { PICKLED_BYTES = 'b', PICKLED_TEXT = 's', PICKLED_INTEGER = 'i', PICKLED_FLOAT = 'f', PICKLED_OBJECT = 'p' };
/* The first byte of a URL tells the type of the key. The package makes the URLs of other keys. */
enum { TEXT_KEY = 't', BYTES_KEY = 'u' };

static PyObject *load_pickled(PyObject *loads, const char *bytes, size_t count) {
  uint64_t bits = 0;
  double number;
  size_t index;
  if (count == 0) {
    PyErr_SetString(PyExc_ValueError, "the value was not put by vitrine.diskcache");
    return NULL;
  }
  switch (bytes[0]) {
  case PICKLED_BYTES: return PyBytes_FromStringAndSize(bytes + 1, (Py_ssize_t)count - 1);
  case PICKLED_TEXT: return PyUnicode_DecodeUTF8(bytes + 1, (Py_ssize_t)count - 1, "surrogatepass");
  case PICKLED_INTEGER:
  case PICKLED_FLOAT:
    if (count != 9) break;
    for (index = 8; index > 0; index--) bits = bits << 8 | (unsigned char)bytes[index];
    if (bytes[0] == PICKLED_INTEGER) return PyLong_FromLongLong((long long)bits);
    memcpy(&number, &bits, sizeof number);
    return PyFloat_FromDouble(number);
  case PICKLED_OBJECT: {
    PyObject *pickled = PyBytes_FromStringAndSize(bytes + 1, (Py_ssize_t)count - 1), *result;
    if (!pickled) return NULL;
    result = PyObject_CallFunctionObjArgs(loads, pickled, NULL);
    Py_DECREF(pickled);
    return result;
  }
  }
  PyErr_SetString(PyExc_ValueError, "the value was not put by vitrine.diskcache");
  return NULL;
}

/* Returns the object of a key, or the default: (key, default, encode, loads). `encode` makes the URL of a key that is
   neither bytes nor text. */
static PyObject *store_load(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  struct key key = {0};
  struct copy copy;
  vitrine_status status;
  char small[256], *made = NULL;
  const char *bytes;
  Py_ssize_t length;
  PyObject *result;
  if (!has_count(count, 4)) return NULL;
  if (PyBytes_CheckExact(arguments[0]) || PyUnicode_CheckExact(arguments[0])) {
    char kind = PyBytes_CheckExact(arguments[0]) ? BYTES_KEY : TEXT_KEY;
    if (kind == BYTES_KEY) {
      char *text;
      if (PyBytes_AsStringAndSize(arguments[0], &text, &length) < 0) return NULL;
      bytes = text;
    } else {
      bytes = PyUnicode_AsUTF8AndSize(arguments[0], &length);
      if (!bytes) return NULL;
    }
    if ((size_t)length >= sizeof small) {
      made = malloc((size_t)length + 1);
      if (!made) return PyErr_NoMemory();
    }
    key.url = made ? made : small;
    key.url_length = (size_t)length + 1;
    ((char *)key.url)[0] = kind;
    memcpy((char *)key.url + 1, bytes, (size_t)length);
  } else {
    PyObject *url = PyObject_CallFunctionObjArgs(arguments[2], arguments[0], NULL);
    if (!url) return NULL;
    if (!read_url(url, &key)) {
      Py_DECREF(url);
      return NULL;
    }
    if (!key.owner) key.owner = url;
    else Py_DECREF(url);
  }
  status = copy_entry(self, &key, vitrine_borrow, &copy);
  free_key(&key);
  free(made);
  if (!finish_copy(status, &copy)) return NULL;
  if (status < 0) return raise_status(status);
  if (status == VITRINE_NOT_FOUND) return Py_NewRef(arguments[1]);
  bytes = copy.small;
  length = (Py_ssize_t)copy.count;
  if (copy.bytes) {
    char *text;
    if (PyBytes_AsStringAndSize(copy.bytes, &text, &length) < 0) {
      Py_DECREF(copy.bytes);
      return NULL;
    }
    bytes = text;
  }
  result = load_pickled(arguments[3], bytes, (size_t)length);
  Py_XDECREF(copy.bytes);
  return result;
}

/* --- Changing --- */

/* Puts, and frees the arguments. */
static PyObject *finish_put(PyObject *self, struct put *put, const vitrine_condition *condition) {
  vitrine_store *handle = ((Store *)self)->handle;
  vitrine_error error;
  vitrine_status status;
  Py_BEGIN_ALLOW_THREADS
  if (condition) {
    status = vitrine_put_if(
      handle, put->key.url, put->key.url_length, put->key.style, put->key.style_length, put->bytes.buf,
      (size_t)put->bytes.len, condition, &put->options, &error);
  } else {
    status = vitrine_put(
      handle, put->key.url, put->key.url_length, put->key.style, put->key.style_length, put->bytes.buf,
      (size_t)put->bytes.len, &put->options, &error);
  }
  Py_END_ALLOW_THREADS
  free_put(put);
  if (status < 0) return raise_error(&error);
  return PyBool_FromLong(status == VITRINE_OK);
}

static PyObject *store_put(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  struct put put;
  if (!has_count(count, PUT_ARGUMENTS) || !read_put(arguments, &put)) return NULL;
  return finish_put(self, &put, NULL);
}

/* The arguments of a put, the kind of the condition, and a digest or None. */
static PyObject *store_put_if(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  struct put put;
  vitrine_condition condition = {0};
  if (!has_count(count, PUT_ARGUMENTS + 2)) return NULL;
  condition.size = sizeof condition;
  if (!read_int32(arguments[PUT_ARGUMENTS], "the condition", &condition.kind)) return NULL;
  if (condition.kind == VITRINE_IF_DIGEST && !read_digest(arguments[PUT_ARGUMENTS + 1], &condition)) return NULL;
  if (!read_put(arguments, &put)) return NULL;
  return finish_put(self, &put, &condition);
}

/* Removes an entry. Returns 1 if there was one, 0 if not, -1 after an error. */
static int remove_entry(PyObject *self, PyObject *object) {
  vitrine_store *handle = ((Store *)self)->handle;
  struct key key;
  vitrine_error error;
  vitrine_status status;
  if (!read_key(object, &key)) return -1;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_remove(handle, key.url, key.url_length, key.style, key.style_length, 0, &error);
  Py_END_ALLOW_THREADS
  free_key(&key);
  if (status >= 0) return status == VITRINE_OK;
  raise_error(&error);
  return -1;
}

static int store_assign(PyObject *self, PyObject *key, PyObject *bytes) {
  struct put put;
  PyObject *done;
  int removed;
  if (bytes) {
    if (!read_plain_put(key, bytes, &put)) return -1;
    done = finish_put(self, &put, NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
  }
  removed = remove_entry(self, key);
  if (removed == 0) {
    PyObject *arguments = PyTuple_Pack(1, key);
    if (arguments) PyErr_SetObject(PyExc_KeyError, arguments);
    Py_XDECREF(arguments);
  }
  return removed == 1 ? 0 : -1;
}

static PyObject *store_discard(PyObject *self, PyObject *key) {
  int removed = remove_entry(self, key);
  return removed < 0 ? NULL : PyBool_FromLong(removed);
}

typedef vitrine_status (*remove_function)(
  vitrine_store *, const char *, size_t, int32_t, uint64_t *, vitrine_error *);

/* Removes the entries that a text names; returns their number. */
static PyObject *remove_many(PyObject *self, PyObject *object, remove_function function) {
  vitrine_store *handle = ((Store *)self)->handle;
  struct key key = {0};
  uint64_t removed;
  vitrine_error error;
  vitrine_status status;
  if (!read_url(object, &key)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = function(handle, key.url, key.url_length, 0, &removed, &error);
  Py_END_ALLOW_THREADS
  free_key(&key);
  if (status < 0) return raise_error(&error);
  return PyLong_FromUnsignedLongLong(removed);
}

static PyObject *store_remove_url(PyObject *self, PyObject *url) { return remove_many(self, url, vitrine_remove_url); }

static PyObject *store_remove_style(PyObject *self, PyObject *style) {
  return remove_many(self, style, vitrine_remove_style);
}

static PyObject *store_remove_prefix(PyObject *self, PyObject *prefix) {
  return remove_many(self, prefix, vitrine_remove_prefix);
}

static PyObject *store_expire(PyObject *self, PyObject *nothing) {
  vitrine_store *handle = ((Store *)self)->handle;
  uint64_t removed;
  vitrine_error error;
  vitrine_status status;
  (void)nothing;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_remove_expired(handle, &removed, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  return PyLong_FromUnsignedLongLong(removed);
}

static PyObject *store_set_pinned(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  PyObject *object;
  struct key key;
  int pinned;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "Op", &object, &pinned) || !read_key(object, &key)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_set_pinned(handle, key.url, key.url_length, key.style, key.style_length, pinned, 0, &error);
  Py_END_ALLOW_THREADS
  free_key(&key);
  if (status < 0) return raise_error(&error);
  return PyBool_FromLong(status == VITRINE_OK);
}

static PyObject *store_set_expiration(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  PyObject *object;
  struct key key;
  long long expiration;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "OL", &object, &expiration) || !read_key(object, &key)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status =
    vitrine_set_expiration(handle, key.url, key.url_length, key.style, key.style_length, expiration, 0, &error);
  Py_END_ALLOW_THREADS
  free_key(&key);
  if (status < 0) return raise_error(&error);
  return PyBool_FromLong(status == VITRINE_OK);
}

static PyObject *store_set_metadata(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  PyObject *object;
  Py_buffer metadata;
  struct key key;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "Oy*", &object, &metadata)) return NULL;
  if (!read_key(object, &key)) {
    PyBuffer_Release(&metadata);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_set_metadata(
    handle, key.url, key.url_length, key.style, key.style_length, metadata.buf, (size_t)metadata.len, 0, &error);
  Py_END_ALLOW_THREADS
  free_key(&key);
  PyBuffer_Release(&metadata);
  if (status < 0) return raise_error(&error);
  return PyBool_FromLong(status == VITRINE_OK);
}

static PyObject *store_flush(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  vitrine_store *handle = ((Store *)self)->handle;
  struct key key;
  vitrine_error error;
  vitrine_status status;
  if (count == 0) return store_flush_all(self, NULL);
  if (!has_count(count, 1) || !read_key(arguments[0], &key)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_flush_key(handle, key.url, key.url_length, key.style, key.style_length, &error);
  Py_END_ALLOW_THREADS
  free_key(&key);
  if (status < 0) return raise_error(&error);
  Py_RETURN_NONE;
}

static PyObject *store_write(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  PyObject *object;
  Batch *batch;
  int durability;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "O!i", batch_type, &object, &durability)) return NULL;
  if (!can_change(object)) return NULL;
  batch = (Batch *)object;
  batch->is_written = 1;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_write(handle, batch->handle, durability, &error);
  Py_END_ALLOW_THREADS
  batch->is_written = 0;
  if (status < 0) return raise_error(&error);
  Py_RETURN_NONE;
}

/* --- Entries and upkeep --- */

static PyObject *store_entries(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  PyObject *prefix, *style;
  struct key key = {0};
  int is_sorted;
  vitrine_error error;
  vitrine_status status;
  vitrine_cursor *made;
  Cursor *cursor;
  if (!PyArg_ParseTuple(arguments, "OOp", &prefix, &style, &is_sorted) || !read_url(prefix, &key)) return NULL;
  if (!read_style(style, &key)) {
    free_key(&key);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_cursor_open(
    handle, key.url, key.url_length, key.style, key.style_length, is_sorted ? VITRINE_CURSOR_SORTED : 0, &made, &error);
  Py_END_ALLOW_THREADS
  free_key(&key);
  if (status < 0) return raise_error(&error);
  cursor = (Cursor *)PyType_GenericAlloc((PyTypeObject *)cursor_type, 0);
  if (!cursor) {
    vitrine_cursor_release(made);
    return NULL;
  }
  cursor->handle = made;
  return (PyObject *)cursor;
}

/* Returns the numbers of damaged and of lost entries. */
static PyObject *store_verify(PyObject *self, PyObject *nothing) {
  vitrine_store *handle = ((Store *)self)->handle;
  vitrine_verification report;
  vitrine_error error;
  vitrine_status status;
  (void)nothing;
  report.size = sizeof report;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_verify(handle, &report, NULL, NULL, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  return Py_BuildValue("(KK)", (unsigned long long)report.damaged, (unsigned long long)report.lost);
}

static PyObject *store_stat_json(PyObject *self, PyObject *nothing) {
  vitrine_store *handle = ((Store *)self)->handle;
  char *text;
  size_t length;
  vitrine_error error;
  vitrine_status status;
  PyObject *result;
  (void)nothing;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_stat_json(handle, &text, &length, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
  vitrine_text_release(text);
  return result;
}

static Py_ssize_t store_length(PyObject *self) {
  vitrine_store *handle = ((Store *)self)->handle;
  vitrine_stat stat;
  vitrine_error error;
  vitrine_status status;
  stat.size = sizeof stat;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_get_stat(handle, &stat, &error);
  Py_END_ALLOW_THREADS
  if (status >= 0) return (Py_ssize_t)stat.entries;
  raise_error(&error);
  return -1;
}

static PyMethodDef store_methods[] = {
  {"_open", store_open, METH_VARARGS, NULL},
  {"_put", FAST(store_put), METH_FASTCALL, NULL},
  {"_put_if", FAST(store_put_if), METH_FASTCALL, NULL},
  {"_set_pinned", store_set_pinned, METH_VARARGS, NULL},
  {"_set_expiration", store_set_expiration, METH_VARARGS, NULL},
  {"_write", store_write, METH_VARARGS, NULL},
  {"_entries", store_entries, METH_VARARGS, NULL},
  {"_copy_to", store_copy_to, METH_VARARGS, NULL},
  {"_set_budgets", store_set_budgets, METH_VARARGS, NULL},
  {"_stat_json", store_stat_json, METH_NOARGS, NULL},
  {"_load", FAST(store_load), METH_FASTCALL, NULL},
  {"get", FAST(store_get), METH_FASTCALL,
   "Returns a view of the bytes of an entry, without a copy; the default on a miss."},
  {"lookup", store_lookup, METH_O, "Returns the Value of an entry, with its metadata; None on a miss."},
  {"peek", store_peek, METH_O,
   "Returns a copy of the bytes of an entry, or None. Counts no use: the order of eviction and the idle limit stay."},
  {"discard", store_discard, METH_O, "Removes an entry. Returns whether there was one."},
  {"set_metadata", store_set_metadata, METH_VARARGS,
   "Replaces the metadata of an entry; its bytes stay. Returns whether there is one."},
  {"remove_url", store_remove_url, METH_O, "Removes all styles of a URL. Returns the number of removed entries."},
  {"remove_style", store_remove_style, METH_O, "Removes all entries of a style. Returns their number."},
  {"remove_prefix", store_remove_prefix, METH_O,
   "Removes all entries whose URL begins with a prefix. Returns their number."},
  {"expire", store_expire, METH_NOARGS, "Removes all expired entries. Returns their number."},
  {"flush", FAST(store_flush), METH_FASTCALL,
   "Makes all changes survive a loss of power; with a key, the newest change of that key."},
  {"clear", store_clear, METH_NOARGS, "Removes all entries together."},
  {"close", store_close, METH_NOARGS, "Makes all changes durable and closes the cache. Views of values stay valid."},
  {"suspend", store_suspend, METH_NOARGS,
   "Makes all changes durable and releases the lock and the files until resume(). Meanwhile, gets miss."},
  {"resume", store_resume, METH_NOARGS, "Opens a suspended cache again, with the changes of other processes."},
  {"compact", store_compact, METH_NOARGS, "Makes the folder as small as possible without removing an entry."},
  {"refresh", store_refresh, METH_NOARGS,
   "Moves a read-only cache forward to the state of its writer. Returns whether there were changes."},
  {"verify", store_verify, METH_NOARGS,
   "Checks every byte. Returns the numbers of damaged entries, and of those lost in a crash before they were durable."},
  {NULL, NULL, 0, NULL},
};

static PyGetSetDef store_properties[] = {
  {"is_read_only", store_is_read_only, NULL, "Whether the cache is open for reading only.", NULL},
  {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot store_slots[] = {
  {Py_tp_doc, "A store. vitrine.Cache is its interface for programs."},
  {Py_tp_new, PyType_GenericNew},
  {Py_tp_dealloc, store_dealloc},
  {Py_tp_methods, store_methods},
  {Py_tp_getset, store_properties},
  {Py_mp_subscript, store_subscript},
  {Py_mp_ass_subscript, store_assign},
  {Py_mp_length, store_length},
  {Py_sq_contains, store_contains},
  {0, NULL},
};

static PyType_Spec store_spec = {
  "vitrine._vitrine.Store", sizeof(Store), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, store_slots};

/* --- Module --- */

static PyObject *set_layout_type(PyObject *module, PyObject *type) {
  (void)module;
  Py_XDECREF(layout_type);
  layout_type = Py_NewRef(type);
  Py_RETURN_NONE;
}

static PyObject *empty_call(PyObject *module, PyObject *object) {
  (void)module, (void)object;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
  {"_set_layout_type", set_layout_type, METH_O, NULL},
  {"_empty_call", empty_call, METH_O, "Does nothing. The benchmark compares a get with it."},
  {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
  PyModuleDef_HEAD_INIT, "_vitrine", "The C interface of Vitrine.", -1, functions, NULL, NULL, NULL, NULL};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyObject **type) {
  *type = PyType_FromSpec(spec);
  return *type && PyModule_AddObjectRef(module, name, *type) == 0;
}

static int add_errors(PyObject *module) {
  int index;
  base_error = PyErr_NewException("vitrine.Error", NULL, NULL);
  if (!base_error || PyModule_AddObjectRef(module, "Error", base_error) < 0) return 0;
  for (index = 0; index < ERROR_TYPES; index++) {
    /* The name without "vitrine." */
    const char *name = error_types[index].name + sizeof "vitrine";
    error_types[index].type = PyErr_NewException(error_types[index].name, base_error, NULL);
    if (!error_types[index].type || PyModule_AddObjectRef(module, name, error_types[index].type) < 0) return 0;
  }
  return 1;
}

PyMODINIT_FUNC PyInit__vitrine(void) {
  static int counts_forks;
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (!counts_forks) counts_forks = pthread_atfork(NULL, NULL, count_fork) == 0;
  if (!counts_forks) {
    Py_DECREF(module);
    return PyErr_NoMemory();
  }
  if (!add_type(module, "Store", &store_spec, &store_type) || !add_type(module, "Value", &value_spec, &value_type) ||
      !add_type(module, "Cursor", &cursor_spec, &cursor_type) || !add_type(module, "Batch", &batch_spec, &batch_type) ||
      !add_errors(module) || PyModule_AddStringConstant(module, "version", vitrine_version()) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
