/*
 * vitrine.h: the C interface of Vitrine, a crash-safe cache storage engine for images.
 *
 * Docs/C.md is the guide. These rules hold for every function:
 *
 * Keys.     A key is a URL (0 to 65,536 bytes, never parsed, may be NULL if its length is 0) and a style (1 to 255
 *           bytes of printable ASCII without spaces). A NULL style with length 0 means "original". Neither needs a NUL
 *           at its end.
 * Status.   0 is success, a positive status is an answer ("no entry"), a negative one is an error. A NULL pointer, a
 *           length beyond its limit, a closed store and a handle of another kind are errors, not traps.
 * Errors.   `error` may be NULL. If the status is negative, the call fills the struct. Otherwise it does not touch it.
 * Structs.  Structs that can grow begin with `size`. The caller sets it to the size of the struct that it was compiled
 *           with. Zero in any other field means the default. A larger struct of a later header is accepted if the bytes
 *           that this library does not know are zero. In results, the library sets such bytes to zero.
 * Threads.  All functions may be called from any thread at the same time, with the same store. A batch and a cursor
 *           belong to one thread at a time. A value may be read and released on any thread.
 * Handles.  Each handle is released once, by the function of its kind, when no other thread uses it. Releasing NULL
 *           does nothing. A use after the release is undefined, although it is often recognized.
 * Results.  If a call fails, the pointers that it returns are NULL and the numbers 0.
 * Callbacks. A callback returns normally: no longjmp, and no exception of C++ may leave it.
 * Fork.     The child of a fork may read the values that it holds. In the child, calls with a store of the parent
 *           return VITRINE_ERROR_CLOSED, except vitrine_borrow, which looks for the entry. That call may wait forever
 *           if another thread of the parent held a lock of the key at the fork. A release of a store or of a value does
 *           nothing in the child. The child may open a store itself after the parent has closed it.
 * Times.    Milliseconds since 1970 (UTC). Lengths of time are in milliseconds.
 */
#ifndef VITRINE_H
#define VITRINE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VITRINE_API __attribute__((visibility("default")))
#else
#define VITRINE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. vitrine_version() is that of the library. */
#define VITRINE_VERSION_MAJOR 0
#define VITRINE_VERSION_MINOR 1
#define VITRINE_VERSION_PATCH 0

/* --- Status and errors -------------------------------------------------------------------------------------------- */

typedef int32_t vitrine_status;

enum {
  VITRINE_OK = 0,
  /* Answers. */
  VITRINE_NOT_FOUND = 1, /* there is no such entry, or it has expired or was damaged: a miss */
  VITRINE_END = 2,       /* the cursor has returned all entries */
  VITRINE_UNMET = 3,     /* the entry does not meet the condition of the put: nothing has changed */
  /* Errors. */
  VITRINE_ERROR_INVALID_ARGUMENT = -1,   /* an argument is outside its limits; the text names it */
  VITRINE_ERROR_NO_SPACE = -2,           /* no room within the budget or on the disk */
  VITRINE_ERROR_TOO_LARGE = -3,          /* the value can never fit */
  VITRINE_ERROR_WRITE_FAILED = -4,       /* the disk refused a write or a sync: open the store again to change it */
  VITRINE_ERROR_LOCKED = -5,             /* another opening writes; see process_id */
  VITRINE_ERROR_NOT_A_STORE = -6,        /* the folder holds other files */
  VITRINE_ERROR_UNSUPPORTED_FORMAT = -7, /* a later version of the library wrote the store */
  VITRINE_ERROR_NO_SUCH_STORE = -8,      /* there is no store, and the options forbid creating one */
  VITRINE_ERROR_CLOSED = -9,             /* the store is closed, or this is a forked child */
  VITRINE_ERROR_READ_ONLY = -10,         /* the store was opened for reading */
  VITRINE_ERROR_ABORTED = -11,           /* the key was removed while a value arrived */
  VITRINE_ERROR_STORE_REMOVED = -12,     /* the folder was removed or replaced while the store was open */
  VITRINE_ERROR_UNREADABLE = -13,        /* the store cannot be read */
  VITRINE_ERROR_SYSTEM = -14,            /* a system call failed; see system_code */
  VITRINE_ERROR_BAD_HANDLE = -15         /* a NULL handle, one of another kind, or a released one */
};

/*
 * Describes an error of one call. The caller allocates it, on the stack for example. Its size and layout never change.
 */
typedef struct vitrine_error {
  vitrine_status status;
  int32_t system_code; /* with ERROR_SYSTEM and ERROR_WRITE_FAILED, the errno; otherwise 0 */
  int32_t process_id;  /* with ERROR_LOCKED, the process of the writer; 0 if unknown */
  int32_t reserved;
  char text[496]; /* a sentence in UTF-8, cut to fit, with a NUL at its end */
} vitrine_error;

/* Returns a short constant text of a status, such as "no space". Never NULL. Valid forever. */
VITRINE_API const char *vitrine_status_text(vitrine_status status);

