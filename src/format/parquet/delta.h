/* delta.h - DELTA_BINARY_PACKED integers, as values and as the lengths of DELTA_LENGTH_BYTE_ARRAY
 * and DELTA_BYTE_ARRAY.
 *
 * Values are decoded on demand, so memory never follows a count that the file only claims. Bytes
 * are untrusted and must have 64 readable bytes behind their end.
 * Source of the rule: apache/parquet-format, Encodings.md, "Delta Encoding".
 */
#ifndef TN_FORMAT_PARQUET_DELTA_H
#define TN_FORMAT_PARQUET_DELTA_H

#include "base/compat.h"
#include "base/slice.h"

typedef struct tn_pq_delta {
  const uint8_t *at, *end;
  bool is_64;               /* sums wrap at 64 bits, otherwise at 32 */
  int64_t block_values;     /* in a block */
  int64_t miniblock_values; /* in a miniblock */
  int64_t n_miniblocks;     /* in a block */
  int64_t values_left;      /* of the stream */
  int64_t n_values;         /* of the stream, as it claims */
  bool has_first;           /* the first value is still to be given */
  uint64_t last;            /* the value given last */
  uint64_t min_delta;       /* of the block */
  const uint8_t *widths;    /* of its miniblocks */
  int64_t miniblock;        /* that is open */
  int64_t miniblock_at;     /* values of it that are used up */
  const uint8_t *packed;    /* its bytes */
  uint32_t width;           /* its bit width */
} tn_pq_delta;

/* false: the header is damaged. */
TN_CHECKED bool tn_pq_delta_init(tn_pq_delta *delta, tn_slice bytes, bool is_64);
/* The next n values; returns how many there were (fewer: the stream ends or is damaged). Values are
 * sign-extended 32-bit ones unless is_64. */
TN_CHECKED int64_t tn_pq_delta_get(tn_pq_delta *delta, int64_t n, int64_t *out);
/* Where the stream's bytes end, without decoding it; false: damaged. Leaves the stream as it is. */
TN_CHECKED bool tn_pq_delta_find_end(const tn_pq_delta *delta, const uint8_t **end);

#endif
