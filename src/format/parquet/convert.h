/* convert.h - from a leaf's stored values to the layout of the Paimon type that was asked for.
 *
 * A conversion is chosen once a column (tn_pq_convert_bind) and refuses pairs that cannot be right.
 * Values that lose something (a timestamp with digits the type lacks, a number outside of its
 * range) are faults, never rounded.
 * Source of the rule: spec datafiles, 3; apache/parquet-format, LogicalTypes.md.
 */
#ifndef TN_FORMAT_PARQUET_CONVERT_H
#define TN_FORMAT_PARQUET_CONVERT_H

#include "column/datum.h"
#include "format/parquet/schema.h"

#define TN_PQ_MAX_RAW_BYTES 1024 /* width of stored values that have a convert function */

/* How values lie in PLAIN pages. */
typedef enum tn_pq_source {
  TN_PQ_SOURCE_BITS,  /* BOOLEAN */
  TN_PQ_SOURCE_FIXED, /* raw_width bytes each */
  TN_PQ_SOURCE_BYTES  /* BYTE_ARRAY */
} tn_pq_source;

typedef struct tn_pq_convert tn_pq_convert;

/* n values of raw_width bytes (or n views) to n values of the layout. Returns how many were
 * converted: fewer than n when the value behind them does not fit. */
typedef int64_t (*tn_pq_convert_fn)(const tn_pq_convert *c, const uint8_t *raw, int64_t n,
                                    void *out);
typedef int64_t (*tn_pq_convert_views_fn)(const tn_pq_convert *c, const tn_view *views, int64_t n,
                                          void *out);

struct tn_pq_convert {
  tn_pq_source source;
  uint32_t raw_width; /* FIXED: bytes of a stored value */
  tn_layout layout;
  uint32_t out_width;                /* of the layout; 0: BIT and BYTES */
  tn_pq_convert_fn convert;          /* FIXED to a fixed layout; NULL: stored as wanted */
  tn_pq_convert_views_fn from_views; /* BYTES to a fixed layout */
  int64_t factor;                    /* ticks: multiply; negative: divide exactly by -factor */
  tn_i128 limit;                     /* decimals: least magnitude that does not fit; 0: all fit */
};

/* Errors: CORRUPT naming the column and both types; UNSUPPORTED (VECTOR). */
TN_CHECKED tarn_status tn_pq_convert_bind(const tn_pq_node *leaf, const tn_type *type,
                                          const char *path, const char *column, tn_pq_convert *out,
                                          tarn_error *err);

/* One value as statistics store it. false: it cannot be told. Bytes are borrowed from raw. */
TN_CHECKED bool tn_pq_convert_datum(const tn_pq_convert *c, tn_slice raw, tn_datum *out);

/* The message for a pair that cannot be right. */
tarn_status tn_pq_type_mismatch(const tn_pq_node *node, const tn_type *type, const char *path,
                                const char *column, tarn_error *err);

#endif
