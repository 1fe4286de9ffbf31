#define _GNU_SOURCE
#include "decoder_process.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#endif

extern char **environ;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// --- Starting --------------------------------------------------------------------------------------------------------

// Moves the descriptor above the standard ones, so that no descriptor replaces another one that is still needed.
static int moved_up(int descriptor) {
  int higher = fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
  int error = errno;
  close(descriptor);
  errno = error;
  return higher;
}

static int make_pair(int ends[2]) {
#ifdef SOCK_CLOEXEC
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
#else
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
#endif
#ifdef SO_NOSIGPIPE
  int yes = 1;
  setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
  setsockopt(ends[1], SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
#endif
  ends[1] = moved_up(ends[1]);
  if (ends[1] >= 0) return 0;
  int error = errno;
  close(ends[0]);
  return error;
}

// The caller's environment without Swift's crash backtracer. The backtracer takes seconds for a crash that should cost
// only one picture, and keeps a process that was sent SIGABRT alive. Returns NULL if memory is short.
static char **make_environment(void) {
  static char quiet[] = "SWIFT_BACKTRACE=enable=no";
  size_t count = 0;
  while (environ && environ[count]) count++;
  char **variables = calloc(count + 2, sizeof *variables);
  if (!variables) return NULL;
  size_t kept = 0;
  variables[kept++] = quiet;
  for (size_t at = 0; at < count; at++) {
    if (strncmp(environ[at], "SWIFT_BACKTRACE=", sizeof "SWIFT_BACKTRACE=" - 1) != 0) variables[kept++] = environ[at];
  }
  return variables;
}

int vitrine_process_start(const char *path, char *const arguments[], int *socket, pid_t *process) {
  int ends[2];
  int error = make_pair(ends);
  if (error) return error;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  char **environment = make_environment();
  if (!environment && (error = ENOMEM)) goto closing;
  if ((error = posix_spawn_file_actions_init(&actions))) goto closing;
  if ((error = posix_spawnattr_init(&attributes))) goto actions;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
  flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
  (error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0)) ||
      (error = posix_spawn_file_actions_adddup2(&actions, 0, 1)) ||
      (error = posix_spawn_file_actions_adddup2(&actions, 0, 2)) ||
      (error = posix_spawn_file_actions_adddup2(&actions, ends[1], 3)) ||
      (error = posix_spawnattr_setsigdefault(&attributes, &all)) ||
      (error = posix_spawnattr_setsigmask(&attributes, &none)) ||
      (error = posix_spawnattr_setpgroup(&attributes, 0)) ||
      (error = posix_spawnattr_setflags(&attributes, flags)) ||
      (error = posix_spawn(process, path, &actions, &attributes, arguments, environment));
  posix_spawnattr_destroy(&attributes);
actions:
  posix_spawn_file_actions_destroy(&actions);
closing:
  free(environment);
  close(ends[1]);
  if (error) {
    close(ends[0]);
  } else {
    *socket = ends[0];
  }
  return error;
}

// --- Ending ----------------------------------------------------------------------------------------------------------

