/* evolution.h - tables whose rows lie in several files side by side (data-evolution.enabled).
 *
 * Files whose row ids overlap hold columns of the same rows and are read together; of each column
 * the file with the largest sequence number counts.
 *
 *   row ids   0 .................... 99  100 ........ 149
 *   columns   [ id, a, b    seq 1     ]  [ id, a, b  2 ]
 *             [ b           seq 3     ]
 *             [ pic.blob ][ pic.blob  ]
 *   spans     |------- together ------|  |-- alone --|
 *
 * Rule: org.apache.paimon.operation.{DataEvolutionFileStoreScan,DataEvolutionSplitRead},
 * utils.RangeHelper, table.source.DataEvolutionSplitGenerator. Spec: datafiles, 8; scan-plan, 6, 8.
 */
#ifndef TN_PLAN_EVOLUTION_H
#define TN_PLAN_EVOLUTION_H

#include "plan/groups.h"

/* The row ids of a file, both ends in it. */
typedef struct tn_row_span {
  int64_t first, last; /* first -1: its entry tells none, it stands alone */
  int64_t file;        /* the caller's number of it */
} tn_row_span;

void tn_row_span_of(const tn_data_file *file, int64_t number, tn_row_span *out);

/* Reorder spans so that those that overlap, directly or by way of others, stand together: by row
 * id, and those that stand together by `file`. (*begins)[0 .. *n_groups] are the bounds of what
 * stands together; arena. */
TN_CHECKED tarn_status tn_row_spans_group(tn_arena *arena, tn_row_span *spans, int64_t n,
                                          int64_t **begins, int64_t *n_groups, tarn_error *err);

/* Data files of BLOB columns; files of VECTOR columns. */
bool tn_is_blob_file(tn_slice file_name);
bool tn_is_vector_file(tn_slice file_name);

/* Drop the files of rows that cannot match filter->evolution, by the statistics of the newest file
 * of each column. Entries must have been kept with their statistics. */
TN_CHECKED tarn_status tn_evolution_prune(const tn_scan_filter *filter, tn_file_group *group,
                                          tn_arena *arena, tarn_error *err);

#endif
