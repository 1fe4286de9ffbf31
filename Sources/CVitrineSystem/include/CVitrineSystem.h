// The few functions that Swift cannot use by itself: calls that Glibc hides behind _GNU_SOURCE, XXH3 compiled for
// the processor at hand, the thread-local block in which a reader publishes the memory it reads, and a signal handler.
#ifndef CVITRINESYSTEM_H
#define CVITRINESYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

// Hashes ---------------------------------------------------------------------------------------------------------

typedef struct {
  uint64_t low;
  uint64_t high;
} vitrine_hash128;

enum { VITRINE_SECRET_BYTES = 192 };

// XXH3-128 of a key under a secret of VITRINE_SECRET_BYTES.
vitrine_hash128 vitrine_hash_key(const void *bytes, size_t count, const void *secret);
// XXH3-128 of a blob; uses AVX2 where the processor has it.
vitrine_hash128 vitrine_digest(const void *bytes, size_t count);
// XXH3-64 with a seed.
uint64_t vitrine_checksum(const void *bytes, size_t count, uint64_t seed);
// XXH3-64 of two ranges as a chain: the hash of the first one is part of the seed for the second one.
uint64_t vitrine_checksum2(const void *first, size_t first_count, const void *second, size_t second_count,
                           uint64_t seed);

// XXH3-128 of bytes that arrive in pieces. NULL when memory is short.
typedef struct vitrine_digest_state vitrine_digest_state;
vitrine_digest_state *vitrine_digest_begin(void);
void vitrine_digest_update(vitrine_digest_state *state, const void *bytes, size_t count);
vitrine_hash128 vitrine_digest_end(vitrine_digest_state *state);  // frees the state
// A digest state used for XXH3-64 with a seed: restart, update, read the value.
void vitrine_checksum_restart(vitrine_digest_state *state, uint64_t seed);
void vitrine_checksum_update(vitrine_digest_state *state, const void *bytes, size_t count);
uint64_t vitrine_checksum_value(const vitrine_digest_state *state);

// Files ----------------------------------------------------------------------------------------------------------

// Allocates blocks for [0, count) and extends the file; 0 or an errno. Never writes zeros instead: if the file system
// cannot allocate without writing, it returns EOPNOTSUPP.
int vitrine_allocate(int descriptor, int64_t count);
// Fills a buffer from the kernel's generator; 0 or an errno.
int vitrine_random(void *buffer, size_t count);
// Whether overwriting an allocated block never needs a new one. False on copy-on-write file systems, NFS and Apple
// platforms.
bool vitrine_promises_allocation(int descriptor);
// Reads the process's file size limit again; call it when a file is opened.
void vitrine_note_limits(void);
// The soft limit of descriptors that the process may have open.
int64_t vitrine_descriptor_limit(void);
// Writes two ranges by one pwritev, with SIGXFSZ turned into EFBIG. Returns the number of bytes written, or -errno.
int64_t vitrine_write2(int descriptor, const void *first, size_t first_count, const void *second,
                       size_t second_count, int64_t offset);
// Copies a range between files within the system, with SIGXFSZ turned into EFBIG. Returns the number of bytes copied,
// or -errno; -ENOSYS where the system cannot.
int64_t vitrine_copy_range(int source, int64_t from, int descriptor, int64_t to, size_t count);
// Truncation with SIGXFSZ turned into EFBIG; 0 or an errno.
int vitrine_truncate(int descriptor, int64_t count);
// Makes a file's data durable, and the metadata needed to read it back; 0 or an errno.
int vitrine_sync(int descriptor);
// Writes the dirty pages of a range to the disk, and waits for it; makes nothing durable. Does nothing if the
// system has no such call. 0, or an errno, which no later sync reports again.
int vitrine_write_back(int descriptor, int64_t offset, int64_t count);

// Copies memory that shows a file and may have undeliverable pages: 0 or an errno, and no signal if the system can
// avoid it.
int vitrine_copy_mapped(void *target, const void *source, size_t count);

// A number that changes in a forked child, once vitrine_lock or vitrine_watch_forks was called in the parent. May be
// called by a signal handler.
uint32_t vitrine_fork_generation(void);
// Returns that number, which changes in a forked child from now on, unless memory is too short for it.
uint32_t vitrine_watch_forks(void);

// Takes a file's exclusive lock without waiting, and notes its descriptor. A forked child closes the noted descriptors.
// Lock and note are one step for a fork. 0 or an errno; EWOULDBLOCK if another opening has the lock.
int vitrine_lock(int descriptor);
// Ends a lock, although a program that is being started may still have a copy of the descriptor. A forked child does
// not close the descriptor any more. Call it before the descriptor is closed.
void vitrine_unlock(int descriptor);

// Sockets --------------------------------------------------------------------------------------------------------

