/* partial_update.c - the merge engine of that name, as steps.
 *
 * Columns outside of sequence groups take the last value that is not null (steps[0]). A sequence
 * group has the values of the newest row in the order of its sequence columns, nulls included; rows
 * without any sequence value pass it by. What that row is, is decided here, row by row
 * (orders[group]); its members follow, but a retraction makes them null (members[group]). Members
 * with a function get steps of their own, late rows included.
 *
 *   row       in its order   members without function   with function
 *   add       newer, equal   its value                  ADD
 *             older          as before                  ADD_REVERSED
 *   retract   newer, equal   null                       RETRACT
 *             older          as before                  RETRACT
 *
 * A key that begins with a retraction begins with that row's values. A row that removes the record
 * leaves its values behind for what comes after it. Where it removes, no function is asked to
 * retract (Java asks those of columns before the sequence column).
 *
 * Rule: PartialUpdateMergeFunction (1.4.2); spec: merge-engines, 5.
 */
#include "merge/fold_engine.h"
#include "merge/key.h"

/* Of the key that is being merged. */
typedef struct state {
  tn_fold *fold;
  int64_t g;
  bool may_miss_values;
  bool has_free_list; /* steps[0] is a list: there are retractions */
  bool is_filled, has_insert, is_removed;
} state;

static bool is_none(const tn_fold *fold, tn_row_ref row) {
  return row.source == (uint32_t)fold->plan->n_sources;
}

/* Is every sequence column of the group null in the row? */
static bool lacks_order(const tn_fold *fold, const tn_fold_group *group, tn_row_ref row) {
  for (int32_t i = 0; i < group->n_columns; i++) {
    if (!tn_vec_is_null(fold->columns[group->columns[i]][row.source], row.row)) {
      return false;
    }
  }
  return true;
}

/* Is the row older than the one that set the group? */
static bool is_older(const tn_fold *fold, const tn_fold_group *group, tn_row_ref row,
                     tn_row_ref than) {
  if (is_none(fold, than)) {
    return false; /* nulls are the oldest */
  }
  for (int32_t i = 0; i < group->n_columns; i++) {
    const tn_vec *const *vecs = fold->columns[group->columns[i]];
    int order = tn_key_compare_value(vecs[row.source], row.row, vecs[than.source], than.row);
    if (order != 0) {
      return order < 0;
    }
  }
  return false;
}

static tarn_status add_step(const state *s, int32_t group, tn_row_ref row, tn_fold_op op,
                            tarn_error *err) {
  return s->fold->layout->groups[group].has_functions
             ? tn_fold_list_add(s->fold, 1 + group, row, op, err)
             : TARN_OK;
}

/* The merged row is this row, whatever was before. */
static tarn_status take_row(state *s, tn_row_ref row, tarn_error *err) {
  tn_fold *fold = s->fold;
  if (s->has_free_list) {
    TN_TRY(tn_fold_list_add(fold, 0, row, TN_FOLD_SET, err));
  }
  for (int32_t i = 0; i < fold->layout->n_groups; i++) {
    fold->orders[i][s->g] = fold->members[i][s->g] = row;
    TN_TRY(add_step(s, i, row, TN_FOLD_SET, err));
  }
  return TARN_OK;
}

/* The same, where Java fills a row of its own. */
static tarn_status fill_with(state *s, tn_row_ref row, tarn_error *err) {
  if (s->may_miss_values) {
    TN_TRY(tn_fold_check_not_null(s->fold, row, err));
  }
  return take_row(s, row, err);
}

static tarn_status add_row(state *s, tn_row_ref row, tarn_error *err) {
  tn_fold *fold = s->fold;
  const tn_fold_layout *layout = fold->layout;
  if (layout->n_groups == 0 && s->may_miss_values) {
    TN_TRY(tn_fold_check_not_null(fold, row, err));
  }
  if (s->has_free_list) {
    TN_TRY(tn_fold_list_add(fold, 0, row, TN_FOLD_ADD, err));
  }
  for (int32_t i = 0; i < layout->n_groups; i++) {
    const tn_fold_group *group = &layout->groups[i];
    if (lacks_order(fold, group, row)) {
      continue;
    }
    if (is_older(fold, group, row, fold->orders[i][s->g])) {
      TN_TRY(add_step(s, i, row, TN_FOLD_ADD_REVERSED, err));
    } else {
      fold->orders[i][s->g] = fold->members[i][s->g] = row;
      TN_TRY(add_step(s, i, row, TN_FOLD_ADD, err));
    }
  }
  s->has_insert = s->is_filled = true;
  return TARN_OK;
}

/* Does a -D row remove the record: is it not older in a group that is said to? */
static bool removes(const state *s, tn_row_ref row) {
  const tn_fold *fold = s->fold;
  for (int32_t i = 0; i < fold->layout->n_groups; i++) {
    const tn_fold_group *group = &fold->layout->groups[i];
    if (group->removes_record && !lacks_order(fold, group, row) &&
        !is_older(fold, group, row, fold->orders[i][s->g])) {
      return true;
    }
  }
  return false;
}

