/* values.h - the values of one data page in any encoding, taken front to back.
 *
 * Three ways to take them, by what the column stores: raw values of a fixed width, views of byte
 * strings, or bits; dictionary pages give codes. A page of fewer values than asked for is found
 * when they are taken (the calls return how many there were), never before.
 *
 * The bytes are untrusted, must outlive the decoder and have 64 readable bytes behind their end.
 * One thread at a time. Source of the rule: apache/parquet-format, Encodings.md.
 */
#ifndef TN_FORMAT_PARQUET_VALUES_H
#define TN_FORMAT_PARQUET_VALUES_H

#include "base/buf.h"
#include "column/vector.h"
#include "format/parquet/delta.h"
#include "format/parquet/metadata.h"
#include "format/parquet/rle.h"

#define TN_PQ_BLOCK 1024 /* the most values that views are made for at once */

typedef enum tn_pq_values_kind {
  TN_PQ_VALUES_PLAIN,         /* fixed width */
  TN_PQ_VALUES_PLAIN_BYTES,   /* byte strings */
  TN_PQ_VALUES_PLAIN_BITS,    /* booleans */
  TN_PQ_VALUES_RLE_BITS,      /* booleans */
  TN_PQ_VALUES_CODES,         /* dictionary */
  TN_PQ_VALUES_DELTA,         /* integers */
  TN_PQ_VALUES_DELTA_LENGTHS, /* byte strings */
  TN_PQ_VALUES_DELTA_BYTES,   /* byte strings, also of a fixed width */
  TN_PQ_VALUES_STREAM_SPLIT   /* fixed width */
} tn_pq_values_kind;

typedef struct tn_pq_values {
  tn_pq_values_kind kind;
  uint32_t width;          /* of stored values; 0: byte strings and bits */
  const uint8_t *at, *end; /* PLAIN, and the bytes behind the lengths */
  int64_t taken, total;    /* bits and split streams: values that are used up, and all */
  tn_pq_rle rle;
  tn_pq_delta lengths; /* DELTA, lengths, suffix lengths */
  tn_pq_delta prefixes;
  tn_buf scratch;           /* values that are put together; valid until the next call */
  size_t last_at, last_len; /* DELTA_BYTES: the last value, in scratch */
} tn_pq_values;

void tn_pq_values_init(tn_pq_values *values, tn_mem *mem); /* empty */
void tn_pq_values_reset(tn_pq_values *values);             /* frees; can be opened again */

/* Start on the values of a page. width: of INT32 .. FIXED. NULL, or what is wrong (static text). */
const char *tn_pq_values_open(tn_pq_values *values, tn_pq_physical physical, uint32_t width,
                              int32_t encoding, tn_slice bytes);

/* How many values there were, at most n, is returned or put in *n_out. Kinds must fit. The status
 * is NOMEM or LIMIT; damage ends the values. */
TN_CHECKED tarn_status tn_pq_values_fixed(tn_pq_values *values, int64_t n, uint8_t *out,
                                          int64_t *n_out, tarn_error *err);
TN_CHECKED int64_t tn_pq_values_codes(tn_pq_values *values, int64_t n, uint32_t *out);
/* Bits are put at out[from ...). */
TN_CHECKED int64_t tn_pq_values_bits(tn_pq_values *values, int64_t n, uint8_t *out, int64_t from);
/* May stop early, but not before the first value, when values are long or n is large. Views of
 * kinds that tn_pq_values_are_stable() names live as long as the page, others until the next call.
 */
TN_CHECKED tarn_status tn_pq_values_views(tn_pq_values *values, int64_t n, tn_view *out,
                                          int64_t *n_out, tarn_error *err);
bool tn_pq_values_are_stable(const tn_pq_values *values);
/* Step over n values. */
TN_CHECKED tarn_status tn_pq_values_skip(tn_pq_values *values, int64_t n, int64_t *skipped,
                                         tarn_error *err);

/* PLAIN, fixed width: n values in place (they are used up), or NULL when there are fewer. */
const uint8_t *tn_pq_values_in_place(tn_pq_values *values, int64_t n);

#endif
