#pragma once

// The system calls of this program, instead of the C library's: while it is on, one call of three is interrupted (EINTR), and
// one read or write of three does half of what it was asked for. Only a program that is made for it may link this.

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

// How many calls of a kind were interrupted, and how many did only a part.
long interrupted_call_count(enum interrupted_call call);
long shortened_call_count(enum interrupted_call call);