// Sends parts as one message over a Unix socket, and passes a descriptor with its first byte. Returns the number of
// bytes sent, or -1 with an errno.
ssize_t vitrine_send_passing(int socket, const struct iovec *parts, size_t count, int descriptor);
// Receives bytes, and a descriptor if the peer passes one. *descriptor is -1 if not; otherwise it belongs to the
// caller, and programs that the process starts do not inherit it. Closes further descriptors. *is_cut: the system
// discarded a descriptor, because the process has no free one or the message has too many. Returns the number of bytes,
// or -1 with an errno.
ssize_t vitrine_receive_passing(int socket, void *bytes, size_t count, int *descriptor, bool *is_cut);
// Returns 0 if the peer has received all bytes, else a positive number in a unit of the system, or -1 with an errno.
int64_t vitrine_unsent_count(int socket);
// Opens the file of a descriptor once more, for reading only. -1 if that is not possible.
int vitrine_reopen_for_reading(int descriptor);

// Pins -----------------------------------------------------------------------------------------------------------
// A reader publishes an address that stands for the memory it reads. Before memory is unmapped, it is made unreachable
// under the same lock under which readers publish. It is unmapped only after no thread publishes its address any more.
// Each of the first VITRINE_PIN_LEVELS nested borrows of a thread has a level of its own. Deeper ones share a list
// under a mutex.

enum { VITRINE_PIN_LEVELS = 8 };

// A thread's block; registered on first use and reused after its thread has ended.
typedef struct vitrine_thread vitrine_thread;
vitrine_thread *vitrine_thread_register(void);

extern _Thread_local vitrine_thread *vitrine_thread_current;

static inline vitrine_thread *vitrine_this_thread(void) {
  vitrine_thread *thread = vitrine_thread_current;
  return __builtin_expect(thread != NULL, 1) ? thread : vitrine_thread_register();
}

// Publishes `address`; returns the level for unpinning.
int32_t vitrine_pin(uintptr_t address);
void vitrine_unpin(int32_t level, uintptr_t address);
// Whether a thread has published an address in [low, high).
bool vitrine_is_pinned(uintptr_t low, uintptr_t high);
// Whether another thread than the calling one has published an address in [low, high).
bool vitrine_is_pinned_by_others(uintptr_t low, uintptr_t high);

// A value that the thread owns; `destroy` frees it when the thread ends.
void *vitrine_thread_value(void);
void vitrine_set_thread_value(void *value, void (*destroy)(void *));

// Stamps ---------------------------------------------------------------------------------------------------------
// Stamps of a recency clock that a thread has taken and not used yet. They count only for the generation under
// which they were taken; generations of different clocks differ.
typedef struct {
  uint64_t generation;
  uint32_t next;
  uint32_t left;
  uint32_t size;
} vitrine_stamps;

enum { VITRINE_STAMP_SLOTS = 4 };
extern _Thread_local vitrine_stamps vitrine_thread_stamps[VITRINE_STAMP_SLOTS];

// Returns the calling thread's slot for stamps of a generation. It may hold stamps of another generation.
static inline vitrine_stamps *vitrine_this_threads_stamps(uint64_t generation) {
  return &vitrine_thread_stamps[generation % VITRINE_STAMP_SLOTS];
}

// Bus errors -----------------------------------------------------------------------------------------------------
// A page of a mapped file that the disk cannot deliver, or that lies behind the end of a truncated file, raises
// SIGBUS on touch. Mappings are listed here; once the guard is installed, such a page is replaced by one of zeros
// and marked.

typedef struct vitrine_range vitrine_range;
// Lists a mapping; NULL if memory is short, and then the mapping is not guarded. Stores into a page of zeros of a
// writable mapping are lost.
vitrine_range *vitrine_range_add(const void *start, size_t count, bool writable);
// Takes a mapping off the list. Call it before unmapping, when no thread can touch the mapping any more. NULL does
// nothing.
void vitrine_range_remove(vitrine_range *range);
// Whether a page was replaced under the bytes at `address`, which lie within the range.
bool vitrine_range_is_damaged(const vitrine_range *range, const void *address, size_t count);

// Installs a handler for SIGBUS, once for the process; it passes every signal outside a listed mapping to the
// previous handler. 0 or an errno.
int vitrine_install_bus_guard(void);

// Not 0 once any page was replaced.
extern int vitrine_bus_errors;

// Whether any page was ever replaced. Bytes read from a mapping are valid only if this returns false afterwards, or
// the range is not damaged.
static inline bool vitrine_bus_errors_happened(void) {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __builtin_expect(__atomic_load_n(&vitrine_bus_errors, __ATOMIC_RELAXED) != 0, 0);
}

// Prefetches the line at `address` for reading.
static inline void vitrine_prefetch(const void *address) { __builtin_prefetch(address, 0, 3); }

#endif
