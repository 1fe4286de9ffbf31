// XXH3-128 with its vector loop in AVX2; called only where the processor has it.
#if defined(__x86_64__)
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <assert.h>
#pragma clang attribute push(__attribute__((target("avx2,bmi2"))), apply_to = function)
#define XXH_INLINE_ALL
#define XXH_VECTOR 2
#include <xxhash.h>
#include "CVitrineSystem.h"

vitrine_hash128 vitrine_digest_avx2(const void *bytes, size_t count) {
  XXH128_hash_t hash = XXH3_128bits(bytes, count);
  return (vitrine_hash128){hash.low64, hash.high64};
}
#pragma clang attribute pop
#endif
