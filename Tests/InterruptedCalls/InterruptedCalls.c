#define _GNU_SOURCE
// With _FORTIFY_SOURCE, the functions below would be macros.
#undef _FORTIFY_SOURCE
#include "InterruptedCalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_bool is_on;
static atomic_long turns[INTERRUPTED_CALL_COUNT];
static atomic_long interrupted[INTERRUPTED_CALL_COUNT];
static atomic_long shortened[INTERRUPTED_CALL_COUNT];

void interrupted_calls_set(_Bool value) { is_on = value; }
long interrupted_call_count(enum interrupted_call call) { return interrupted[call]; }
long shortened_call_count(enum interrupted_call call) { return shortened[call]; }

// The turn of this call among three; -1 while interruption is off.
static long turn(enum interrupted_call call) { return is_on ? atomic_fetch_add(&turns[call], 1) % 3 : -1; }

static _Bool interrupts(enum interrupted_call call, long turn) {
  if (turn != 0) return 0;
  interrupted[call]++;
  errno = EINTR;
  return 1;
}

// Half of so many bytes, but at least one.
static size_t part(enum interrupted_call call, long turn, size_t count) {
  if (turn != 1 || count < 2) return count;
  shortened[call]++;
  return count / 2;
}

static int open_at(int directory, const char *path, int flags, mode_t mode) {
  if (interrupts(INTERRUPTED_OPEN, turn(INTERRUPTED_OPEN))) return -1;
  return (int)syscall(SYS_openat, directory, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_at(directory, path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_at(AT_FDCWD, path, flags, mode);
}

ssize_t pread(int descriptor, void *buffer, size_t count, off_t offset) {
  long now = turn(INTERRUPTED_READ);
  if (interrupts(INTERRUPTED_READ, now)) return -1;
  return syscall(SYS_pread64, descriptor, buffer, part(INTERRUPTED_READ, now, count), offset);
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int part_count, off_t offset) {
  long now = turn(INTERRUPTED_WRITE);
  if (interrupts(INTERRUPTED_WRITE, now)) return -1;
  size_t count = 0;
  for (int i = 0; i < part_count; i++) count += parts[i].iov_len;
  size_t wanted = part(INTERRUPTED_WRITE, now, count);
  if (wanted == count) return syscall(SYS_pwritev, descriptor, parts, part_count, offset, 0);
  // Ends in the middle of the first part or, behind it, of the second.
  struct iovec some[2] = {parts[0], {0, 0}};
  if (some[0].iov_len >= wanted) {
    some[0].iov_len = wanted;
  } else {
    some[1] = parts[1];
    some[1].iov_len = wanted - some[0].iov_len;
  }
  return syscall(SYS_pwritev, descriptor, some, some[1].iov_len > 0 ? 2 : 1, offset, 0);
}

int fsync(int descriptor) {
  return interrupts(INTERRUPTED_SYNC, turn(INTERRUPTED_SYNC)) ? -1 : (int)syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
  return interrupts(INTERRUPTED_SYNC, turn(INTERRUPTED_SYNC)) ? -1 : (int)syscall(SYS_fdatasync, descriptor);
}

int fallocate(int descriptor, int mode, off_t offset, off_t count) {
  if (interrupts(INTERRUPTED_ALLOCATE, turn(INTERRUPTED_ALLOCATE))) return -1;
  return (int)syscall(SYS_fallocate, descriptor, mode, offset, count);
}

int ftruncate(int descriptor, off_t count) {
  if (interrupts(INTERRUPTED_TRUNCATE, turn(INTERRUPTED_TRUNCATE))) return -1;
  return (int)syscall(SYS_ftruncate, descriptor, count);
}

int flock(int descriptor, int operation) {
  if (interrupts(INTERRUPTED_LOCK, turn(INTERRUPTED_LOCK))) return -1;
  return (int)syscall(SYS_flock, descriptor, operation);
}