/* Returns the version of the library, such as "0.1.0". Never NULL. Valid forever. */
VITRINE_API const char *vitrine_version(void);

/* Returns the version of the on-disk format that the library writes, and the newest that it reads. */
VITRINE_API uint32_t vitrine_format_version(void);

/* --- Opening and closing ------------------------------------------------------------------------------------------ */

typedef struct vitrine_store vitrine_store;

/* In place of a number: no limit, or no compression. */
#define VITRINE_NONE (-1)

enum { VITRINE_BUFFERED = 1, VITRINE_SYNCED = 2 };                                      /* durability */
enum { VITRINE_LRU = 1, VITRINE_FIFO = 2, VITRINE_S3FIFO = 3, VITRINE_SIEVE = 4 };      /* policy */
enum { VITRINE_VERIFY_FIRST_READ = 1, VITRINE_VERIFY_ALWAYS = 2, VITRINE_VERIFY_NEVER = 3 }; /* verification */
enum { VITRINE_READ_MAPPED = 1, VITRINE_READ_COPIED = 2 };                              /* reads */
enum {                                                                                  /* flags of an opening */
  VITRINE_OPEN_READ_ONLY = 1,          /* a snapshot; vitrine_refresh moves it forward */
  VITRINE_OPEN_EXISTING = 2,           /* do not create a store */
  VITRINE_OPEN_NOTES_NO_USES = 4,      /* gets of a read-only opening do not count as uses */
  VITRINE_OPEN_RECREATE_UNUSABLE = 8,  /* replace an unreadable store by an empty one */
  VITRINE_OPEN_RECREATE_REMOVED = 16,  /* make the store again if its folder is removed while it is open */
  VITRINE_OPEN_READ_IF_LOCKED = 32     /* open for reading if another opening still writes after wait_for_lock */
};

/*
 * The options of an opening. Zero keeps the option that is saved in the store, or takes the default of a new store.
 * Docs/Embedding.md describes each option.
 */
typedef struct vitrine_options {
  size_t size;                    /* sizeof(vitrine_options) */
  int64_t byte_budget;            /* saved: the largest size of the folder, at least 1 MiB */
  int64_t entry_budget;           /* saved: the largest number of entries, or VITRINE_NONE */
  int64_t minimum_free_bytes;     /* saved: bytes of the disk that stay free, or VITRINE_NONE */
  int64_t segment_bytes;          /* saved: 64 KiB to 64 MiB */
  int64_t maximum_age;            /* saved: ms after the put, or VITRINE_NONE */
  int64_t maximum_idle;           /* saved: ms after the last use, or VITRINE_NONE */
  int64_t maximum_styles_per_url; /* default: no limit */
  int64_t wait_for_lock;          /* ms to wait for another writer; default: no wait */
  int32_t durability;             /* saved: VITRINE_BUFFERED (default) or VITRINE_SYNCED */
  int32_t compression_level;      /* saved: 1 (default) to 19, or VITRINE_NONE */
  int32_t policy;                 /* saved: VITRINE_S3FIFO (default) or another policy */
  int32_t verification;           /* VITRINE_VERIFY_FIRST_READ (default), ... */
  int32_t reads;                  /* VITRINE_READ_MAPPED (default), ... */
  uint32_t flags;                 /* VITRINE_OPEN_... */
} vitrine_options;

/*
 * Opens the store in a folder, and creates one if there is none. `path` is UTF-8 and ends with a NUL. `options` may be
 * NULL.
 * Cost: milliseconds, and about 200 ns for each change since the last checkpoint if the store was not closed.
 * Errors: INVALID_ARGUMENT, LOCKED, NOT_A_STORE, UNSUPPORTED_FORMAT, NO_SUCH_STORE, UNREADABLE, NO_SPACE, SYSTEM.
 */
VITRINE_API vitrine_status vitrine_open(
  const char *path, const vitrine_options *options, vitrine_store **store, vitrine_error *error);

/*
 * Opens the store `name` in the user's folder for caches, $XDG_CACHE_HOME or else ~/.cache, and creates store and
 * folder if necessary. `name` is one component of a path. While the process has the store open for writing, another
 * opening of the same name for writing returns another handle of the same store, and ignores the new options. The same
 * holds for readers. The store is closed with the last of its handles. A suspension affects all handles. Waits at least
 * a second for another writer, and makes the store again if its folder is removed. Otherwise as vitrine_open.
 */
VITRINE_API vitrine_status vitrine_open_named(
  const char *name, const vitrine_options *options, vitrine_store **store, vitrine_error *error);

/*
 * Returns 1 if the store is open for reading only, by VITRINE_OPEN_READ_ONLY or VITRINE_OPEN_READ_IF_LOCKED, otherwise
 * 0; BAD_HANDLE and CLOSED are errors.
 */
VITRINE_API int32_t vitrine_is_read_only(vitrine_store *store);

