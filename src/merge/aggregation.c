/* aggregation.c - the merge engine of that name, as steps: every row is added to, or retracted
 * from, every column.
 *
 * The result is +I even when all rows were retracted. With aggregation.remove-record-on-delete a -D
 * is the record itself until a later row is added to its values.
 *
 * Rule: AggregateMergeFunction (1.4.2); spec: merge-engines, 6.
 */
#include "merge/fold_engine.h"

static tarn_status add_group(tn_fold *fold, int64_t g, bool may_miss_values, tarn_error *err) {
  const tn_merge_plan *plan = fold->plan;
  uint32_t begin = plan->groups[g], end = plan->groups[g + 1];
  bool is_unchanged = plan->keeps_single_rows && end - begin == 1;
  fold->kinds[g] = is_unchanged ? tn_merge_kind(plan, begin) : (int8_t)TN_ROW_INSERT;
  for (uint32_t i = begin; i < end; i++) {
    int8_t kind = tn_merge_kind(plan, i);
    tn_fold_op op = tn_row_kind_is_retract(kind) ? TN_FOLD_RETRACT : TN_FOLD_ADD;
    if (is_unchanged) {
      op = TN_FOLD_SET;
    } else if (fold->layout->removes_record_on_delete) {
      fold->kinds[g] = TN_ROW_INSERT;
      if (kind == TN_ROW_DELETE) {
        if (may_miss_values) {
          TN_TRY(tn_fold_check_not_null(fold, plan->rows[i], err));
        }
        fold->kinds[g] = TN_ROW_DELETE;
        op = TN_FOLD_SET;
      }
    }
    TN_TRY(tn_fold_list_add(fold, 0, plan->rows[i], op, err));
  }
  tn_fold_list_close_group(fold, 0, g);
  return TARN_OK;
}

tarn_status tn_fold_aggregation(tn_fold *fold, tarn_error *err) {
  const tn_merge_plan *plan = fold->plan;
  bool may_miss_values;
  for (int64_t g = 0; g < plan->n_groups; g++) {
    fold->sequences[g] = tn_merge_sequence(plan, (int64_t)plan->groups[g + 1] - 1);
    fold->kinds[g] = TN_ROW_INSERT;
  }
  if (!(fold->layout->sets_first && plan->keeps_single_rows) && tn_fold_is_all_inserts(fold)) {
    tn_fold_take_rows(fold);
    return TARN_OK;
  }
  may_miss_values = tn_fold_may_miss_values(fold);
  TN_TRY(tn_fold_list_begin(fold, 0, err));
  for (int64_t g = 0; g < plan->n_groups; g++) {
    TN_TRY(add_group(fold, g, may_miss_values, err));
  }
  tn_fold_list_end(fold, 0);
  return TARN_OK;
}

const tn_engine_ops tn_engine_aggregation = {.name = "aggregation", .fold = tn_fold_aggregation};
