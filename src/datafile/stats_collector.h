/* stats_collector.h - statistics of the columns of a file as manifests record them: gathered over
 * batches, cut as the modes of 'metadata.stats-mode' say, and laid out as rows.
 *
 * Invariants
 *   SC1  Bounds are exact until they are cut; a cut lower bound is not above any value, a cut upper
 *        one not below any.
 *   SC2  Order is that of tn_datum_compare: -0.0 below 0.0, NaN above all, texts by unsigned bytes.
 *   SC3  Bytes are those of Java for the same rows. BINARY, VARBINARY and nested types have no
 *        bounds, as in 1.4.2.
 * Rule: org.apache.paimon.statistics.*, stats.SimpleStatsConverter; spec: datafiles, 6; manifest.
 */
#ifndef TN_DATAFILE_STATS_COLLECTOR_H
#define TN_DATAFILE_STATS_COLLECTOR_H

#include "column/predicate.h"
#include "model/manifest.h"

typedef enum tn_stats_kind {
  TN_STATS_NONE,
  TN_STATS_COUNTS,   /* nulls only */
  TN_STATS_TRUNCATE, /* texts of at most `length` characters */
  TN_STATS_FULL
} tn_stats_kind;

typedef struct tn_stats_mode {
  tn_stats_kind kind;
  int32_t length; /* of TRUNCATE */
} tn_stats_mode;

/* "none", "counts", "truncate(16)", "full", without case. Errors: INVALID. */
TN_CHECKED tarn_status tn_stats_mode_parse(const char *text, tn_stats_mode *out, tarn_error *err);

/* May values of the type have bounds in statistics? */
bool tn_stats_has_bounds(const tn_type *type);

/* ------------------------------------------------------------------ gathering */

/* One thread. */
typedef struct tn_stats_collector tn_stats_collector;

/* fields and modes are borrowed until it is freed. */
TN_CHECKED tarn_status tn_stats_collector_create(tarn_env *env, const tn_field *fields,
                                                 int32_t n_fields, const tn_stats_mode *modes,
                                                 tn_stats_collector **out, tarn_error *err);
void tn_stats_collector_free(tn_stats_collector *collector); /* accepts NULL */
/* The rows of a batch whose columns are the fields, in any encoding. */
TN_CHECKED tarn_status tn_stats_collector_add(tn_stats_collector *collector, const tn_batch *batch,
                                              tarn_error *err);
/* Column i so far, uncut; bytes are borrowed until the next call. */
void tn_stats_collector_stat(const tn_stats_collector *collector, int32_t i, tn_stat *out);

/* ------------------------------------------------------------------ recording */

/* What is recorded of a column. */
typedef struct tn_column_stats {
  bool is_kept; /* false: nothing is; dense records leave the column out */
  bool has_bounds;
  tn_datum min, max;
  int64_t null_count; /* INT64_MIN: not known */
} tn_column_stats;

/* What a mode keeps of what is known; new bytes are put in the arena, others stay borrowed. */
TN_CHECKED tarn_status tn_stats_cut(tn_arena *arena, tn_stats_mode mode, const tn_type *type,
                                    const tn_stat *stat, tn_column_stats *out, tarn_error *err);
/* The record of n columns. is_dense: only those that are kept; *columns gets their names, unless
 * all of them are (*has_columns false). All into the arena; names are borrowed. */
TN_CHECKED tarn_status tn_stats_record(tn_arena *arena, const tn_field *fields,
                                       const tn_column_stats *stats, int32_t n, bool is_dense,
                                       tn_simple_stats *out, tn_record_array *columns,
                                       bool *has_columns, tarn_error *err);

#endif
