// A process of another program at the other end of a socket, and memory that both can see: what Swift cannot call by
// itself, and what Linux and Apple's systems do in different ways. Calls answer 0 or an errno, unless it says otherwise.
// None raises SIGPIPE; every descriptor is closed on exec. Safe from any thread.
#ifndef DECODER_PROCESS_H
#define DECODER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// --- The owner's side -------------------------------------------------------------------------------------------------

// Starts the program at `path`, in a process group of its own and with all signals at their defaults. It has this end of a
// socket as descriptor 3 and nothing else open but /dev/null. `arguments` ends with NULL.
int vitrine_process_start(const char *path, char *const arguments[], int *socket, pid_t *process);

// Waits up to so many milliseconds for its end, kills it where it goes on, and leaves no zombie. `status` is waitpid's;
// `was_killed` says that it had not ended by itself. ECHILD: somebody else has waited for it.
int vitrine_process_end(pid_t process, int64_t milliseconds, int *status, bool *was_killed);

// What waitpid's status says: the signal, or 0; the exit status, or -1.
int vitrine_process_signal(int status);
int vitrine_process_exit_status(int status);

// Whether something can be read, or the other end is closed.
bool vitrine_process_has_spoken(int socket);

// --- Its own side -----------------------------------------------------------------------------------------------------

// Takes from this process what it will not need: address space beyond what it has and `byte_count` more, core dumps,
// descriptors above 3. For good.
int vitrine_process_confine(uint64_t byte_count);

// Ends this process by SIGXCPU when it has used so many milliseconds of a processor more, rounded up to seconds.
int vitrine_process_limit_time(uint64_t milliseconds);

// --- Between both -----------------------------------------------------------------------------------------------------

// All the bytes, and with the first of them a descriptor unless it is -1. EAGAIN where the other side does not read.
int vitrine_process_send(int socket, const void *bytes, size_t count, int descriptor);

// All the bytes, within so many milliseconds (less than 0: whenever they come). ETIMEDOUT; EPIPE when the other side has
// closed. A descriptor that came is stored, or -1 is; where `descriptor` is NULL none is taken.
int vitrine_process_receive(int socket, void *bytes, size_t count, int *descriptor, int64_t milliseconds);

// --- Memory that both can see -----------------------------------------------------------------------------------------

// Memory of a fixed size, as a descriptor: zeros.
int vitrine_memory_make(size_t count, int *descriptor);

// Writes the beginning of it.
int vitrine_memory_fill(int descriptor, const void *bytes, size_t count);

// Takes from everybody, for ever, the right to change it. EBUSY where somebody has it mapped to write; ENOTSUP where the
// system cannot do that.
int vitrine_memory_freeze(int descriptor);

// NULL where that cannot be. `to_share`: what is written is seen by all; else by this process alone, if at all.
void *vitrine_memory_map(int descriptor, size_t count, bool to_share);
void vitrine_memory_unmap(void *bytes, size_t count);

// Whether it has that size: a mapping of what is smaller ends in SIGBUS.
bool vitrine_memory_has(int descriptor, size_t count);

#endif
