/* follow.h - the snapshots of a stream by their ids: those of the table, and long-lived changelogs
 * where these are kept longer. Internal.
 *
 * Rule: org.apache.paimon.utils.NextSnapshotFetcher, ChangelogManager. Spec: streaming-source, 5.
 */
#ifndef TN_STREAM_FOLLOW_H
#define TN_STREAM_FOLLOW_H

#include "model/snapshot.h"
#include "model/table.h"

/* Are changelogs kept longer than snapshots? */
TN_CHECKED tarn_status tn_changelog_is_decoupled(const tn_table *table, bool *out, tarn_error *err);

/* Snapshot `id`, else its long-lived changelog if those are decoupled; *found false: neither.
 * Texts go to the arena. */
TN_CHECKED tarn_status tn_follow_fetch(tn_table *table, bool is_decoupled, int64_t id,
                                       tn_arena *arena, tn_snapshot *out, bool *found,
                                       tarn_error *err);
/* The earliest id that can be followed from; 0: there is none. */
TN_CHECKED tarn_status tn_follow_earliest(tn_table *table, bool is_decoupled, int64_t *out,
                                          tarn_error *err);
/* The last id of which the snapshot is earlier than ms. *is_known false: even the earliest one is
 * not, and *out is the id in front of it. *found false: the table has no snapshot. */
TN_CHECKED tarn_status tn_follow_before(tn_table *table, bool is_decoupled, int64_t ms,
                                        tn_arena *arena, int64_t *out, bool *found, bool *is_known,
                                        tarn_error *err);

/* Can snapshot `next` still come? Looks at the folders themselves, never at hints. Errors, with
 * Java's words and what can be done: EXPIRED (it was there), INVALID (beyond all there is: the
 * table was made anew or rolled back). Also where Java waits for ever: decoupled, and the changelog
 * is gone as well. Rule: NextSnapshotFetcher#rangeCheck. */
TN_CHECKED tarn_status tn_follow_check(tn_table *table, bool is_decoupled, int64_t next,
                                       tarn_error *err);

#endif
