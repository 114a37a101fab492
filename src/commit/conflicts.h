/* conflicts.h - may these changes follow that snapshot? Internal.
 *
 * Rule: org.apache.paimon.operation.commit.{ConflictDetection,StrictModeChecker}; spec: commit, 5.
 */
#ifndef TN_COMMIT_CONFLICTS_H
#define TN_COMMIT_CONFLICTS_H

#include "commit/base.h"

typedef struct tn_conflict_check {
  tn_commit_job *job;
  const tn_snapshot *latest;
  const tn_base *base; /* live files of `latest` in the partitions that change */
  const tn_commit_changes *changes;
  tn_commit_kind kind;
  tn_arena *arena;
} tn_conflict_check;

/* All rules on files. Errors: CONFLICT in Java's words, with both users and the files. */
TN_CHECKED tarn_status tn_conflicts_find(const tn_conflict_check *check, tarn_error *err);
/* Of a first snapshot, where latest is NULL and base empty: bucket counts, and rows that files with
 * row ids are of, of which there are none. */
TN_CHECKED tarn_status tn_conflicts_find_first(const tn_conflict_check *check, tarn_error *err);
/* The bucket counts alone. */
TN_CHECKED tarn_status tn_conflicts_find_buckets(const tn_conflict_check *check, tarn_error *err);
/* Strict mode: what others committed since the safe snapshot, before snapshot `new_id`. */
TN_CHECKED tarn_status tn_conflicts_find_strict(tn_commit_job *job, int64_t new_id,
                                                tn_commit_kind kind, tn_arena *arena,
                                                tarn_error *err);

/* Level 0 files of one bucket, to be sorted by key: do no two overlap? Items are reordered. */
TN_CHECKED tarn_status tn_files_are_disjoint(tn_commit_job *job, tn_arena *arena,
                                             tn_manifest_entry **files, int64_t n, bool *out,
                                             tarn_error *err);

#endif