int vitrine_process_end(pid_t process, int64_t milliseconds, int *status, bool *was_killed) {
  *was_killed = false;
  int64_t deadline = now() + milliseconds;
  for (;;) {
    pid_t found = waitpid(process, status, WNOHANG);
    if (found == process) return 0;
    if (found < 0 && errno != EINTR) return errno;
    if (now() >= deadline) break;
    poll(NULL, 0, 1);
  }
  *was_killed = true;
  kill(process, SIGKILL);
  while (waitpid(process, status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int vitrine_process_signal(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

int vitrine_process_exit_status(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

bool vitrine_process_has_spoken(int socket) {
  struct pollfd poller = {.fd = socket, .events = POLLIN};
  return poll(&poller, 1, 0) != 0;
}

// --- Limits ----------------------------------------------------------------------------------------------------------

// The bytes of address space in use by this process; 0 if unknown.
static uint64_t address_space(void) {
  unsigned long pages = 0;
#ifdef __linux__
  FILE *file = fopen("/proc/self/statm", "re");
  if (file) {
    if (fscanf(file, "%lu", &pages) != 1) pages = 0;
    fclose(file);
  }
#endif
  return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int limit_resources(uint64_t byte_count) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 4U, ~0U, 0U) != 0)
#endif
  {
    long most = sysconf(_SC_OPEN_MAX);
    for (int descriptor = 4; descriptor < (most > 0 && most < 65536 ? most : 65536); descriptor++) close(descriptor);
  }
  struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return errno;
  uint64_t has = address_space();
  // Without the present size, a limit could be below the current use.
  if (has == 0 || byte_count > UINT64_MAX / 2 - has) return 0;
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0) return errno;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max <= has + byte_count) return 0;
  limit.rlim_cur = limit.rlim_max = has + byte_count;
  return setrlimit(RLIMIT_AS, &limit) == 0 ? 0 : errno;
}

int vitrine_process_confine(uint64_t byte_count) {
#ifdef __GLIBC__
  // Each arena reserves 64 MiB of address space, and each thread would take one.
  mallopt(M_ARENA_MAX, 1);
#endif
  int error = limit_resources(byte_count);
  return error ? error : vitrine_sandbox_enter();
}

int vitrine_process_limit_time(uint64_t milliseconds) {
  struct rusage usage;
  struct rlimit limit;
  if (getrusage(RUSAGE_SELF, &usage) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0) return errno;
  uint64_t used = (uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec + 2;
  if (milliseconds / 1000 > UINT64_MAX / 2 - used) return 0;
  uint64_t seconds = used + (milliseconds + 999) / 1000;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || seconds < limit.rlim_max ? seconds : limit.rlim_max;
  return setrlimit(RLIMIT_CPU, &limit) == 0 ? 0 : errno;
}

// --- Bytes and descriptors -------------------------------------------------------------------------------------------

#ifdef MSG_NOSIGNAL
#define SENDING (MSG_NOSIGNAL | MSG_DONTWAIT)
#else
#define SENDING MSG_DONTWAIT
#endif

int vitrine_process_send(int socket, const void *bytes, size_t count, int descriptor) {
  size_t sent = 0;
  while (sent < count) {
    struct iovec part = {.iov_base = (char *)bytes + sent, .iov_len = count - sent};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union {
      struct cmsghdr header;
      char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    if (descriptor >= 0 && sent == 0) {
      memset(&control, 0, sizeof control);
      message.msg_control = control.bytes;
      message.msg_controllen = sizeof control.bytes;
      struct cmsghdr *header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    ssize_t result = sendmsg(socket, &message, SENDING);
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) return errno == ECONNRESET ? EPIPE : errno;
    sent += (size_t)result;
  }
  return 0;
}

// Stores the first descriptor sent with `message`, and closes all others.
static void take_descriptors(struct msghdr *message, int *descriptor) {
  for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int found;
      memcpy(&found, CMSG_DATA(header) + i * sizeof found, sizeof found);
      fcntl(found, F_SETFD, FD_CLOEXEC);
      if (*descriptor < 0) {
        *descriptor = found;
      } else {
        close(found);
      }
    }
  }
}

int vitrine_process_receive(int socket, void *bytes, size_t count, int *descriptor, int64_t milliseconds) {
  if (descriptor) *descriptor = -1;
  int64_t start = now();
  int64_t deadline = milliseconds < 0 || milliseconds > INT64_MAX - start ? INT64_MAX : start + milliseconds;
  size_t received = 0;
  int error = 0;
  while (received < count && !error) {
    int64_t left = deadline - now();
    if (left < 0) left = 0;
    struct pollfd poller = {.fd = socket, .events = POLLIN};
    int ready = poll(&poller, 1, deadline == INT64_MAX ? -1 : left > 1000000 ? 1000000 : (int)left);
    if (ready < 0 && errno != EINTR) error = errno;
    if (ready == 0 && now() >= deadline) error = ETIMEDOUT;
    if (ready <= 0) continue;
    struct iovec part = {.iov_base = (char *)bytes + received, .iov_len = count - received};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union {
      struct cmsghdr header;
      char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    // Without space for control data, the system closes descriptors that the caller did not ask for.
    if (descriptor) {
      message.msg_control = control.bytes;
      message.msg_controllen = sizeof control.bytes;
    }
    ssize_t result = recvmsg(socket, &message, MSG_DONTWAIT);
    if (result < 0) {
      if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) error = errno == ECONNRESET ? EPIPE : errno;
      continue;
    }
    if (descriptor) take_descriptors(&message, descriptor);
    if (result == 0) error = EPIPE;
    received += (size_t)result;
  }
  if (error && descriptor && *descriptor >= 0) {
    close(*descriptor);
    *descriptor = -1;
  }
  return error;
}
