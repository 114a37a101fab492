/* hash.c - Murmur3 as Paimon uses it for rows. */
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
