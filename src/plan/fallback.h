/* fallback.h - reads over two branches: partitions that the first one has are read from it, all
 * others from the second one. Internal.
 *
 *   scan.fallback-branch   this table is the first, the branch the second
 *   scan.primary-branch    the branch is the first, this table the second
 *
 * The rows have this table's columns; columns of the branches go together by place. Options given
 * for this read alone count for the other branch, too, but for its bucket number; a snapshot id
 * there becomes the id of the last snapshot that is not younger. At a tag that the second branch
 * has not, the first one is read alone.
 *
 * Rule: org.apache.paimon.table.FallbackReadFileStoreTable, FileStoreTableFactory.
 * Spec: scan-plan, 9 "Chain / fallback tables".
 */
#ifndef TN_PLAN_FALLBACK_H
#define TN_PLAN_FALLBACK_H

#include "plan/plan.h"

/* Do the options ask for it? */
bool tn_fallback_is_wanted(const tn_table *table);
/* The table of the first branch or of the second one (retained); NULL: it is this one.
 * Errors: INVALID (this table's options name no branch that is there; other columns), those of
 * opening. */
TN_CHECKED tarn_status tn_fallback_branch(tn_table *table, bool is_second, tn_table **out,
                                          tarn_error *err);
/* A predicate on the columns of another table that stand in the same places; arena. */
TN_CHECKED tarn_status tn_fallback_translate(const tn_schema *from, const tn_schema *to,
                                             const tn_pred *pred, tn_arena *arena,
                                             const tn_pred **out, tarn_error *err);
/* tn_plan_create of a table that wants it. */
TN_CHECKED tarn_status tn_fallback_plan(const tn_scan *scan, tn_plan **out, tarn_error *err);

#endif
