#define _GNU_SOURCE
#include "decoder_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if !defined(MFD_ALLOW_SEALING) || !defined(F_ADD_SEALS)
// The name exists only for a moment: a name of shared memory on Apple systems, a file elsewhere.
static int make_unnamed(void) {
#ifdef __APPLE__
  for (int attempt = 0; attempt < 16; attempt++) {
    char name[32];
    snprintf(name, sizeof name, "/vitrine.%08x%08x", arc4random(), arc4random());
    int descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor >= 0) shm_unlink(name);
    return descriptor;
  }
  return -1;
#else
  const char *folder = getenv("TMPDIR");
  char path[1024];
  if (snprintf(path, sizeof path, "%s/vitrine.XXXXXX", folder ? folder : "/tmp") >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  int descriptor = mkstemp(path);
  if (descriptor >= 0) unlink(path);
  return descriptor;
#endif
}
#endif

int vitrine_memory_make(size_t count, int *descriptor) {
#if defined(MFD_ALLOW_SEALING) && defined(F_ADD_SEALS)
  int made = memfd_create("vitrine", MFD_CLOEXEC | MFD_ALLOW_SEALING);
#else
  int made = make_unnamed();
  if (made >= 0) fcntl(made, F_SETFD, FD_CLOEXEC);
#endif
  if (made < 0) return errno;
  if (ftruncate(made, (off_t)count) != 0) {
    int error = errno;
    close(made);
    return error;
  }
#if defined(MFD_ALLOW_SEALING) && defined(F_ADD_SEALS)
  // A process that could shrink the memory could make any reader fail with SIGBUS.
  if (fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    int error = errno;
    close(made);
    return error;
  }
#endif
  *descriptor = made;
  return 0;
}

int vitrine_memory_fill(int descriptor, const void *bytes, size_t count) {
#ifdef __APPLE__
  if (count == 0) return 0;
  void *memory = vitrine_memory_map(descriptor, count, true);
  if (!memory) return errno;
  memcpy(memory, bytes, count);
  vitrine_memory_unmap(memory, count);
#else
  size_t written = 0;
  while (written < count) {
    ssize_t result = pwrite(descriptor, (const char *)bytes + written, count - written, (off_t)written);
    if (result < 0 && errno == EINTR) continue;
    if (result <= 0) return result < 0 ? errno : ENOSPC;
    written += (size_t)result;
  }
#endif
  return 0;
}

int vitrine_memory_freeze(int descriptor) {
#if defined(MFD_ALLOW_SEALING) && defined(F_ADD_SEALS)
  return fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) == 0 ? 0 : errno;
#else
  (void)descriptor;
  return ENOTSUP;
#endif
}

void *vitrine_memory_map(int descriptor, size_t count, bool to_share) {
#ifdef __APPLE__
  // On Apple systems, shared memory can be mapped only with MAP_SHARED.
  int protection = to_share ? PROT_READ | PROT_WRITE : PROT_READ;
  void *memory = mmap(NULL, count, protection, MAP_SHARED, descriptor, 0);
#else
  void *memory = mmap(NULL, count, PROT_READ | PROT_WRITE, to_share ? MAP_SHARED : MAP_PRIVATE, descriptor, 0);
#endif
  if (memory == MAP_FAILED) return NULL;
#ifdef MADV_POPULATE_WRITE
  // Populates writable memory at once instead of page by page. Memory for reading is not populated, since its size may
  // be a false claim, with pages never written.
  if (to_share) madvise(memory, count, MADV_POPULATE_WRITE);
#endif
  return memory;
}

void vitrine_memory_unmap(void *bytes, size_t count) { munmap(bytes, count); }

bool vitrine_memory_has(int descriptor, size_t count) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && status.st_size >= 0 && (uint64_t)status.st_size >= count;
}
