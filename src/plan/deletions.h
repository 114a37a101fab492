/* deletions.h - where the deletion vectors of a snapshot's data files are.
 *
 * Rule: org.apache.paimon.index.IndexFileHandler, deletionvectors.DeletionVectorsIndexFile.
 * Spec: scan-plan, 8 "Deletion files"; indexes, 2; layout, 1.
 */
#ifndef TN_PLAN_DELETIONS_H
#define TN_PLAN_DELETIONS_H

#include "base/map.h"
#include "index/deletion_vector.h"
#include "plan/groups.h"

/* Vectors by data file name; a name is looked up within its partition and bucket. */
typedef struct tn_deletions {
  tn_map by_file;
} tn_deletions;

/* Read the index manifest `name` of the table; vectors of other buckets than those in `groups` are
 * left out. Texts go to the arena of the plan. out: tn_deletions_reset(), also after a failure. */
TN_CHECKED tarn_status tn_deletions_read(tn_table *table, const char *name,
                                         const tn_file_groups *groups, tn_arena *arena,
                                         tn_deletions *out, tarn_error *err);
void tn_deletions_reset(tn_deletions *deletions);

/* The vector of a data file; path NULL: it has none. */
void tn_deletions_find(const tn_deletions *deletions, tn_slice partition, int32_t bucket,
                       tn_slice file_name, tn_dv_place *out);

#endif
