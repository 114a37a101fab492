/* compact_inline.h - a writer that compacts the buckets that it writes. For this room only.
 *
 *   restored files ──┐                     ┌── picked ── runs beside the writer ──┐
 *                    ├── a tree of runs ───┤                                      ├── prepare takes
 *   flushed files ───┘                     └── what came of it, into the tree ────┘   the results
 *
 * After a flush the bucket's new files join its tree, what a compaction did is taken in, and the
 * next one is picked. A writer waits for a compaction when a bucket has too many runs, and before a
 * commit where the table, the caller or the end of a batch ask for it.
 *
 * A bucket that nothing can be picked for yet has no tree: it costs memory. A bucket with a tree
 * stays open from commit to commit, until it had no news for a commit, what it had is visible, and
 * nothing of it has to be compacted.
 *
 * Others compact, too, and expire what was before: a compaction that finds files gone is lost. What
 * was not committed of its bucket's compactions goes, the new files stay. The tree is made anew
 * from the latest snapshot as soon as that has all that was prepared: a tree of some of a bucket's
 * files would let deletions go that older rows still need.
 *
 * Rule: org.apache.paimon.mergetree.MergeTreeWriter, append.AppendOnlyWriter,
 * operation.AbstractFileStoreWrite, flink.sink.GlobalFullCompactionSinkWrite; spec: compaction, 5;
 * write-path, 6-7.
 */
#ifndef TN_WRITE_COMPACT_INLINE_H
#define TN_WRITE_COMPACT_INLINE_H

#include "write/write_parts.h"

/* Sets w->compaction; it stays NULL for tables that their writers do not compact. Errors: those of
 * tn_compact_options_read and tn_rewriter_create. */
TN_CHECKED tarn_status tn_inline_create(tn_write *w, tarn_error *err);
/* All below accept a writer that does not compact. */
void tn_inline_free(tn_write *w); /* with all buckets, whose jobs are cancelled or waited for */
/* A bucket is opened, and has these files in the snapshot (0: none). All is borrowed. */
TN_CHECKED tarn_status tn_inline_open(tn_write *w, tn_open_bucket *bucket, int64_t snapshot_id,
                                      const tn_data_file *files, int32_t n_files,
                                      const tn_index_entry *vectors, int32_t n_vectors,
                                      tarn_error *err);
/* The latest snapshot when buckets were opened. */
void tn_inline_saw(tn_write *w, int64_t snapshot_id);
/* What a compaction said that has failed since the writer was made, or refreshed. */
TN_CHECKED tarn_status tn_inline_check(tn_write *w, tarn_error *err);
/* The files of a bucket have grown. */
TN_CHECKED tarn_status tn_inline_flushed(tn_write *w, tn_open_bucket *bucket, tarn_error *err);
/* What is flushed from now on belongs to the commit that is prepared. */
void tn_inline_begin_prepare(tn_write *w, int64_t identifier, tn_arena *arena);
/* All files of a commit are complete: wait for what has to be waited for. What compactions did is
 * told by bucket->compacted: its compact_ parts, in the arena. */
TN_CHECKED tarn_status tn_inline_settle(tn_write *w, tarn_error *err);
/* Compact one bucket; all that it is made of is flushed. */
TN_CHECKED tarn_status tn_inline_compact(tn_write *w, tn_open_bucket *bucket, bool is_full,
                                         tarn_error *err);
/* The messages of a commit are the caller's. Before the files of buckets are forgotten. */
TN_CHECKED tarn_status tn_inline_prepared(tn_write *w, int64_t identifier, tarn_error *err);
/* The messages are nobody's: what compactions did for them is removed. */
void tn_inline_abandon(tn_write *w);
/* Forget all buckets; those with a job that runs wait for its end. */
void tn_inline_reset(tn_write *w);

/* Adds what compactions did, and what trees hold now. */
void tn_inline_get_stats(const tn_write *w, tn_write_stats *out);

/* Buckets that have to be compacted once more after all are forgotten: those of which compactions
 * may have been dropped, where rows are not seen, or have no changelog, before. */
typedef struct tn_inline_redo {
  tn_slice partition;
  int32_t bucket;
} tn_inline_redo;
/* Before the reset; *out: tn_free(). */
TN_CHECKED tarn_status tn_inline_note_redo(const tn_write *w, tn_inline_redo **out, size_t *n,
                                           tarn_error *err);
/* Behind the reset: the next prepare compacts them, whether rows come or not. */
TN_CHECKED tarn_status tn_inline_redo_all(tn_write *w, const tn_inline_redo *redo, size_t n,
                                          tarn_error *err);

#endif
