#define _GNU_SOURCE
#include "CBench.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

// The whole file is mapped once, far beyond its end; only written bytes are touched.
static const uint64_t mapped_count = 1ull << 37;
static const uint64_t chunk_count = 16ull << 20;

typedef struct {
  _Atomic uint64_t low;     // 0: a free slot
  _Atomic uint64_t high;
  _Atomic uint64_t offset;
  _Atomic uint64_t length;  // length + 1; 0: removed, or not complete yet
} slot;

typedef struct {
  uint64_t low, high, offset, length;
} saved_slot;

struct raw_table {
  slot *slots;
  uint64_t mask;
  uint8_t *map;
  int file;
  bool mapped;
  char folder[4000];
  _Atomic uint64_t end;
  _Atomic uint64_t populated;
  _Atomic uint64_t used;
  pthread_mutex_t growing;
};

bench_hash bench_hash_key(const void *key, size_t count) {
  XXH128_hash_t hash = XXH3_128bits(key, count);
  return (bench_hash){.low = hash.low64, .high = hash.high64};
}

static inline bench_hash hash_of(const void *key, size_t count) {
  bench_hash hash = bench_hash_key(key, count);
  if (hash.low == 0) hash.low = 1;
  return hash;
}

static slot *find(const raw_table *table, bench_hash hash) {
  for (uint64_t index = hash.low & table->mask;; index = (index + 1) & table->mask) {
    slot *here = &table->slots[index];
    uint64_t low = atomic_load_explicit(&here->low, memory_order_acquire);
    if (low == 0) return NULL;
    if (low == hash.low && atomic_load_explicit(&here->high, memory_order_relaxed) == hash.high) return here;
  }
}

static int insert(raw_table *table, bench_hash hash, uint64_t offset, uint64_t count) {
  slot *here = find(table, hash);
  for (uint64_t index = hash.low & table->mask; here == NULL; index = (index + 1) & table->mask) {
    uint64_t empty = 0;
    if (!atomic_compare_exchange_strong(&table->slots[index].low, &empty, hash.low)) continue;
    if (atomic_fetch_add(&table->used, 1) > table->mask - (table->mask >> 3)) return ENOSPC;
    here = &table->slots[index];
    atomic_store_explicit(&here->high, hash.high, memory_order_relaxed);
  }
  atomic_store_explicit(&here->offset, offset, memory_order_relaxed);
  atomic_store_explicit(&here->length, count + 1, memory_order_release);
  return 0;
}

