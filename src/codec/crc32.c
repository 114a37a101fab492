/* crc32.c - CRC-32 (polynomial 0x04C11DB7, bits reflected, as in zlib, gzip and Parquet).
 *
 * Both ways keep the register inverted inside, so that a CRC of nothing is 0 and CRCs chain.
 */
#include "codec/crc32.h"

#include "base/bytes.h"
#include "codec/hash.h"

/* ------------------------------------------------------------------ tables */

/* table[k][b] is what byte b adds to the register k + 1 bytes later. It is linear in the bits of b,
 * so a row of 256 is written as sums of eight values: those of the single bits. */

#define BIT(i, n, value) (((i) >> (n) & 1) ? (value) : 0u)
#define SUM(i, a, b, c, d, e, f, g, h)                                                       \
  (BIT(i, 0, a) ^ BIT(i, 1, b) ^ BIT(i, 2, c) ^ BIT(i, 3, d) ^ BIT(i, 4, e) ^ BIT(i, 5, f) ^ \
   BIT(i, 6, g) ^ BIT(i, 7, h))
#define SUMS_4(i, ...)                                                         \
  SUM((i), __VA_ARGS__), SUM((i) + 1, __VA_ARGS__), SUM((i) + 2, __VA_ARGS__), \
      SUM((i) + 3, __VA_ARGS__)
#define SUMS_16(i, ...)                                                                 \
  SUMS_4((i), __VA_ARGS__), SUMS_4((i) + 4, __VA_ARGS__), SUMS_4((i) + 8, __VA_ARGS__), \
      SUMS_4((i) + 12, __VA_ARGS__)
#define SUMS_64(i, ...)                                                                      \
  SUMS_16((i), __VA_ARGS__), SUMS_16((i) + 16, __VA_ARGS__), SUMS_16((i) + 32, __VA_ARGS__), \
      SUMS_16((i) + 48, __VA_ARGS__)
#define ROW(...)                                                                 \
  {SUMS_64(0, __VA_ARGS__), SUMS_64(64, __VA_ARGS__), SUMS_64(128, __VA_ARGS__), \
   SUMS_64(192, __VA_ARGS__)}

static const uint32_t table[8][256] = {
    ROW(0x77073096, 0xEE0E612C, 0x076DC419, 0x0EDB8832, 0x1DB71064, 0x3B6E20C8, 0x76DC4190,
        0xEDB88320),
    ROW(0x191B3141, 0x32366282, 0x646CC504, 0xC8D98A08, 0x4AC21251, 0x958424A2, 0xF0794F05,
        0x3B83984B),
    ROW(0x01C26A37, 0x0384D46E, 0x0709A8DC, 0x0E1351B8, 0x1C26A370, 0x384D46E0, 0x709A8DC0,
        0xE1351B80),
    ROW(0xB8BC6765, 0xAA09C88B, 0x8F629757, 0xC5B428EF, 0x5019579F, 0xA032AF3E, 0x9B14583D,
        0xED59B63B),
    ROW(0x3D6029B0, 0x7AC05360, 0xF580A6C0, 0x30704BC1, 0x60E09782, 0xC1C12F04, 0x58F35849,
        0xB1E6B092),
    ROW(0xCB5CD3A5, 0x4DC8A10B, 0x9B914216, 0xEC53826D, 0x03D6029B, 0x07AC0536, 0x0F580A6C,
        0x1EB014D8),
    ROW(0xA6770BB4, 0x979F1129, 0xF44F2413, 0x33EF4E67, 0x67DE9CCE, 0xCFBD399C, 0x440B7579,
        0x8816EAF2),
    ROW(0xCCAA009E, 0x4225077D, 0x844A0EFA, 0xD3E51BB5, 0x7CBB312B, 0xF9766256, 0x299DC2ED,
        0x533B85DA),
};

