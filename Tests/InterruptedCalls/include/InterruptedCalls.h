#pragma once

// The system calls of this program, instead of the C library's. While enabled, one call of three is interrupted
// (EINTR), and one read or write of three does half of its work. Only a program made for it may link this.

enum interrupted_call {
  INTERRUPTED_OPEN,
  INTERRUPTED_READ,
  INTERRUPTED_WRITE,
  INTERRUPTED_SYNC,
  INTERRUPTED_ALLOCATE,
  INTERRUPTED_TRUNCATE,
  INTERRUPTED_LOCK,
  INTERRUPTED_CALL_COUNT,
};

void interrupted_calls_set(_Bool is_on);

// The numbers of calls of a kind that were interrupted, and that did only a part.
long interrupted_call_count(enum interrupted_call call);
long shortened_call_count(enum interrupted_call call);
