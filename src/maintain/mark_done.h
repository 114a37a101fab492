/* mark_done.h - a partition is complete, says a file in its folder.
 *
 * Rule: org.apache.paimon.partition.actions.*; spec: commit, 16.
 */
#ifndef TN_MAINTAIN_MARK_DONE_H
#define TN_MAINTAIN_MARK_DONE_H

#include "model/table.h"

/* values: a text for each partition column, in their order; NULL: null. Errors: INVALID (a value),
 * UNSUPPORTED (an action of partition.mark-done-action other than success-file, by name). */
TN_CHECKED tarn_status tn_partition_mark_done(tn_table *table, const char *const *values,
                                              tarn_error *err);

#endif
