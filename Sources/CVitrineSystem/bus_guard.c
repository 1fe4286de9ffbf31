#define _GNU_SOURCE
#include "CVitrineSystem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

// A mapped range. Ranges are linked once and never freed, only used again, so the handler walks them without a
// lock. A thread that faults in a range has it pinned or holds it, so the range cannot be removed while the handler
// runs.
struct vitrine_range {
  _Atomic(uintptr_t) start;  // 0: free. TAKEN: being filled.
  _Atomic(uintptr_t) end;
  // One bit for each replaced page.
  _Atomic(uint64_t) *_Atomic pages;
  _Atomic int protection;
  // A forked child has no writable mappings of its parent; that address range of the child belongs to other code.
  _Atomic uint32_t generation;
  struct vitrine_range *next;
};

enum { TAKEN = 1 };

int vitrine_bus_errors;

static _Atomic(vitrine_range *) ranges;
// The number of free ranges, apart from concurrent changes. If it is not positive, adding a range does not walk the
// list.
static _Atomic(long) free_count;
static uintptr_t page_byte_count;
static struct sigaction previous;
static atomic_flag previous_is_spent = ATOMIC_FLAG_INIT;
static pthread_once_t page_once = PTHREAD_ONCE_INIT;
static pthread_once_t guard_once = PTHREAD_ONCE_INIT;
static int guard_result;

static void ask_page(void) { page_byte_count = (uintptr_t)sysconf(_SC_PAGESIZE); }

static uintptr_t page_of(uintptr_t start, uintptr_t address) { return (address - start) / page_byte_count; }

// Ranges ------------------------------------------------------------------------------------------------------------

static vitrine_range *take_free_range(void) {
  bool is_any_free = atomic_load_explicit(&free_count, memory_order_relaxed) > 0;
  vitrine_range *next = is_any_free ? atomic_load_explicit(&ranges, memory_order_acquire) : NULL;
  for (; next; next = next->next) {
    uintptr_t expected = 0;
    if (atomic_compare_exchange_strong_explicit(&next->start, &expected, TAKEN, memory_order_acquire,
                                                memory_order_relaxed)) {
      atomic_fetch_sub_explicit(&free_count, 1, memory_order_relaxed);
      return next;
    }
  }
  vitrine_range *range = calloc(1, sizeof *range);
  if (!range) return NULL;
  atomic_init(&range->start, TAKEN);
  range->next = atomic_load_explicit(&ranges, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&ranges, &range->next, range, memory_order_release,
                                                memory_order_relaxed)) {
  }
  return range;
}

vitrine_range *vitrine_range_add(const void *start, size_t count, bool writable) {
  pthread_once(&page_once, ask_page);
  size_t page_count = (count + page_byte_count - 1) / page_byte_count;
  _Atomic(uint64_t) *pages = calloc((page_count + 63) / 64, sizeof *pages);
  vitrine_range *range = pages ? take_free_range() : NULL;
  if (!range) {
    free(pages);
    return NULL;
  }
  atomic_store_explicit(&range->end, (uintptr_t)start + page_count * page_byte_count, memory_order_release);
  atomic_store_explicit(&range->pages, pages, memory_order_relaxed);
  atomic_store_explicit(&range->protection, writable ? PROT_READ | PROT_WRITE : PROT_READ, memory_order_relaxed);
  atomic_store_explicit(&range->generation, vitrine_fork_generation(), memory_order_relaxed);
  atomic_store_explicit(&range->start, (uintptr_t)start, memory_order_release);
  return range;
}

void vitrine_range_remove(vitrine_range *range) {
  if (!range) return;
  _Atomic(uint64_t) *pages = atomic_load_explicit(&range->pages, memory_order_relaxed);
  atomic_store_explicit(&range->start, TAKEN, memory_order_relaxed);
  atomic_store_explicit(&range->end, 0, memory_order_release);
  atomic_store_explicit(&range->pages, NULL, memory_order_relaxed);
  atomic_store_explicit(&range->start, 0, memory_order_release);
  atomic_fetch_add_explicit(&free_count, 1, memory_order_relaxed);
  free(pages);
}

bool vitrine_range_is_damaged(const vitrine_range *range, const void *address, size_t count) {
  if (!range || count == 0) return false;
  uintptr_t start = atomic_load_explicit(&range->start, memory_order_relaxed);
  _Atomic(uint64_t) *pages = atomic_load_explicit(&range->pages, memory_order_relaxed);
  uintptr_t first = page_of(start, (uintptr_t)address);
  uintptr_t last = page_of(start, (uintptr_t)address + count - 1);
  for (uintptr_t word = first / 64; word <= last / 64; word++) {
    uint64_t bits = atomic_load_explicit(&pages[word], memory_order_acquire);
    if (word == first / 64) bits &= ~UINT64_C(0) << (first % 64);
    if (word == last / 64) bits &= ~UINT64_C(0) >> (63 - last % 64);
    if (bits) return true;
  }
  return false;
}

