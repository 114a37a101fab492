/* bytes.h - loads and stores of fixed width and order; never by casting a byte pointer. */
#ifndef TN_BASE_BYTES_H
#define TN_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compat.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Tarn runs on little-endian machines, as every Paimon deployment does"
#endif

#define TN_DEFINE_LOADS(type, bits, swap)                 \
  static inline type tn_load_le##bits(const void *p) {    \
    type v;                                               \
    memcpy(&v, p, sizeof(v));                             \
    return v;                                             \
  }                                                       \
  static inline type tn_load_be##bits(const void *p) {    \
    return swap(tn_load_le##bits(p));                     \
  }                                                       \
  static inline void tn_store_le##bits(void *p, type v) { \
    memcpy(p, &v, sizeof(v));                             \
  }                                                       \
  static inline void tn_store_be##bits(void *p, type v) { \
    tn_store_le##bits(p, swap(v));                        \
  }

TN_DEFINE_LOADS(uint16_t, 16, __builtin_bswap16)
TN_DEFINE_LOADS(uint32_t, 32, __builtin_bswap32)
TN_DEFINE_LOADS(uint64_t, 64, __builtin_bswap64)
#undef TN_DEFINE_LOADS

static inline tn_i128 tn_load_i128(const void *p) {
  tn_i128 v;
  memcpy(&v, p, sizeof(v));
  return v;
}

static inline void tn_store_i128(void *p, tn_i128 v) {
  memcpy(p, &v, sizeof(v));
}

static inline float tn_load_f32(const void *p) {
  float v;
  memcpy(&v, p, sizeof(v));
  return v;
}

static inline double tn_load_f64(const void *p) {
  double v;
  memcpy(&v, p, sizeof(v));
  return v;
}

/* Arrow bitmaps: LSB first. */
static inline bool tn_bit_get(const uint8_t *bits, int64_t i) {
  return (bits[i >> 3] >> (i & 7)) & 1;
}

static inline void tn_bit_set(uint8_t *bits, int64_t i) {
  bits[i >> 3] |= (uint8_t)(1u << (i & 7));
}

static inline void tn_bit_clear(uint8_t *bits, int64_t i) {
  bits[i >> 3] &= (uint8_t)~(1u << (i & 7));
}

static inline void tn_bit_put(uint8_t *bits, int64_t i, bool on) {
  uint8_t mask = (uint8_t)(1u << (i & 7));
  bits[i >> 3] = (uint8_t)(on ? bits[i >> 3] | mask : bits[i >> 3] & ~mask);
}

#define TN_BITMAP_BYTES(n_bits) (((size_t)(n_bits) + 7) / 8)

#endif
