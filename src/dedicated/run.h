/* run.h - what the files of this room share: a job that runs.
 *
 *   compact_table.c  the door: which kind of table it is; commits; maintenance
 *   table_state.c    the latest snapshot's files, bucket by bucket
 *   buckets.c        tables with buckets
 *   bucketless.c     append tables without
 *   sorted.c         the same, sorted: order_key.c makes keys, row_sorter.c sorts
 *   evolved.c        those with data evolution: evolved_picks.c says which rows come together
 *   postponed.c      rows that wait in bucket-postpone, into real buckets
 */
#ifndef TN_DEDICATED_RUN_H
#define TN_DEDICATED_RUN_H

#include <pthread.h>

#include "commit/commit.h"
#include "compact/bucket.h"
#include "dedicated/compact_table.h"
#include "maintain/after_commit.h"
#include "plan/entries.h"

/* Commits hold at most as many buckets, or tasks. */
#define TN_PORTION 1000

/* One partition and bucket of a snapshot. */
typedef struct tn_live_bucket {
  tn_slice partition;
  int32_t bucket, total_buckets;
  const tn_scan_entry **entries;
  int64_t n_entries;
  tn_index_entry *vectors; /* index files with its deletion vectors */
  int32_t n_vectors;
} tn_live_bucket;

/* A snapshot, in the order in which its manifests name the buckets. */
typedef struct tn_live_table {
  tn_arena arena;
  bool has_snapshot;
  tn_snapshot snapshot;
  tn_entries entries;
  tn_live_bucket *buckets;
  int64_t n_buckets;
} tn_live_table;

/* The live files of the latest snapshot in the partitions that the predicate leaves. */
TN_CHECKED tarn_status tn_live_table_read(tn_table *table, const tn_pred *predicate,
                                          const tarn_cancel *cancel, tn_live_table *out,
                                          tarn_error *err);
void tn_live_table_reset(tn_live_table *live); /* also after a failure; accepts all zero */
/* The records of a bucket's files, as an array in the arena. */
TN_CHECKED tarn_status tn_live_bucket_files(const tn_live_bucket *bucket, tn_arena *arena,
                                            tn_data_file **out, tarn_error *err);

typedef struct tn_compact_run_state {
  const tn_table_compact_request *q;
  tn_table *source;             /* that of the request, or one with a newer schema; retained */
  const int32_t *order_columns; /* of the request, in that table */
  tn_table *table;              /* retained; write-only is off */
  tarn_env *env;
  tn_arena arena;
  tn_compact_options options;
  tn_rewriter *rewriter; /* NULL until tn_run_open_rewriter */
  int32_t n_threads;
  tn_table_compact_result *result;
  tn_buf *picks; /* NULL: not wanted */
  tn_maintenance maintenance;
  pthread_mutex_t mutex; /* guards progress */
  tn_compact_progress progress;
} tn_compact_run_state;

/* The latest snapshot, as tn_live_table_read(); the job goes on with a newer schema if files of one
 * are there. Nothing of the run may hold the table or the rewriter. Reset live after a failure,
 * too. */
TN_CHECKED tarn_status tn_run_read_live(tn_compact_run_state *run, tn_live_table *live,
                                        tarn_error *err);
/* The rewriter that all tasks share. */
TN_CHECKED tarn_status tn_run_open_rewriter(tn_compact_run_state *run, tarn_error *err);
/* Append one pick as JSON. with_files: their names, too. */
TN_CHECKED tarn_status tn_run_tell_pick(const tn_compact_run_state *run, tn_slice partition,
                                        int32_t bucket, const tn_compact_facts *facts, tn_buf *out,
                                        tarn_error *err);
/* Add what was told by one task to what the caller gets. */
TN_CHECKED tarn_status tn_run_add_picks(tn_compact_run_state *run, const tn_buf *picks,
                                        tarn_error *err);
/* Count a unit as done. Any thread. */
void tn_run_progress(tn_compact_run_state *run, int64_t n_bytes_in, int64_t n_bytes_out);
/* Commit, count, and maintain the table. On failure the files of the messages are removed when it
 * is sure that no snapshot has them. before: what the messages were made of. */
TN_CHECKED tarn_status tn_run_commit(tn_compact_run_state *run, const tn_snapshot *before,
                                     tn_commit_message *messages, int32_t n, tarn_error *err);
/* Remove the files of messages that are not committed. */
void tn_run_drop(tn_compact_run_state *run, tn_commit_message *messages, int32_t n);

/* A plan of one split: all files of a bucket, in this order (NULL: as they are), not merged. With
 * kinds: as changes, which tell them. */
TN_CHECKED tarn_status tn_run_plan(const tn_compact_run_state *run, const tn_live_bucket *bucket,
                                   const tn_data_file *const *order, bool with_kinds, tn_plan **out,
                                   tarn_error *err);

/* Read these fields of all rows of a bucket, not merged. take: may take the columns of a batch. */
TN_CHECKED tarn_status tn_run_read(const tn_compact_run_state *run, const tn_live_bucket *bucket,
                                   const tn_field *fields, int32_t n_fields,
                                   tarn_status (*take)(void *ctx, tn_batch *batch, tarn_error *err),
                                   void *ctx, tarn_error *err);

/* live: all buckets of the table, or those >= 0 of one with bucket-postpone. */
TN_CHECKED tarn_status tn_run_buckets(tn_compact_run_state *run, const tn_live_table *live,
                                      tarn_error *err);
TN_CHECKED tarn_status tn_run_bucketless(tn_compact_run_state *run, const tn_live_table *live,
                                         tarn_error *err);
TN_CHECKED tarn_status tn_run_sorted(tn_compact_run_state *run, const tn_live_table *live,
                                     tarn_error *err);
/* A table with data evolution. */
TN_CHECKED tarn_status tn_run_evolved(tn_compact_run_state *run, const tn_live_table *live,
                                      tarn_error *err);
/* *n_moved: rows of how many files went into real buckets. */
TN_CHECKED tarn_status tn_run_postponed(tn_compact_run_state *run, const tn_live_table *live,
                                        int64_t *n_moved, tarn_error *err);

#endif
