// The sandbox of a decoder process: on Linux with x86-64 or ARM64 processors, except in builds with a sanitizer.
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdbool.h>

// Enters the sandbox for ever. Must be called by the only thread; later threads are in the sandbox, too. Returns 0 or an
// errno; 0 where there is no sandbox. An allowed system call works as before; another one fails with EPERM or ENOSYS.
int vitrine_sandbox_enter(void);

// Whether the sandbox limits the system calls.
bool vitrine_sandbox_filters_calls(void);

// Whether the sandbox hides the contents of files outside the folders of libraries and fonts: since Linux 5.13, if the
// kernel has Landlock enabled. Callable outside the sandbox only.
bool vitrine_sandbox_hides_files(void);

#endif