/*
 * Makes all changes durable, and releases the lock, the threads and the files of the store until vitrine_resume, for a
 * program that may be stopped for long. Meanwhile, reads find nothing, and changes return ERROR_CLOSED. Values stay
 * valid. Does nothing to a suspended store and to one for reading only. Cost: that of a close.
 * Errors: BAD_HANDLE, CLOSED; WRITE_FAILED, STORE_REMOVED and SYSTEM, after which the store is suspended, too.
 */
VITRINE_API vitrine_status vitrine_suspend(vitrine_store *store, vitrine_error *error);

/*
 * Opens a suspended store again, with the changes that others have made meanwhile. Does nothing if the store is not
 * suspended. Cost: that of an opening. Errors: those of vitrine_open, LOCKED also with VITRINE_OPEN_READ_IF_LOCKED; the
 * store stays suspended after them.
 */
VITRINE_API vitrine_status vitrine_resume(vitrine_store *store, vitrine_error *error);

/*
 * Makes all changes durable and closes the store. The handle stays valid: later calls return ERROR_CLOSED, and another
 * close does nothing. Running gets finish. Values stay valid.
 * Cost: waits for the disk. Errors: BAD_HANDLE; WRITE_FAILED and STORE_REMOVED; the store is closed after them, too.
 */
VITRINE_API vitrine_status vitrine_close(vitrine_store *store, vitrine_error *error);

/*
 * Releases the handle. Closes the store if it is open; errors of that close are lost. No other call may use the handle
 * during the release or later. Values and cursors of the store stay valid.
 */
VITRINE_API void vitrine_store_release(vitrine_store *store);

/*
 * Makes all acknowledged changes survive a power loss. Cost: waits for the disk.
 * Errors: BAD_HANDLE, CLOSED, READ_ONLY, WRITE_FAILED, STORE_REMOVED, SYSTEM.
 */
VITRINE_API vitrine_status vitrine_flush(vitrine_store *store, vitrine_error *error);

/*
 * Makes the newest acknowledged change of one key survive a power loss. Returns NOT_FOUND if the key has no entry; its
 * removal is durable then. Cost: waits for the disk, usually less than vitrine_flush. Errors: those of vitrine_flush,
 * and INVALID_ARGUMENT.
 */
VITRINE_API vitrine_status vitrine_flush_key(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length,
  vitrine_error *error);

/*
 * Moves a read-only store forward to the state of its writer. `changed` may be NULL; it becomes 1 if there were
 * changes.
 * Cost: a few dozen system calls, and about the cost of the writer's changes since the last call.
 * Errors: BAD_HANDLE, CLOSED, STORE_REMOVED, and those of opening.
 */
VITRINE_API vitrine_status vitrine_refresh(vitrine_store *store, int32_t *changed, vitrine_error *error);

/*
 * Changes the budgets; 0 leaves one as it is, and VITRINE_NONE removes the limit of entries or of free bytes.
 * Cost: waits for the disk; a smaller budget evicts first. Errors: INVALID_ARGUMENT, NO_SPACE, and those of
 * vitrine_flush.
 */
VITRINE_API vitrine_status vitrine_set_budgets(
  vitrine_store *store, int64_t byte_budget, int64_t entry_budget, int64_t minimum_free_bytes, vitrine_error *error);

/*
 * Turns a SIGBUS inside the mappings of all stores of this process into a miss. The system raises SIGBUS for pages that
 * the disk cannot deliver, and for files that another program truncates. Installs a signal handler, which passes other
 * signals on and cannot be removed.
 * Errors: SYSTEM.
 */
VITRINE_API vitrine_status vitrine_guard_bus_errors(vitrine_error *error);

/* --- Putting ------------------------------------------------------------------------------------------------------ */

enum { VITRINE_ENCODING_PLAIN = 0, VITRINE_ENCODING_ZSTD = 1, VITRINE_ENCODING_BITMAP = 2 };
enum {
  VITRINE_BGRA8888 = 1, VITRINE_BGRX8888 = 2, VITRINE_RGBA8888 = 3, VITRINE_RGBX8888 = 4, VITRINE_RGB565 = 5,
  VITRINE_GRAY8 = 6
};
enum { VITRINE_PIN_KEEP = 0, VITRINE_PIN_SET = 1, VITRINE_PIN_CLEAR = 2 };
enum { VITRINE_SOURCE_ORIGINAL = 0, VITRINE_SOURCE_NONE = 1, VITRINE_SOURCE_NAMED = 2 };

