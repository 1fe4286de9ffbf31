#include "fork_count.h"

#include <pthread.h>

static uint32_t count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void count_in_child(void) { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }

static void begin(void) { pthread_atfork(NULL, NULL, count_in_child); }

void vitrine_count_forks(void) { pthread_once(&once, begin); }

uint32_t vitrine_fork_count(void) { return __atomic_load_n(&count, __ATOMIC_RELAXED); }
