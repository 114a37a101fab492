/* expire.h - old snapshots and long-lived changelogs go, with what only they need.
 *
 * Invariants
 *   X1  What a tag, another branch, a consumer or a later snapshot needs stays. If that cannot be
 *       found out, nothing goes.
 *   X2  EARLIEST names the first snapshot that stays before the first file goes: whoever starts at
 *       the earliest one starts at one that is whole.
 *   X3  Data files go before manifests, manifests before their lists, all before the snapshot that
 *       names them: a run that was cut off is completed by the next one.
 *
 * Rule: org.apache.paimon.table.{ExpireSnapshotsImpl,ExpireChangelogImpl}; spec: commit, 8 and 9.
 */
#ifndef TN_MAINTAIN_EXPIRE_H
#define TN_MAINTAIN_EXPIRE_H

#include "base/cancel.h"
#include "model/table.h"

/* Zero: as the table's options say. */
typedef struct tn_expire_request {
  int32_t retain_max, retain_min;
  int64_t older_than_ms;
  int32_t max_deletes;
  bool is_dry; /* only count */
  const tarn_cancel *cancel;
} tn_expire_request;

/* *n_expired (may be NULL): snapshots; changelogs. Errors: INVALID (numbers that contradict each
 * other), those of reading and removing; what is half done then is completed by the next run. */
TN_CHECKED tarn_status tn_expire_snapshots(tn_table *table, const tn_expire_request *request,
                                           int64_t *n_expired, tarn_error *err);
/* Only where changelogs live longer than snapshots. */
TN_CHECKED tarn_status tn_expire_changelogs(tn_table *table, const tn_expire_request *request,
                                            int64_t *n_expired, tarn_error *err);

#endif
