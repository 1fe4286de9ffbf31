#define _GNU_SOURCE
#include "CVitrineSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/random.h>
#include <sys/vfs.h>
#endif

// SIGXFSZ kills a process that writes past RLIMIT_FSIZE. It is blocked around calls that can grow a file. On Linux, the
// pending signal is consumed if such a call fails with EFBIG. The caller gets the error, and the process keeps its own
// handler.
static bool block_file_size_signal(sigset_t *old) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return pthread_sigmask(SIG_BLOCK, &set, old) == 0;
}

static void restore_signals(const sigset_t *old, bool take) {
#if defined(__linux__)
  if (take && sigismember(old, SIGXFSZ) == 0) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    struct timespec now = {0, 0};
    while (sigtimedwait(&set, NULL, &now) < 0 && errno == EINTR) {
    }
  }
#else
  (void)take;
#endif
  pthread_sigmask(SIG_SETMASK, old, NULL);
}

// Whether this process had a file size limit when it last allocated or opened a file. Writes go to files whose
// blocks were allocated before, so the limit at that time matters; without a limit, writes skip two calls each.
static bool size_limited;

void vitrine_note_limits(void) {
  struct rlimit limit;
  bool limited = getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
  __atomic_store_n(&size_limited, limited, __ATOMIC_RELAXED);
}

int64_t vitrine_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT64_MAX) return INT64_MAX;
  return (int64_t)limit.rlim_cur;
}

int vitrine_allocate(int descriptor, int64_t count) {
  vitrine_note_limits();
  sigset_t old;
  bool blocked = block_file_size_signal(&old);
  int result = 0;
#if defined(__linux__)
  do {
    result = fallocate(descriptor, 0, 0, count) == 0 ? 0 : errno;
  } while (result == EINTR);
#else
  fstore_t store = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, count, 0};
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    result = errno;
  } else if (status.st_size < count) {
    store.fst_length = count - status.st_size;
    if (fcntl(descriptor, F_PREALLOCATE, &store) == -1) result = errno;
    if (result == 0 && ftruncate(descriptor, count) != 0) result = errno;
  }
#endif
  if (blocked) restore_signals(&old, result == EFBIG);
  return result;
}