/* The options of a put. */
typedef struct vitrine_put_options {
  size_t size;                /* sizeof(vitrine_put_options) */
  const void *metadata;       /* up to 65,536 bytes that are stored with the value */
  size_t metadata_length;
  int64_t expiration;         /* the time from which the entry is a miss; 0 for never */
  int64_t sliding_expiration; /* ms after the last use from which the entry is a miss; 0 for never */
  const void *source;         /* with VITRINE_SOURCE_NAMED: 1 to 16 bytes */
  size_t source_length;
  int32_t source_kind; /* VITRINE_SOURCE_ORIGINAL: a new original of the URL removes the entry */
  int32_t durability;  /* 0 for that of the store */
  int32_t pin;         /* VITRINE_PIN_... */
  int32_t page_aligned; /* 1: the bytes begin at a page boundary, for use by a GPU */
  uint32_t width;       /* of a bitmap, in pixels; 0 for any other value */
  uint32_t height;
  uint32_t bytes_per_row; /* 0 for packed rows */
  uint32_t pixel_format;  /* VITRINE_BGRA8888, ... */
} vitrine_put_options;

/*
 * Stores `byte_count` bytes under a key and replaces its old value. The bytes may be freed after the call. `options`
 * may be NULL. `bytes` may be NULL if there are none.
 * Cost: about one write of the bytes; with VITRINE_SYNCED, a wait for the disk.
 * Errors: BAD_HANDLE, INVALID_ARGUMENT, TOO_LARGE (above 1 GiB, or above the size that an empty store of this budget
 * holds), NO_SPACE, CLOSED, READ_ONLY, WRITE_FAILED, STORE_REMOVED, SYSTEM. After an error, nothing has changed.
 */
VITRINE_API vitrine_status vitrine_put(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length, const void *bytes,
  size_t byte_count, const vitrine_put_options *options, vitrine_error *error);

enum { VITRINE_IF_ABSENT = 1, VITRINE_IF_PRESENT = 2, VITRINE_IF_DIGEST = 3 };

/* The condition of a put. An entry that has expired or is damaged counts as absent. */
typedef struct vitrine_condition {
  size_t size; /* sizeof(vitrine_condition) */
  uint64_t digest_high; /* with VITRINE_IF_DIGEST, the digest that the bytes of the entry must have */
  uint64_t digest_low;
  int32_t kind; /* VITRINE_IF_... */
  int32_t reserved; /* 0 */
} vitrine_condition;

/*
 * Stores bytes under a key if the entry of the key meets a condition, otherwise returns UNMET. Of several concurrent
 * puts that need an absent entry, one takes place.
 * Cost: a put and a lookup; the first lookup of an entry since opening reads and checks its value. Errors: those of
 * vitrine_put.
 */
VITRINE_API vitrine_status vitrine_put_if(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length, const void *bytes,
  size_t byte_count, const vitrine_condition *condition, const vitrine_put_options *options, vitrine_error *error);

/*
 * Replaces the metadata of an entry, at most 65,536 bytes; its bytes stay. `durability` 0 is that of the store. Returns
 * NOT_FOUND if there is no entry. Cost: one small record. Errors: those of vitrine_put.
 */
VITRINE_API vitrine_status vitrine_set_metadata(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length,
  const void *metadata,
  size_t metadata_length, int32_t durability, vitrine_error *error);

/* Replaces the expiry of an entry; 0 for never. Otherwise as vitrine_set_metadata. */
VITRINE_API vitrine_status vitrine_set_expiration(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length, int64_t expiration,
  int32_t durability, vitrine_error *error);

/*
 * Pins an entry so that eviction keeps it (`pinned` 1), or ends the pin (0). The store saves the pin. The pin does not
 * affect how long the pointer of a value is valid. Pinned entries may take a quarter of each budget; a call beyond that
 * returns NO_SPACE. Otherwise as vitrine_set_metadata.
 */
VITRINE_API vitrine_status vitrine_set_pinned(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length, int32_t pinned,
  int32_t durability, vitrine_error *error);

/* --- Getting ------------------------------------------------------------------------------------------------------ */

typedef struct vitrine_value vitrine_value;

/* A key, for calls with many keys. */
typedef struct vitrine_key {
  const char *url;
  size_t url_length;
  const char *style; /* NULL for "original" */
  size_t style_length;
} vitrine_key;

/* The properties of a value. Pointers are valid until the value is released. */
typedef struct vitrine_value_info {
  size_t size;             /* sizeof(vitrine_value_info) */
  const void *bytes;       /* never NULL; decoded */
  size_t byte_count;
  const void *metadata;    /* never NULL; as of the get */
  size_t metadata_length;
  uint64_t digest_high;    /* XXH3-128 of the bytes */
  uint64_t digest_low;
  int64_t written;         /* the time of the put */
  int64_t expiration;      /* 0 if never, or if it depends on the last use */
  int32_t encoding;        /* as stored: VITRINE_ENCODING_... */
  int32_t is_copy;         /* 1 if the bytes are private memory, 0 if they are the store's file */
  uint32_t width;          /* of a bitmap; otherwise 0 */
  uint32_t height;
  uint32_t bytes_per_row;
  uint32_t pixel_format;
} vitrine_value_info;

