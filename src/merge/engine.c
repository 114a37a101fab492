/* engine.c - the selecting merge engines: of each group one row survives, or none.
 *
 * Rule: org.apache.paimon.mergetree.compact.{DeduplicateMergeFunction,FirstRowMergeFunction}; spec:
 * merge-engines, 3-4.
 */
#include "merge/merge.h"

/* The last row, whatever its kind; with ignore-delete the last one that adds. */
static tarn_status pick_last(const tn_merge_plan *plan, int64_t *picks, tarn_error *err) {
  (void)err;
  if (!plan->ignore_delete) {
    for (int64_t g = 0; g < plan->n_groups; g++) {
      picks[g] = (int64_t)plan->groups[g + 1] - 1;
    }
    return TARN_OK;
  }
  for (int64_t g = 0; g < plan->n_groups; g++) {
    int64_t begin = plan->groups[g], at = plan->groups[g + 1];
    bool is_taken = plan->keeps_single_rows && at - begin == 1;
    picks[g] = -1;
    while (picks[g] < 0 && at-- > begin) {
      picks[g] = is_taken || !tn_row_kind_is_retract(tn_merge_kind(plan, at)) ? at : -1;
    }
  }
  return TARN_OK;
}

tarn_status tn_first_row_refuse(const char *path, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID,
                 "%s: by default, first-row merge engine can not accept DELETE/UPDATE_BEFORE "
                 "records; the option 'ignore-delete' ignores them",
                 path);
}

/* The first row. Retractions are refused, or skipped with ignore-delete; a retraction behind the
 * first row is refused as well, since Java merges the whole group. */
static tarn_status pick_first(const tn_merge_plan *plan, int64_t *picks, tarn_error *err) {
  for (int64_t g = 0; g < plan->n_groups; g++) {
    picks[g] = -1;
    for (int64_t i = plan->groups[g]; i < plan->groups[g + 1]; i++) {
      if (!tn_row_kind_is_retract(tn_merge_kind(plan, i))) {
        picks[g] = picks[g] < 0 ? i : picks[g];
      } else if (!plan->ignore_delete) {
        const tn_merge_rows *source = plan->sources[plan->rows[i].source];
        return tn_first_row_refuse(source->path != NULL ? source->path : "merge", err);
      }
    }
  }
  return TARN_OK;
}

const tn_engine_ops tn_engine_deduplicate = {"deduplicate", false, pick_last};
const tn_engine_ops tn_engine_first_row = {"first-row", true, pick_first};
