// XXH3 twice: once for any processor, once for AVX2, chosen at run time.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "CVitrineSystem.h"

#include <stdlib.h>

vitrine_hash128 vitrine_hash_key(const void *bytes, size_t count, const void *secret) {
  XXH128_hash_t hash = XXH3_128bits_withSecret(bytes, count, secret, VITRINE_SECRET_BYTES);
  return (vitrine_hash128){hash.low64, hash.high64};
}

vitrine_hash128 vitrine_digest_avx2(const void *bytes, size_t count);

#if defined(__x86_64__)
static bool has_avx2(void) {
  static int known = -1;
  int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (answer < 0) {
    answer = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
  }
  return answer != 0;
}
#endif

vitrine_hash128 vitrine_digest(const void *bytes, size_t count) {
#if defined(__x86_64__)
  // Below 241 bytes XXH3 has no vector loop and the inlined form is the fastest.
  if (count > 240 && has_avx2()) return vitrine_digest_avx2(bytes, count);
#endif
  XXH128_hash_t hash = XXH3_128bits(bytes, count);
  return (vitrine_hash128){hash.low64, hash.high64};
}

uint64_t vitrine_checksum(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}

uint64_t vitrine_checksum2(const void *first, size_t first_count, const void *second, size_t second_count,
                           uint64_t seed) {
  // A chain: the second range is hashed under the first one's hash, so that no byte can move across the border.
  return XXH3_64bits_withSeed(second, second_count, XXH3_64bits_withSeed(first, first_count, seed) ^ first_count);
}

struct vitrine_digest_state {
  XXH3_state_t state;
};

vitrine_digest_state *vitrine_digest_begin(void) {
  void *memory = NULL;
  if (posix_memalign(&memory, 64, sizeof(vitrine_digest_state)) != 0) return NULL;
  vitrine_digest_state *state = memory;
  XXH3_128bits_reset(&state->state);
  return state;
}

void vitrine_digest_update(vitrine_digest_state *state, const void *bytes, size_t count) {
  if (count > 0) XXH3_128bits_update(&state->state, bytes, count);
}

vitrine_hash128 vitrine_digest_end(vitrine_digest_state *state) {
  XXH128_hash_t hash = XXH3_128bits_digest(&state->state);
  free(state);
  return (vitrine_hash128){hash.low64, hash.high64};
}

void vitrine_checksum_restart(vitrine_digest_state *state, uint64_t seed) {
  XXH3_64bits_reset_withSeed(&state->state, seed);
}

void vitrine_checksum_update(vitrine_digest_state *state, const void *bytes, size_t count) {
  if (count > 0) XXH3_64bits_update(&state->state, bytes, count);
}

uint64_t vitrine_checksum_value(const vitrine_digest_state *state) { return XXH3_64bits_digest(&state->state); }