/*
 * Returns a handle of the value of a key. Its bytes are the mapped memory of the store, without a copy, and stay valid
 * until vitrine_value_release: also after removal, eviction, compaction, close and deletion of the folder. The bytes
 * are a copy if the value is stored compressed, if the store reads by VITRINE_READ_COPIED, or if values already hold
 * segments of an eighth of the byte budget. Never write to the bytes: mapped memory is read-only. Returns NOT_FOUND on
 * a miss, with a NULL value.
 * Cost: about a microsecond. The first read of an entry since opening reads and checks the whole value.
 * Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED, SYSTEM if memory is short.
 */
VITRINE_API vitrine_status vitrine_get(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length,
  vitrine_value **value,
  vitrine_error *error);

/*
 * Gets `count` keys into `values`, with NULL for each miss. Each value is released on its own. If the call fails, all
 * elements are NULL. Cost and errors: those of `count` gets.
 */
VITRINE_API vitrine_status vitrine_get_many(
  vitrine_store *store, const vitrine_key *keys, size_t count, vitrine_value **values, vitrine_error *error);

/* Returns the bytes of a value; NULL for a bad handle. Never NULL for a value, even an empty one. */
VITRINE_API const void *vitrine_value_bytes(const vitrine_value *value);

/* Returns the number of bytes of a value; 0 for a bad handle. */
VITRINE_API size_t vitrine_value_size(const vitrine_value *value);

/* Fills `info`, whose `size` the caller has set. Errors: BAD_HANDLE, INVALID_ARGUMENT. */
VITRINE_API vitrine_status vitrine_value_get_info(const vitrine_value *value, vitrine_value_info *info);

/*
 * Returns 1 if the bytes differ from those that were put, 0 if they do not, and BAD_HANDLE for a bad handle. Reads the
 * file of the value.
 * Cost: O(bytes).
 */
VITRINE_API int32_t vitrine_value_is_damaged(const vitrine_value *value);

/*
 * Releases a value and invalidates its pointers. Any thread may call it. If the file of the value was unlinked, the
 * last release of its values frees it, which takes milliseconds for a large file.
 */
VITRINE_API void vitrine_value_release(vitrine_value *value);

/* Receives the bytes of an entry, valid until the function returns. The function may call any function on the store. */
typedef void (*vitrine_borrow_function)(void *context, const void *bytes, size_t byte_count);

/*
 * Calls `function` with the bytes of an entry, without a copy unless they are stored compressed, and without an
 * allocation. This is the cheapest get. Returns NOT_FOUND on a miss. It also returns NOT_FOUND if the bus error guard
 * found damage during `function`, whose results must then be discarded.
 * Cost: a few hundred nanoseconds. The first read of an entry since opening reads and checks the whole value. A store
 * keeps the first 128 requested styles in a table; a borrow with another style allocates memory.
 * Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED.
 */
VITRINE_API vitrine_status vitrine_borrow(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length,
  vitrine_borrow_function function, void *context);

/*
 * Calls `function` like vitrine_borrow, but counts no use: the order of eviction, a sliding expiration and the hit
 * ratio stay.
 */
VITRINE_API vitrine_status vitrine_peek(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length,
  vitrine_borrow_function function, void *context);

/*
 * Receives an open file of the store, and the range of it that holds a value. The range is valid until the function
 * returns. The function neither writes to the file, moves its position, nor closes it.
 */
typedef void (*vitrine_file_function)(void *context, int descriptor, uint64_t offset, uint64_t byte_count);

/*
 * Calls `function` with the file range of a value, for sendfile and for libraries that read files. Counts a use.
 * Returns NOT_FOUND on a miss, and if the bytes were found damaged during `function`. Also returns NOT_FOUND if no file
 * has the bytes as they were put, or if the file cannot be opened now. In these two cases, vitrine_borrow gets the
 * bytes. No file has the bytes if the value is stored compressed or was restored in memory, or if the store reads by
 * VITRINE_READ_COPIED.
 * Cost: a get and the opening of a file, about 3 us. Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED.
 */
VITRINE_API vitrine_status vitrine_with_file(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length,
  vitrine_file_function function, void *context);

/*
 * Copies a value to the file `path`, which appears whole, in place of a file that is there. `path` is UTF-8 and ends
 * with a NUL. Shares blocks where the file system can. Returns NOT_FOUND on a miss. Counts no use.
 * Cost: the write of the value. Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED, SYSTEM; no part of the file is left then.
 */
VITRINE_API vitrine_status vitrine_copy_to(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length, const char *path,
  vitrine_error *error);

/* Receives the bytes of the entry of `keys[index]`; NULL on a miss. They are valid until the function returns. */
typedef void (*vitrine_borrow_many_function)(void *context, size_t index, const void *bytes, size_t byte_count);

/*
 * Looks up many keys, overlaps their memory accesses, and calls `function` once for each key, in order. On large stores
 * this costs less for each key than vitrine_borrow. Copies the keys. Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED.
 */
