/* packing.h - the files of one bucket as splits.
 *
 * A split is a list of whole files. Files that a merge must see together (their key ranges overlap)
 * form a section and are never parted; sections, or single files where none must be merged, are
 * packed in order into bins of source.split.target-size.
 *
 *   primary key   [1,2] [3,4] [5,180] [5,190] [200,600] [210,700]
 *   sections      {1..2} {3..4} {5..190} {200..700}
 *
 * Rule: org.apache.paimon.table.source.{MergeTreeSplitGenerator,AppendOnlySplitGenerator,
 * DataEvolutionSplitGenerator}, mergetree.compact.IntervalPartition, utils.BinPacking.
 * Spec: scan-plan, 8.
 */
#ifndef TN_PLAN_PACKING_H
#define TN_PLAN_PACKING_H

#include "plan/groups.h"

typedef struct tn_pack {
  const tn_scan_entry **files;
  int32_t n_files;
  bool is_raw_convertible;
} tn_pack;

typedef struct tn_packs {
  tn_pack *items;
  int32_t count;
} tn_packs;

/* The splits of a batch read, in Java's order; may reorder group->files. Everything in the arena.
 * Errors: CORRUPT (keys), NOMEM, LIMIT. */
TN_CHECKED tarn_status tn_pack_group(const tn_table *table, tn_file_group *group, tn_arena *arena,
                                     tn_packs *out, tarn_error *err);

/* No file can hold another version of a key of another one (spec: scan-plan, 6). */
bool tn_group_never_overlaps(const tn_file_group *group);

#endif
