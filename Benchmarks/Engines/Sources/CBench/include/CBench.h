// The bare disk as an engine, and the measurements' system calls.
#ifndef CBENCH_H
#define CBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The bare disk ---------------------------------------------------------------------------------------------------
// An open-addressing table by the XXH3-128 of the key, over one file of values. Values are appended and never
// reclaimed. There are no checksums, no log and no order of writes. Any number of threads may call it, if no two of
// them change one key at the same time. Functions return 0 or an errno.

typedef struct raw_table raw_table;

typedef struct {
  const void *bytes;
  size_t count;
} raw_value;

// `mapped` copies values into a mapping that is allocated and populated 16 MiB at a time. Otherwise values are written
// by pwrite. `entries` is the number of keys that the table must hold.
int raw_open(const char *folder, uint64_t entries, bool mapped, raw_table **table);
// Saves the table, unsynced, and releases it.
int raw_close(raw_table *table);
int raw_put(raw_table *table, const void *key, size_t key_count, const void *value, size_t count);
int raw_sync(raw_table *table);
bool raw_get(const raw_table *table, const void *key, size_t key_count, raw_value *value);
bool raw_remove(raw_table *table, const void *key, size_t key_count);

// Measurements ----------------------------------------------------------------------------------------------------

typedef struct {
  uint64_t low;
  uint64_t high;
} bench_hash;

// XXH3-128.
bench_hash bench_hash_key(const void *key, size_t count);

// Reads every byte: the exclusive or of all words of 8 bytes. The last word is filled up with zeros.
uint64_t bench_consume(const void *bytes, size_t count);
// Reads the first 64 bytes, or fewer if there are fewer, in the same way.
uint64_t bench_touch(const void *bytes, size_t count);

// Writes all dirty pages of the file system that holds `folder`, and waits.
int bench_sync_file_system(const char *folder);
// Touches memory and frees it again, so that the next user does not pay for pages that were free for long.
void bench_warm_memory(size_t count);
// The device of a file as /sys/dev/block names it.
int bench_device(const char *path, unsigned *major_number, unsigned *minor_number);

#endif
