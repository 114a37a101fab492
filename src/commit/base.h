/* base.h - the live files of a snapshot in some partitions. Internal.
 *
 * Rule: org.apache.paimon.operation.commit.CommitScanner; spec: commit, 3 and 6.
 */
#ifndef TN_COMMIT_BASE_H
#define TN_COMMIT_BASE_H

#include "commit/manifests.h"

typedef struct tn_base_request {
  const tn_snapshot *snapshot;
  bool is_delta;         /* what the snapshot added or took away, not its state */
  bool is_before;        /* the state that the snapshot was made of */
  const tn_map *only;    /* partitions by their bytes; NULL: all */
  const tn_pred *filter; /* on partition columns; NULL: none */
  bool keeps_stats;      /* of the files */
  bool hides_postpone;   /* real buckets only */
} tn_base_request;

typedef struct tn_base {
  tn_entries entries;
  const tn_scan_entry **items; /* in the arena of the read */
  int64_t count;
} tn_base;

/* Errors: INVALID (a filter on other columns), those of reading manifests. tn_base_reset(), also
 * after a failure. */
TN_CHECKED tarn_status tn_base_read(tn_commit_job *job, const tn_base_request *request,
                                    tn_arena *arena, tn_base *out, tarn_error *err);
void tn_base_reset(tn_base *base);

/* Does a partition (its bytes) match a filter on partition columns? */
TN_CHECKED tarn_status tn_partition_matches(tn_commit_job *job, const tn_pred *filter,
                                            tn_slice partition, tn_arena *arena, bool *out,
                                            tarn_error *err);

#endif