int vitrine_random(void *buffer, size_t count) {
#if defined(__linux__)
  unsigned char *next = buffer;
  while (count > 0) {
    ssize_t got = getrandom(next, count, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    next += got;
    count -= (size_t)got;
  }
  return 0;
#else
  arc4random_buf(buffer, count);
  return 0;
#endif
}

bool vitrine_promises_allocation(int descriptor) {
#if defined(__linux__)
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return false;
  switch ((unsigned long)status.f_type) {
    case 0x9123683EUL:  // btrfs
    case 0x2FC12FC1UL:  // zfs
    case 0xCA451A4EUL:  // bcachefs
    case 0x3434UL:      // nilfs2
    case 0xF2F52010UL:  // f2fs
    case 0x6969UL:      // nfs
      return false;
    default:
      return true;
  }
#else
  (void)descriptor;
  return false;
#endif
}

int64_t vitrine_write2(int descriptor, const void *first, size_t first_count, const void *second,
                       size_t second_count, int64_t offset) {
  struct iovec parts[2] = {{(void *)first, first_count}, {(void *)second, second_count}};
  sigset_t old;
  bool blocked = __atomic_load_n(&size_limited, __ATOMIC_RELAXED) && block_file_size_signal(&old);
  ssize_t written;
  do {
    written = pwritev(descriptor, parts, second_count > 0 ? 2 : 1, offset);
  } while (written < 0 && errno == EINTR);
  int64_t result = written < 0 ? -(int64_t)errno : written;
  if (blocked) restore_signals(&old, result == -EFBIG);
  return result;
}

int64_t vitrine_copy_range(int source, int64_t from, int descriptor, int64_t to, size_t count) {
#ifdef __linux__
  off64_t source_offset = from, target_offset = to;
  sigset_t old;
  bool blocked = __atomic_load_n(&size_limited, __ATOMIC_RELAXED) && block_file_size_signal(&old);
  ssize_t copied;
  do {
    copied = copy_file_range(source, &source_offset, descriptor, &target_offset, count, 0);
  } while (copied < 0 && errno == EINTR);
  int64_t result = copied < 0 ? -(int64_t)errno : copied;
  if (blocked) restore_signals(&old, result == -EFBIG);
  return result;
#else
  (void)source, (void)from, (void)descriptor, (void)to, (void)count;
  return -ENOSYS;
#endif
}

int vitrine_truncate(int descriptor, int64_t count) {
  sigset_t old;
  bool blocked = block_file_size_signal(&old);
  int result;
  do {
    result = ftruncate(descriptor, count) == 0 ? 0 : errno;
  } while (result == EINTR);
  if (blocked) restore_signals(&old, result == EFBIG);
  return result;
}

int vitrine_sync(int descriptor) {
  int result;
  do {
#if defined(__APPLE__)
    result = fcntl(descriptor, F_FULLFSYNC) == 0 ? 0 : errno;
#else
    result = fdatasync(descriptor) == 0 ? 0 : errno;
#endif
  } while (result == EINTR);
  return result;
}

int vitrine_copy_mapped(void *target, const void *source, size_t count) {
#if defined(__linux__)
  // The kernel copies and answers EFAULT where touching the page would raise SIGBUS.
  struct iovec to = {target, count};
  struct iovec from = {(void *)source, count};
  ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  if (copied == (ssize_t)count) return 0;
  if (copied >= 0 || errno == EFAULT) return EIO;
  // Some sandboxes refuse the call.
#endif
  memcpy(target, source, count);
  return 0;
}

// Fork -------------------------------------------------------------------------------------------------------------

static int *locks;
static int lock_count;
static int lock_room;
static pthread_mutex_t locks_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t fork_generation;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void before_fork(void) { pthread_mutex_lock(&locks_mutex); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&locks_mutex); }
static void after_fork_in_child(void) {
  for (int i = 0; i < lock_count; i++) close(locks[i]);
  lock_count = 0;
  __atomic_add_fetch(&fork_generation, 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&locks_mutex);
}
static void install_fork_handlers(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

uint32_t vitrine_fork_generation(void) { return __atomic_load_n(&fork_generation, __ATOMIC_RELAXED); }

uint32_t vitrine_watch_forks(void) {
  pthread_once(&fork_once, install_fork_handlers);
  return vitrine_fork_generation();
}

static int make_room_for_lock(void) {
  if (lock_count < lock_room) return 0;
  int room = lock_room + 16;
  int *more = realloc(locks, (size_t)room * sizeof *locks);
  if (!more) return ENOMEM;
  locks = more;
  lock_room = room;
  return 0;
}

int vitrine_lock(int descriptor) {
  pthread_once(&fork_once, install_fork_handlers);
  pthread_mutex_lock(&locks_mutex);
  int result = make_room_for_lock();
  if (result == 0) {
    do {
      result = flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    } while (result == EINTR);
    if (result == 0) locks[lock_count++] = descriptor;
  }
  pthread_mutex_unlock(&locks_mutex);
  return result;
}

void vitrine_unlock(int descriptor) {
  pthread_mutex_lock(&locks_mutex);
  flock(descriptor, LOCK_UN);
  for (int i = 0; i < lock_count; i++) {
    if (locks[i] == descriptor) {
      locks[i] = locks[--lock_count];
      break;
    }
  }
  pthread_mutex_unlock(&locks_mutex);
}

int vitrine_write_back(int descriptor, int64_t offset, int64_t count) {
#if defined(__linux__)
  unsigned flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  int result;
  do result = sync_file_range(descriptor, offset, count, flags);
  while (result != 0 && errno == EINTR);
  // File systems without this call leave all the work to the sync.
  return result == 0 || errno == ESPIPE || errno == EINVAL || errno == ENOSYS ? 0 : errno;
#else
  (void)descriptor, (void)offset, (void)count;
  return 0;
#endif
}
