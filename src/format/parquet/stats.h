/* stats.h - what the statistics of a chunk or page certainly say of a column.
 *
 * Bounds are used only where their order is known and their values convert exactly; everything else
 * is unknown, which keeps rows. Float bounds are made safe: a zero stands for both zeros, a NaN as
 * least bound for any value, and unless the writer takes NaN as the greatest value a NaN may be
 * among the rows whatever the greatest bound says.
 * Source of the rule: spec datafiles, 6; apache/parquet-format, parquet.thrift "ColumnOrder".
 */
#ifndef TN_FORMAT_PARQUET_STATS_H
#define TN_FORMAT_PARQUET_STATS_H

#include "column/predicate.h"
#include "format/parquet/convert.h"
#include "format/parquet/file.h"

/* A column of the file as statistics see it. */
typedef struct tn_pq_stat_column {
  const tn_pq_node *node;
  const tn_type *type;
  tn_pq_convert convert;
  tn_pq_order order;
  bool has_nan_in_bounds;
} tn_pq_stat_column;

/* Bounds as they lie in the file; false: they say nothing. Bytes are borrowed. */
TN_CHECKED bool tn_pq_bounds(const tn_pq_stat_column *column, tn_slice min, tn_slice max,
                             tn_datum *out_min, tn_datum *out_max);
/* The statistics of a chunk of n_rows. */
void tn_pq_chunk_stat(const tn_pq_stat_column *column, const tn_pq_stats *stats, int64_t n_rows,
                      tn_stat *out);

#endif