VITRINE_API vitrine_status vitrine_borrow_many(
  vitrine_store *store, const vitrine_key *keys, size_t count, vitrine_borrow_many_function function, void *context,
  vitrine_error *error);

/*
 * Copies up to `length` bytes of a value from `offset` on into `buffer`. `copied` becomes the number of bytes copied;
 * it is less than `length` at the end of the value, and 0 beyond the end. `byte_count` becomes the size of the whole
 * value. Either may be NULL, and `buffer` may be if `length` is 0. Returns NOT_FOUND on a miss.
 * Cost: a borrow and a copy of the range. A value that is stored compressed is decompressed whole.
 * Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED.
 */
VITRINE_API vitrine_status vitrine_read(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length, uint64_t offset,
  void *buffer, size_t length, size_t *copied, uint64_t *byte_count, vitrine_error *error);

/*
 * Returns OK if there is an unexpired entry, otherwise NOT_FOUND. Reads no payload and counts no use.
 * Cost: a few hundred nanoseconds. Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED.
 */
VITRINE_API vitrine_status vitrine_contains(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length,
  vitrine_error *error);

/* --- Entries ------------------------------------------------------------------------------------------------------ */

enum { VITRINE_ENTRY_PINNED = 1, VITRINE_ENTRY_SHARED = 2, VITRINE_ENTRY_NAMED_SOURCE = 4 };

/* An entry without its bytes. */
typedef struct vitrine_entry {
  size_t size; /* sizeof(vitrine_entry) */
  const char *url; /* no NUL at its end */
  size_t url_length;
  const char *style; /* no NUL at its end */
  size_t style_length;
  const void *metadata;
  size_t metadata_length;
  uint64_t byte_count;        /* bytes that a get returns */
  uint64_t stored_byte_count; /* bytes in the file, counted for each key that shares them */
  uint64_t digest_high;
  uint64_t digest_low;
  int64_t written;
  int64_t expiration;         /* 0 if never, or if it depends on the last use */
  int64_t sliding_expiration; /* 0 for none */
  int64_t last_used;          /* 0 if the policy records no use */
  int32_t encoding;
  uint32_t flags; /* VITRINE_ENTRY_... */
  uint32_t width; /* of a bitmap; otherwise 0 */
  uint32_t height;
  uint32_t bytes_per_row;
  uint32_t pixel_format;
} vitrine_entry;

/* The reason why a lookup found no entry. */
enum { VITRINE_MISS_ABSENT = 1, VITRINE_MISS_EXPIRED = 2, VITRINE_MISS_OUTDATED = 3, VITRINE_MISS_DAMAGED = 4 };

/*
 * Returns OK and fills `entry`, or NOT_FOUND and sets `reason` to VITRINE_MISS_...; either may be NULL. The caller sets
 * the `size` of `entry`. Its URL and style are the caller's pointers. Its metadata pointer is NULL, but the length is
 * set. Counts no use. Cost: a get without bytes; the first read of an entry since opening reads and checks the whole
 * value.
 * Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED.
 */
VITRINE_API vitrine_status vitrine_lookup(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length,
  vitrine_entry *entry,
  int32_t *reason, vitrine_error *error);

typedef struct vitrine_cursor vitrine_cursor;

/* Flags of a cursor. */
enum { VITRINE_CURSOR_SORTED = 1 }; /* by the bytes of the URL, then by style; without it, in no order */

/*
 * Makes a cursor of the unexpired entries whose URL begins with `prefix` and whose style is `style`. A NULL prefix with
 * length 0 is any URL, a NULL style with length 0 is any style. The cursor has the entries as of this call, without
 * later changes. It counts no use and holds neither a lock nor a file.
 * Cost: reads each record of the store once and no payload: O(entries), and O(n log n) if sorted. Memory: for each of
 * its entries about 200 bytes, and the URL, style and metadata. Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED, SYSTEM.
 */
VITRINE_API vitrine_status vitrine_cursor_open(
  vitrine_store *store, const char *prefix, size_t prefix_length, const char *style, size_t style_length,
  uint32_t flags,
  vitrine_cursor **cursor, vitrine_error *error);

/* Returns the number of entries that the cursor has not returned yet; 0 for a bad handle. */
VITRINE_API size_t vitrine_cursor_remaining(const vitrine_cursor *cursor);

/*
 * Fills `entry` with the next entry, or returns END. The caller sets the `size` of `entry`. Its pointers are valid
 * until the cursor is released. Not for two threads at once. Cost: O(1). Errors: BAD_HANDLE, INVALID_ARGUMENT.
 */
VITRINE_API vitrine_status vitrine_cursor_next(vitrine_cursor *cursor, vitrine_entry *entry);

VITRINE_API void vitrine_cursor_release(vitrine_cursor *cursor);

/* Receives an entry, whose pointers are valid until the function returns. Returns 0 to end the enumeration. */
typedef int32_t (*vitrine_entry_function)(void *context, const vitrine_entry *entry);

