// A process of another program at the other end of a socket, and memory that both can see: calls that Swift cannot
// make by itself, or that Linux and Apple systems do in different ways. Calls return 0 or an errno, unless stated
// otherwise. None raises SIGPIPE; every descriptor is closed on exec. Safe from any thread.
#ifndef DECODER_PROCESS_H
#define DECODER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// --- The owner's side -------------------------------------------------------------------------------------------------

// Starts the program at `path`, in a process group of its own and with all signals at their defaults. Its end of
// the socket is descriptor 3; nothing else is open but /dev/null. `arguments` ends with NULL.
int vitrine_process_start(const char *path, char *const arguments[], int *socket, pid_t *process);

// Waits up to so many milliseconds for its end, then kills it, and leaves no zombie. `status` is waitpid's;
// `was_killed` says that it had not ended by itself. ECHILD: another caller has waited for it.
int vitrine_process_end(pid_t process, int64_t milliseconds, int *status, bool *was_killed);

// Decode waitpid's status: the signal, or 0; the exit status, or -1.
int vitrine_process_signal(int status);
int vitrine_process_exit_status(int status);

// Whether bytes can be read, or the other end is closed.
bool vitrine_process_has_spoken(int socket);

// --- The program's side ----------------------------------------------------------------------------------------------

// Limits this process for good: no address space beyond its present one and `byte_count` more, no core dumps, no
// descriptors above 3.
int vitrine_process_confine(uint64_t byte_count);

// Ends this process by SIGXCPU when it has used so many milliseconds of a processor more, rounded up to seconds.
int vitrine_process_limit_time(uint64_t milliseconds);

// --- Between both -----------------------------------------------------------------------------------------------------

// Sends all the bytes, and a descriptor with the first of them unless it is -1. EAGAIN if the other side does not
// read.
int vitrine_process_send(int socket, const void *bytes, size_t count, int descriptor);

// Receives all the bytes, within so many milliseconds (less than 0: no limit). ETIMEDOUT; EPIPE if the other side
// has closed. Stores the descriptor that came, or -1; if `descriptor` is NULL, none is taken.
int vitrine_process_receive(int socket, void *bytes, size_t count, int *descriptor, int64_t milliseconds);

// --- Memory that both can see -----------------------------------------------------------------------------------------

// Makes memory of a fixed size, filled with zeros, as a descriptor.
int vitrine_memory_make(size_t count, int *descriptor);

// Writes the beginning of the memory.
int vitrine_memory_fill(int descriptor, const void *bytes, size_t count);

// Makes the memory immutable for every process, forever. EBUSY if a process has it mapped for writing; ENOTSUP if
// the system cannot do that.
int vitrine_memory_freeze(int descriptor);

// Returns NULL if it cannot be mapped. `to_share`: all processes see the stores; otherwise only this one, if it may
// store at all.
void *vitrine_memory_map(int descriptor, size_t count, bool to_share);
void vitrine_memory_unmap(void *bytes, size_t count);

// Whether the memory has that size: a mapping of smaller memory ends in SIGBUS.
bool vitrine_memory_has(int descriptor, size_t count);

#endif
