// Helpers that the codecs share.
#ifndef COMMON_H
#define COMMON_H

#include "image_codecs.h"

// Sets the result of a call. Only the first one is kept; later ones are consequences.
void vitrine_image_say(vitrine_image_result *result, vitrine_image_status status, const char *reason);

// The time at which the limit is reached, in nanoseconds of the monotonic clock, and whether it has been reached.
uint64_t vitrine_image_deadline(vitrine_image_limits limits);
bool vitrine_image_is_late(uint64_t deadline);

// Returns false if memory is short, and then leaves the buffer unchanged.
bool vitrine_image_append(vitrine_image_buffer *buffer, const uint8_t *bytes, size_t count);

#endif
