// The sandbox of a decoder process on Linux. A filter of system calls (seccomp) leaves those that a decoder needs: no
// network, no other program, no signal to another process, no change to the file system. Landlock leaves reading of
// libraries and fonts.
#define _GNU_SOURCE
#include "sandbox.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// The sanitizers' own calls at the end of a process are outside of any list.
#define IS_SANITIZED 1
#endif
#endif

#if defined(__linux__) && !defined(IS_SANITIZED) && (defined(__x86_64__) || defined(__aarch64__)) && \
    __has_include(<linux/seccomp.h>)

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// Calls that older headers lack.
#ifdef __x86_64__
#ifndef SYS_statx
#define SYS_statx 332
#endif
#ifndef SYS_rseq
#define SYS_rseq 334
#endif
#else
#ifndef SYS_statx
#define SYS_statx 291
#endif
#ifndef SYS_rseq
#define SYS_rseq 293
#endif
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

// --- System calls ----------------------------------------------------------------------------------------------------

// An argument has 64 bits. The filter compares the lower half; both architectures are little-endian.
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RESULT(value) BPF_STMT(BPF_RET | BPF_K, value)
#define ALLOWED SECCOMP_RET_ALLOW
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)
#define MISSING (SECCOMP_RET_ERRNO | ENOSYS)

// The call is loaded at the start of each of these, and still loaded behind it.
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), RESULT(ALLOWED)
// Allows a call whose argument is `value`.
#define ALLOW_EQUAL(call, index, value)                                                        \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), LOAD(args[index]),                    \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), RESULT(ALLOWED), RESULT(REFUSED)
// Allows a call whose argument has none of the bits.
#define ALLOW_WITHOUT(call, index, bits)                                                       \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), LOAD(args[index]),                    \
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), RESULT(ALLOWED), RESULT(REFUSED)
// Allows a call whose argument has the bit.
#define ALLOW_WITH(call, index, bit)                                                           \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), LOAD(args[index]),                    \
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bit, 0, 1), RESULT(ALLOWED), RESULT(REFUSED)
// Allows a command of a call with commands. The command is loaded.
#define COMMAND(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), RESULT(ALLOWED)

// With any of these flags, an open file can be changed or is made.
#define WRITING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

// Commands for descriptors. Others can send signals to a process.
static const struct sock_filter descriptor_commands[] = {
  LOAD(args[1]),          COMMAND(F_GETFD),     COMMAND(F_SETFD), COMMAND(F_GETFL),
  COMMAND(F_DUPFD_CLOEXEC), COMMAND(1033 /* F_ADD_SEALS */), COMMAND(1034 /* F_GET_SEALS */), RESULT(REFUSED),
};
enum { DESCRIPTOR_COMMANDS = sizeof descriptor_commands / sizeof *descriptor_commands };

