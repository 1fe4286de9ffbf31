/* Not a part of the interface, and not installed: the number of forks between this process and the one that began to count. */
#ifndef VITRINE_FORK_COUNT_H
#define VITRINE_FORK_COUNT_H

#include <stdint.h>

/* Begins to count. Later calls do nothing. */
void vitrine_count_forks(void);

/* A process has the number at which its parent forked, and one more. */
uint32_t vitrine_fork_count(void);

#endif
