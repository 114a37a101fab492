/* row_ids.h - the rows of tables with row tracking get their ids when they are committed. Internal.
 *
 * Rule: org.apache.paimon.operation.commit.RowTrackingCommitUtils; spec: commit, 3 step 7.
 */
#ifndef TN_COMMIT_ROW_IDS_H
#define TN_COMMIT_ROW_IDS_H

#include "commit/changes.h"

/* Assign first row ids and sequence numbers to the files of `out`, which becomes a copy of `in`
 * (arena). *next: the first free row id before, and after. Errors: INVALID (a file that does not
 * tell its source, columns of no rows), LIMIT. */
TN_CHECKED tarn_status tn_row_ids_assign(int64_t snapshot_id, const tn_commit_changes *in,
                                         tn_arena *arena, int64_t *next, tn_commit_changes *out,
                                         tarn_error *err);

#endif
