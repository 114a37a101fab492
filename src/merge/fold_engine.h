/* fold_engine.h - the folding merge engines: what they do with which column, and the steps they
 * make of a plan.
 *
 * A *layout* is made once of the table's options and the columns of a merge. For each range of a
 * plan's groups the engine then fills a *fold*: kind and sequence number of every merged row, and
 * for every kind of column how it is made:
 *
 *   KEY       any row of the group                            lasts
 *   FREE      function over the steps of columns outside of sequence groups   steps[0]
 *   GROUPED   function over the steps of its sequence group                   steps[1 + group]
 *   MEMBER    no function: the row that set the group last, or null           members[group]
 *   ORDERS    sequence column: the row that set the group last                orders[group]
 */
#ifndef TN_MERGE_FOLD_ENGINE_H
#define TN_MERGE_FOLD_ENGINE_H

#include "merge/fold.h"
#include "merge/merge.h"

typedef enum tn_fold_role {
  TN_FOLD_KEY,
  TN_FOLD_FREE,
  TN_FOLD_GROUPED,
  TN_FOLD_MEMBER,
  TN_FOLD_ORDERS
} tn_fold_role;

/* A column of the merge: key_fields, then value_fields (tn_merge_spec). */
typedef struct tn_fold_column {
  const tn_field *field;
  tn_fold_role role;
  int32_t schema_column;
  int32_t group;     /* of the layout; -1: none */
  tn_fold_spec spec; /* FREE, GROUPED */
} tn_fold_column;

typedef struct tn_fold_group {
  int32_t *columns; /* sequence columns: indexes into the layout's columns */
  int32_t n_columns;
  bool removes_record;
  bool has_functions; /* some column is GROUPED */
} tn_fold_group;

struct tn_fold_layout {
  const tn_engine_ops *engine;
  tn_fold_column *columns;
  int32_t n_columns;
  tn_fold_group *groups; /* those of which columns are read */
  int32_t n_groups;
  bool has_sequence_groups; /* the table has some, read or not */
  bool removes_record_on_delete;
  bool sets_first;   /* some FREE function wants SET for rows that are taken unchanged */
  int32_t *not_null; /* columns that may not hold nulls (but keys) */
  int32_t n_not_null;
};

/* What a range of a plan's groups comes to. Arrays have an item a group of the range; scratch that
 * is kept from range to range. */
struct tn_fold {
  tarn_env *env;
  const tn_fold_layout *layout;
  const tn_merge_plan *plan;
  /* The sources' vectors of each column of the layout: columns[c][source]. */
  const tn_vec *const *const *columns;

  int8_t *kinds;
  int64_t *sequences;
  tn_row_ref *lasts;
  tn_fold_steps *steps; /* 1 + n_groups */
  tn_row_ref **members; /* n_groups; source == n_sources: null */
  tn_row_ref **orders;  /* likewise */

  int64_t groups_capacity;
  struct tn_fold_list {
    tn_row_ref *rows;
    uint8_t *ops;
    uint32_t *borders;
    size_t n, capacity;
  } *lists; /* 1 + n_groups: steps that are not the plan's rows */
};

typedef struct tn_fold_list tn_fold_list;

/* The engines' part: fold->plan, columns and the arrays by group are ready. */
tarn_status tn_fold_partial_update(tn_fold *fold, tarn_error *err);
tarn_status tn_fold_aggregation(tn_fold *fold, tarn_error *err);

/* Steps of columns outside of groups that are the plan's rows as they are. */
void tn_fold_take_rows(tn_fold *fold);
/* Begin a list of steps for the range; add a step; close the group. */
TN_CHECKED tarn_status tn_fold_list_begin(tn_fold *fold, int32_t list, tarn_error *err);
TN_CHECKED tarn_status tn_fold_list_grow(tn_fold *fold, tn_fold_list *list, tarn_error *err);
static inline tarn_status tn_fold_list_add(tn_fold *fold, int32_t list, tn_row_ref row,
                                           tn_fold_op op, tarn_error *err) {
  tn_fold_list *l = &fold->lists[list];
  if (TN_UNLIKELY(l->n == l->capacity)) {
    TN_TRY(tn_fold_list_grow(fold, l, err));
  }
  l->rows[l->n] = row;
  l->ops[l->n++] = (uint8_t)op;
  return TARN_OK;
}
static inline void tn_fold_list_close_group(tn_fold *fold, int32_t list, int64_t group) {
  fold->lists[list].borders[group + 1] = (uint32_t)fold->lists[list].n;
}
void tn_fold_list_end(tn_fold *fold, int32_t list);

/* A NOT NULL column is null in this row: INVALID, Java's words. */
TN_CHECKED tarn_status tn_fold_check_not_null(const tn_fold *fold, tn_row_ref row, tarn_error *err);
/* Can tn_fold_check_not_null fail at all? */
bool tn_fold_may_miss_values(const tn_fold *fold);
/* Does any row of the range retract, or is a row of its own not +I? */
bool tn_fold_is_all_inserts(const tn_fold *fold);

#endif
