#define _GNU_SOURCE
#include "CBench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

uint64_t bench_consume(const void *bytes, size_t count) {
  const uint8_t *next = bytes;
  // Four sums, so that additions do not wait for each other.
  uint64_t sums[4] = {0, 0, 0, 0};
  for (; count >= 32; count -= 32, next += 32) {
    uint64_t words[4];
    memcpy(words, next, sizeof words);
    for (int lane = 0; lane < 4; lane++) sums[lane] ^= words[lane];
  }
  uint64_t sum = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  while (count > 0) {
    uint64_t word = 0;
    size_t part = count < 8 ? count : 8;
    memcpy(&word, next, part);
    sum ^= word;
    next += part;
    count -= part;
  }
  return sum;
}

uint64_t bench_touch(const void *bytes, size_t count) { return bench_consume(bytes, count < 64 ? count : 64); }

int bench_sync_file_system(const char *folder) {
  int file = open(folder, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  int error = syncfs(file) == 0 ? 0 : errno;
  close(file);
  return error;
}

void bench_warm_memory(size_t count) {
  void *memory = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  for (size_t offset = 0; offset < count; offset += 4096) ((volatile uint8_t *)memory)[offset] = 1;
  munmap(memory, count);
}

int bench_device(const char *path, unsigned *major_number, unsigned *minor_number) {
  struct stat status;
  if (stat(path, &status) != 0) return errno;
  *major_number = major(status.st_dev);
  *minor_number = minor(status.st_dev);
  return 0;
}
