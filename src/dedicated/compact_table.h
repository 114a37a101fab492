/* compact_table.h - a whole table compacted by a job of its own, while others write.
 *
 *   latest snapshot -> buckets with their files and deletion vectors
 *                   -> picks (minor or full), run side by side
 *                   -> a COMPACT snapshot for each thousand buckets
 *
 * Invariants
 *   CT1  Rows are the same before and after, and so are ids and sequence numbers of rows that have
 *        them. What others append meanwhile stays: a commit rests on the files that it replaces,
 *        and on nothing else.
 *   CT2  A commit that conflicts (somebody else compacted, or took rows out) is CONFLICT; the files
 *        made for it are removed. What earlier commits of the job did stays.
 *        Files that others have compacted away, and that expired, are no failure: the job goes on
 *        from the latest snapshot.
 *   CT3  A dry run writes nothing, and reads no data file.
 *   CT4  Memory: records of the live files, and the environment's budget shared by the tasks that
 *        run at once.
 * Rule: org.apache.paimon.flink.action.CompactAction, flink.sink.StoreCompactOperator,
 * flink.action.SortCompactAction, append.{AppendCompactCoordinator,AppendCompactTask},
 * flink.postpone; spec: compaction, 13, 15, 16.
 */
#ifndef TN_DEDICATED_COMPACT_TABLE_H
#define TN_DEDICATED_COMPACT_TABLE_H

#include "base/buf.h"
#include "base/cancel.h"
#include "column/predicate.h"
#include "model/table.h"

/* How far a job is. */
typedef struct tn_compact_progress {
  int64_t n_units, n_done; /* buckets, or tasks of tables without buckets */
  int64_t n_bytes_in, n_bytes_out;
} tn_compact_progress;

/* How rows are sorted, besides. */
typedef enum tn_order_kind { TN_ORDER_LINEAR, TN_ORDER_ZORDER, TN_ORDER_HILBERT } tn_order_kind;

typedef struct tn_table_compact_request {
  tn_table *table;
  bool is_full;
  bool is_dry_run;
  /* Sort compaction: all files are rewritten with their rows in this order (append tables without
   * buckets). Columns of the table; n_order_columns 0: none. Borrowed. */
  const int32_t *order_columns;
  int32_t n_order_columns;
  tn_order_kind order;
  const tn_pred *predicate; /* on partition columns; NULL: all partitions */
  int32_t n_threads;        /* tasks at once; 0: as the environment has threads */
  const char *user;         /* of the commits */
  int64_t identifier;
  bool is_once;             /* nothing is done when the user has committed the identifier */
  const char *spill_folder; /* on the local file system; NULL: no spilling */
  const tarn_cancel *cancel;
  /* Called by one thread at a time, but any; NULL: nobody asks. */
  void (*progress)(void *ctx, const tn_compact_progress *progress);
  void *progress_ctx;
} tn_table_compact_request;

typedef struct tn_table_compact_result {
  int64_t first_id, last_id; /* of the snapshots; 0: there was nothing to do */
  int64_t n_commits, n_buckets, n_picks;
  /* Of the files that were replaced, and of those in their places. Files that only changed their
   * level are counted apart. Dry runs: what would be read. */
  int64_t n_files_in, n_files_out, n_bytes_in, n_bytes_out, n_rows_in, n_rows_out;
  int64_t n_upgraded, n_changelog_files;
} tn_table_compact_result;

/* picks (NULL: not wanted): a JSON array of what was, or would be, compacted: partition, bucket,
 * reason, output_level, files, bytes, files_of_level_0, drops_deletes; a dry run tells the names of
 * the files, too, and of each bucket only the first pick. Also told after a failure, as far as it
 * came.
 * Errors: INVALID (a predicate on other columns), UNSUPPORTED (kinds of tables, by name), CONFLICT
 * (CT2), STATE (a newer schema lacks a column of the order), those of tn_rewrite() and of commits.
 */
TN_CHECKED tarn_status tn_table_compact(const tn_table_compact_request *request,
                                        tn_table_compact_result *result, tn_buf *picks,
                                        tarn_error *err);

#endif