static tarn_status retract_from_groups(state *s, tn_row_ref row, int8_t kind, tarn_error *err) {
  tn_fold *fold = s->fold;
  const tn_row_ref none = {(uint32_t)fold->plan->n_sources, 0};
  if (kind == TN_ROW_DELETE && removes(s, row)) {
    s->is_removed = true;
    return fill_with(s, row, err);
  }
  for (int32_t i = 0; i < fold->layout->n_groups; i++) {
    const tn_fold_group *group = &fold->layout->groups[i];
    if (lacks_order(fold, group, row)) {
      continue;
    }
    if (!is_older(fold, group, row, fold->orders[i][s->g])) {
      fold->orders[i][s->g] = row;
      fold->members[i][s->g] = none;
    }
    TN_TRY(add_step(s, i, row, TN_FOLD_RETRACT, err));
  }
  return TARN_OK;
}

static tarn_status refuse(const state *s, tn_row_ref row, tarn_error *err) {
  const char *path = s->fold->plan->sources[row.source]->path;
  return tn_fail(err, TARN_E_INVALID,
                 "%s: by default, partial update can not accept delete records; the options "
                 "'ignore-delete', 'partial-update.remove-record-on-delete', and sequence groups "
                 "with or without 'partial-update.remove-record-on-sequence-group' let it",
                 path != NULL ? path : "merge");
}

static tarn_status retract_row(state *s, int64_t i, tarn_error *err) {
  tn_fold *fold = s->fold;
  const tn_row_ref row = fold->plan->rows[i];
  const int8_t kind = tn_merge_kind(fold->plan, i);
  if (!s->is_filled) {
    TN_TRY(fill_with(s, row, err));
    s->is_filled = true;
  }
  if (fold->plan->ignore_delete) {
    return TARN_OK;
  }
  fold->sequences[s->g] = tn_merge_sequence(fold->plan, i);
  if (fold->layout->has_sequence_groups) {
    return retract_from_groups(s, row, kind, err);
  }
  if (!fold->layout->removes_record_on_delete) {
    return refuse(s, row, err);
  }
  s->is_removed = kind == TN_ROW_DELETE;
  return s->is_removed ? fill_with(s, row, err) : TARN_OK;
}

static tarn_status merge_key(state *s, tarn_error *err) {
  tn_fold *fold = s->fold;
  const tn_merge_plan *plan = fold->plan;
  uint32_t begin = plan->groups[s->g], end = plan->groups[s->g + 1];
  if (plan->keeps_single_rows && end - begin == 1) {
    fold->kinds[s->g] = tn_merge_kind(plan, begin);
    fold->sequences[s->g] = tn_merge_sequence(plan, begin);
    return take_row(s, plan->rows[begin], err);
  }
  s->is_filled = s->has_insert = false;
  for (uint32_t i = begin; i < end; i++) {
    s->is_removed = false;
    if (tn_row_kind_is_retract(tn_merge_kind(plan, i))) {
      TN_TRY(retract_row(s, i, err));
    } else {
      fold->sequences[s->g] = tn_merge_sequence(plan, i);
      TN_TRY(add_row(s, plan->rows[i], err));
    }
  }
  fold->kinds[s->g] = s->is_removed || !s->has_insert ? TN_ROW_DELETE : TN_ROW_INSERT;
  return TARN_OK;
}

static tarn_status merge_keys(tn_fold *fold, state *s, tarn_error *err) {
  const tn_fold_layout *layout = fold->layout;
  const tn_row_ref none = {(uint32_t)fold->plan->n_sources, 0};
  for (s->g = 0; s->g < fold->plan->n_groups; s->g++) {
    fold->sequences[s->g] = 0;
    for (int32_t i = 0; i < layout->n_groups; i++) {
      fold->orders[i][s->g] = fold->members[i][s->g] = none;
    }
    TN_TRY(merge_key(s, err));
    if (s->has_free_list) {
      tn_fold_list_close_group(fold, 0, s->g);
    }
    for (int32_t i = 0; i < layout->n_groups; i++) {
      if (layout->groups[i].has_functions) {
        tn_fold_list_close_group(fold, 1 + i, s->g);
      }
    }
  }
  return TARN_OK;
}

tarn_status tn_fold_partial_update(tn_fold *fold, tarn_error *err) {
  const tn_merge_plan *plan = fold->plan;
  const tn_fold_layout *layout = fold->layout;
  state s = {.fold = fold, .may_miss_values = tn_fold_may_miss_values(fold)};
  s.has_free_list = !tn_fold_is_all_inserts(fold);
  if (!s.has_free_list && layout->n_groups == 0 && !s.may_miss_values) {
    for (int64_t g = 0; g < plan->n_groups; g++) {
      fold->sequences[g] = tn_merge_sequence(plan, (int64_t)plan->groups[g + 1] - 1);
      fold->kinds[g] = TN_ROW_INSERT;
    }
    tn_fold_take_rows(fold);
    return TARN_OK;
  }
  if (s.has_free_list) {
    TN_TRY(tn_fold_list_begin(fold, 0, err));
  }
  for (int32_t i = 0; i < layout->n_groups; i++) {
    if (layout->groups[i].has_functions) {
      TN_TRY(tn_fold_list_begin(fold, 1 + i, err));
    }
  }
  TN_TRY(merge_keys(fold, &s, err));
  if (s.has_free_list) {
    tn_fold_list_end(fold, 0);
  } else {
    tn_fold_take_rows(fold);
  }
  for (int32_t i = 0; i < layout->n_groups; i++) {
    if (layout->groups[i].has_functions) {
      tn_fold_list_end(fold, 1 + i);
    }
  }
  return TARN_OK;
}

const tn_engine_ops tn_engine_partial_update = {.name = "partial-update",
                                                .fold = tn_fold_partial_update};
