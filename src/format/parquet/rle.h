/* rle.h - the hybrid of run lengths and bit-packed groups: levels, dictionary codes, booleans.
 *
 * Decoders read from untrusted bytes that must have 64 readable bytes behind their end (a
 * tn_buffer does): wide loads pass the end, their surplus is never used. A decoder that runs out of
 * bytes gives fewer values than asked for.
 *
 * Source of the rule: apache/parquet-format, Encodings.md, "Run Length Encoding / Bit-Packing
 * Hybrid" and "Bit-packed (Deprecated)".
 */
#ifndef TN_FORMAT_PARQUET_RLE_H
#define TN_FORMAT_PARQUET_RLE_H

#include "base/compat.h"
#include "base/slice.h"

typedef struct tn_pq_rle {
  const uint8_t *at, *end; /* what follows the current run */
  uint32_t bit_width;      /* 0 .. 32 */
  uint32_t value;          /* of a repeated run */
  bool is_packed;
  int64_t run_left;      /* values left in the current run */
  const uint8_t *packed; /* its bytes */
  int64_t packed_at;     /* values of it that are used up */
} tn_pq_rle;

/* false: bit_width is larger than 32. */
TN_CHECKED bool tn_pq_rle_init(tn_pq_rle *rle, tn_slice bytes, uint32_t bit_width);
/* The next n values; returns how many there were. */
TN_CHECKED int64_t tn_pq_rle_get(tn_pq_rle *rle, int64_t n, uint32_t *out);
/* The same as bytes; bit_width <= 8. */
TN_CHECKED int64_t tn_pq_rle_get_bytes(tn_pq_rle *rle, int64_t n, uint8_t *out);
/* How many of the next n values (at most) are a repeated run of `value`; they are used up. */
int64_t tn_pq_rle_take_run(tn_pq_rle *rle, int64_t n, uint32_t value);
/* Step over n values; returns how many there were. */
TN_CHECKED int64_t tn_pq_rle_skip(tn_pq_rle *rle, int64_t n);

/* Definition or repetition levels of a page in any of their encodings. */
typedef struct tn_pq_levels {
  uint8_t max;          /* 0: there are no bytes, all levels are 0 */
  bool is_bit_packed;   /* the deprecated encoding */
  tn_pq_rle rle;        /* otherwise */
  tn_slice packed;      /* is_bit_packed */
  int64_t packed_at;    /* in values */
  uint32_t packed_bits; /* a value's width */
} tn_pq_levels;

uint32_t tn_pq_bit_width(uint32_t max); /* of values 0 .. max */
void tn_pq_levels_init(tn_pq_levels *levels, tn_slice bytes, uint8_t max, bool is_bit_packed);
/* As tn_pq_rle_take_run() with the greatest level. */
int64_t tn_pq_levels_take_max(tn_pq_levels *levels, int64_t n);
/* The next n levels; returns how many there were. A level above max ends them. */
TN_CHECKED int64_t tn_pq_levels_get(tn_pq_levels *levels, int64_t n, uint8_t *out);

#endif
