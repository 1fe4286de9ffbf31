#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *vitrine_image_reason(const vitrine_image_result *result) { return result->reason; }

void vitrine_image_say(vitrine_image_result *result, vitrine_image_status status, const char *reason) {
  if (result->status != VITRINE_IMAGE_OK) return;
  result->status = status;
  size_t count = strlen(reason);
  if (count >= sizeof result->reason) count = sizeof result->reason - 1;
  memcpy(result->reason, reason, count);
  result->reason[count] = 0;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t vitrine_image_deadline(vitrine_image_limits limits) {
  uint64_t start = now();
  return limits.milliseconds > (UINT64_MAX - start) / 1000000 ? UINT64_MAX : start + limits.milliseconds * 1000000;
}

bool vitrine_image_is_late(uint64_t deadline) { return now() >= deadline; }

bool vitrine_image_append(vitrine_image_buffer *buffer, const uint8_t *bytes, size_t count) {
  if (count > SIZE_MAX / 2 - buffer->count) return false;
  size_t needed = buffer->count + count;
  if (needed > buffer->capacity) {
    size_t capacity = buffer->capacity < 4096 ? 4096 : buffer->capacity;
    while (capacity < needed) capacity += capacity / 2;
    uint8_t *grown = realloc(buffer->bytes, capacity);
    if (!grown) return false;
    buffer->bytes = grown;
    buffer->capacity = capacity;
  }
  if (count) memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count = needed;
  return true;
}

void vitrine_image_buffer_free(vitrine_image_buffer *buffer) {
  free(buffer->bytes);
  *buffer = (vitrine_image_buffer){0};
}
