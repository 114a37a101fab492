/* rollback.h - an earlier snapshot becomes the latest one.
 *
 * Newer snapshots go from the latest down, then newer long-lived changelogs and tags: a rollback
 * that was cut off leaves a state in between, and the same call completes it. Files that the newer
 * ones wrote stay behind; consumers and branches stay as they are. Commits that are under way go
 * behind the state that is the latest then, or conflict.
 *
 * Rule: org.apache.paimon.table.RollbackHelper; spec: commit, 12.
 */
#ifndef TN_MAINTAIN_ROLLBACK_H
#define TN_MAINTAIN_ROLLBACK_H

#include "model/table.h"

/* An id whose snapshot has expired comes back from a tag of that id. Errors: NOT_FOUND, EXPIRED
 * (an expiry of it has begun, and no tag keeps its files: nothing was changed). */
TN_CHECKED tarn_status tn_rollback_to_snapshot(tn_table *table, int64_t id, tarn_error *err);
TN_CHECKED tarn_status tn_rollback_to_tag(tn_table *table, const char *tag, tarn_error *err);
/* The newest snapshot of that time or before. */
TN_CHECKED tarn_status tn_rollback_to_time(tn_table *table, int64_t time_ms, tarn_error *err);

#endif
