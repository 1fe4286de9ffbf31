/* Counts the forks between the process that began to count and this one. Not part of the interface; not installed. */
#ifndef VITRINE_FORK_COUNT_H
#define VITRINE_FORK_COUNT_H

#include <stdint.h>

/* Begins to count. Later calls do nothing. */
void vitrine_count_forks(void);

/* Returns the count. A child has the count of its parent at the fork, plus 1. */
uint32_t vitrine_fork_count(void);

#endif
