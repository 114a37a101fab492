/* branches.h - branches: other lines of snapshots, schemas and tags over the same files.
 *
 * Invariants
 *   B1  A branch is there whole or not at all: it is made under a hidden name.
 *   B2  A branch keeps what it names: expiry and the deletion of tags look at every branch.
 *   B3  After a fast-forward that was cut off the table has an older state, or one that the branch
 *       had; the branch is still there, and the same call completes it.
 *
 * Rule: org.apache.paimon.utils.{BranchManager,FileSystemBranchManager}; spec: commit, 11.
 */
#ifndef TN_MAINTAIN_BRANCHES_H
#define TN_MAINTAIN_BRANCHES_H

#include "model/table.h"

/* tag NULL: without snapshots, with all schemas of `table`. Errors: EXISTS, INVALID (the name),
 * NOT_FOUND (the tag). */
TN_CHECKED tarn_status tn_branch_create(tn_table *table, const char *name, const char *tag,
                                        tarn_error *err);
/* Files that only it needs stay behind. Errors: NOT_FOUND, INVALID (main; one that
 * scan.fallback-branch or scan.primary-branch names). */
TN_CHECKED tarn_status tn_branch_delete(tn_table *table, const char *name, tarn_error *err);
/* Errors: NOT_FOUND, EXISTS, INVALID. */
TN_CHECKED tarn_status tn_branch_rename(tn_table *table, const char *from, const char *to,
                                        tarn_error *err);
/* `table` becomes what the branch is; what it had from the branch's first snapshot on is gone.
 * Errors: NOT_FOUND, INVALID (the name), STATE (the branch has no snapshot). */
TN_CHECKED tarn_status tn_branch_fast_forward(tn_table *table, const char *name, tarn_error *err);

#endif