/* The register itself, not inverted. */
static uint32_t run_tables(uint32_t reg, const uint8_t *p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t v = tn_load_le64(p) ^ reg;
    reg = table[7][v & 0xFF] ^ table[6][v >> 8 & 0xFF] ^ table[5][v >> 16 & 0xFF] ^
          table[4][v >> 24 & 0xFF] ^ table[3][v >> 32 & 0xFF] ^ table[2][v >> 40 & 0xFF] ^
          table[1][v >> 48 & 0xFF] ^ table[0][v >> 56];
  }
  for (; n > 0; p++, n--) {
    reg = table[0][(reg ^ *p) & 0xFF] ^ reg >> 8;
  }
  return reg;
}

uint32_t tn_crc32_tables(uint32_t crc, const uint8_t *bytes, size_t n_bytes) {
  return ~run_tables(~crc, bytes, n_bytes);
}

/* ------------------------------------------------------------------ folding */

/* A message is a polynomial; 16 bytes of it can be moved over d bits that follow by multiplying its
 * halves with x^(d + 32) and x^(d - 32) modulo the CRC's polynomial, without changing the remainder
 * (V. Gopal and others, "Fast CRC computation for generic polynomials using PCLMULQDQ", 2009). Four
 * lanes of 16 bytes go ahead 512 bits a step; at the end what is left of 16 bytes goes through the
 * tables. The constants are those powers, reflected and shifted left by one. */

#if TN_X86_64

#include <wmmintrin.h>

#define FOLD_512 _mm_set_epi64x(0x1C6E41596, 0x154442BD4) /* x^480, x^544 */
#define FOLD_128 _mm_set_epi64x(0x0CCAA009E, 0x1751997D0) /* x^96, x^160 */

bool tn_crc32_can_fold(void) {
  return __builtin_cpu_supports("pclmul") != 0;
}

__attribute__((target("pclmul"))) static inline __m128i load(const uint8_t *p) {
  __m128i v;
  memcpy(&v, p, sizeof(v));
  return v;
}

__attribute__((target("pclmul"))) static inline __m128i fold(__m128i v, __m128i by, __m128i next) {
  __m128i low = _mm_clmulepi64_si128(v, by, 0x00), high = _mm_clmulepi64_si128(v, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

__attribute__((target("pclmul"))) static uint32_t run_fold(uint32_t reg, const uint8_t *p,
                                                           size_t n) {
  uint8_t rest[16];
  __m128i a, b, c, d;
  a = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int32_t)reg));
  b = load(p + 16);
  c = load(p + 32);
  d = load(p + 48);
  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
    a = fold(a, FOLD_512, load(p));
    b = fold(b, FOLD_512, load(p + 16));
    c = fold(c, FOLD_512, load(p + 32));
    d = fold(d, FOLD_512, load(p + 48));
  }
  a = fold(fold(fold(a, FOLD_128, b), FOLD_128, c), FOLD_128, d);
  for (; n >= 16; p += 16, n -= 16) {
    a = fold(a, FOLD_128, load(p));
  }
  memcpy(rest, &a, sizeof(rest));
  return run_tables(run_tables(0, rest, sizeof(rest)), p, n);
}

uint32_t tn_crc32_fold(uint32_t crc, const uint8_t *bytes, size_t n_bytes) {
  return n_bytes < 64 ? tn_crc32_tables(crc, bytes, n_bytes) : ~run_fold(~crc, bytes, n_bytes);
}

#else

bool tn_crc32_can_fold(void) {
  return false;
}

uint32_t tn_crc32_fold(uint32_t crc, const uint8_t *bytes, size_t n_bytes) {
  return tn_crc32_tables(crc, bytes, n_bytes);
}

#endif

uint32_t tn_crc32(uint32_t crc, const void *bytes, size_t n_bytes) {
  return n_bytes >= 64 && tn_crc32_can_fold() ? tn_crc32_fold(crc, bytes, n_bytes)
                                              : tn_crc32_tables(crc, bytes, n_bytes);
}
