/* scan_filter.h - the uses that planning makes of a predicate.
 *
 *   partition  AND parts on partition columns alone: tested on partition values, exactly, and on
 *              the partition statistics of manifests
 *   value      all other AND parts: tested on the statistics of files, and on the file indexes that
 *              manifests hold of append files and those that deletion vectors are for
 *   evolution  the value filter of tables whose columns lie in several files, where no file tells
 *              alone (evolution.h); there is no other value filter then
 *   key        those of them on trimmed primary key columns alone: tested on key statistics
 *   buckets    see bucket_filter.h
 *
 * Statistics of a file are tested under the file's own schema: columns are found by field id, and
 * predicates are rewritten for columns that the file lacks or has in another type.
 * Rule: org.apache.paimon.operation.{ManifestsReader,*FileStoreScan}, stats.SimpleStatsEvolutions.
 * Spec: scan-plan, 6; datafiles, 6.
 */
#ifndef TN_PLAN_SCAN_FILTER_H
#define TN_PLAN_SCAN_FILTER_H

#include "model/manifest.h"
#include "plan/bucket_filter.h"

/* Immutable once made; shared by threads. */
typedef struct tn_scan_filter {
  tn_table *table;
  const tn_pred *partition, *value, *key; /* NULL: none */
  const tn_pred *evolution;               /* likewise */
  tn_bucket_filter buckets;
} tn_scan_filter;

/* What one thread remembers of one schema. */
typedef struct tn_file_schema {
  int64_t id;
  tn_schema *schema;          /* retained */
  const tn_pred *value, *key; /* for files of this schema; NULL: nothing to test */
  bool prunes_buckets;        /* its bucket columns have the types that are hashed */
  struct tn_file_schema *next;
} tn_file_schema;

/* One thread's view of a filter. */
typedef struct tn_filter_memo {
  const tn_scan_filter *filter;
  tn_arena *arena;
  tn_file_schema *schemas; /* the one used last comes first */
} tn_filter_memo;

/* predicate: NULL: everything matches. Arena: of the scan. */
TN_CHECKED tarn_status tn_scan_filter_init(tn_scan_filter *filter, tn_table *table,
                                           const tn_pred *predicate, tn_arena *arena,
                                           tarn_error *err);

/* May a partition in a manifest, or a row id, match? */
TN_CHECKED tarn_status tn_scan_filter_manifest(const tn_scan_filter *filter,
                                               const tn_manifest_file *manifest, bool *out,
                                               tarn_error *err);
/* Does a partition match? values: in partition-key order. */
TN_CHECKED tarn_status tn_scan_filter_partition(const tn_scan_filter *filter,
                                                const tn_datum *values, bool *out, tarn_error *err);

void tn_filter_memo_init(tn_filter_memo *memo, const tn_scan_filter *filter, tn_arena *arena);
void tn_filter_memo_reset(tn_filter_memo *memo);
TN_CHECKED tarn_status tn_filter_memo_schema(tn_filter_memo *memo, int64_t id, tn_file_schema **out,
                                             tarn_error *err);
/* May a row of the file match the key filter, the value filter? */
TN_CHECKED tarn_status tn_scan_filter_key(tn_filter_memo *memo, const tn_data_file *file, bool *out,
                                          tarn_error *err);
TN_CHECKED tarn_status tn_scan_filter_value(tn_filter_memo *memo, const tn_data_file *file,
                                            bool *out, tarn_error *err);
/* What a file's statistics tell of a leaf's column, for the leaf as it is; a tn_stat_get_fn of a
 * file and its schema. */
TN_CHECKED tarn_status tn_scan_filter_stat(const tn_schema *schema, const tn_data_file *file,
                                           const tn_pred *leaf, tn_stat *out, bool *is_known,
                                           tarn_error *err);

#endif
