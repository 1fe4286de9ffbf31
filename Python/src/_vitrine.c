/* The extension under the package: vitrine.h for Python, with the limited API of 3.11. Calls release the lock of the
   interpreter, so threads of Python use a store at the same time. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <string.h>
#include <vitrine.h>

typedef struct {
  PyObject_HEAD
  vitrine_store *handle;
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
} Batch;

static PyObject *value_type, *cursor_type, *store_type, *batch_type;
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

/* --- Errors --- */

static void set_number(PyObject *error, const char *name, long number) {
  PyObject *value = PyLong_FromLong(number);
  if (!value || PyObject_SetAttrString(error, name, value) < 0) PyErr_Clear();
  Py_XDECREF(value);
}

/* Raises an error and returns NULL. An invalid argument is a ValueError, as Python programs expect. */
static PyObject *raise_error(const vitrine_error *error) {
  PyObject *type = base_error, *made;
  int index;
  if (error->status == VITRINE_ERROR_INVALID_ARGUMENT) {
    PyErr_SetString(PyExc_ValueError, error->text);
    return NULL;
  }
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

/* --- Objects --- */

/* Frees an object of a heap type. */
static void free_object(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *make_value(vitrine_value *handle) {
  Value *value = (Value *)PyType_GenericAlloc((PyTypeObject *)value_type, 0);
  if (!value) {
    vitrine_value_release(handle);
    return NULL;
  }
  value->handle = handle;
  value->info.size = sizeof value->info;
  vitrine_value_get_info(handle, &value->info);
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

static PyObject *value_info(PyObject *self, PyObject *nothing) {
  const vitrine_value_info *info = &((Value *)self)->info;
  (void)nothing;
  return Py_BuildValue(
    "{s:y#,s:L,s:L,s:i,s:i,s:K,s:K,s:(IIII)}", "metadata", (const char *)info->metadata,
    (Py_ssize_t)info->metadata_length, "written", (long long)info->written, "expiration", (long long)info->expiration,
    "encoding", (int)info->encoding, "is_copy", (int)info->is_copy, "digest_high",
    (unsigned long long)info->digest_high, "digest_low", (unsigned long long)info->digest_low, "layout", info->width,
    info->height, info->bytes_per_row, info->pixel_format);
}

static PyObject *value_is_damaged(PyObject *self, PyObject *nothing) {
  vitrine_value *handle = ((Value *)self)->handle;
  int32_t is_damaged;
  (void)nothing;
  Py_BEGIN_ALLOW_THREADS
  is_damaged = vitrine_value_is_damaged(handle);
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(is_damaged != 0);
}

static PyMethodDef value_methods[] = {
  {"_info", value_info, METH_NOARGS, "Everything that is known about the value, as a dictionary."},
  {"is_damaged", value_is_damaged, METH_NOARGS, "Whether the bytes differ from those that were put. Reads the file."},
  {NULL, NULL, 0, NULL},
};

static PyType_Slot value_slots[] = {
  {Py_tp_doc, "A value: its bytes, without a copy, by the buffer protocol. A view of the bytes keeps it."},
  {Py_tp_dealloc, value_dealloc},
  {Py_tp_methods, value_methods},
  {Py_bf_getbuffer, value_getbuffer},
  {Py_sq_length, value_length},
  {0, NULL},
};

static PyType_Spec value_spec = {
  "vitrine._vitrine.Value", sizeof(Value), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, value_slots};

/* --- Cursor --- */

static void cursor_dealloc(PyObject *self) {
  vitrine_cursor_release(((Cursor *)self)->handle);
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

/* The arguments of a put. */
struct put {
  const char *url, *style;
  Py_ssize_t url_length, style_length;
  Py_buffer bytes;
  vitrine_put_options options;
};

/* Reads (url, style, bytes, metadata, expiration, sliding, durability, pin). `bytes` is released by the caller. */
static int parse_put(PyObject *arguments, struct put *put) {
  const char *metadata;
  Py_ssize_t metadata_length;
  long long expiration, sliding;
  int durability, pin;
  memset(put, 0, sizeof *put);
  if (!PyArg_ParseTuple(
        arguments, "y#z#y*y#LLii", &put->url, &put->url_length, &put->style, &put->style_length, &put->bytes, &metadata,
        &metadata_length, &expiration, &sliding, &durability, &pin)) {
    return 0;
  }
  put->options.size = sizeof put->options;
  put->options.metadata = metadata;
  put->options.metadata_length = (size_t)metadata_length;
  put->options.expiration = expiration;
  put->options.sliding_expiration = sliding;
  put->options.durability = durability;
  put->options.pin = pin;
  return 1;
}

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

static PyObject *batch_put(PyObject *self, PyObject *arguments) {
  struct put put;
  vitrine_error error;
  vitrine_status status;
  if (!parse_put(arguments, &put)) return NULL;
  status = vitrine_batch_put(
    ((Batch *)self)->handle, put.url, (size_t)put.url_length, put.style, (size_t)put.style_length, put.bytes.buf,
    (size_t)put.bytes.len, &put.options, &error);
  PyBuffer_Release(&put.bytes);
  if (status < 0) return raise_error(&error);
  Py_RETURN_NONE;
}

static PyObject *batch_remove(PyObject *self, PyObject *arguments) {
  const char *url, *style;
  Py_ssize_t url_length, style_length;
  vitrine_error error;
  if (!PyArg_ParseTuple(arguments, "y#z#", &url, &url_length, &style, &style_length)) return NULL;
  if (vitrine_batch_remove(((Batch *)self)->handle, url, (size_t)url_length, style, (size_t)style_length, &error) < 0) {
    return raise_error(&error);
  }
  Py_RETURN_NONE;
}

static Py_ssize_t batch_length(PyObject *self) { return (Py_ssize_t)vitrine_batch_count(((Batch *)self)->handle); }

static PyMethodDef batch_methods[] = {
  {"put", batch_put, METH_VARARGS, NULL},
  {"remove", batch_remove, METH_VARARGS, NULL},
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

static PyType_Spec batch_spec = {"vitrine._vitrine.Batch", sizeof(Batch), 0, Py_TPFLAGS_DEFAULT, batch_slots};

/* --- Store --- */

static PyObject *store_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  const char *path;
  long long byte_budget, entry_budget, wait_for_lock;
  int durability, flags, policy;
  vitrine_options options = {0};
  vitrine_status status;
  vitrine_error error;
  Store *store;
  (void)names;
  if (!PyArg_ParseTuple(
        arguments, "sLLLiii", &path, &byte_budget, &entry_budget, &wait_for_lock, &durability, &policy, &flags)) {
    return NULL;
  }
  options.size = sizeof options;
  options.byte_budget = byte_budget;
  options.entry_budget = entry_budget;
  options.wait_for_lock = wait_for_lock;
  options.durability = durability;
  options.policy = policy;
  options.flags = (uint32_t)flags;
  store = (Store *)PyType_GenericAlloc(type, 0);
  if (!store) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_open(path, &options, &store->handle, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) {
    Py_DECREF(store);
    return raise_error(&error);
  }
  return (PyObject *)store;
}

static void store_dealloc(PyObject *self) {
  vitrine_store *handle = ((Store *)self)->handle;
  Py_BEGIN_ALLOW_THREADS
  vitrine_store_release(handle);
  Py_END_ALLOW_THREADS
  free_object(self);
}

static PyObject *store_put(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  struct put put;
  vitrine_error error;
  vitrine_status status;
  if (!parse_put(arguments, &put)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_put(
    handle, put.url, (size_t)put.url_length, put.style, (size_t)put.style_length, put.bytes.buf, (size_t)put.bytes.len,
    &put.options, &error);
  Py_END_ALLOW_THREADS
  PyBuffer_Release(&put.bytes);
  if (status < 0) return raise_error(&error);
  Py_RETURN_NONE;
}

/* Returns a Value, or None on a miss. */
static PyObject *store_get(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  const char *url, *style;
  Py_ssize_t url_length, style_length;
  vitrine_value *value;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "y#z#", &url, &url_length, &style, &style_length)) return NULL;
  /* A first read checks the whole value, from the disk. */
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_get(handle, url, (size_t)url_length, style, (size_t)style_length, &value, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  if (status == VITRINE_NOT_FOUND) Py_RETURN_NONE;
  return make_value(value);
}

static PyObject *store_contains(PyObject *self, PyObject *arguments) {
  const char *url, *style;
  Py_ssize_t url_length, style_length;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "y#z#", &url, &url_length, &style, &style_length)) return NULL;
  status = vitrine_contains(((Store *)self)->handle, url, (size_t)url_length, style, (size_t)style_length, &error);
  if (status < 0) return raise_error(&error);
  return PyBool_FromLong(status == VITRINE_OK);
}

static PyObject *store_remove(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  const char *url, *style;
  Py_ssize_t url_length, style_length;
  int durability;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "y#z#i", &url, &url_length, &style, &style_length, &durability)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_remove(handle, url, (size_t)url_length, style, (size_t)style_length, durability, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  return PyBool_FromLong(status == VITRINE_OK);
}

typedef vitrine_status (*remove_function)(
  vitrine_store *, const char *, size_t, int32_t, uint64_t *, vitrine_error *);

/* Removes the entries that a text names; returns their number. */
static PyObject *remove_many(PyObject *self, PyObject *arguments, remove_function function) {
  vitrine_store *handle = ((Store *)self)->handle;
  const char *text;
  Py_ssize_t length;
  uint64_t removed;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "y#", &text, &length)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = function(handle, text, (size_t)length, 0, &removed, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  return PyLong_FromUnsignedLongLong(removed);
}

static PyObject *store_remove_url(PyObject *self, PyObject *arguments) {
  return remove_many(self, arguments, vitrine_remove_url);
}

static PyObject *store_remove_style(PyObject *self, PyObject *arguments) {
  return remove_many(self, arguments, vitrine_remove_style);
}

static PyObject *store_remove_prefix(PyObject *self, PyObject *arguments) {
  return remove_many(self, arguments, vitrine_remove_prefix);
}

static PyObject *store_set_pinned(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  const char *url, *style;
  Py_ssize_t url_length, style_length;
  int pinned;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "y#z#p", &url, &url_length, &style, &style_length, &pinned)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_set_pinned(handle, url, (size_t)url_length, style, (size_t)style_length, pinned, 0, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  return PyBool_FromLong(status == VITRINE_OK);
}

static PyObject *store_write(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  PyObject *batch;
  int durability;
  vitrine_error error;
  vitrine_status status;
  if (!PyArg_ParseTuple(arguments, "O!i", batch_type, &batch, &durability)) return NULL;
  /* Holds the lock of the interpreter, so that no other thread changes the batch meanwhile. */
  status = vitrine_write(handle, ((Batch *)batch)->handle, durability, &error);
  if (status < 0) return raise_error(&error);
  Py_RETURN_NONE;
}

static PyObject *store_entries(PyObject *self, PyObject *arguments) {
  vitrine_store *handle = ((Store *)self)->handle;
  const char *prefix, *style;
  Py_ssize_t prefix_length, style_length;
  int is_sorted;
  vitrine_error error;
  vitrine_status status;
  vitrine_cursor *made;
  Cursor *cursor;
  if (!PyArg_ParseTuple(arguments, "y#z#p", &prefix, &prefix_length, &style, &style_length, &is_sorted)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_cursor_open(
    handle, prefix, (size_t)prefix_length, style, (size_t)style_length, is_sorted ? VITRINE_CURSOR_SORTED : 0, &made,
    &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  cursor = (Cursor *)PyType_GenericAlloc((PyTypeObject *)cursor_type, 0);
  if (!cursor) {
    vitrine_cursor_release(made);
    return NULL;
  }
  cursor->handle = made;
  return (PyObject *)cursor;
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

static PyObject *store_flush(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, vitrine_flush); }
static PyObject *store_close(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, vitrine_close); }
static PyObject *store_compact(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, compact); }
static PyObject *store_clear(PyObject *self, PyObject *nothing) { return (void)nothing, call(self, remove_all); }

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

static PyObject *store_count(PyObject *self, PyObject *nothing) {
  vitrine_store *handle = ((Store *)self)->handle;
  vitrine_stat stat;
  vitrine_error error;
  vitrine_status status;
  (void)nothing;
  stat.size = sizeof stat;
  Py_BEGIN_ALLOW_THREADS
  status = vitrine_get_stat(handle, &stat, &error);
  Py_END_ALLOW_THREADS
  if (status < 0) return raise_error(&error);
  return PyLong_FromUnsignedLongLong(stat.entries);
}

static PyMethodDef store_methods[] = {
  {"put", store_put, METH_VARARGS, NULL},
  {"get", store_get, METH_VARARGS, NULL},
  {"contains", store_contains, METH_VARARGS, NULL},
  {"remove", store_remove, METH_VARARGS, NULL},
  {"remove_url", store_remove_url, METH_VARARGS, NULL},
  {"remove_style", store_remove_style, METH_VARARGS, NULL},
  {"remove_prefix", store_remove_prefix, METH_VARARGS, NULL},
  {"set_pinned", store_set_pinned, METH_VARARGS, NULL},
  {"write", store_write, METH_VARARGS, NULL},
  {"entries", store_entries, METH_VARARGS, NULL},
  {"flush", store_flush, METH_NOARGS, NULL},
  {"close", store_close, METH_NOARGS, NULL},
  {"compact", store_compact, METH_NOARGS, NULL},
  {"clear", store_clear, METH_NOARGS, NULL},
  {"refresh", store_refresh, METH_NOARGS, NULL},
  {"verify", store_verify, METH_NOARGS, NULL},
  {"stat_json", store_stat_json, METH_NOARGS, NULL},
  {"count", store_count, METH_NOARGS, NULL},
  {NULL, NULL, 0, NULL},
};

static PyType_Slot store_slots[] = {
  {Py_tp_doc, "A store. vitrine.Cache is its interface for programs."},
  {Py_tp_new, store_new},
  {Py_tp_dealloc, store_dealloc},
  {Py_tp_methods, store_methods},
  {0, NULL},
};

static PyType_Spec store_spec = {"vitrine._vitrine.Store", sizeof(Store), 0, Py_TPFLAGS_DEFAULT, store_slots};

/* --- Module --- */

static struct PyModuleDef definition = {
  PyModuleDef_HEAD_INIT, "_vitrine", "The C interface of Vitrine.", -1, NULL, NULL, NULL, NULL, NULL};

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
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (!add_type(module, "Store", &store_spec, &store_type) || !add_type(module, "Value", &value_spec, &value_type) ||
      !add_type(module, "Cursor", &cursor_spec, &cursor_type) || !add_type(module, "Batch", &batch_spec, &batch_type) ||
      !add_errors(module) || PyModule_AddStringConstant(module, "version", vitrine_version()) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
