/* after_commit.h - what a commit sets off, by the table's options: automatic tags, tags that are
 * over, partitions, consumers, snapshots, changelogs; in this order. With write-only: nothing.
 *
 * The commit has happened; a fault here does not undo it. What fails does not hold up the rest, and
 * the next commit tries it again.
 *
 * Rule: org.apache.paimon.table.sink.TableCommitImpl#maintain; spec: commit, 8.
 */
#ifndef TN_MAINTAIN_AFTER_COMMIT_H
#define TN_MAINTAIN_AFTER_COMMIT_H

#include "base/cancel.h"
#include "model/table.h"

/* What one committer remembers from commit to commit; begins all zero. */
typedef struct tn_maintenance {
  bool has_checked_partitions;
  int64_t partitions_checked_ms;
} tn_maintenance;

typedef struct tn_after_commit_request {
  const char *user; /* of the commit */
  int64_t identifier;
  const tarn_cancel *cancel;
} tn_after_commit_request;

/* Errors: the first that happened, after all has been tried; each is told to the log as well. */
TN_CHECKED tarn_status tn_after_commit(tn_table *table, tn_maintenance *maintenance,
                                       const tn_after_commit_request *request, tarn_error *err);
/* What the end of a batch job sets off besides (tag.automatic-creation = batch). */
TN_CHECKED tarn_status tn_after_batch(tn_table *table, tarn_error *err);

#endif
