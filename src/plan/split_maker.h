/* split_maker.h - the splits of a plan while it is made, of batches and of streams.
 *
 * What splits point to is the plan's from the start. Their list grows in memory of the planning;
 * tn_split_maker_finish() moves it to the plan, with the arenas of the entries. Until then a plan
 * that failed is released with n_splits = 0. A maker belongs to one thread and holds nothing.
 */
#ifndef TN_PLAN_SPLIT_MAKER_H
#define TN_PLAN_SPLIT_MAKER_H

#include "plan/deletions.h"
#include "plan/packing.h"
#include "plan/plan.h"

typedef struct tn_split_maker {
  tn_plan *plan;     /* of a table */
  tn_arena *scratch; /* of the planning */
  size_t capacity;
} tn_split_maker;

/* A split of a bucket, without files and folder, valid until the next one is added. Errors: LIMIT,
 * NOMEM. */
TN_CHECKED tarn_status tn_split_maker_add(tn_split_maker *maker, const tn_file_group *group,
                                          tn_split **out, tarn_error *err);
/* A split of files that were packed together; with their vectors, unless it is_streaming.
 * bucket_path: in the plan's arena. Errors: LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_split_maker_add_pack(tn_split_maker *maker, const tn_file_group *group,
                                               const tn_pack *pack, const char *bucket_path,
                                               bool is_streaming, const tn_deletions *deletions,
                                               tarn_error *err);

/* The folder of a bucket. Errors: LIMIT, NOMEM, CORRUPT (the partition). */
TN_CHECKED tarn_status tn_split_maker_path(const tn_split_maker *maker, const tn_file_group *group,
                                           const char **out, tarn_error *err);
/* Entries as files of a split. Errors: LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_split_maker_files(const tn_split_maker *maker,
                                            const tn_scan_entry *const *entries, int64_t n,
                                            const tn_data_file **out, int32_t *n_out,
                                            tarn_error *err);
/* The vectors of files, parallel to them; NULL: the table has none at all. Errors: NOMEM. */
TN_CHECKED tarn_status tn_split_maker_vectors(const tn_split_maker *maker,
                                              const tn_deletions *deletions, const tn_split *split,
                                              const tn_data_file *files, int32_t n,
                                              const tn_dv_place **out, tarn_error *err);

/* Once, at the end: all that splits point to becomes the plan's. sets: the entries of the splits.
 * Errors: NOMEM. */
TN_CHECKED tarn_status tn_split_maker_finish(tn_split_maker *maker, tn_entries *const *sets,
                                             size_t n_sets, tarn_error *err);

#endif
