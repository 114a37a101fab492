/* snapshot_plan.h - the plan of one snapshot of a stream: its whole state, or what it changed.
 *
 *   STATE      all live files, packed as in a batch; files below a level may be left out
 *   DELTA      the files that the snapshot added, not merged
 *   CHANGELOG  its changelog files, not merged
 *   FILES      bucket by bucket the files that it removed, and those that it added: what an
 *              overwrite replaced, or any snapshot where files are monitored
 *
 * Changes of a primary-key table, and of an append table with buckets, are one split a bucket, so
 * that the order in a bucket stays. A streaming split carries no deletion vectors.
 *
 * Rule: org.apache.paimon.table.source.snapshot.{SnapshotReaderImpl,DeltaFollowUpScanner,
 * ChangelogFollowUpScanner}. Spec: streaming-source, 2, 4; scan-plan, 8.
 */
#ifndef TN_STREAM_SNAPSHOT_PLAN_H
#define TN_STREAM_SNAPSHOT_PLAN_H

#include "plan/plan.h"

typedef enum tn_snapshot_part {
  TN_SNAPSHOT_STATE,
  TN_SNAPSHOT_DELTA,
  TN_SNAPSHOT_CHANGELOG,
  TN_SNAPSHOT_FILES
} tn_snapshot_part;

typedef struct tn_snapshot_scan {
  tn_table *table;
  const tn_pred *predicate; /* NULL: none. Borrowed for the call */
  bool real_buckets_only;   /* without bucket-postpone */
  int32_t min_level;        /* STATE: only files of this level and above */
  bool has_min_creation;    /* STATE: only files created since: */
  int64_t min_creation_ms;  /* milliseconds since 1970 */
  bool keeps_stats;
  const tarn_cancel *cancel;
} tn_snapshot_scan;

/* The plan of `snapshot`, which may be a long-lived changelog. out: tn_plan_release(). Errors:
 * NOT_FOUND (a manifest is gone), CORRUPT, IO, CANCELLED, NOMEM. Cost: its manifests. */
TN_CHECKED tarn_status tn_snapshot_plan(const tn_snapshot_scan *scan, tn_snapshot_part part,
                                        const tn_snapshot *snapshot, tn_plan **out,
                                        tarn_error *err);

#endif