/*
 * Calls `function` for each unexpired entry that a cursor with the same prefix and style would return, in no order. The
 * function may call any function on the store. Entries put meanwhile may be missed. Counts no use.
 * Cost: reads each record once and no payload: O(entries). Takes memory for a small part of the store at a time.
 * Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED.
 */
VITRINE_API vitrine_status vitrine_for_each(
  vitrine_store *store, const char *prefix, size_t prefix_length, const char *style, size_t style_length,
  vitrine_entry_function function, void *context, vitrine_error *error);

/* --- Removing ----------------------------------------------------------------------------------------------------- */

/*
 * Removes an entry. Returns NOT_FOUND if there is none. `durability` 0 is that of the store. Works on a full disk.
 * Cost: one small write; with VITRINE_SYNCED, a wait for the disk.
 * Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED, READ_ONLY, WRITE_FAILED, STORE_REMOVED, SYSTEM.
 */
VITRINE_API vitrine_status vitrine_remove(
  vitrine_store *store, const char *url, size_t url_length, const char *style, size_t style_length, int32_t durability,
  vitrine_error *error);

/*
 * Removes all styles of a URL, without a scan. `removed` may be NULL; it becomes the number of removed entries.
 * Otherwise as vitrine_remove, but returns OK if there was no entry.
 */
VITRINE_API vitrine_status vitrine_remove_url(
  vitrine_store *store, const char *url, size_t url_length, int32_t durability, uint64_t *removed,
  vitrine_error *error);

/*
 * Removes every entry of a style, of any URL. Cost: reads each record once: O(entries). Removes groups of at most
 * 10,000 entries, each group together, so an error or a crash may leave some groups done. Otherwise as
 * vitrine_remove_url.
 */
VITRINE_API vitrine_status vitrine_remove_style(
  vitrine_store *store, const char *style, size_t style_length, int32_t durability, uint64_t *removed,
  vitrine_error *error);

/*
 * Removes every entry whose URL begins with `prefix`, of any style, as vitrine_remove_style does. An empty prefix
 * matches every URL.
 */
VITRINE_API vitrine_status vitrine_remove_prefix(
  vitrine_store *store, const char *prefix, size_t prefix_length, int32_t durability, uint64_t *removed,
  vitrine_error *error);

/*
 * Removes every expired entry. `removed` may be NULL. Cost: O(1) if none has expired; the first call after an opening
 * reads each record that may expire. Upkeep does this in the background. Errors: those of vitrine_remove.
 */
VITRINE_API vitrine_status vitrine_remove_expired(vitrine_store *store, uint64_t *removed, vitrine_error *error);

/* Removes all entries together. Cost: one small write. Errors: those of vitrine_remove. */
VITRINE_API vitrine_status vitrine_remove_all(vitrine_store *store, int32_t durability, vitrine_error *error);

/* --- Batches ------------------------------------------------------------------------------------------------------ */

typedef struct vitrine_batch vitrine_batch;

/* Makes an empty batch. Not for two threads at once. Errors: INVALID_ARGUMENT for a NULL `batch`, SYSTEM. */
VITRINE_API vitrine_status vitrine_batch_create(vitrine_batch **batch, vitrine_error *error);

/*
 * Adds a put, and copies its key, bytes and metadata. Ignores the durability of the options. A later change of a key
 * replaces an earlier one. Errors: BAD_HANDLE, INVALID_ARGUMENT, TOO_LARGE.
 */
VITRINE_API vitrine_status vitrine_batch_put(
  vitrine_batch *batch, const char *url, size_t url_length, const char *style, size_t style_length, const void *bytes,
  size_t byte_count, const vitrine_put_options *options, vitrine_error *error);

/* Adds a removal. A key without an entry is no error. Errors: BAD_HANDLE, INVALID_ARGUMENT. */
VITRINE_API vitrine_status vitrine_batch_remove(
  vitrine_batch *batch, const char *url, size_t url_length, const char *style, size_t style_length,
  vitrine_error *error);

/* Returns the number of changes; 0 for a bad handle. */
VITRINE_API size_t vitrine_batch_count(const vitrine_batch *batch);

/* Removes all changes from the batch. Errors: BAD_HANDLE. */
VITRINE_API vitrine_status vitrine_batch_clear(vitrine_batch *batch);

/*
 * Makes the changes of the batch together: after any crash, all of them or none. The batch keeps its changes, and may
 * be written again. `durability` 0 is that of the store. Cost: one write, at most one sync. Errors: those of
 * vitrine_put; after an error, nothing has changed.
 */
VITRINE_API vitrine_status vitrine_write(
  vitrine_store *store, const vitrine_batch *batch, int32_t durability, vitrine_error *error);

VITRINE_API void vitrine_batch_release(vitrine_batch *batch);

/* --- Upkeep ------------------------------------------------------------------------------------------------------- */

