/* diff.h - the files of two states, bucket by bucket, and which of them a comparison needs.
 * Internal.
 *
 * A file that both states have tells no difference by itself, and is left out of both. It stays
 * where the rows of other files cannot be had without it:
 *   - its deletion vector has changed;
 *   - rows are put together from several versions, or the newest file need not win (partial-update,
 *     aggregation, first-row, sequence fields), and its keys overlap those of a file of one state
 *     alone.
 * Files of append tables never stay: of them only the new ones are read.
 *
 * Rule: org.apache.paimon.table.source.snapshot.SnapshotReaderImpl#readIncrementalDiff, which
 * leaves out every common file; TimeTravelUtil#checkRescaleBucketForIncrementalDiffQuery. Spec:
 * scan-plan, 5.
 */
#ifndef TN_PLAN_DIFF_H
#define TN_PLAN_DIFF_H

#include "plan/deletions.h"

/* A bucket in both states; a state that lacks it has no files. */
typedef struct tn_diff_pair {
  tn_file_group before, after;
} tn_diff_pair;

/* Buckets in the order of the state after, then those that only the state before has. Groups are
 * shared with the lists. Errors: INVALID (a partition whose number of buckets has changed). */
TN_CHECKED tarn_status tn_diff_pairs(const tn_table *table, const tn_file_groups *before,
                                     const tn_file_groups *after, tn_arena *arena,
                                     tn_diff_pair **out, int64_t *n_out, tarn_error *err);

/* Take common files out of both lists of files. Errors: CORRUPT (keys), NOMEM. */
TN_CHECKED tarn_status tn_diff_drop_common(const tn_table *table, const tn_deletions *before,
                                           const tn_deletions *after, tn_arena *arena,
                                           tn_diff_pair *pair, tarn_error *err);

#endif