static int filter_calls(void) {
  // Fixed, because no process can be started.
  uint32_t process = (uint32_t)getpid();
  const struct sock_filter calls[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    RESULT(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    // Bytes and descriptors.
    ALLOW(read), ALLOW(write), ALLOW(readv), ALLOW(writev), ALLOW(pread64), ALLOW(pwrite64), ALLOW(lseek),
    ALLOW(close), ALLOW(dup), ALLOW(ftruncate), ALLOW(fadvise64), ALLOW(pipe2), ALLOW(eventfd2),
    ALLOW(sendmsg), ALLOW(recvmsg), ALLOW(ppoll),
    // Files, for reading.
    ALLOW_WITHOUT(openat, 2, WRITING), ALLOW(fstat), ALLOW(newfstatat), ALLOW(statx), ALLOW(statfs), ALLOW(fstatfs),
    ALLOW(faccessat), ALLOW(faccessat2), ALLOW(readlinkat), ALLOW(getdents64), ALLOW(getcwd),
    // Memory.
    ALLOW(mmap), ALLOW(mprotect), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(mincore), ALLOW(brk),
    // Threads of this process. Without clone3, whose flags are in memory, the C library calls clone.
    ALLOW_WITH(clone, 0, CLONE_THREAD), ALLOW(futex), ALLOW(set_robust_list), ALLOW(set_tid_address), ALLOW(rseq),
    ALLOW(membarrier), ALLOW(sched_yield), ALLOW(sched_getaffinity), ALLOW(sched_getparam), ALLOW(sched_getscheduler),
    ALLOW(sched_getattr), ALLOW(getcpu), ALLOW(exit), ALLOW(exit_group),
    // Signals to this process.
    ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack), ALLOW(restart_syscall),
    ALLOW_EQUAL(tgkill, 0, process),
    // Facts and time.
    ALLOW(getpid), ALLOW(gettid), ALLOW(getppid), ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid),
    ALLOW(uname), ALLOW(sysinfo), ALLOW(getrandom), ALLOW(getrusage), ALLOW(clock_gettime), ALLOW(clock_getres),
    ALLOW(clock_nanosleep), ALLOW(nanosleep), ALLOW(gettimeofday), ALLOW_EQUAL(prlimit64, 0, 0),
    ALLOW_EQUAL(prctl, 0, PR_SET_NAME),
#ifdef __x86_64__
    // Older names, which this architecture has too.
    ALLOW_WITHOUT(open, 1, WRITING), ALLOW(stat), ALLOW(lstat), ALLOW(access), ALLOW(readlink), ALLOW(poll),
    ALLOW(time), ALLOW(arch_prctl), ALLOW(getrlimit), ALLOW(setrlimit),
#endif
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 1, 0),
    // ENOSYS instead of EPERM: the C library then falls back to a call that exists.
    RESULT(MISSING),
  };
  enum { CALLS = sizeof calls / sizeof *calls };
  struct sock_filter filter[CALLS + DESCRIPTOR_COMMANDS];
  for (size_t i = 0; i < CALLS; i++) filter[i] = calls[i];
  for (size_t i = 0; i < DESCRIPTOR_COMMANDS; i++) filter[CALLS + i] = descriptor_commands[i];
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  // A result above 0 is the id of a thread that has another filter.
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  return result == 0 ? 0 : result > 0 ? EBUSY : errno;
}

// --- Files -----------------------------------------------------------------------------------------------------------

#ifdef LANDLOCK_ACCESS_FS_MAKE_SYM

// All rights of the first version, which every Landlock has.
#define ALL_RIGHTS (LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1)

// Libraries that are loaded at first use, their data, and fonts.
static const char *const readable[] = {
  "/usr", "/lib", "/lib64", "/opt", "/nix/store", "/gnu/store", "/home/linuxbrew", "/etc/fonts", "/etc/ld.so.cache",
  "/var/cache/fontconfig", "/sys/devices/system/cpu",
};

static int version(void) {
  return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static int hide_files(void) {
  if (version() < 1) return 0;
  struct landlock_ruleset_attr rights = {.handled_access_fs = ALL_RIGHTS};
  int rules = (int)syscall(SYS_landlock_create_ruleset, &rights, sizeof rights, 0);
  if (rules < 0) return errno;
  int error = 0;
  for (size_t i = 0; i < sizeof readable / sizeof *readable; i++) {
    struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE};
    if ((rule.parent_fd = open(readable[i], O_PATH | O_CLOEXEC)) < 0) continue;
    // A single file cannot be listed.
    int folder = open(readable[i], O_PATH | O_CLOEXEC | O_DIRECTORY);
    if (folder >= 0) {
      rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
      close(folder);
    }
    if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) error = errno;
    close(rule.parent_fd);
  }
  if (!error && syscall(SYS_landlock_restrict_self, rules, 0) != 0) error = errno;
  close(rules);
  return error;
}

bool vitrine_sandbox_hides_files(void) { return version() >= 1; }

#else
static int hide_files(void) { return 0; }
bool vitrine_sandbox_hides_files(void) { return false; }
#endif

int vitrine_sandbox_enter(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  int error = hide_files();
  return error ? error : filter_calls();
}

bool vitrine_sandbox_filters_calls(void) { return true; }

#else

int vitrine_sandbox_enter(void) { return 0; }
bool vitrine_sandbox_filters_calls(void) { return false; }
bool vitrine_sandbox_hides_files(void) { return false; }

#endif
