/* consumers.h - consumers: readers of a stream that name the snapshot they need next, which keeps
 * it and what follows from expiring. Files are replaced whole.
 *
 * Rule: org.apache.paimon.consumer.ConsumerManager; spec: commit, 17.
 */
#ifndef TN_MAINTAIN_CONSUMERS_H
#define TN_MAINTAIN_CONSUMERS_H

#include "model/table.h"

/* Make it, or set where it stands. Errors: INVALID (the id, a snapshot below 1). */
TN_CHECKED tarn_status tn_consumer_set(tn_table *table, const char *id, int64_t next_snapshot,
                                       tarn_error *err);
/* Errors: NOT_FOUND. */
TN_CHECKED tarn_status tn_consumer_delete(tn_table *table, const char *id, tarn_error *err);
/* Delete those whose whole id matches `including` and not `excluding` (NULL: none): POSIX extended
 * regular expressions. n_deleted may be NULL. Errors: INVALID (an expression). */
TN_CHECKED tarn_status tn_consumers_clear(tn_table *table, const char *including,
                                          const char *excluding, int64_t *n_deleted,
                                          tarn_error *err);
/* Delete those that have not moved for consumer.expiration-time, if that is set. */
TN_CHECKED tarn_status tn_consumers_expire(tn_table *table, int64_t *n_deleted, tarn_error *err);

#endif
