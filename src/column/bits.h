/* bits.h - runs of bits in Arrow bitmaps (LSB first). Internal to column/ and the rooms above it.
 */
#ifndef TN_COLUMN_BITS_H
#define TN_COLUMN_BITS_H

#include "base/bytes.h"

/* Set or clear the first n bits; the rest of the last byte likewise. */
static inline void tn_bits_fill(uint8_t *bits, int64_t n, bool on) {
  memset(bits, on ? 0xff : 0, TN_BITMAP_BYTES(n));
}

static inline int64_t tn_bits_count(const uint8_t *bits, int64_t n) {
  int64_t count = 0, i = 0;
  for (; i + 64 <= n; i += 64) {
    count += __builtin_popcountll(tn_load_le64(bits + i / 8));
  }
  for (; i < n; i++) {
    count += tn_bit_get(bits, i);
  }
  return count;
}

/* to[0 .. n) = from[begin .. begin + n). `to` is written in whole bytes, spare bits cleared. */
static inline void tn_bits_copy(uint8_t *to, const uint8_t *from, int64_t begin, int64_t n) {
  const uint8_t *at = from + begin / 8;
  unsigned shift = (unsigned)(begin % 8);
  size_t n_bytes = TN_BITMAP_BYTES(n), last = TN_BITMAP_BYTES(n + shift);
  if (n == 0) {
    return;
  }
  if (shift == 0) {
    memcpy(to, at, n_bytes);
  } else {
    for (size_t i = 0; i < n_bytes; i++) {
      unsigned high = i + 1 < last ? at[i + 1] : 0;
      to[i] = (uint8_t)((at[i] | high << 8) >> shift);
    }
  }
  if (n % 8 != 0) {
    to[n_bytes - 1] &= (uint8_t)((1u << (n % 8)) - 1);
  }
}

#endif
