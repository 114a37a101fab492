/* latest.h - LATEST and what lies behind a snapshot, as a commit needs to know it. Internal. */
#ifndef TN_COMMIT_LATEST_H
#define TN_COMMIT_LATEST_H

#include "model/table.h"

/* Is snapshot `id` there? */
TN_CHECKED tarn_status tn_latest_exists(const tn_table *table, int64_t id, bool *out,
                                        tarn_error *err);
/* Has the table gone on to snapshots later than `id`? LATEST alone does not tell: one that is ahead
 * of all of them is wrong (a folder from a backup, a snapshot that was deleted by hand), unless it
 * moves. */
TN_CHECKED tarn_status tn_latest_is_behind(const tn_table *table, int64_t id, bool *out,
                                           tarn_error *err);
/* Let LATEST name snapshot `id`, which is there, unless it names a later one. A hint that cannot be
 * written costs a listing. */
void tn_latest_write(const tn_table *table, int64_t id);

#endif