// Allocates and populates the mapping up to `end`.
static int grow(raw_table *table, uint64_t end) {
  int error = 0;
  pthread_mutex_lock(&table->growing);
  uint64_t start = atomic_load(&table->populated);
  while (error == 0 && start < end) {
    error = posix_fallocate(table->file, (off_t)start, (off_t)chunk_count);
    if (error == 0 && madvise(table->map + start, chunk_count, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
      error = errno;
    }
    if (error == 0) {
      start += chunk_count;
      atomic_store(&table->populated, start);
    }
  }
  pthread_mutex_unlock(&table->growing);
  return error;
}

static int load(raw_table *table) {
  char path[4096];
  snprintf(path, sizeof path, "%s/index", table->folder);
  FILE *file = fopen(path, "rb");
  if (file == NULL) return errno == ENOENT ? 0 : errno;
  int error = 0;
  saved_slot saved;
  uint64_t end = 0;
  while (error == 0 && fread(&saved, sizeof saved, 1, file) == 1) {
    error = insert(table, (bench_hash){.low = saved.low, .high = saved.high}, saved.offset, saved.length);
    if (end < saved.offset + saved.length) end = saved.offset + saved.length;
  }
  fclose(file);
  atomic_store(&table->end, end);
  atomic_store(&table->populated, (end + chunk_count - 1) / chunk_count * chunk_count);
  return error;
}

static int save(const raw_table *table) {
  char path[4096];
  snprintf(path, sizeof path, "%s/index", table->folder);
  FILE *file = fopen(path, "wb");
  if (file == NULL) return errno;
  bool complete = true;
  for (uint64_t index = 0; index <= table->mask; index++) {
    const slot *here = &table->slots[index];
    if (atomic_load(&here->length) == 0) continue;
    saved_slot saved = {
        .low = atomic_load(&here->low),
        .high = atomic_load(&here->high),
        .offset = atomic_load(&here->offset),
        .length = atomic_load(&here->length) - 1,
    };
    complete = fwrite(&saved, sizeof saved, 1, file) == 1 && complete;
  }
  complete = fclose(file) == 0 && complete;
  return complete ? 0 : EIO;
}

static void release(raw_table *table) {
  if (table->map != MAP_FAILED) munmap(table->map, mapped_count);
  if (table->slots != MAP_FAILED) munmap(table->slots, (table->mask + 1) * sizeof(slot));
  if (table->file >= 0) close(table->file);
  pthread_mutex_destroy(&table->growing);
  free(table);
}

int raw_open(const char *folder, uint64_t entries, bool mapped, raw_table **opened) {
  raw_table *table = calloc(1, sizeof *table);
  if (table == NULL) return ENOMEM;
  uint64_t count = 1024;
  while (count < entries + entries / 2) count *= 2;
  table->mask = count - 1;
  table->mapped = mapped;
  pthread_mutex_init(&table->growing, NULL);
  snprintf(table->folder, sizeof table->folder, "%s", folder);
  char path[4096];
  snprintf(path, sizeof path, "%s/values", folder);
  table->map = MAP_FAILED;
  table->file = -1;
  table->slots = mmap(NULL, count * sizeof(slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                      -1, 0);
  int error = table->slots == MAP_FAILED ? errno : 0;
  if (error == 0) {
    table->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    error = table->file < 0 ? errno : 0;
  }
  if (error == 0) {
    int protection = mapped ? PROT_READ | PROT_WRITE : PROT_READ;
    table->map = mmap(NULL, mapped_count, protection, MAP_SHARED | MAP_NORESERVE, table->file, 0);
    error = table->map == MAP_FAILED ? errno : 0;
  }
  if (error == 0) error = load(table);
  if (error != 0) {
    release(table);
    return error;
  }
  *opened = table;
  return 0;
}

int raw_close(raw_table *table) {
  int error = save(table);
  // Space behind the last value is no part of the store.
  if (error == 0 && ftruncate(table->file, (off_t)atomic_load(&table->end)) != 0) error = errno;
  release(table);
  return error;
}

int raw_put(raw_table *table, const void *key, size_t key_count, const void *value, size_t count) {
  bench_hash hash = hash_of(key, key_count);
  uint64_t offset = atomic_fetch_add(&table->end, count);
  if (offset + count + chunk_count > mapped_count) return ENOSPC;
  if (table->mapped) {
    if (offset + count > atomic_load_explicit(&table->populated, memory_order_acquire)) {
      int error = grow(table, offset + count);
      if (error != 0) return error;
    }
    memcpy(table->map + offset, value, count);
  } else {
    ssize_t written = pwrite(table->file, value, count, (off_t)offset);
    if (written != (ssize_t)count) return written < 0 ? errno : EIO;
  }
  return insert(table, hash, offset, count);
}

int raw_sync(raw_table *table) { return fdatasync(table->file) == 0 ? 0 : errno; }

bool raw_get(const raw_table *table, const void *key, size_t key_count, raw_value *value) {
  slot *here = find(table, hash_of(key, key_count));
  uint64_t length = here == NULL ? 0 : atomic_load_explicit(&here->length, memory_order_acquire);
  if (length == 0) return false;
  value->bytes = table->map + atomic_load_explicit(&here->offset, memory_order_relaxed);
  value->count = length - 1;
  return true;
}

bool raw_remove(raw_table *table, const void *key, size_t key_count) {
  slot *here = find(table, hash_of(key, key_count));
  return here != NULL && atomic_exchange(&here->length, 0) != 0;
}
