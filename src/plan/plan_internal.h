/* plan_internal.h - what the files of the plan room share among themselves. */
#ifndef TN_PLAN_PLAN_INTERNAL_H
#define TN_PLAN_PLAN_INTERNAL_H

#include "base/map.h"
#include "plan/plan.h"

/* An empty plan, counted; table may be NULL. NULL: out of memory. */
tn_plan *tn_plan_new(tarn_env *env, tn_table *table);

/* A plan of scan->table alone, whatever its options say of other branches. without: partitions (by
 * their bytes) that are left out; NULL: none. */
TN_CHECKED tarn_status tn_plan_branch(const tn_scan *scan, const tn_map *without, tn_plan **out,
                                      tarn_error *err);
/* The live partitions of one snapshot, as tn_plan_partitions(). */
TN_CHECKED tarn_status tn_plan_snapshot_partitions(tn_table *table, const tn_snapshot *snapshot,
                                                   tn_arena *arena, tn_partition_info **out,
                                                   int32_t *n_out, tarn_error *err);

#endif
