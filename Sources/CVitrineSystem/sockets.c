#define _GNU_SOURCE
#include "CVitrineSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/sockios.h>
#endif

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
#ifndef MSG_CMSG_CLOEXEC
#define MSG_CMSG_CLOEXEC 0
#endif

// Room for the descriptors of one message; a peer passes at most one. The system closes those without room.
enum { MOST_PASSED = 8 };

ssize_t vitrine_send_passing(int socket, const struct iovec *parts, size_t count, int descriptor) {
  union {
    struct cmsghdr alignment;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {0};
  message.msg_iov = (struct iovec *)parts;
  message.msg_iovlen = count;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  return sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t vitrine_receive_passing(int socket, void *bytes, size_t count, int *descriptor, bool *is_cut) {
  union {
    struct cmsghdr alignment;
    char bytes[CMSG_SPACE(sizeof(int) * MOST_PASSED)];
  } control;
  *descriptor = -1;
  *is_cut = false;
  struct iovec part = {.iov_base = bytes, .iov_len = count};
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (received < 0) return received;
  *is_cut = (message.msg_flags & MSG_CTRUNC) != 0;
  const char *end = control.bytes + message.msg_controllen;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    // The length may be that of all passed descriptors, although the system has cut their list.
    const char *last = (const char *)header + header->cmsg_len;
    if (last > end) last = end;
    const char *next = (const char *)CMSG_DATA(header);
    for (; last - next >= (ptrdiff_t)sizeof(int); next += sizeof(int)) {
      int found;
      memcpy(&found, next, sizeof(int));
      if (MSG_CMSG_CLOEXEC == 0) fcntl(found, F_SETFD, FD_CLOEXEC);
      if (*descriptor < 0) {
        *descriptor = found;
      } else {
        close(found);
      }
    }
  }
  return received;
}

int64_t vitrine_unsent_count(int socket) {
#if defined(__linux__)
  int count = 0;
  return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
#else
  int count = 0;
  socklen_t size = sizeof count;
  return getsockopt(socket, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 ? count : -1;
#endif
}

int vitrine_reopen_for_reading(int descriptor) {
#if defined(__linux__)
  // The name in /proc leads to the file itself, also after it was unlinked.
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  return open(path, O_RDONLY | O_CLOEXEC);
#else
  char path[MAXPATHLEN];
  struct stat wanted, found;
  if (fcntl(descriptor, F_GETPATH, path) != 0 || fstat(descriptor, &wanted) != 0) return -1;
  int reopened = open(path, O_RDONLY | O_CLOEXEC);
  if (reopened < 0) return -1;
  // The name may belong to another file by now.
  if (fstat(reopened, &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) return reopened;
  close(reopened);
  return -1;
#endif
}
