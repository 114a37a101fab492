/* task.h - one compaction of one bucket, from the pick to its result. For this room only.
 *
 * Running walks the sections of the picked files in the order of their keys:
 *
 *   overlapping files            wait, to be rewritten
 *   a small file alone           waits, too: it is rewritten with its neighbours
 *   a large file alone           what waits is rewritten first; then this one goes up as it is
 *
 * Rule: org.apache.paimon.mergetree.compact.{MergeTreeCompactTask,FileRewriteCompactTask,
 * ChangelogMergeTreeRewriter,LookupMergeTreeCompactRewriter}; spec: compaction, 6-7.
 */
#ifndef TN_COMPACT_TASK_H
#define TN_COMPACT_TASK_H

#include "compact/bucket.h"
#include "compact/vectors.h"
#include "index/deletion_vector_write.h"

typedef struct tn_task_files {
  tn_data_file *items;
  size_t n, capacity;
} tn_task_files;

struct tn_compact_task {
  /* Set by the pick. */
  tn_bucket_setup setup;
  const tn_schema *schema;
  tn_slice partition;
  int32_t bucket;
  const tn_vectors *vectors; /* of the bucket; they do not change while the task exists */
  tn_arena arena;
  tn_compact_unit unit; /* files in the arena */
  bool is_append;
  tn_rewrite_run *deeper; /* levels beyond the output that have files */
  int32_t n_deeper;
  int32_t top_level;
  int64_t now_ms;
  char reason[256];

  /* Set by running. */
  bool is_done;
  tn_task_files before, after, changelog;
  tn_map marks;     /* name of a data file -> tn_dv_builder: what its vector becomes */
  tn_map rewritten; /* names of files that leave with their vectors */
  tn_map made;      /* names of files that rewrites made */
};

/* Walk a unit of a primary-key bucket, or put the files of an append bucket together. */
TN_CHECKED tarn_status tn_task_walk(tn_compact_task *task, tarn_error *err);
void tn_task_free(tn_compact_task *task); /* removes the files of a run that was not taken */
/* The task's files are the bucket's now. */
void tn_task_let_go(tn_compact_task *task);

#endif
