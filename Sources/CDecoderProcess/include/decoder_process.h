// Calls for a process of another program at the other end of a socket, and for memory that both share. Swift cannot
// make these calls itself, or they differ between Linux and Apple systems. Calls return 0 or an errno, unless stated
// otherwise. None raises SIGPIPE. Every descriptor is closed on exec. Thread-safe.
#ifndef DECODER_PROCESS_H
#define DECODER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// --- The owner's side ------------------------------------------------------------------------------------------------

// Starts the program at `path`, in its own process group, with all signals at their defaults. Its end of the socket is
// descriptor 3; descriptors 0 to 2 are /dev/null. `arguments` ends with NULL.
int vitrine_process_start(const char *path, char *const arguments[], int *socket, pid_t *process);

// Waits up to `milliseconds` for the end of a process, then kills it, and leaves no zombie. `status` is waitpid's;
// `was_killed` tells that it did not end by itself. ECHILD: another caller has waited for it.
int vitrine_process_end(pid_t process, int64_t milliseconds, int *status, bool *was_killed);

// Decode waitpid's status. The first returns the signal, or 0 if there was none; the second the exit status, or -1.
int vitrine_process_signal(int status);
int vitrine_process_exit_status(int status);

// Whether bytes can be read, or the other end is closed.
bool vitrine_process_has_spoken(int socket);

// --- The program's side ----------------------------------------------------------------------------------------------

// Limits this process permanently: no core dumps, no descriptors above 3, and, if its size is known (Linux), at most
// `byte_count` more bytes of address space. Then enters the sandbox.
int vitrine_process_confine(uint64_t byte_count);

// Limits the further processor time of this process to `milliseconds`, rounded up to seconds, and up to 2 s more.
// SIGXCPU ends it at the limit.
int vitrine_process_limit_time(uint64_t milliseconds);

// --- Between both ----------------------------------------------------------------------------------------------------

// Sends all bytes, and a descriptor with the first of them unless it is -1. EAGAIN if the other side does not read.
int vitrine_process_send(int socket, const void *bytes, size_t count, int descriptor);

// Receives all bytes, within `milliseconds` (negative: no limit). ETIMEDOUT; EPIPE if the other side has closed.
// Stores the received descriptor, or -1; if `descriptor` is NULL, takes none.
int vitrine_process_receive(int socket, void *bytes, size_t count, int *descriptor, int64_t milliseconds);

// --- Memory that both can see ----------------------------------------------------------------------------------------

// Makes memory of a fixed size, filled with zeros, as a descriptor.
int vitrine_memory_make(size_t count, int *descriptor);

// Writes the beginning of the memory.
int vitrine_memory_fill(int descriptor, const void *bytes, size_t count);

// Makes the memory immutable for every process, forever. EBUSY if a process has it mapped for writing; ENOTSUP if
// the system cannot do that.
int vitrine_memory_freeze(int descriptor);

// Maps the memory. Returns NULL if it cannot be mapped. If `to_share` is set, all processes see the writes through
// the mapping. Otherwise the mapping is private, or read-only on Apple systems.
void *vitrine_memory_map(int descriptor, size_t count, bool to_share);
void vitrine_memory_unmap(void *bytes, size_t count);

// Whether the memory has at least this size: access beyond the end of smaller memory raises SIGBUS.
bool vitrine_memory_has(int descriptor, size_t count);

#endif
