// What the three codecs share.
#ifndef COMMON_H
#define COMMON_H

#include "image_codecs.h"

// Says how a call ended. The first thing said stays: what follows is a consequence.
void vitrine_image_say(vitrine_image_result *result, vitrine_image_status status, const char *reason);

// Nanoseconds of the monotonic clock: when the limit is reached, and whether it is.
uint64_t vitrine_image_deadline(vitrine_image_limits limits);
bool vitrine_image_is_late(uint64_t deadline);

// False where there is no memory; the buffer is as it was then.
bool vitrine_image_append(vitrine_image_buffer *buffer, const uint8_t *bytes, size_t count);

#endif
