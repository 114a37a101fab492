/* wait.h - waiting for the next snapshot of a table: at once where the file system tells of new
 * files, else when an interval has passed.
 *
 * One thread at a time waits. Whoever creates it before he looks for a snapshot misses none between
 * the look and the wait.
 */
#ifndef TN_STREAM_WAIT_H
#define TN_STREAM_WAIT_H

#include "model/table.h"

typedef struct tn_wait tn_wait;

/* Never fails for want of notices: it polls then. out: tn_wait_free(). */
TN_CHECKED tarn_status tn_wait_create(tn_table *table, tn_wait **out, tarn_error *err);
void tn_wait_free(tn_wait *wait); /* accepts NULL */
/* Does the file system tell of new snapshots? Else waits last as long as they may. Any thread. */
bool tn_wait_is_prompt(const tn_wait *wait);

/* Until there may be a new snapshot, or timeout_ms (0 or more) have passed; *has_news tells which.
 * It may say so for nothing. Errors: CANCELLED. */
TN_CHECKED tarn_status tn_wait_for(tn_wait *wait, int64_t timeout_ms, const tarn_cancel *cancel,
                                   bool *has_news, tarn_error *err);

#endif
