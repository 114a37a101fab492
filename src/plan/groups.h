/* groups.h - live entries by partition and bucket.
 *
 * Partitions come in order of their first entry (or by value, option scan.plan-sort-partition),
 * buckets of a partition likewise, and entries keep their order.
 * Rule: org.apache.paimon.table.source.snapshot.SnapshotReaderImpl#groupByPartFiles.
 */
#ifndef TN_PLAN_GROUPS_H
#define TN_PLAN_GROUPS_H

#include "plan/entries.h"

typedef struct tn_file_group {
  tn_slice partition;
  uint32_t partition_index;
  int32_t bucket;
  int32_t total_buckets;       /* of its first entry */
  const tn_scan_entry **files; /* may be reordered and cut by their user */
  int64_t n_files;
} tn_file_group;

typedef struct tn_file_groups {
  tn_file_group *items;
  int64_t count;
  uint32_t n_partitions;
} tn_file_groups;

/* Everything in the arena. One pass, no sorting by value unless the table asks for it. */
TN_CHECKED tarn_status tn_groups_make(const tn_table *table, const tn_scan_entry *const *entries,
                                      int64_t n_entries, tn_arena *arena, tn_file_groups *out,
                                      tarn_error *err);

#endif
