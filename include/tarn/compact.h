/* compact.h - compacting a whole table.
 *
 *   tarn_compact_options o = TARN_COMPACT_OPTIONS_INIT;
 *   tarn_compact_result result = {.struct_size = sizeof(result)};
 *   o.full = 1;
 *   tarn_table_compact(table, &o, &result, NULL, &err);
 *
 * Writers that only write ('write-only') leave this to a job of its own, which may run while they
 * write. What the table's options say of levels, sizes and changelogs decides what is compacted
 * into what; rows stay the same.
 */
#ifndef TARN_COMPACT_H
#define TARN_COMPACT_H

#include "tarn/predicate.h"
#include "tarn/table.h"
#include "tarn/write.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_compact_progress {
  size_t struct_size;
  int64_t units, units_done; /* buckets, or tasks of tables without buckets */
  int64_t bytes_in, bytes_out;
} tarn_compact_progress;

typedef enum tarn_order {
  TARN_ORDER_LINEAR = 0, /* column after column */
  TARN_ORDER_ZORDER = 1, /* along a curve: rows that are near in every column lie together */
  TARN_ORDER_HILBERT = 2 /* likewise, without jumps */
} tarn_order;

typedef struct tarn_compact_options {
  size_t struct_size;
  int32_t full;    /* 1: all files of a bucket into one run; 0: what its picks say is worth it */
  int32_t dry_run; /* 1: nothing is written: only tell what would be compacted */
  /* Only some partitions: values of some partition columns as texts ("dt" = "2024-01-01"), and
   * rows of a predicate on partition columns. Both borrowed for the call. */
  const tarn_option *partition;
  size_t n_partition;
  const tarn_predicate *predicate; /* NULL: none */
  int32_t threads;                 /* tasks at once; 0: as the environment has threads */
  const char *commit_user;         /* NULL: made up */
  int64_t commit_identifier;       /* negative: TARN_BATCH_COMMIT. Else: nothing is done when the
                                      user has committed this identifier or a larger one */
  const char *spill_folder;        /* for buckets with very many runs; NULL: nothing is spilled */
  tarn_cancel *cancel;             /* NULL: cannot be cancelled */
  /* NULL, or called now and then, by any thread, one at a time. */
  void (*progress)(void *ctx, const tarn_compact_progress *progress);
  void *progress_ctx;
  /* Sort compaction (append tables without buckets): all files are rewritten with their rows in the
   * order of these columns, by an OVERWRITE snapshot. NULL: rows keep their order. Borrowed. */
  const char *const *order_by;
  size_t n_order_by;
  tarn_order order;
} tarn_compact_options;

#define TARN_COMPACT_OPTIONS_INIT \
  {sizeof(tarn_compact_options), 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, TARN_ORDER_LINEAR}

typedef struct tarn_compact_result {
  size_t struct_size;
  int64_t first_snapshot_id, last_snapshot_id; /* 0: there was nothing to do */
  int64_t commits, buckets, picks;             /* buckets: that were looked at */
  /* Files that were replaced, and those in their places; of a dry run what would be read. Files
   * that only moved to another level are counted apart. */
  int64_t files_in, files_out, bytes_in, bytes_out, rows_in, rows_out;
  int64_t files_moved, changelog_files;
} tarn_compact_result;

/* Compact, and commit: a COMPACT snapshot, or several if there are thousands of buckets; what the
 * table's options ask for after commits (expiry, tags) is done. Others may write meanwhile.
 *
 * picks   NULL, or gets a JSON array of what was (or would be) compacted, each with partition,
 *         bucket, reason, output_level, files, bytes, files_of_level_0, drops_deletes and, of a dry
 *         run, the names of its files; tarn_string_free(), after a failure, too
 * result  may be NULL
 * Errors: TARN_E_CONFLICT (somebody else compacted the same files, or took rows out of them:
 * nothing is lost, call again), TARN_E_INVALID (no partition column), TARN_E_UNSUPPORTED (tables,
 * by name), TARN_E_STATE (somebody has dropped a column of the order since the table was opened;
 * any other change of the schema is followed), those of reading, writing and committing. What
 * earlier commits did stays. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_compact(tarn_table *table,
                                                        const tarn_compact_options *options,
                                                        tarn_compact_result *result,
                                                        tarn_string *picks, tarn_error *err);

#ifdef __cplusplus
}
#endif
#endif
