/* bucket.h - one bucket that is compacted: its tree, the task that runs, what came of all tasks.
 *
 *        pick            run                     finish           take
 *   tree ────> a task ──────────> its result ──> tree anew ... ──> what is committed
 *   (owner)    (any thread)                      (owner)           (owner)
 *
 * The owner is one thread at a time: the one that calls everything but tn_compact_task_run(). While
 * a task runs, files may be added; the task never sees them.
 *
 * Invariants
 *   CB1  At most one task of a bucket exists at a time.
 *   CB2  Files that tasks made and later tasks replaced are not told; they are removed.
 *   CB3  What take() gave is the caller's; files of tasks that were not taken are removed when the
 *        bucket is freed.
 *   CB4  A task that fails or is cancelled leaves the tree as it was, and no file.
 *
 * Rule: org.apache.paimon.mergetree.compact.{MergeTreeCompactManager,MergeTreeCompactTask,
 * FileRewriteCompactTask}, mergetree.MergeTreeWriter#updateCompactResult,
 * deletionvectors.BucketedDvMaintainer, append.BucketedAppendCompactManager; spec: compaction, 5-9
 * and 13.1.
 */
#ifndef TN_COMPACT_BUCKET_H
#define TN_COMPACT_BUCKET_H

#include "compact/levels.h"
#include "compact/rewrite.h"
#include "compact/strategy.h"
#include "model/commit_message.h"

typedef struct tn_bucket_compactor tn_bucket_compactor;
typedef struct tn_compact_task tn_compact_task;

/* A bucket as a snapshot has it. All is borrowed for the call; file records are copied. */
typedef struct tn_bucket_state {
  tn_slice partition;
  int32_t bucket;
  const tn_data_file *files;
  int32_t n_files;
  const tn_index_entry *vectors; /* index files with its deletion vectors */
  int32_t n_vectors;
} tn_bucket_state;

typedef struct tn_bucket_setup {
  tn_table *table;                   /* retained; no file is of a newer schema (newest.h) */
  tn_rewriter *rewriter;             /* outlives the bucket */
  const tn_compact_options *options; /* likewise */
  tn_data_file_names *names;         /* likewise; shared with the writer of the bucket */
} tn_bucket_setup;

/* Primary-key buckets and append buckets with a fixed number alike. Errors: CORRUPT (files of one
 * level that overlap, a lost vector), IO, NOMEM, STATE (a file of a newer schema than the table's:
 * newest.h). */
TN_CHECKED tarn_status tn_bucket_compactor_create(const tn_bucket_setup *setup,
                                                  const tn_bucket_state *state,
                                                  tn_bucket_compactor **out, tarn_error *err);
void tn_bucket_compactor_free(tn_bucket_compactor *bucket); /* accepts NULL; no task may run */

/* A new file of level 0, copied. */
TN_CHECKED tarn_status tn_bucket_compactor_add(tn_bucket_compactor *bucket,
                                               const tn_data_file *file, tarn_error *err);
/* What is to be done now; *out NULL: nothing. Not while a task exists. is_full: all files to the
 * top level. The pick is told to the log (debug) with reason and numbers. */
TN_CHECKED tarn_status tn_bucket_compactor_pick(tn_bucket_compactor *bucket, bool is_full,
                                                tn_compact_task **out, tarn_error *err);
/* Do it; any thread. Errors: those of tn_rewrite(). */
TN_CHECKED tarn_status tn_compact_task_run(tn_compact_task *task, tarn_error *err);
/* Take in what a task did that ran well, or drop one that failed or never ran; frees it. */
TN_CHECKED tarn_status tn_bucket_compactor_finish(tn_bucket_compactor *bucket,
                                                  tn_compact_task *task, tarn_error *err);
/* What tasks did since the last call, into the compact_ parts of a message (arena of the caller);
 * writes the index file of deletion vectors if any changed. Not while a task exists. *has_any:
 * false: nothing was done. */
TN_CHECKED tarn_status tn_bucket_compactor_take(tn_bucket_compactor *bucket, tn_arena *arena,
                                                tn_commit_message *message, bool *has_any,
                                                tarn_error *err);

/* Should a writer wait for the task that runs before it adds more, and before it prepares a commit?
 * Always false for append tables. */
bool tn_bucket_compactor_should_wait(const tn_bucket_compactor *bucket);
bool tn_bucket_compactor_should_wait_to_prepare(const tn_bucket_compactor *bucket);
/* Files of level 0; 0 for append tables. */
int32_t tn_bucket_compactor_level_0(const tn_bucket_compactor *bucket);
/* Does a table that needs lookup still have files of level 0 here? */
bool tn_bucket_compactor_is_behind(const tn_bucket_compactor *bucket);

/* Of a task, for messages, --dry-run and metrics; texts live as long as the task. */
typedef struct tn_compact_facts {
  int64_t n_bytes_out; /* of the files that it made; done only */
  const char *reason;  /* "size amplification", "file number", ... with its numbers */
  int32_t n_files, n_level_0, output_level;
  int64_t n_bytes;
  bool drops_deletes;
  const tn_data_file *const *files;
} tn_compact_facts;
void tn_compact_task_facts(const tn_compact_task *task, tn_compact_facts *out);

#endif
