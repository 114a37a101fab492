/* overwrite.h - what an overwrite takes away, and its new files. Internal.
 *
 * Rule: FileStoreCommitImpl#{overwritePartition,tryUpgrade}, CommitScanner#readOverwriteChanges;
 * spec: commit, 6.
 */
#ifndef TN_COMMIT_OVERWRITE_H
#define TN_COMMIT_OVERWRITE_H

#include "commit/base.h"

typedef struct tn_overwrite {
  const tn_pred *filter; /* on partition columns; NULL: all partitions, or: */
  const tn_map *only;    /* these, by their bytes */
  tn_commit_changes own; /* what comes instead */
} tn_overwrite;

/* Every new file belongs to the filter of the overwrite, and none brings columns of rows that the
 * overwrite takes away. INVALID otherwise. */
TN_CHECKED tarn_status tn_overwrite_check(tn_commit_job *job, const tn_overwrite *overwrite,
                                          tarn_error *err);
/* overwrite-upgrade: files of level 0 that do not overlap in their bucket go to the highest level
 * (primary-key tables). own is changed. */
TN_CHECKED tarn_status tn_overwrite_upgrade(tn_commit_job *job, tn_overwrite *overwrite,
                                            tarn_error *err);
/* The changes against a snapshot (NULL: there is none). `base` owns what they point into. */
TN_CHECKED tarn_status tn_overwrite_changes(tn_commit_job *job, const tn_overwrite *overwrite,
                                            const tn_snapshot *latest, tn_arena *arena,
                                            tn_base *base, tn_commit_changes *out, tarn_error *err);

#endif
