/* hash.h - checksums and hashes that formats name. */
#ifndef TN_CODEC_HASH_H
#define TN_CODEC_HASH_H

#include "base/slice.h"

/* CRC-32 as zlib and Parquet pages use it; crc of nothing is 0; chainable. Carry-less multiply
 * where the machine has it. */
uint32_t tn_crc32(uint32_t crc, const void *bytes, size_t n_bytes);

/* Murmur3 x86 32-bit over little-endian words; n_bytes is a multiple of 4 (spec: rows, 2). */
int32_t tn_murmur3_words(const void *bytes, size_t n_bytes, uint32_t seed);

/* XXH64 (xxHash specification, "XXH64 algorithm"). */
uint64_t tn_xxh64(const void *bytes, size_t n_bytes, uint64_t seed);

#endif