/* The result of a compaction. */
typedef struct vitrine_compaction {
  size_t size; /* sizeof(vitrine_compaction) */
  uint64_t bytes_before;
  uint64_t bytes_after;
  uint64_t records_moved;
  uint64_t records_dropped; /* damaged ones */
  double seconds;
  int32_t is_interrupted;
  int32_t is_erased; /* 1 if no file holds bytes of removed entries any more */
} vitrine_compaction;

/* Receives the bytes done and the total of a long call. Returns 0 to stop the call. */
typedef int32_t (*vitrine_progress_function)(void *context, uint64_t done, uint64_t total);

/*
 * Makes the folder as small as possible without removing a live entry. `report` may be NULL; the caller sets its
 * `size`. `progress` may be NULL. Cost: O(store); gets go on, a write may wait for the copy of one segment.
 * Errors: BAD_HANDLE, INVALID_ARGUMENT, NO_SPACE, and those of vitrine_flush.
 */
VITRINE_API vitrine_status vitrine_compact(
  vitrine_store *store, vitrine_compaction *report, vitrine_progress_function progress, void *context,
  vitrine_error *error);

/* The result of a check of the whole store. */
typedef struct vitrine_verification {
  size_t size; /* sizeof(vitrine_verification) */
  uint64_t records;
  uint64_t bytes;
  uint64_t damaged; /* problems in bytes that were durable */
  uint64_t lost;    /* entries lost in a crash before they were durable, which is no damage */
} vitrine_verification;

/* One problem. Its pointers are valid until the callback returns. */
typedef struct vitrine_problem {
  size_t size;
  const char *file; /* relative to the folder of the store, with a NUL */
  uint64_t offset;
  const char *reason; /* a sentence, with a NUL */
  const char *url;    /* NULL if the key is not known */
  size_t url_length;
  const char *style; /* NULL if the key is not known */
  size_t style_length;
  int32_t is_lost; /* 1: lost, 0: damaged */
  int32_t reserved;
} vitrine_problem;

typedef void (*vitrine_problem_function)(void *context, const vitrine_problem *problem);

/*
 * Reads and checks every live byte. Restores records of which only the log has an intact copy, as a get does, and
 * changes nothing else. `report` may be NULL; the caller sets its `size`. `problem` may be NULL; it is called for each
 * problem, after the check. Returns OK if the check finished, with or without problems.
 * Cost: O(live bytes), read from the disk. Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED, SYSTEM.
 */
VITRINE_API vitrine_status vitrine_verify(
  vitrine_store *store, vitrine_verification *report, vitrine_problem_function problem, void *context,
  vitrine_error *error);

/* The state in which an opening found the store. */
enum { VITRINE_CREATED = 1, VITRINE_CLEAN = 2, VITRINE_RECOVERED = 3, VITRINE_REBUILT = 4 };

/* Contents and counters of a store. */
typedef struct vitrine_stat {
  size_t size; /* sizeof(vitrine_stat) */
  uint64_t entries;
  uint64_t blobs; /* different payloads */
  uint64_t bytes_on_disk;
  uint64_t bytes_live;
  uint64_t bytes_dead;
  uint64_t bytes_pinned;  /* bytes of the segments that values hold */
  uint64_t bytes_logical; /* bytes that gets of all keys would return */
  uint64_t budget_bytes;
  uint64_t budget_entries; /* 0 for no limit */
  uint64_t minimum_free_bytes;
  int64_t disk_free_bytes; /* VITRINE_NONE if not known */
  uint64_t hits;
  uint64_t misses;
  uint64_t damaged;
  uint64_t lost;
  uint64_t evicted;
  uint64_t evicted_bytes;
  int64_t last_checkpoint; /* 0 before the first */
  double write_amplification;
  double open_milliseconds;
  uint64_t entries_replayed; /* by this opening */
  uint64_t entries_dropped;  /* by this opening */
  int32_t open_kind;         /* VITRINE_CLEAN, ... */
  int32_t may_have_lost_removals;
  uint32_t format_version;
  int32_t policy;
  uint64_t segments;
  int64_t pinned_entries; /* VITRINE_NONE while they are being counted */
} vitrine_stat;

/* Fills `stat`, whose `size` the caller has set. Cost: O(segments). Errors: BAD_HANDLE, INVALID_ARGUMENT, CLOSED. */
VITRINE_API vitrine_status vitrine_get_stat(vitrine_store *store, vitrine_stat *stat, vitrine_error *error);

/*
 * Returns the numbers of vitrine_get_stat, and more, as one JSON object in UTF-8 with a NUL at its end. The names are
 * those of `cachectl stat --json`. `length` excludes the NUL, and may be NULL. vitrine_text_release releases the text.
 * Cost and errors: those of vitrine_get_stat, and SYSTEM if memory is short.
 */
VITRINE_API vitrine_status vitrine_stat_json(vitrine_store *store, char **text, size_t *length, vitrine_error *error);

/* Releases a text of vitrine_stat_json. */
VITRINE_API void vitrine_text_release(char *text);

#ifdef __cplusplus
}
#endif

#endif