// ----- The handler: async-signal-safe. It takes no lock, allocates nothing and uses no thread-local variable but errno.

static vitrine_range *range_of(uintptr_t address) {
  for (vitrine_range *range = atomic_load_explicit(&ranges, memory_order_acquire); range; range = range->next) {
    uintptr_t start = atomic_load_explicit(&range->start, memory_order_acquire);
    uintptr_t end = atomic_load_explicit(&range->end, memory_order_acquire);
    // Checked again: another thread may be reusing this range, in which no thread faults, for another mapping.
    if (start > TAKEN && address >= start && address < end &&
        atomic_load_explicit(&range->start, memory_order_relaxed) == start)
      return range;
  }
  return NULL;
}

static bool show_zeros(uintptr_t start, size_t count, int protection) {
  return mmap((void *)start, count, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

// Puts a page of zeros at the fault. Marks are set first: a thread that reads such a zero also sees its mark.
static bool replace_page(uintptr_t address) {
  vitrine_range *range = range_of(address);
  if (!range) return false;
  uintptr_t start = atomic_load_explicit(&range->start, memory_order_relaxed);
  uintptr_t end = atomic_load_explicit(&range->end, memory_order_relaxed);
  _Atomic(uint64_t) *pages = atomic_load_explicit(&range->pages, memory_order_relaxed);
  int protection = atomic_load_explicit(&range->protection, memory_order_relaxed);
  uint32_t generation = atomic_load_explicit(&range->generation, memory_order_relaxed);
  if ((protection & PROT_WRITE) && generation != vitrine_fork_generation()) return false;
  uintptr_t page = page_of(start, address);
  atomic_fetch_or(&pages[page / 64], UINT64_C(1) << (page % 64));
  __atomic_store_n(&vitrine_bus_errors, 1, __ATOMIC_SEQ_CST);
  if (show_zeros(start + page * page_byte_count, page_byte_count, protection)) return true;
  // The process has no mappings left: replacing the whole range as one needs no more of them.
  for (uintptr_t word = 0; word <= page_of(start, end - 1) / 64; word++) atomic_store(&pages[word], ~UINT64_C(0));
  return show_zeros(start, end - start, protection);
}

// Handles the signal as the process would without the guard.
static void pass_on(int number, siginfo_t *info, void *context) {
  bool was_sent = info->si_code <= 0;
#ifdef BUS_MCEERR_AO
  // Reports bad memory that no thread has touched yet.
  was_sent |= info->si_code == BUS_MCEERR_AO;
#endif
  bool is_spent = (previous.sa_flags & SA_RESETHAND) && atomic_flag_test_and_set(&previous_is_spent);
  if (previous.sa_handler == SIG_IGN && was_sent) return;
  if (!is_spent && previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    if (previous.sa_flags & SA_SIGINFO)
      previous.sa_sigaction(number, info, context);
    else
      previous.sa_handler(number);
    return;
  }
  // A fault recurs as soon as this returns; a sent signal is pending until then.
  struct sigaction standard = {0};
  standard.sa_handler = SIG_DFL;
  sigemptyset(&standard.sa_mask);
  sigaction(number, &standard, NULL);
  if (was_sent) raise(number);
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
  int error = errno;
  bool is_fault = info->si_code == BUS_ADRERR;
#ifdef BUS_MCEERR_AR
  is_fault |= info->si_code == BUS_MCEERR_AR;
#endif
  if (!is_fault || !replace_page((uintptr_t)info->si_addr)) pass_on(number, info, context);
  errno = error;
}

static void install(void) {
  pthread_once(&page_once, ask_page);
  // `previous` is set before the handler can run.
  if (sigaction(SIGBUS, NULL, &previous) != 0) {
    guard_result = errno;
    return;
  }
  struct sigaction action = {0};
  action.sa_sigaction = on_bus_error;
  action.sa_mask = previous.sa_mask;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (previous.sa_flags & (SA_RESTART | SA_NODEFER));
  guard_result = sigaction(SIGBUS, &action, NULL) == 0 ? 0 : errno;
}

int vitrine_install_bus_guard(void) {
  pthread_once(&guard_once, install);
  return guard_result;
}
