/* hash.c - Murmur3 as Paimon uses it for rows, and XXH64. */
#include "codec/hash.h"

#include "base/bytes.h"

static inline uint32_t rotl(uint32_t v, int by) {
  return v << by | v >> (32 - by);
}

/* org.apache.paimon.utils.MurmurHashUtils.hashBytesByWords. */
int32_t tn_murmur3_words(const void *bytes, size_t n_bytes, uint32_t seed) {
  const uint8_t *p = bytes;
  uint32_t h = seed;
  for (size_t i = 0; i + 4 <= n_bytes; i += 4) {
    uint32_t k = tn_load_le32(p + i) * 0xCC9E2D51u;
    h ^= rotl(k, 15) * 0x1B873593u;
    h = rotl(h, 13) * 5 + 0xE6546B64u;
  }
  h ^= (uint32_t)n_bytes;
  h = (h ^ h >> 16) * 0x85EBCA6Bu;
  h = (h ^ h >> 13) * 0xC2B2AE35u;
  return (int32_t)(h ^ h >> 16);
}

/* ------------------------------------------------------------------ XXH64 */

#define XXH_PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define XXH_PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define XXH_PRIME_3 UINT64_C(0x165667B19E3779F9)
#define XXH_PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define XXH_PRIME_5 UINT64_C(0x27D4EB2F165667C5)
#define XXH_STRIPE ((size_t)32)

static inline uint64_t rotl64(uint64_t v, int by) {
  return v << by | v >> (64 - by);
}

static inline uint64_t xxh_round(uint64_t acc, uint64_t lane) {
  return rotl64(acc + lane * XXH_PRIME_2, 31) * XXH_PRIME_1;
}

/* What the stripes of 32 bytes leave: four lanes folded into one. */
static uint64_t xxh_stripes(const uint8_t *p, size_t n_stripes, uint64_t seed) {
  static const int turns[4] = {1, 7, 12, 18};
  uint64_t acc[4] = {seed + XXH_PRIME_1 + XXH_PRIME_2, seed + XXH_PRIME_2, seed,
                     seed - XXH_PRIME_1};
  uint64_t h = 0;
  for (; n_stripes > 0; n_stripes--, p += XXH_STRIPE) {
    for (size_t i = 0; i < 4; i++) {
      acc[i] = xxh_round(acc[i], tn_load_le64(p + 8 * i));
    }
  }
  for (size_t i = 0; i < 4; i++) {
    h += rotl64(acc[i], turns[i]);
  }
  for (size_t i = 0; i < 4; i++) {
    h = (h ^ xxh_round(0, acc[i])) * XXH_PRIME_1 + XXH_PRIME_4;
  }
  return h;
}

uint64_t tn_xxh64(const void *bytes, size_t n_bytes, uint64_t seed) {
  const uint8_t *p = bytes;
  size_t n_stripes = n_bytes / XXH_STRIPE, left = n_bytes % XXH_STRIPE;
  uint64_t h = n_stripes > 0 ? xxh_stripes(p, n_stripes, seed) : seed + XXH_PRIME_5;
  if (n_stripes > 0) {
    p += n_stripes * XXH_STRIPE;
  }
  h += n_bytes;
  for (; left >= 8; left -= 8, p += 8) {
    h = rotl64(h ^ xxh_round(0, tn_load_le64(p)), 27) * XXH_PRIME_1 + XXH_PRIME_4;
  }
  if (left >= 4) {
    h = rotl64(h ^ tn_load_le32(p) * XXH_PRIME_1, 23) * XXH_PRIME_2 + XXH_PRIME_3;
    left -= 4;
    p += 4;
  }
  for (; left > 0; left--, p++) {
    h = rotl64(h ^ *p * XXH_PRIME_5, 11) * XXH_PRIME_1;
  }
  h = (h ^ h >> 33) * XXH_PRIME_2;
  h = (h ^ h >> 29) * XXH_PRIME_3;
  return h ^ h >> 32;
}
