/* write_bounds.h - the least and the greatest value of a page, a chunk, a file.
 *
 * Numbers are compared as int64 keys. The key of a FLOAT or DOUBLE orders as Double.compare does:
 * -0.0 before 0.0, every NaN behind infinity; so the bounds of a file are those that Java records
 * in manifests. Where bounds are put into the Parquet file itself, those with a NaN are left out,
 * and a zero bound stands for both zeros (apache/parquet-format, parquet.thrift, "ColumnOrder").
 */
#ifndef TN_FORMAT_PARQUET_WRITE_BOUNDS_H
#define TN_FORMAT_PARQUET_WRITE_BOUNDS_H

#include "column/vector.h"
#include "format/parquet/write_schema.h"

typedef struct tn_pq_write_bounds {
  bool is_set;                   /* there was a value */
  int64_t min, max;              /* numbers: keys */
  tn_slice min_bytes, max_bytes; /* FIXED, BYTES; borrowed */
} tn_pq_write_bounds;

/* Bounds that own their bytes. */
typedef struct tn_pq_kept_bounds {
  tn_pq_write_bounds bounds;
  tn_pq_bytes min, max;
} tn_pq_kept_bounds;

/* Values as they are stored, n > 0. Floats by their bits. */
void tn_pq_bounds_add_32(tn_pq_write_bounds *b, tn_pq_bound_kind kind, const uint32_t *values,
                         int64_t n);
void tn_pq_bounds_add_64(tn_pq_write_bounds *b, tn_pq_bound_kind kind, const uint64_t *values,
                         int64_t n);
void tn_pq_bounds_add_key(tn_pq_write_bounds *b, int64_t key);
/* FIXED and BYTES: one value, which is borrowed. */
void tn_pq_bounds_add_bytes(tn_pq_write_bounds *b, tn_pq_bound_kind kind, tn_slice value);
/* A plain value of the file as a key. */
int64_t tn_pq_bounds_key(tn_pq_bound_kind kind, const uint8_t *plain);

/* Negative, zero or positive. */
int tn_pq_bounds_compare(tn_pq_bound_kind kind, tn_slice a, tn_slice b);
bool tn_pq_bounds_have_nan(tn_pq_bound_kind kind, const tn_pq_write_bounds *b);

void tn_pq_kept_bounds_init(tn_pq_kept_bounds *kept, tarn_env *env);
void tn_pq_kept_bounds_reset(tn_pq_kept_bounds *kept);
void tn_pq_kept_bounds_clear(tn_pq_kept_bounds *kept);
TN_CHECKED tarn_status tn_pq_kept_bounds_add(tn_pq_kept_bounds *kept, tn_pq_bound_kind kind,
                                             const tn_pq_write_bounds *b, tarn_error *err);

/* A key as the bytes of a bound in the file. */
tn_slice tn_pq_bound_plain(tn_pq_bound_kind kind, int64_t key, bool is_max, uint8_t out[8]);

/* Cut a bound of BYTES to at most `limit` bytes: a lower bound at a border of characters, an upper
 * one with its last character (byte, if it is not UTF-8) raised. One that cannot be raised stays
 * whole. `out` has room for limit + 4 bytes. Rule: org.apache.parquet.internal.column.columnindex.
 * BinaryTruncator. */
tn_slice tn_pq_bound_cut_min(tn_slice value, size_t limit, bool is_text);
tn_slice tn_pq_bound_cut_max(tn_slice value, size_t limit, bool is_text, uint8_t *out);

#endif
