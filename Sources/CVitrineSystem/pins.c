#include "CVitrineSystem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

// Blocks are linked once and never freed: an ending thread marks its block free, and the next thread takes it. So a
// scan needs no lock, and the list is as long as the most threads that ever read at the same time.
struct vitrine_thread {
  _Atomic(uintptr_t) levels[VITRINE_PIN_LEVELS];
  _Atomic int taken;
  int32_t depth;
  void *value;
  void (*destroy)(void *);
  struct vitrine_thread *next;
};

_Thread_local vitrine_thread *vitrine_thread_current;
_Thread_local vitrine_stamps vitrine_thread_stamps[VITRINE_STAMP_SLOTS];

static _Atomic(vitrine_thread *) threads;
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

// Borrows nested deeper than VITRINE_PIN_LEVELS: rare, so a list under a lock.
struct deep_pin {
  uintptr_t address;
  const vitrine_thread *owner;
  struct deep_pin *next;
};
static struct deep_pin *deep_pins;
static pthread_mutex_t deep_mutex = PTHREAD_MUTEX_INITIALIZER;

static void thread_ended(void *block) {
  vitrine_thread *thread = block;
  if (thread->value && thread->destroy) thread->destroy(thread->value);
  thread->value = NULL;
  vitrine_thread_current = NULL;
  atomic_store_explicit(&thread->taken, 0, memory_order_release);
}

static void make_key(void) { pthread_key_create(&thread_key, thread_ended); }

vitrine_thread *vitrine_thread_register(void) {
  pthread_once(&thread_once, make_key);
  vitrine_thread *thread = atomic_load_explicit(&threads, memory_order_acquire);
  for (; thread; thread = thread->next) {
    int expected = 0;
    if (atomic_compare_exchange_strong_explicit(&thread->taken, &expected, 1, memory_order_acquire,
                                                memory_order_relaxed))
      break;
  }
  if (!thread) {
    void *memory = NULL;
    // A process that cannot get 128 bytes cannot go on.
    if (posix_memalign(&memory, 128, (sizeof(vitrine_thread) + 127) / 128 * 128) != 0) abort();
    thread = memory;
    for (int i = 0; i < VITRINE_PIN_LEVELS; i++) atomic_init(&thread->levels[i], 0);
    atomic_init(&thread->taken, 1);
    thread->value = NULL;
    thread->destroy = NULL;
    thread->next = atomic_load_explicit(&threads, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&threads, &thread->next, thread, memory_order_release,
                                                  memory_order_relaxed)) {
    }
  }
  thread->depth = 0;
  pthread_setspecific(thread_key, thread);
  vitrine_thread_current = thread;
  return thread;
}

int32_t vitrine_pin(uintptr_t address) {
  vitrine_thread *thread = vitrine_this_thread();
  int32_t level = thread->depth++;
  if (level < VITRINE_PIN_LEVELS) {
    atomic_store_explicit(&thread->levels[level], address, memory_order_relaxed);
    return level;
  }
  struct deep_pin *pin = malloc(sizeof *pin);
  if (!pin) abort();
  pin->address = address;
  pin->owner = thread;
  pthread_mutex_lock(&deep_mutex);
  pin->next = deep_pins;
  deep_pins = pin;
  pthread_mutex_unlock(&deep_mutex);
  return level;
}

void vitrine_unpin(int32_t level, uintptr_t address) {
  vitrine_thread *thread = vitrine_this_thread();
  thread->depth--;
  if (level < VITRINE_PIN_LEVELS) {
    atomic_store_explicit(&thread->levels[level], 0, memory_order_release);
    return;
  }
  pthread_mutex_lock(&deep_mutex);
  for (struct deep_pin **link = &deep_pins; *link; link = &(*link)->next) {
    if ((*link)->address == address && (*link)->owner == thread) {
      struct deep_pin *pin = *link;
      *link = pin->next;
      free(pin);
      break;
    }
  }
  pthread_mutex_unlock(&deep_mutex);
}

static bool deep_pinned(uintptr_t low, uintptr_t high, vitrine_thread *but) {
  bool found = false;
  pthread_mutex_lock(&deep_mutex);
  for (struct deep_pin *pin = deep_pins; pin && !found; pin = pin->next)
    found = pin->owner != but && pin->address >= low && pin->address < high;
  pthread_mutex_unlock(&deep_mutex);
  return found;
}

static bool thread_pinned(vitrine_thread *thread, uintptr_t low, uintptr_t high) {
  for (int i = 0; i < VITRINE_PIN_LEVELS; i++) {
    uintptr_t address = atomic_load_explicit(&thread->levels[i], memory_order_acquire);
    if (address >= low && address < high) return true;
  }
  return false;
}

static bool is_pinned(uintptr_t low, uintptr_t high, vitrine_thread *but) {
  for (vitrine_thread *thread = atomic_load_explicit(&threads, memory_order_acquire); thread;
       thread = thread->next)
    if (thread != but && thread_pinned(thread, low, high)) return true;
  return deep_pinned(low, high, but);
}

bool vitrine_is_pinned(uintptr_t low, uintptr_t high) { return is_pinned(low, high, NULL); }

bool vitrine_is_pinned_by_others(uintptr_t low, uintptr_t high) {
  return is_pinned(low, high, vitrine_this_thread());
}

void *vitrine_thread_value(void) { return vitrine_this_thread()->value; }

void vitrine_set_thread_value(void *value, void (*destroy)(void *)) {
  vitrine_thread *thread = vitrine_this_thread();
  thread->value = value;
  thread->destroy = destroy;
}
