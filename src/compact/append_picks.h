/* append_picks.h - which files of an append table are compacted together.
 *
 * Two states: the queue of a bucket (order is kept), and the small files of a partition without
 * buckets (any order). Both borrow files, which must live until they are picked or the state is
 * freed; lists that they give are in the arena handed in. One thread at a time.
 * Rule: org.apache.paimon.append.BucketedAppendCompactManager, AppendCompactCoordinator, as of
 * 1.4.2. Spec: compaction, 13.
 */
#ifndef TN_COMPACT_APPEND_PICKS_H
#define TN_COMPACT_APPEND_PICKS_H

#include "compact/options.h"
#include "model/manifest.h"

typedef struct tn_file_list {
  const tn_data_file **files;
  int64_t n_files; /* 0: nothing is to be done */
} tn_file_list;

/* Has the file a deletion vector? NULL in its place: deletion vectors are off. */
typedef bool (*tn_has_vector)(void *ctx, const tn_data_file *file);

/* ------------------------------------------------------------------ a bucket */

typedef struct tn_append_queue {
  tn_mem *mem;
  const tn_compact_options *options;
  const tn_data_file **files; /* by least sequence number; equal ones in order of arrival */
  int64_t n_files, room;
} tn_append_queue;

void tn_append_queue_init(tn_append_queue *queue, tn_mem *mem, const tn_compact_options *options);
void tn_append_queue_free(tn_append_queue *queue);
TN_CHECKED tarn_status tn_append_queue_add(tn_append_queue *queue, const tn_data_file *const *files,
                                           int64_t n_files, tarn_error *err);
/* The first files that are enough for a compaction leave the queue, and so do those in front of
 * them that are too large for one. */
TN_CHECKED tarn_status tn_append_queue_pick(tn_append_queue *queue, tn_arena *arena,
                                            tn_file_list *out, tarn_error *err);
/* A full compaction is asked for: what is worth it; the queue is empty then, unless it had too few
 * files to be looked at. */
TN_CHECKED tarn_status tn_append_queue_pick_full(tn_append_queue *queue, tn_has_vector has_vector,
                                                 void *ctx, tn_arena *arena, tn_file_list *out,
                                                 tarn_error *err);
/* A compaction is done: the last file that it wrote comes back when it is small. */
TN_CHECKED tarn_status tn_append_queue_done(tn_append_queue *queue,
                                            const tn_data_file *const *after, int64_t n_after,
                                            tarn_error *err);

/* ------------------------------------------------------------------ a partition without buckets */

typedef struct tn_small_file {
  const tn_data_file *file;
  tn_slice index_file; /* the deletion vector index file that covers it; .len 0: none */
  /* Its deletion vector, when index_file is there. */
  bool has_cardinality;
  int64_t cardinality;
} tn_small_file;

/* Is the file small, or are too many of its rows deleted? */
bool tn_small_file_is_one(const tn_compact_options *options, const tn_small_file *file);

typedef struct tn_small_files {
  tn_mem *mem;
  const tn_compact_options *options;
  tn_small_file *files; /* in order of arrival */
  int64_t n_files, room;
  int32_t age; /* tries without a pick since files came */
} tn_small_files;

void tn_small_files_init(tn_small_files *small, tn_mem *mem, const tn_compact_options *options);
void tn_small_files_free(tn_small_files *small);
/* New files; those that need no compaction are left out. */
TN_CHECKED tarn_status tn_small_files_add(tn_small_files *small, const tn_small_file *files,
                                          int64_t n_files, tarn_error *err);
/* Tasks, each a list of files, which leave the state. Without one the state ages; files that have
 * waited long go all together. */
TN_CHECKED tarn_status tn_small_files_pick(tn_small_files *small, tn_arena *arena,
                                           tn_file_list **tasks, int64_t *n_tasks, tarn_error *err);
/* Nothing is to be expected of the partition: it can be forgotten until files come. */
bool tn_small_files_is_done(const tn_small_files *small);

#endif
